// OpenCage: opencagedata.com/api
#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

std::string_view type_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
    case Precision::interpolated:
      return "building";
    case Precision::street:
      return "road";
    case Precision::postcode:
      return "postcode";
    case Precision::locality:
      return "city";
    case Precision::region:
      return "state";
    case Precision::country:
      return "country";
    case Precision::unknown:
      break;
  }
  return "unknown";
}

// The measure of the bounding box that such a place has: 10 is below 250 m, 1 above 25 km.
int confidence_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
      return 10;
    case Precision::interpolated:
      return 9;
    case Precision::street:
      return 8;
    case Precision::postcode:
      return 5;
    case Precision::locality:
      return 4;
    case Precision::region:
    case Precision::country:
      return 1;
    case Precision::unknown:
      break;
  }
  return 0;
}

void write_result(JsonWriter& json, const Answer& answer) {
  json.open();
  json.name("components");
  json.open();
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  json.member("_type", type_of(answer.precision));
  text("house_number", answer.house_number);
  text("road", answer.street);
  text("city", answer.city);
  text("state", answer.state);
  text("postcode", answer.postcode);
  if (answer.country.is_known()) {
    json.member("ISO_3166-1_alpha-2", answer.country.code());
    json.member("country_code", lower(answer.country.code()));
  }
  json.close();
  json.member("confidence", confidence_of(answer.precision));
  json.member("formatted", line_of(answer));
  json.name("geometry");
  json.open();
  json.member("lat", answer.at->lat_deg);
  json.member("lng", answer.at->lng_deg);
  json.close();
  json.close();
}

ServerResponse page(int status, std::string_view message, const Answer* match) {
  std::string body;
  JsonWriter json(body);
  json.open();
  json.name("results");
  json.open_list();
  if (match != nullptr) write_result(json, *match);
  json.close_list();
  json.name("status");
  json.open();
  json.member("code", status);
  json.member("message", message);
  json.close();
  json.member("total_results", match != nullptr ? 1 : 0);
  json.close();
  return json_response(std::move(body), status);
}

ServerResponse of_answer(const Answer* match) { return page(200, "OK", match); }

ServerResponse of_error(const Error& error) {
  const int status = row(error.code).http_status;
  if (status == 422) return page(400, error.message, nullptr);
  if (status == 429) return page(402, error.message, nullptr);  // a cap, not a rate
  return page(status == 504 ? 408 : status, error.message, nullptr);
}

constexpr Words kWords{of_answer, of_error};

}  // namespace

void get_opencage(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  QueryView query;
  query.text = context.parameters.value("q");
  query.language = context.parameters.value("language");
  query.country_text = only_one(context.parameters.value("countrycode"));
  query.country = context.parts.options.default_country;
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
