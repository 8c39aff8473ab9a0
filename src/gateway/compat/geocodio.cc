// Geocodio: geocod.io/docs
#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

std::string_view accuracy_type(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
      return "rooftop";
    case Precision::interpolated:
      return "range_interpolation";
    case Precision::street:
      return "street_center";
    case Precision::postcode:
    case Precision::locality:
      return "place";
    case Precision::region:
    case Precision::country:
      return "state";
    case Precision::unknown:
      break;
  }
  return "place";
}

void write_result(JsonWriter& json, const Answer& answer) {
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  json.open();
  json.name("address_components");
  json.open();
  text("number", answer.house_number);
  text("street", answer.street);
  text("formatted_street", answer.street);
  text("secondarynumber", answer.unit);
  text("city", answer.city);
  text("state", answer.state);
  text("zip", answer.postcode);
  if (answer.country.is_known()) json.member("country", answer.country.code());
  json.close();
  json.member("formatted_address", line_of(answer));
  json.name("location");
  json.open();
  json.member("lat", answer.at->lat_deg);
  json.member("lng", answer.at->lng_deg);
  json.close();
  json.member("accuracy", answer.confidence.value_or(1.0));
  json.member("accuracy_type", accuracy_type(answer.precision));
  text("source", answer.provider);
  json.close();
}

/// What stands for one address, alone and in a batch.
void write_results(JsonWriter& json, const Answer* match) {
  json.open();
  json.name("results");
  json.open_list();
  if (match != nullptr) write_result(json, *match);
  json.close_list();
  json.close();
}

void write_error(JsonWriter& json, const Error& error) {
  json.open();
  json.member("error", error.message);
  json.close();
}

ServerResponse of_answer(const Answer* match) {
  std::string body;
  JsonWriter json(body);
  write_results(json, match);
  return json_response(std::move(body));
}

ServerResponse of_error(const Error& error) {
  const int status = row(error.code).http_status;
  std::string body;
  JsonWriter json(body);
  write_error(json, error);
  return json_response(std::move(body), status == 400 ? 422 : status);
}

constexpr Words kWords{of_answer, of_error};

}  // namespace

void get_geocodio(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  const Parameters& given = context.parameters;
  QueryView query;
  query.text = given.value("q");
  query.road = given.value("street");  // with its number
  query.unit = given.value("street2");
  query.city = given.value("city");
  query.state = given.value("state");
  query.postcode = given.value("postal_code");
  query.country_text = given.value("country");
  query.country = Country('U', 'S');
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
