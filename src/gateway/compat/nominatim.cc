// Nominatim: nominatim.org/release-docs/latest/api/Search and /api/Output
#include <fmt/format.h>

#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

struct Kind {
  int place_rank;
  std::string_view category, type, addresstype, geocodejson;
};

Kind kind_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
    case Precision::parcel:
      return {30, "building", "yes", "building", "house"};
    case Precision::interpolated:
      return {30, "place", "house", "place", "house"};
    case Precision::street:
      return {26, "highway", "residential", "road", "street"};
    case Precision::postcode:
      return {21, "place", "postcode", "postcode", "locality"};
    case Precision::locality:
      return {16, "place", "city", "city", "city"};
    case Precision::region:
      return {8, "boundary", "administrative", "state", "state"};
    case Precision::country:
      return {4, "boundary", "administrative", "country", "country"};
    case Precision::unknown:
      break;
  }
  return {22, "place", "locality", "locality", "locality"};
}

void write_address(JsonWriter& json, const Answer& answer) {
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  json.name("address");
  json.open();
  text("house_number", answer.house_number);
  text("road", answer.street);
  text("city", answer.city);
  text("state", answer.state);
  text("postcode", answer.postcode);
  if (answer.country.is_known()) {
    json.member("country", answer.country.code());
    json.member("country_code", lower(answer.country.code()));
  }
  json.close();
}

/// jsonv2, and json, which has another name for the category.
void write_place(JsonWriter& json, const Answer& answer, std::string_view category_name) {
  const Kind kind = kind_of(answer.precision);
  const auto lat = fmt::format("{:.7f}", answer.at->lat_deg);
  const auto lon = fmt::format("{:.7f}", answer.at->lng_deg);
  json.open();
  json.member("licence", "see the terms of the provider");
  json.name("boundingbox");
  json.open_list();
  for (const auto& edge : {lat, lat, lon, lon}) json.value(edge);
  json.close_list();
  json.member("lat", lat);
  json.member("lon", lon);
  json.member("display_name", line_of(answer));
  json.member("place_rank", kind.place_rank);
  json.member(category_name, kind.category);
  json.member("type", kind.type);
  json.member("addresstype", kind.addresstype);
  // Of ways an address between two others is interpolated.
  if (answer.precision == Precision::interpolated) json.member("osm_type", "way");
  json.member("importance", 0.5);
  write_address(json, answer);
  json.close();
}

ServerResponse list_of(const Answer* match, std::string_view category_name) {
  std::string body;
  JsonWriter json(body);
  json.open_list();
  if (match != nullptr) write_place(json, *match, category_name);
  json.close_list();
  return json_response(std::move(body));
}

ServerResponse jsonv2(const Answer* match) { return list_of(match, "category"); }
ServerResponse json_1(const Answer* match) { return list_of(match, "class"); }

ServerResponse geocodejson(const Answer* match) {
  std::string body;
  JsonWriter json(body);
  json.open();
  json.member("type", "FeatureCollection");
  json.name("geocoding");
  json.open();
  json.member("version", "0.1.0");
  json.close();
  json.name("features");
  json.open_list();
  if (match != nullptr) {
    const auto text = [&json](std::string_view name, std::string_view value) {
      if (!value.empty()) json.member(name, value);
    };
    json.open();
    json.member("type", "Feature");
    json.name("properties");
    json.open();
    json.name("geocoding");
    json.open();
    json.member("type", kind_of(match->precision).geocodejson);
    json.member("label", line_of(*match));
    text("housenumber", match->house_number);
    text("street", match->street);
    text("postcode", match->postcode);
    text("city", match->city);
    text("state", match->state);
    if (match->country.is_known()) json.member("country_code", lower(match->country.code()));
    json.close();
    json.close();
    write_point(json, *match->at);
    json.close();
  }
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
  json.member("code", status);
  json.member("message", error.message);
  json.close();
  json.close();
  return json_response(std::move(body), status);
}

/// Words of the format that was asked for; nullopt: another than these.
std::optional<Words> words_of(std::string_view format) {
  if (format.empty() || format == "jsonv2") return Words{jsonv2, of_error};
  if (format == "json") return Words{json_1, of_error};
  if (format == "geocodejson") return Words{geocodejson, of_error};
  return std::nullopt;
}

}  // namespace

void get_nominatim(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, {jsonv2, of_error}, reply)) return;
  const Parameters& given = context.parameters;
  const auto words = words_of(given.value("format"));
  if (!words)
    return reply.send(of_error(
        {ErrorCode::usage, "the formats here are jsonv2, json and geocodejson", {}, {}, {}}));
  QueryView query;
  query.text = given.value("q");
  query.road = given.value("street");  // with its number
  query.city = given.value("city");
  query.state = given.value("state");
  query.postcode = given.value("postalcode");
  query.country_text = given.value("country");
  if (query.country_text.empty()) query.country_text = only_one(given.value("countrycodes"));
  query.country = context.parts.options.default_country;
  query.language = only_one(given.value("accept-language"));
  answer_in(*words, context, request, query, std::move(reply));
}

}  // namespace geonce
