#include "dialects.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <numeric>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace fakegeo {
namespace {

namespace json = boost::json;

// ---------------------------------------------------------------- what the provider "knows"

enum class Precision { rooftop, interpolated, street, postcode, locality, region };

/// An address in the parts that answers show; cut at its commas, nothing cleverer.
struct Parts {
  std::string number, road, city, state, postcode;
};

struct Finding {
  enum class Kind { match, no_match, unreadable } kind = Kind::match;
  Precision precision = Precision::rooftop;
  bool is_partial = false;
  bool is_tie = false;
  std::string country;           // alpha-2
  std::string lat, lon;          // JSON values: numbers, or what `badcoord` makes of them
  std::string lat_raw, lon_raw;  // the same without quotes, for CSV and for Nominatim's strings
  std::string formatted;         // the text in upper case
  std::uint64_t id = 0;
  Parts parts;
};

/// FNV-1a, 64 bit. tests/support/geonce_fixtures/fakegeo.py computes the same points.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

/// The finaliser of SplitMix64: spreads neighbouring values.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool is_word_byte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

/// Upper case, everything between words one blank: spellings that differ in no letter are one
/// place.
std::string words_of(std::string_view text) {
  std::string out;
  for (const char c : upper_ascii(text)) {
    if (is_word_byte(c)) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// Degrees of a box inside the country, so that a point is plausible where it is checked.
struct Box {
  std::string_view country;
  std::int64_t south, north, west, east;
};

constexpr std::array kBoxes{Box{"US", 32, 46, -117, -82},
                            Box{"CA", 49, 53, -120, -75},
                            Box{"GB", 51, 54, -3, 0},
                            Box{"FR", 44, 48, 0, 5},
                            Box{"DE", 48, 53, 8, 13},
                            Box{"NO", 59, 63, 6, 11}};
constexpr Box kElsewhere{"", 40, 50, 10, 20};

Box box_of(std::string_view country) {
  const auto* found = std::find_if(
      kBoxes.begin(), kBoxes.end(), [&](const Box& box) { return box.country == country; });
  return found == kBoxes.end() ? kElsewhere : *found;
}

std::string degrees(std::int64_t e7) {
  const auto magnitude = e7 < 0 ? -e7 : e7;
  return fmt::format(
      "{}{}.{:07}", e7 < 0 ? "-" : "", magnitude / 10'000'000, magnitude % 10'000'000);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Parts parts_of(std::string_view text) {
  std::array<std::string_view, 3> pieces{};
  for (std::string_view& piece : pieces) {
    const auto comma = text.find(',');
    piece = trimmed(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  Parts parts;
  const auto blank = pieces[0].find(' ');
  if (blank != std::string_view::npos && pieces[0].front() >= '0' && pieces[0].front() <= '9') {
    parts.number = pieces[0].substr(0, blank);
    pieces[0].remove_prefix(blank + 1);
  }
  parts.road = pieces[0];
  parts.city = pieces[1];
  parts.state = pieces[2].substr(0, pieces[2].find(' '));
  parts.postcode = trimmed(pieces[2].substr(parts.state.size()));
  return parts;
}

Finding find_place(const Item& item, std::uint64_t version) {
  const std::string words = words_of(item.text);
  const auto has = [padded = " " + words + " "](std::string_view marker) {
    return padded.find(fmt::format(" {} ", marker)) != std::string::npos;
  };
  Finding found;
  if (has("NOWHERE") || words.empty()) found.kind = Finding::Kind::no_match;
  if (has("UNREADABLE")) found.kind = Finding::Kind::unreadable;

  if (has("MIDBLOCK")) found.precision = Precision::interpolated;
  if (has("STREETONLY")) found.precision = Precision::street;
  if (has("POSTCODEONLY")) found.precision = Precision::postcode;
  if (has("LOCALITY")) found.precision = Precision::locality;
  if (has("REGIONONLY")) found.precision = Precision::region;
  found.is_partial = has("PARTIAL");
  found.is_tie = has("TIE");
  found.country = item.country;
  if (has("ABROAD")) found.country = item.country == "DE" ? "FR" : "DE";

  const std::uint64_t hash = fnv1a(words) + (version == 0 ? 0 : mixed(version));
  const Box box = box_of(found.country);
  const auto inside = [](std::int64_t low, std::int64_t high, std::uint64_t draw) {
    const auto span = static_cast<std::uint64_t>((high - low) * 10'000'000);
    return low * 10'000'000 + static_cast<std::int64_t>(draw % span);
  };
  found.lat_raw = degrees(inside(box.south, box.north, mixed(hash)));
  found.lon_raw = degrees(inside(box.west, box.east, mixed(hash + 1)));
  if (has("ZERO")) found.lat_raw = found.lon_raw = degrees(0);
  found.lat = found.lat_raw;
  found.lon = found.lon_raw;
  if (has("BADCOORD")) {
    found.lat_raw = "48,85";
    found.lat = "\"48,85\"";
  }
  found.id = mixed(hash + 2) % 1'000'000'000;
  found.formatted = upper_ascii(item.text);
  found.parts = parts_of(item.text);
  return found;
}

// ---------------------------------------------------------------- writing

std::string quoted(std::string_view text) {
  // Boost.JSON copies bytes as they are; a byte that is no UTF-8 would make the whole body invalid.
  return json::serialize(json::string_view(text.data(), text.size()));
}

using Fill = std::pair<std::string_view, std::string>;

/// `shape` with every `$name` replaced. The values are JSON already.
std::string filled(std::string_view shape, std::initializer_list<Fill> fills) {
  std::string out;
  out.reserve(shape.size() * 2);
  while (!shape.empty()) {
    const auto dollar = shape.find('$');
    out += shape.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    shape.remove_prefix(dollar + 1);
    const auto end = std::min(shape.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), shape.size());
    const std::string_view name = shape.substr(0, end);
    for (const auto& [key, value] : fills)
      if (key == name) out += value;
    shape.remove_prefix(end);
  }
  return out;
}

std::string joined(const std::vector<std::string>& pieces, std::string_view between) {
  return fmt::format("{}", fmt::join(pieces, between));
}

/// A tie is two candidates at different points; the second stands 0.01 degrees to the north.
std::vector<Finding> candidates(const Finding& found) {
  if (found.kind != Finding::Kind::match) return {};
  std::vector<Finding> all{found};
  if (found.is_tie) {
    Finding other = found;
    const auto dot = other.lat_raw.find('.');
    if (dot != std::string::npos) {
      char& digit = other.lat_raw[dot + 2];
      digit = digit == '9' ? '0' : static_cast<char>(digit + 1);
      other.lat = other.lat_raw;
    }
    other.id += 1;
    all.push_back(std::move(other));
  }
  return all;
}

Answer json_answer(std::string body, int status = 200) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

// ---------------------------------------------------------------- Google v3

std::string google_result(const Finding& found) {
  struct Words {
    std::string_view location_type, types;
  };
  const Words words = [&]() -> Words {
    switch (found.precision) {
      case Precision::interpolated:
        return {"RANGE_INTERPOLATED", R"("street_address")"};
      case Precision::street:
        return {"GEOMETRIC_CENTER", R"("route")"};
      case Precision::postcode:
        return {"APPROXIMATE", R"("postal_code")"};
      case Precision::locality:
        return {"APPROXIMATE", R"("locality","political")"};
      case Precision::region:
        return {"APPROXIMATE", R"("administrative_area_level_1","political")"};
      case Precision::rooftop:
        break;
    }
    return {"ROOFTOP", R"("street_address")"};
  }();
  std::vector<std::string> components;
  const auto add = [&](const std::string& name, std::string_view types) {
    if (name.empty()) return;
    components.push_back(filled(R"({"long_name":$name,"short_name":$name,"types":[$types]})",
                                {{"name", quoted(name)}, {"types", std::string(types)}}));
  };
  add(found.parts.number, R"("street_number")");
  add(found.parts.road, R"("route")");
  add(found.parts.city, R"("locality","political")");
  add(found.parts.state, R"("administrative_area_level_1","political")");
  add(found.country, R"("country","political")");
  add(found.parts.postcode, R"("postal_code")");
  return filled(
      R"({"address_components":[$components],"formatted_address":$formatted,)"
      R"("geometry":{"location":{"lat":$lat,"lng":$lon},"location_type":"$location_type",)"
      R"("viewport":{"northeast":{"lat":$lat,"lng":$lon},"southwest":{"lat":$lat,"lng":$lon}}},)"
      R"($partial"place_id":"ChIJ-fakegeo-$id","types":[$types]})",
      {{"components", joined(components, ",")},
       {"formatted", quoted(found.formatted)},
       {"lat", found.lat},
       {"lon", found.lon},
       {"location_type", std::string(words.location_type)},
       {"partial", found.is_partial ? R"("partial_match":true,)" : ""},
       {"id", std::to_string(found.id)},
       {"types", std::string(words.types)}});
}

/// What Google would say in the body beside that HTTP status.
std::string_view google_code(int status) {
  switch (status) {
    case 400:
      return "INVALID_REQUEST";
    case 401:
    case 402:
    case 403:
      return "REQUEST_DENIED";
    case 429:
      return "OVER_QUERY_LIMIT";
    default:
      return "UNKNOWN_ERROR";
  }
}

Answer google_answer(const Finding& found) {
  std::vector<std::string> results;
  for (const Finding& candidate : candidates(found)) results.push_back(google_result(candidate));
  return json_answer(filled(
      R"({"results":[$results],"status":"$status"})",
      {{"results", joined(results, ",")}, {"status", results.empty() ? "ZERO_RESULTS" : "OK"}}));
}

// ---------------------------------------------------------------- Geocodio

constexpr std::string_view kGeocodioUnreadable =
    "Could not geocode address. Postal code or city required.";

std::string geocodio_result(const Finding& found) {
  const std::string_view type = [&] {
    switch (found.precision) {
      case Precision::interpolated:
        return "range_interpolation";
      case Precision::street:
        return "street_center";
      case Precision::postcode:
      case Precision::locality:
        return "place";
      case Precision::region:
        return "state";
      case Precision::rooftop:
        break;
    }
    return "rooftop";
  }();
  return filled(
      R"({"address_components":{"number":$number,"street":$road,"formatted_street":$road,)"
      R"("city":$city,"state":$state,"zip":$zip,"country":$country},"formatted_address":$formatted,)"
      R"("location":{"lat":$lat,"lng":$lon},"accuracy":$accuracy,"accuracy_type":"$type",)"
      R"("source":"fakegeo"})",
      {{"number", quoted(found.parts.number)},
       {"road", quoted(found.parts.road)},
       {"city", quoted(found.parts.city)},
       {"state", quoted(found.parts.state)},
       {"zip", quoted(found.parts.postcode)},
       {"country", quoted(found.country)},
       {"formatted", quoted(found.formatted)},
       {"lat", found.lat},
       {"lon", found.lon},
       {"accuracy", found.is_partial ? "0.6" : "1"},
       {"type", std::string(type)}});
}

/// The object that is the whole body of a single answer and `response` in a batch.
std::string geocodio_response(const Item& item, const Finding& found) {
  if (found.kind == Finding::Kind::unreadable)
    return filled(R"({"error":$text})", {{"text", quoted(kGeocodioUnreadable)}});
  std::vector<std::string> results;
  for (const Finding& candidate : candidates(found)) results.push_back(geocodio_result(candidate));
  return filled(R"({"input":{"formatted_address":$text},"results":[$results]})",
                {{"text", quoted(item.text)}, {"results", joined(results, ",")}});
}

Answer geocodio_answer(const Ask& ask,
                       const std::vector<Finding>& found,
                       const std::vector<std::size_t>& order) {
  if (ask.mode == Mode::single) {
    const bool unreadable = found[0].kind == Finding::Kind::unreadable;
    return json_answer(geocodio_response(ask.items[0], found[0]), unreadable ? 422 : 200);
  }
  std::vector<std::string> results;
  for (const std::size_t i : order) {
    const Item& item = ask.items[i];
    const std::string key = ask.has_own_keys ? quoted(item.ref) + ":" : "";
    results.push_back(filled(R"($key{"query":$text,"response":$response})",
                             {{"key", key},
                              {"text", quoted(item.text)},
                              {"response", geocodio_response(item, found[i])}}));
  }
  const std::string_view shape =
      ask.has_own_keys ? R"({"results":{$results}})" : R"({"results":[$results]})";
  return json_answer(filled(shape, {{"results", joined(results, ",")}}));
}

// ---------------------------------------------------------------- Nominatim

std::string nominatim_result(const Finding& found) {
  struct Words {
    std::string_view category, type, address_type;
    int rank;
  };
  const Words words = [&]() -> Words {
    switch (found.precision) {
      case Precision::interpolated:
        return {"place", "house", "place", 30};
      case Precision::street:
        return {"highway", "residential", "road", 26};
      case Precision::postcode:
        return {"place", "postcode", "postcode", 21};
      case Precision::locality:
        return {"boundary", "administrative", "city", 16};
      case Precision::region:
        return {"boundary", "administrative", "state", 8};
      case Precision::rooftop:
        break;
    }
    return {"building", "yes", "building", 30};
  }();
  // A postcode has no OSM object of its own.
  const std::string osm = found.precision == Precision::postcode
                              ? ""
                              : fmt::format(R"("osm_type":"way","osm_id":{},)", found.id);
  return filled(
      R"({"place_id":$id,"licence":"fakegeo",$osm"lat":$lat,"lon":$lon,"category":"$category",)"
      R"("type":"$type","place_rank":$rank,"importance":0.4,"addresstype":"$address_type",)"
      R"("name":"","display_name":$formatted,"address":{"house_number":$number,"road":$road,)"
      R"("city":$city,"state":$state,"postcode":$postcode,"country_code":$country},)"
      R"("boundingbox":[$lat,$lat,$lon,$lon]})",
      {{"id", std::to_string(found.id)},
       {"osm", osm},
       {"lat", quoted(found.lat_raw)},
       {"lon", quoted(found.lon_raw)},
       {"category", std::string(words.category)},
       {"type", std::string(words.type)},
       {"rank", std::to_string(words.rank)},
       {"address_type", std::string(words.address_type)},
       {"formatted", quoted(found.formatted)},
       {"number", quoted(found.parts.number)},
       {"road", quoted(found.parts.road)},
       {"city", quoted(found.parts.city)},
       {"state", quoted(found.parts.state)},
       {"postcode", quoted(found.parts.postcode)},
       {"country", quoted(lower_ascii(found.country))}});
}

Answer nominatim_answer(const Finding& found) {
  std::vector<std::string> results;
  for (const Finding& candidate : candidates(found)) results.push_back(nominatim_result(candidate));
  return json_answer(filled("[$results]", {{"results", joined(results, ",")}}));
}

// ---------------------------------------------------------------- OpenCage

std::string opencage_result(const Finding& found) {
  const std::string_view type = [&] {
    switch (found.precision) {
      case Precision::street:
        return "road";
      case Precision::postcode:
        return "postcode";
      case Precision::locality:
        return "city";
      case Precision::region:
        return "state";
      case Precision::interpolated:  // OpenCage has no word for it
      case Precision::rooftop:
        break;
    }
    return "building";
  }();
  return filled(
      R"({"components":{"ISO_3166-1_alpha-2":$country,"_category":"place","_type":"$type",)"
      R"("house_number":$number,"road":$road,"city":$city,"state":$state,"postcode":$postcode,)"
      R"("country_code":$country_code},"confidence":9,"formatted":$formatted,)"
      R"("geometry":{"lat":$lat,"lng":$lon}})",
      {{"country", quoted(found.country)},
       {"type", std::string(type)},
       {"number", quoted(found.parts.number)},
       {"road", quoted(found.parts.road)},
       {"city", quoted(found.parts.city)},
       {"state", quoted(found.parts.state)},
       {"postcode", quoted(found.parts.postcode)},
       {"country_code", quoted(lower_ascii(found.country))},
       {"formatted", quoted(found.formatted)},
       {"lat", found.lat},
       {"lon", found.lon}});
}

Answer opencage_answer(const Finding& found) {
  std::vector<std::string> results;
  for (const Finding& candidate : candidates(found)) results.push_back(opencage_result(candidate));
  return json_answer(
      filled(R"({"documentation":"","licenses":[],"results":[$results],)"
             R"("status":{"code":200,"message":"OK"},"total_results":$total})",
             {{"results", joined(results, ",")}, {"total", std::to_string(results.size())}}));
}

// ---------------------------------------------------------------- US Census

/// Census knows addresses in its own ranges and nothing coarser or elsewhere.
bool census_knows(const Finding& found) {
  return found.kind == Finding::Kind::match && found.country == "US" &&
         found.precision <= Precision::interpolated;
}

std::string census_result(const Finding& found) {
  return filled(R"({"matchedAddress":$formatted,"coordinates":{"x":$lon,"y":$lat},)"
                R"("tigerLine":{"side":"L","tigerLineId":"$id"},"addressComponents":{"zip":$zip,)"
                R"("streetName":$road,"city":$city,"fromAddress":$number,"state":$state}})",
                {{"formatted", quoted(found.formatted)},
                 {"lon", found.lon},
                 {"lat", found.lat},
                 {"id", std::to_string(found.id)},
                 {"zip", quoted(found.parts.postcode)},
                 {"road", quoted(upper_ascii(found.parts.road))},
                 {"city", quoted(upper_ascii(found.parts.city))},
                 {"number", quoted(found.parts.number)},
                 {"state", quoted(upper_ascii(found.parts.state))}});
}

/// UTF-8 to ISO-8859-1; what that charset lacks becomes `?`.
std::string latin1(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i];
    } else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < text.size()) {
      out += static_cast<char>((byte << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F));
    } else if (byte >= 0xC0) {
      out += '?';  // the first byte of any longer sequence; the rest is skipped
    }
  }
  return out;
}

Answer census_answer(const Ask& ask,
                     const std::vector<Finding>& found,
                     const std::vector<std::size_t>& order) {
  if (ask.mode == Mode::single) {
    std::vector<std::string> results;
    for (const Finding& candidate : candidates(found[0]))
      if (census_knows(candidate)) results.push_back(census_result(candidate));
    return json_answer(
        filled(R"({"result":{"input":{"address":{"address":$text},)"
               R"("benchmark":{"id":"4","benchmarkName":"Public_AR_Current"}},)"
               R"("addressMatches":[$results]}})",
               {{"text", quoted(ask.items[0].text)}, {"results", joined(results, ",")}}));
  }
  Answer answer;
  answer.content_type = "text/csv;charset=ISO-8859-1";
  for (const std::size_t i : order) {
    const Item& item = ask.items[i];
    Row row{item.ref, joined({item.cells.begin() + 1, item.cells.end()}, ", ")};
    if (!census_knows(found[i])) {
      row.emplace_back("No_Match");
    } else if (found[i].is_tie) {
      row.emplace_back("Tie");
    } else {
      row.insert(row.end(),
                 {"Match",
                  found[i].is_partial ? "Non_Exact" : "Exact",
                  found[i].formatted,
                  fmt::format("{},{}", found[i].lon_raw, found[i].lat_raw),
                  std::to_string(found[i].id),
                  "L"});
    }
    answer.body += latin1(quoted_line(row)) + "\n";
  }
  return answer;
}

// ---------------------------------------------------------------- BAN

std::string_view ban_type(const Finding& found) {
  switch (found.precision) {
    case Precision::street:
      return "street";
    case Precision::postcode:
    case Precision::locality:
    case Precision::region:
      return "municipality";
    case Precision::interpolated:  // BAN has no word for it
    case Precision::rooftop:
      break;
  }
  return "housenumber";
}

std::string ban_feature(const Finding& found) {
  return filled(R"({"type":"Feature","geometry":{"type":"Point","coordinates":[$lon,$lat]},)"
                R"("properties":{"label":$formatted,"score":$score,"housenumber":$number,)"
                R"("id":"75107_$id","name":$road,"postcode":$postcode,"city":$city,)"
                R"("context":"fakegeo","type":"$type","street":$road,"_type":"address"}})",
                {{"lon", found.lon},
                 {"lat", found.lat},
                 {"formatted", quoted(found.formatted)},
                 {"score", found.is_partial ? "0.55" : "0.97"},
                 {"number", quoted(found.parts.number)},
                 {"id", std::to_string(found.id)},
                 {"road", quoted(found.parts.road)},
                 {"postcode", quoted(found.parts.postcode)},
                 {"city", quoted(found.parts.city)},
                 {"type", std::string(ban_type(found))}});
}

Answer ban_answer(const Ask& ask,
                  const std::vector<Finding>& found,
                  const std::vector<std::size_t>& order) {
  if (ask.mode == Mode::single) {
    std::vector<std::string> features;
    for (const Finding& candidate : candidates(found[0]))
      features.push_back(ban_feature(candidate));
    return json_answer(
        filled(R"({"type":"FeatureCollection","features":[$features],"query":$text})",
               {{"features", joined(features, ",")}, {"text", quoted(ask.items[0].text)}}));
  }
  static constexpr std::array kColumns{"latitude",
                                       "longitude",
                                       "result_label",
                                       "result_score",
                                       "result_score_next",
                                       "result_type",
                                       "result_id",
                                       "result_housenumber",
                                       "result_name",
                                       "result_street",
                                       "result_postcode",
                                       "result_city",
                                       "result_context",
                                       "result_citycode"};
  Answer answer;
  answer.content_type = "text/csv; charset=utf-8";
  Row header = ask.columns;
  header.insert(header.end(), kColumns.begin(), kColumns.end());
  answer.body = plain_line(header, ask.delimiter) + "\n";
  for (const std::size_t i : order) {
    Row row = ask.items[i].cells;
    row.resize(ask.columns.size());
    const Finding& f = found[i];
    if (f.kind == Finding::Kind::match) {
      row.insert(row.end(),
                 {f.lat_raw,
                  f.lon_raw,
                  f.formatted,
                  f.is_partial ? "0.55" : "0.97",
                  f.is_tie ? "0.97" : "",
                  std::string(ban_type(f)),
                  fmt::format("75107_{}", f.id),
                  f.parts.number,
                  f.parts.road,
                  f.parts.road,
                  f.parts.postcode,
                  f.parts.city,
                  "fakegeo",
                  "75107"});
    }
    row.resize(header.size());
    answer.body += plain_line(row, ask.delimiter) + "\n";
  }
  return answer;
}

// ---------------------------------------------------------------- reading

constexpr std::size_t kMaxBatch = 10'000;  // Geocodio and Census
constexpr std::size_t kMaxBanText = 200;   // characters

/// Free text, or the structured fields in the order given, joined as one would write them.
std::string text_of(const Fields& query,
                    std::string_view free_text,
                    std::initializer_list<std::string_view> fields) {
  std::string text(value_of(query, free_text));
  if (!text.empty()) return text;
  for (const std::string_view field : fields) {
    const std::string_view value = value_of(query, field);
    if (value.empty()) continue;
    if (!text.empty()) text += ", ";
    text += value;
  }
  return text;
}

/// The first alpha-2 code of a country parameter. Codes longer than that (USA) are cut.
std::string country_of(std::string_view value, std::string_view otherwise) {
  return value.size() < 2 ? std::string(otherwise) : upper_ascii(value.substr(0, 2));
}

void refuse(Ask& ask, int status, std::string_view code, std::string_view message) {
  if (ask.items.empty()) ask.items.emplace_back();
  ask.refusal = provider_error(ask.dialect, status, code, message, false);
}

Ask single(Dialect dialect, std::string text, std::string country) {
  Ask ask;
  ask.dialect = dialect;
  ask.items.push_back(
      {.ref = {}, .text = std::move(text), .country = std::move(country), .cells = {}});
  return ask;
}

Ask read_google(const Request& request, std::string_view default_country) {
  const std::string_view components = value_of(request.query, "components");
  const auto at = components.find("country:");
  const std::string country =
      country_of(at == std::string_view::npos ? "" : components.substr(at + 8), default_country);
  Ask ask = single(
      Dialect::google, text_of(request.query, "address", {"components", "place_id"}), country);
  if (ask.items[0].text.empty())
    refuse(ask, 400, "INVALID_REQUEST", "Invalid request. Missing the 'address' parameter.");
  return ask;
}

std::string geocodio_text(const json::value& value) {
  if (value.is_string()) return std::string(value.as_string());
  Fields fields;
  if (value.is_object())
    for (const auto& [key, field] : value.as_object())
      if (field.is_string()) fields.emplace_back(key, field.as_string());
  return text_of(fields, "q", {"street", "street2", "city", "county", "state", "postal_code"});
}

Ask read_geocodio_batch(const Request& request, const std::string& country) {
  Ask ask;
  ask.dialect = Dialect::geocodio;
  ask.mode = Mode::batch;
  boost::system::error_code error;
  const json::value body = json::parse(request.body, error);
  const auto add = [&](std::string ref, const json::value& value) {
    ask.items.push_back(
        {.ref = std::move(ref), .text = geocodio_text(value), .country = country, .cells = {}});
  };
  if (!error && body.is_array()) {
    for (const json::value& value : body.as_array()) add("", value);
  } else if (!error && body.is_object()) {
    ask.has_own_keys = true;
    for (const auto& [key, value] : body.as_object()) add(std::string(key), value);
  }
  if (ask.items.empty()) refuse(ask, 422, "", "The request body is not a list of addresses.");
  if (ask.items.size() > kMaxBatch) refuse(ask, 422, "", "Batches hold 10,000 addresses at most.");
  return ask;
}

Ask read_geocodio(const Request& request, std::string_view default_country) {
  const std::string country = country_of(value_of(request.query, "country"), default_country);
  if (request.method == "POST") return read_geocodio_batch(request, country);
  Ask ask = single(
      Dialect::geocodio,
      text_of(request.query, "q", {"street", "street2", "city", "county", "state", "postal_code"}),
      country);
  if (ask.items[0].text.empty()) refuse(ask, 422, "", "A query parameter is missing.");
  return ask;
}

Ask read_nominatim(const Request& request, std::string_view default_country) {
  Ask ask =
      single(Dialect::nominatim,
             text_of(request.query,
                     "q",
                     {"amenity", "street", "city", "county", "state", "postalcode", "country"}),
             country_of(value_of(request.query, "countrycodes"), default_country));
  if (ask.items[0].text.empty()) refuse(ask, 400, "", "Nothing to search for.");
  return ask;
}

Ask read_opencage(const Request& request, std::string_view default_country) {
  Ask ask = single(Dialect::opencage,
                   text_of(request.query, "q", {}),
                   country_of(value_of(request.query, "countrycode"), default_country));
  if (ask.items[0].text.empty()) refuse(ask, 400, "", "missing or bad query");
  return ask;
}

Ask read_census_single(const Request& request) {
  Ask ask = single(
      Dialect::census, text_of(request.query, "address", {"street", "city", "state", "zip"}), "US");
  if (ask.items[0].text.empty()) refuse(ask, 400, "", "Address cannot be empty");
  if (value_of(request.query, "benchmark").empty())
    refuse(ask, 400, "", "Benchmark in request is invalid or missing");
  return ask;
}

std::string_view part_of(const std::vector<Part>& parts, std::string_view name) {
  for (const Part& part : parts)
    if (part.name == name) return part.content;
  return {};
}

Ask read_census_batch(const Request& request) {
  Ask ask;
  ask.dialect = Dialect::census;
  ask.mode = Mode::batch;
  const auto parts = parse_multipart(value_of(request.headers, "content-type"), request.body);
  if (parts) {
    for (Row& row : parse_csv(part_of(*parts, "addressFile"), ',')) {
      Item item{.ref = row.front(), .text = {}, .country = "US", .cells = {}};
      for (std::size_t i = 1; i < row.size(); ++i) {
        if (row[i].empty()) continue;
        if (!item.text.empty()) item.text += ", ";
        item.text += row[i];
      }
      item.cells = std::move(row);
      ask.items.push_back(std::move(item));
    }
  }
  if (ask.items.empty()) {
    refuse(ask, 400, "", "The address file is missing or empty");
  } else if (part_of(*parts, "benchmark").empty()) {
    refuse(ask, 400, "", "Benchmark in request is invalid or missing");
  } else if (ask.items.size() > kMaxBatch) {
    refuse(ask, 400, "", "The address file has more than 10,000 records");
  }
  return ask;
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

Ask read_ban_single(const Request& request) {
  Ask ask = single(Dialect::ban, text_of(request.query, "q", {}), "FR");
  if (ask.items[0].text.empty()) {
    refuse(ask, 400, "", "Missing 'q' parameter");
  } else if (characters(ask.items[0].text) > kMaxBanText) {
    refuse(ask,
           413,
           "",
           fmt::format("Query is too long: {} characters, the maximum is {}",
                       characters(ask.items[0].text),
                       kMaxBanText));
  }
  return ask;
}

Ask read_ban_batch(const Request& request) {
  Ask ask;
  ask.dialect = Dialect::ban;
  ask.mode = Mode::batch;
  const auto parts = parse_multipart(value_of(request.headers, "content-type"), request.body);
  if (!parts) {
    refuse(ask, 400, "", "A CSV file must be provided in the data parameter");
    return ask;
  }
  const std::string_view delimiter = part_of(*parts, "delimiter");
  if (!delimiter.empty()) ask.delimiter = delimiter.front();
  std::vector<Row> rows = parse_csv(part_of(*parts, "data"), ask.delimiter);
  if (rows.size() < 2) {
    refuse(ask, 400, "", "A CSV file must be provided in the data parameter");
    return ask;
  }
  ask.columns = std::move(rows.front());
  std::vector<std::size_t> searched;  // the columns that make up the address, all unless named
  for (const Part& part : *parts) {
    if (part.name != "columns") continue;
    const auto found = std::find(ask.columns.begin(), ask.columns.end(), part.content);
    if (found != ask.columns.end()) {
      searched.push_back(static_cast<std::size_t>(found - ask.columns.begin()));
    } else {
      refuse(ask, 400, "", fmt::format("Unknown column {}", part.content));
    }
  }
  if (ask.refusal) return ask;
  if (searched.empty()) {
    searched.resize(ask.columns.size());
    std::iota(searched.begin(), searched.end(), std::size_t{0});
  }
  for (std::size_t i = 1; i < rows.size(); ++i) {
    Item item{.ref = {}, .text = {}, .country = "FR", .cells = std::move(rows[i])};
    for (const std::size_t column : searched) {
      if (column >= item.cells.size() || item.cells[column].empty()) continue;
      if (!item.text.empty()) item.text += ' ';
      item.text += item.cells[column];
    }
    if (characters(item.text) > kMaxBanText)
      refuse(ask, 413, "", fmt::format("Query is too long, row number {}", i));
    ask.items.push_back(std::move(item));
  }
  return ask;
}

bool is_geocodio_path(std::string_view path) {
  if (!path.starts_with("/v1.") || !path.ends_with("/geocode")) return false;
  const std::string_view minor = path.substr(4, path.size() - 4 - 8);
  return !minor.empty() && minor.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string_view name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::google:
      return "google";
    case Dialect::geocodio:
      return "geocodio";
    case Dialect::nominatim:
      return "nominatim";
    case Dialect::opencage:
      return "opencage";
    case Dialect::census:
      return "census";
    case Dialect::ban:
      return "ban";
  }
  return "";
}

std::string_view name_of(Mode mode) { return mode == Mode::single ? "single" : "batch"; }

std::optional<Ask> read_ask(const Request& request, std::string_view default_country) {
  const std::string_view path = request.path;
  const bool is_get = request.method == "GET";
  const bool is_post = request.method == "POST";
  if (is_get && path == "/maps/api/geocode/json") return read_google(request, default_country);
  if ((is_get || is_post) && is_geocodio_path(path)) return read_geocodio(request, default_country);
  if (is_get && path == "/search") return read_nominatim(request, default_country);
  if (is_get && path == "/geocode/v1/json") return read_opencage(request, default_country);
  if (is_get &&
      (path == "/geocoder/locations/onelineaddress" || path == "/geocoder/locations/address"))
    return read_census_single(request);
  if (is_post && path == "/geocoder/locations/addressbatch") return read_census_batch(request);
  if (is_get && path == "/geocodage/search") return read_ban_single(request);
  if (is_post && path == "/geocodage/search/csv") return read_ban_batch(request);
  return std::nullopt;
}

std::vector<std::size_t> natural_order(const Ask& ask) {
  std::vector<std::size_t> order(ask.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (ask.dialect != Dialect::census || order.size() < 2) return order;
  const auto rank = [&](std::size_t i) {
    return std::pair(mixed(fnv1a(ask.items[i].text) + i), i);
  };
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  // By chance the shuffle of a small batch is its order; then a client that relies on it would
  // pass.
  if (std::is_sorted(order.begin(), order.end()))
    std::rotate(order.begin(), order.begin() + 1, order.end());
  return order;
}

namespace {

Answer written(const Ask& ask,
               const std::vector<Finding>& found,
               const std::vector<std::size_t>& order) {
  switch (ask.dialect) {
    case Dialect::google:
      return google_answer(found[0]);
    case Dialect::geocodio:
      return geocodio_answer(ask, found, order);
    case Dialect::nominatim:
      return nominatim_answer(found[0]);
    case Dialect::opencage:
      return opencage_answer(found[0]);
    case Dialect::census:
      return census_answer(ask, found, order);
    case Dialect::ban:
      return ban_answer(ask, found, order);
  }
  return {};
}

}  // namespace

Answer answer(const Ask& ask, std::uint64_t version, const std::vector<std::size_t>& order) {
  if (ask.refusal) return *ask.refusal;
  std::vector<Finding> found;
  found.reserve(ask.items.size());
  for (const Item& item : ask.items) found.push_back(find_place(item, version));
  return written(ask, found, order);
}

Answer no_match(const Ask& ask) {
  Finding nothing;
  nothing.kind = Finding::Kind::no_match;
  return written(ask, std::vector<Finding>(ask.items.size(), nothing), natural_order(ask));
}

Answer provider_error(
    Dialect dialect, int status, std::string_view code, std::string_view message, bool in_body) {
  const std::string text = quoted(message);
  const int http_status = in_body ? 200 : status;
  switch (dialect) {
    case Dialect::google:
      return json_answer(
          filled(R"({"error_message":$text,"results":[],"status":$code})",
                 {{"text", text}, {"code", quoted(code.empty() ? google_code(status) : code)}}),
          http_status);
    case Dialect::geocodio:
      return json_answer(filled(R"({"error":$text})", {{"text", text}}), http_status);
    case Dialect::nominatim:
      return json_answer(filled(R"({"error":{"code":$status,"message":$text}})",
                                {{"status", std::to_string(status)}, {"text", text}}),
                         http_status);
    case Dialect::opencage:
      return json_answer(filled(R"({"documentation":"","licenses":[],"results":[],)"
                                R"("status":{"code":$status,"message":$text},"total_results":0})",
                                {{"status", std::to_string(status)}, {"text", text}}),
                         http_status);
    case Dialect::census:
      return json_answer(filled(R"({"errors":[$text],"status":"$status"})",
                                {{"status", std::to_string(status)}, {"text", text}}),
                         http_status);
    case Dialect::ban:
      return json_answer(filled(R"({"title":$title,"description":$text})",
                                {{"title", quoted(reason_of(status))}, {"text", text}}),
                         http_status);
  }
  return {};
}

}  // namespace fakegeo
