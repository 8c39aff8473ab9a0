#include "core/query.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <boost/json.hpp>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

namespace geonce {
namespace {

using Member = std::pair<std::string_view, std::string Query::*>;
constexpr std::array<Member, 12> kMembers{{{"text", &Query::text},
                                           {"house_number", &Query::house_number},
                                           {"road", &Query::road},
                                           {"unit", &Query::unit},
                                           {"city", &Query::city},
                                           {"state", &Query::state},
                                           {"postcode", &Query::postcode},
                                           {"house", &Query::house},
                                           {"po_box", &Query::po_box},
                                           {"suburb", &Query::suburb},
                                           {"nation", &Query::nation},
                                           {"language", &Query::language}}};

/// Trimmed and in NFC; text that is no UTF-8 stays as it is (it has no key and is never sent).
std::string cleaned(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  if (std::all_of(
          text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  UErrorCode status = U_ZERO_ERROR;
  const auto* nfc = icu::Normalizer2::getNFCInstance(status);
  std::string composed;
  icu::StringByteSink<std::string> sink(&composed);
  if (U_SUCCESS(status) != 0)
    nfc->normalizeUTF8(0, {text.data(), static_cast<int>(text.size())}, sink, nullptr, status);
  return U_SUCCESS(status) != 0 ? composed : std::string(text);
}

void append(std::string& line, std::string_view separator, std::string_view part) {
  if (part.empty()) return;
  if (!line.empty()) line += separator;
  line += part;
}

bool same_letter(char a, char b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return lower(a) == lower(b);
}

// In any case, and not inside a longer word or number.
bool says(std::string_view line, std::string_view part) {
  const auto is_word = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte) != 0;
  };
  for (std::string_view::const_iterator at = line.begin();; ++at) {
    at = std::search(at, line.end(), part.begin(), part.end(), same_letter);
    if (at == line.end()) return false;
    const std::string_view::const_iterator behind = at + static_cast<std::ptrdiff_t>(part.size());
    if ((at == line.begin() || !is_word(at[-1])) && (behind == line.end() || !is_word(*behind)))
      return true;
  }
}

}  // namespace

Query Query::from(const QueryView& view) {
  return {cleaned(view.text),
          cleaned(view.house_number),
          cleaned(view.road),
          cleaned(view.unit),
          cleaned(view.city),
          cleaned(view.state),
          cleaned(view.postcode),
          cleaned(view.house),
          cleaned(view.po_box),
          cleaned(view.suburb),
          nation_of_the_uk(view.country_text).empty() ? std::string() : cleaned(view.country_text),
          view.country,
          cleaned(view.language)};
}

QueryView Query::view() const {
  return {text,
          house_number,
          road,
          unit,
          city,
          state,
          postcode,
          house,
          po_box,
          suburb,
          country,
          nation,
          language};
}

std::string Query::one_line() const {
  if (!text.empty()) {
    std::string line = text;
    std::string_view separator = ", ";
    for (const auto* field : {&unit, &suburb, &city, &state, &postcode}) {
      if (field->empty() || says(text, *field)) continue;
      append(line, field == &postcode ? separator : ", ", *field);
      if (field == &state) separator = " ";
    }
    if (!nation.empty() && !says(text, nation)) append(line, ", ", nation);
    return line;
  }
  std::string street = house_number;
  append(street, " ", road);
  std::string line = house;
  append(line, ", ", po_box);
  append(line, ", ", street);
  append(line, ", ", unit);
  append(line, ", ", suburb);
  append(line, ", ", city);
  std::string last = state;
  append(last, " ", postcode);
  append(line, ", ", last);
  append(line, ", ", nation);
  return line;
}

std::string to_json(const Query& query) {
  boost::json::object object;
  for (const auto& [name, member] : kMembers)
    if (!(query.*member).empty()) object[name] = query.*member;
  if (query.country.is_known()) object["country"] = query.country.code();
  return boost::json::serialize(object);
}

Result<Query> query_from_json(std::string_view json) {
  boost::system::error_code error;
  const auto value = boost::json::parse(json, error);
  if (error || !value.is_object())
    return fail(ErrorCode::internal, "a stored query is not a JSON object");
  Query query;
  for (const auto& [name, member] : kMembers)
    if (const auto* found = value.as_object().if_contains(name);
        found != nullptr && found->is_string())
      query.*member = std::string(found->as_string());
  if (const auto* found = value.as_object().if_contains("country");
      found != nullptr && found->is_string()) {
    auto country = parse_country(found->as_string());
    if (!country) return fail(country.error());
    query.country = *country;
  }
  return query;
}

}  // namespace geonce
