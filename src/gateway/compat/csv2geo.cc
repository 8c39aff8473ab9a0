// CSV2GEO: csv2geo.com/api
#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

std::string_view accuracy_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
      return "rooftop";
    case Precision::interpolated:
      return "range_interpolation";
    case Precision::street:
      return "street";
    case Precision::postcode:
      return "postcode";
    case Precision::locality:
      return "city";
    default:
      return "approximate";
  }
}

void write_result(JsonWriter& json, const Answer& answer) {
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  json.open();
  json.member("formatted_address", line_of(answer));
  json.name("location");
  json.open();
  json.member("lat", answer.at->lat_deg);
  json.member("lng", answer.at->lng_deg);
  json.close();
  json.member("accuracy", accuracy_of(answer.precision));
  json.member("accuracy_score", answer.confidence.value_or(1.0));
  json.name("components");
  json.open();
  text("house_number", answer.house_number);
  text("street", answer.street);
  text("unit", answer.unit);
  text("city", answer.city);
  text("state", answer.state);
  text("postcode", answer.postcode);
  if (answer.country.is_known()) json.member("country", answer.country.code());
  json.close();
  json.close();
}

ServerResponse of_answer(const Answer* match) {
  std::string body;
  JsonWriter json(body);
  json.open();
  json.name("results");
  json.open_list();
  if (match != nullptr) write_result(json, *match);
  json.close_list();
  json.close();
  return json_response(std::move(body));
}

ServerResponse of_error(const Error& error) {
  const int found = row(error.code).http_status;
  const int status = found == 422 ? 400 : found;
  std::string body;
  JsonWriter json(body);
  json.open();
  json.name("error");
  json.open();
  json.member("code",
              status == 400   ? std::string_view("invalid_request")
              : status == 429 ? std::string_view("rate_limit_exceeded")
                              : to_string(error.code));
  json.member("message", error.message);
  json.close();
  json.close();
  return json_response(std::move(body), status);
}

constexpr Words kWords{of_answer, of_error};

}  // namespace

void get_csv2geo(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  const Parameters& given = context.parameters;
  QueryView query;
  query.text = given.value("q");
  if (query.text.empty()) query.text = given.value("text");
  query.country_text = given.value("country");
  query.country = context.parts.options.default_country;
  query.language = given.value("lang");
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
