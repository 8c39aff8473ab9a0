// What a Canonical becomes: the pre-image, the key, a line that reads back as itself.
#include <algorithm>
#include <array>
#include <vector>

#include "core/normalize.h"
#include "core/normalize_world.h"

namespace geonce {
namespace {

constexpr char kSeparator = '\x1F';  // cannot occur in a field: control characters became spaces
constexpr std::string_view kHead = "geonce\x1Fn1\x1F";  // product, version of the form
constexpr std::string_view kBuiltIn = "b";              // the rules of the form read it
constexpr std::size_t kParts = 13;                      // without options

using Field = std::string Canonical::*;
constexpr std::array<Field, 8> kFields{&Canonical::admin,
                                       &Canonical::postcode,
                                       &Canonical::locality,
                                       &Canonical::road,
                                       &Canonical::house,
                                       &Canonical::unit,
                                       &Canonical::box,
                                       &Canonical::extra};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string with_spaces(std::string_view text, char mark) {
  std::string spaced(text);
  for (char& c : spaced)
    if (c == mark) c = ' ';
  return spaced;
}

std::string spelt_box(std::string_view box) {
  if (box == "gd") return "general delivery";
  std::string text = with_spaces(box, ':');
  return text.starts_with("pobox ") ? "po box " + text.substr(6) : text;
}

/// `b`, or `p:` and 16 hex digits.
bool is_backend(std::string_view text) {
  if (text == kBuiltIn) return true;
  return text.size() == 18 && text.starts_with("p:") &&
         text.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
}

}  // namespace

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::parsed:
      return "parsed";
    case Mode::road_only:
      return "road_only";
    case Mode::intersection:
      return "intersection";
    case Mode::unparsed:
      break;
  }
  return "unparsed";
}

std::vector<std::string_view> words(Quality quality) {
  std::vector<std::string_view> found;
  if (has(quality, Quality::no_locality)) found.emplace_back("no_locality");
  if (has(quality, Quality::no_postcode)) found.emplace_back("no_postcode");
  if (has(quality, Quality::unparsed)) found.emplace_back("unparsed");
  if (has(quality, Quality::po_box)) found.emplace_back("po_box");
  if (has(quality, Quality::rural_route)) found.emplace_back("rural_route");
  return found;
}

Quality quality_of(const Canonical& canonical) {
  Quality quality = Quality::none;
  if (canonical.mode == Mode::unparsed) {
    quality = quality | Quality::unparsed;
  } else if (canonical.locality.empty()) {
    quality = quality | Quality::no_locality;
  }
  if (canonical.postcode.empty()) quality = quality | Quality::no_postcode;
  if (canonical.box.starts_with("pobox:")) quality = quality | Quality::po_box;
  if (canonical.box.starts_with("rr:") || canonical.box.starts_with("hc:"))
    quality = quality | Quality::rural_route;
  return quality;
}

void append_pre_image(const Canonical& canonical, std::string& bytes) {
  // One growth and plain copies: this runs for every row of a file.
  const std::string_view backend =
      canonical.backend.empty() ? kBuiltIn : std::string_view(canonical.backend);
  std::size_t size = kHead.size() + backend.size() + 5;
  for (const Field field : kFields) size += 1 + (canonical.*field).size();
  if (!canonical.options.empty()) size += 1 + canonical.options.size();
  const std::size_t begin = bytes.size();
  bytes.resize(begin + size);
  char* at = bytes.data() + begin;
  const auto put = [&at](std::string_view text) { at = std::ranges::copy(text, at).out; };
  const auto part = [&](std::string_view text) {
    *at++ = kSeparator;
    put(text);
  };
  put(kHead);
  put(backend);
  *at++ = kSeparator;
  *at++ = static_cast<char>(canonical.mode);
  *at++ = kSeparator;
  for (const char c : canonical.country.code()) *at++ = lower(c);
  for (const Field field : kFields) part(canonical.*field);
  if (!canonical.options.empty()) part(canonical.options);
}

std::string pre_image(const Canonical& canonical) {
  std::string bytes;
  append_pre_image(canonical, bytes);
  return bytes;
}

Result<Canonical> parse_pre_image(std::string_view bytes) {
  const auto parts = split(bytes, kSeparator);
  const bool complete = (parts.size() == kParts || parts.size() == kParts + 1) &&
                        bytes.starts_with(kHead) && is_backend(parts[2]) && parts[3].size() == 1 &&
                        std::string_view("priu").find(parts[3]) != std::string_view::npos &&
                        parts[4].size() == 2 && (parts.size() == kParts || !parts.back().empty());
  if (!complete) return fail(ErrorCode::invalid_address, "not a pre-image of version n1");
  Canonical canonical;
  if (parts[2] != kBuiltIn) canonical.backend = parts[2];
  canonical.mode = static_cast<Mode>(parts[3][0]);
  canonical.country = Country(upper(parts[4][0]), upper(parts[4][1]));
  for (std::size_t i = 0; i < kFields.size(); ++i) canonical.*kFields[i] = parts[5 + i];
  if (parts.size() > kParts) canonical.options = parts[kParts];
  canonical.quality = quality_of(canonical);
  if (pre_image(canonical) != bytes)
    return fail(ErrorCode::invalid_address, "not a pre-image of version n1");
  return canonical;
}

Key key_of(const Canonical& canonical) { return sha256(pre_image(canonical)); }

std::string building_pre_image(const Canonical& canonical) {
  Canonical building = canonical;
  building.unit.clear();
  building.extra.clear();
  return pre_image(building);
}

std::string one_line(const Canonical& canonical) {
  if (canonical.mode == Mode::unparsed && canonical.locality.empty() && canonical.house.empty()) {
    std::string line = canonical.road;
    std::string last = canonical.admin;
    if (!last.empty() && !canonical.postcode.empty()) last += ' ';
    append_segment(line, last + canonical.postcode);
    return line;
  }
  if (const CountryRules* rules = rules_of(canonical.country);
      rules != nullptr && canonical.mode != Mode::unparsed)
    return WorldGrammar::one_line(canonical, *rules);
  std::string line = canonical.extra;
  std::string street = canonical.house;
  if (!street.empty() && !canonical.road.empty()) street += ' ';
  append_segment(line, street + canonical.road);
  if (!canonical.unit.empty())
    for (const auto unit : split(canonical.unit, ';')) append_segment(line, with_spaces(unit, ':'));
  append_segment(line, spelt_box(canonical.box));
  append_segment(line, canonical.locality);
  std::string last = canonical.admin;
  if (!last.empty() && !canonical.postcode.empty()) last += ' ';
  append_segment(line, last + canonical.postcode);
  return line;
}

}  // namespace geonce
