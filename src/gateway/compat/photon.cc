// Photon: github.com/komoot/photon, docs/api-v1.md
#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

std::string_view type_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
    case Precision::interpolated:
      return "house";
    case Precision::street:
      return "street";
    case Precision::locality:
      return "city";
    case Precision::region:
      return "state";
    case Precision::country:
      return "country";
    case Precision::postcode:
    case Precision::unknown:
      break;
  }
  return "other";
}

void write_feature(JsonWriter& json, const Answer& answer) {
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  json.open();
  json.member("type", "Feature");
  write_point(json, *answer.at);
  json.name("properties");
  json.open();
  json.member("type", type_of(answer.precision));
  json.member("osm_key", "place");
  json.member("osm_value", answer.precision == Precision::postcode ? "postcode" : "house");
  text("housenumber", answer.house_number);
  text("street", answer.street);
  text("postcode", answer.postcode);
  text("city", answer.city);
  text("state", answer.state);
  if (answer.country.is_known()) {
    json.member("country", answer.country.code());
    json.member("countrycode", answer.country.code());
  }
  if (answer.street.empty()) json.member("name", line_of(answer));
  json.close();
  json.close();
}

ServerResponse of_answer(const Answer* match) {
  std::string body;
  JsonWriter json(body);
  json.open();
  json.member("type", "FeatureCollection");
  json.name("features");
  json.open_list();
  if (match != nullptr) write_feature(json, *match);
  json.close_list();
  json.close();
  return json_response(std::move(body));
}

ServerResponse of_error(const Error& error) {
  const int status = row(error.code).http_status;
  std::string body;
  JsonWriter json(body);
  json.open();
  json.member("message", error.message);
  json.close();
  return json_response(std::move(body), status == 422 ? 400 : status);
}

constexpr Words kWords{of_answer, of_error};

}  // namespace

void get_photon(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  QueryView query;
  query.text = context.parameters.value("q");
  query.language = context.parameters.value("lang");
  query.country_text = only_one(context.parameters.value("countrycode"));
  query.country = context.parts.options.default_country;
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
