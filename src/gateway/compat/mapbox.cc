// Mapbox Geocoding v6, forward: docs.mapbox.com/api/search/geocoding
#include "gateway/compat/dialect.h"

namespace geonce {
namespace {

struct Kind {
  std::string_view feature_type, accuracy;
};

Kind kind_of(Precision precision) {
  switch (precision) {
    case Precision::rooftop:
      return {"address", "rooftop"};
    case Precision::parcel:
      return {"address", "parcel"};
    case Precision::interpolated:
      return {"address", "interpolated"};
    case Precision::street:
      return {"street", {}};
    case Precision::postcode:
      return {"postcode", {}};
    case Precision::locality:
      return {"place", {}};
    case Precision::region:
      return {"region", {}};
    case Precision::country:
      return {"country", {}};
    case Precision::unknown:
      break;
  }
  return {"place", {}};
}

void write_named(JsonWriter& json, std::string_view member, std::string_view name) {
  if (name.empty()) return;
  json.name(member);
  json.open();
  json.member("name", name);
  json.close();
}

void write_context(JsonWriter& json, const Answer& answer) {
  json.name("context");
  json.open();
  if (!answer.house_number.empty() || !answer.street.empty()) {
    json.name("address");
    json.open();
    json.member("name", street_line_of(answer));
    json.member("address_number", answer.house_number);
    json.member("street_name", answer.street);
    json.close();
  }
  write_named(json, "postcode", answer.postcode);
  write_named(json, "place", answer.city);
  write_named(json, "region", answer.state);
  if (answer.country.is_known()) {
    json.name("country");
    json.open();
    json.member("name", answer.country.code());
    json.member("country_code", answer.country.code());
    json.close();
  }
  json.close();
}

std::string_view word_of(double confidence) {
  if (confidence >= 0.95) return "exact";
  if (confidence >= 0.7) return "high";
  return confidence >= 0.4 ? "medium" : "low";
}

void write_feature(JsonWriter& json, const Answer& answer) {
  const Kind kind = kind_of(answer.precision);
  const std::string street = street_line_of(answer);
  json.open();
  json.member("type", "Feature");
  json.member("id", answer.place_id);
  write_point(json, *answer.at);
  json.name("properties");
  json.open();
  json.member("mapbox_id", answer.place_id);
  json.member("feature_type", kind.feature_type);
  json.member("full_address", line_of(answer));
  json.member("name", street.empty() ? line_of(answer) : street);
  json.name("coordinates");
  json.open();
  json.member("longitude", answer.at->lng_deg);
  json.member("latitude", answer.at->lat_deg);
  if (!kind.accuracy.empty()) json.member("accuracy", kind.accuracy);
  json.close();
  write_context(json, answer);
  if (answer.confidence && !kind.accuracy.empty()) {
    json.name("match_code");
    json.open();
    json.member("confidence", word_of(*answer.confidence));
    json.close();
  }
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
  json.member("attribution", "see the terms of the provider");
  json.close();
  return json_response(std::move(body));
}

ServerResponse of_error(const Error& error) {
  std::string body;
  JsonWriter json(body);
  json.open();
  json.member("message", error.message);
  json.close();
  return json_response(std::move(body), row(error.code).http_status);
}

constexpr Words kWords{of_answer, of_error};

}  // namespace

void get_mapbox(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (!read_parameters(context, request, kWords, reply)) return;
  const Parameters& given = context.parameters;
  QueryView query;
  query.text = given.value("q");
  query.house_number = given.value("address_number");
  query.road = given.value("street");
  if (query.road.empty()) query.road = given.value("address_line1");  // with its number
  query.city = given.value("place");
  query.state = given.value("region");
  query.postcode = given.value("postcode");
  query.country_text = only_one(given.value("country"));
  query.country = context.parts.options.default_country;
  query.language = only_one(given.value("language"));
  answer_in(kWords, context, request, query, std::move(reply));
}

}  // namespace geonce
