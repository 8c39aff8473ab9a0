// Pelias and geocode.earth: github.com/pelias/documentation, search.md and response.md
#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

std::string_view layer_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
    case Precision::interpolated:
      return "address";
    case Precision::street:
      return "street";
    case Precision::postcode:
      return "postalcode";
    case Precision::locality:
      return "locality";
    case Precision::region:
      return "region";
    case Precision::country:
      return "country";
    case Precision::unknown:
      break;
  }
  return "venue";
}

std::string_view match_type_of(const Answer& answer) {
  if (answer.precision == Precision::interpolated) return "interpolated";
  return answer.partial ? "fallback" : "exact";
}

void write_feature(JsonWriter& json, const Answer& answer) {
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  const std::string label = line_of(answer);
  const std::string street = street_line_of(answer);
  json.open();
  json.member("type", "Feature");
  write_point(json, *answer.at);
  json.name("properties");
  json.open();
  text("gid", answer.place_id);
  json.member("layer", layer_of(answer.precision));
  json.member("name", street.empty() ? label : street);
  text("housenumber", answer.house_number);
  text("street", answer.street);
  text("locality", answer.city);
  text("region", answer.state);
  text("postalcode", answer.postcode);
  if (answer.country.is_known()) json.member("country_code", answer.country.code());
  json.member("confidence", answer.confidence.value_or(1.0));
  json.member("match_type", match_type_of(answer));
  json.member("accuracy", answer.precision <= Precision::interpolated ? "point" : "centroid");
  json.member("label", label);
  json.close();
  json.close();
}

ServerResponse page(const Answer* match, const Error* error, int status) {
  std::string body;
  JsonWriter json(body);
  json.open();
  json.name("geocoding");
  json.open();
  json.member("version", "0.2");
  if (error != nullptr) {
    json.name("errors");
    json.open_list();
    json.value(error->message);
    json.close_list();
  }
  json.close();
  json.member("type", "FeatureCollection");
  json.name("features");
  json.open_list();
  if (match != nullptr) write_feature(json, *match);
  json.close_list();
  json.close();
  return json_response(std::move(body), status);
}

ServerResponse of_answer(const Answer* match) { return page(match, nullptr, 200); }

ServerResponse of_error(const Error& error) {
  const int status = row(error.code).http_status;
  return page(nullptr, &error, status == 422 ? 400 : status);
}

constexpr Words kWords{of_answer, of_error};

}  // namespace

void get_pelias(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  QueryView query;
  query.text = context.parameters.value("text");
  query.language = context.parameters.value("lang");
  query.country_text = only_one(context.parameters.value("boundary.country"));
  query.country = context.parts.options.default_country;
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
