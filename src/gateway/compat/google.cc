// Google Geocoding v3: developers.google.com/maps/documentation/geocoding/requests-geocoding
#include <array>

#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

std::string_view location_type(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
      return "ROOFTOP";
    case Precision::interpolated:
      return "RANGE_INTERPOLATED";
    case Precision::street:
      return "GEOMETRIC_CENTER";
    default:
      return "APPROXIMATE";
  }
}

std::string_view type_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
    case Precision::interpolated:
      return "street_address";
    case Precision::street:
      return "route";
    case Precision::postcode:
      return "postal_code";
    case Precision::locality:
      return "locality";
    case Precision::region:
      return "administrative_area_level_1";
    case Precision::country:
      return "country";
    case Precision::unknown:
      break;
  }
  return "geocode";
}

void write_component(JsonWriter& json,
                     std::string_view name,
                     std::string_view type,
                     bool political) {
  if (name.empty()) return;
  json.open();
  json.member("long_name", name);
  json.member("short_name", name);
  json.name("types");
  json.open_list();
  json.value(type);
  if (political) json.value("political");
  json.close_list();
  json.close();
}

void write_result(JsonWriter& json, const Answer& answer) {
  json.open();
  json.name("address_components");
  json.open_list();
  write_component(json, answer.unit, "subpremise", false);
  write_component(json, answer.house_number, "street_number", false);
  write_component(json, answer.street, "route", false);
  write_component(json, answer.city, "locality", true);
  write_component(json, answer.state, "administrative_area_level_1", true);
  if (answer.country.is_known()) write_component(json, answer.country.code(), "country", true);
  write_component(json, answer.postcode, "postal_code", false);
  json.close_list();
  json.member("formatted_address", line_of(answer));
  json.name("geometry");
  json.open();
  json.name("location");
  json.open();
  json.member("lat", answer.at->lat_deg);
  json.member("lng", answer.at->lng_deg);
  json.close();
  json.member("location_type", location_type(answer.precision));
  json.close();
  if (answer.partial) json.member("partial_match", true);
  json.member("place_id", answer.place_id);
  json.name("types");
  json.open_list();
  json.value(type_of(answer.precision));
  json.close_list();
  json.close();
}

ServerResponse page(std::string_view status, const Answer* match, std::string_view message) {
  std::string body;
  JsonWriter json(body);
  json.open();
  if (!message.empty()) json.member("error_message", message);
  json.name("results");
  json.open_list();
  if (match != nullptr) write_result(json, *match);
  json.close_list();
  json.member("status", status);
  json.close();
  return json_response(std::move(body));
}

ServerResponse of_answer(const Answer* match) {
  return page(match != nullptr ? "OK" : "ZERO_RESULTS", match, {});
}

// Its clients look at the word and not at the status of HTTP.
ServerResponse of_error(const Error& error) {
  switch (row(error.code).http_status) {
    case 400:
    case 422: {
      auto response = page("INVALID_REQUEST", nullptr, error.message);
      response.status = 400;
      return response;
    }
    case 429:
      return page("OVER_QUERY_LIMIT", nullptr, error.message);
    case 401:
    case 403:
      return page("REQUEST_DENIED", nullptr, error.message);
    default:
      return page("UNKNOWN_ERROR", nullptr, error.message);
  }
}

constexpr Words kWords{of_answer, of_error};

/// `country:US|postal_code:78701`
void read_components(std::string_view list, QueryView& query) {
  constexpr std::array kFields{std::pair{"postal_code", &QueryView::postcode},
                               std::pair{"locality", &QueryView::city},
                               std::pair{"route", &QueryView::road},
                               std::pair{"administrative_area", &QueryView::state},
                               std::pair{"country", &QueryView::country_text}};
  while (!list.empty()) {
    const auto end = std::min(list.find('|'), list.size());
    const auto item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const auto colon = std::min(item.find(':'), item.size());
    for (const auto& [name, field] : kFields)
      if (item.substr(0, colon) == name)
        query.*field = item.substr(std::min(colon + 1, item.size()));
  }
}

}  // namespace

void get_google_geocode(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  QueryView query;
  query.text = context.parameters.value("address");
  query.language = context.parameters.value("language");
  query.country = context.parts.options.default_country;
  read_components(context.parameters.value("components"), query);
  // A hint, where nothing else names a country.
  if (const auto region = parse_country(context.parameters.value("region"));
      region && region->is_known())
    query.country = *region;
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
