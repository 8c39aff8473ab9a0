#include "core/country.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/normalize_text.h"

namespace geonce {
namespace {

struct Row {
  std::string_view alpha2, alpha3, names;
};

constexpr std::array kRows{
#include "core/tables/country_names.inc"
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::alpha2));

Country country_of(const Row& row) { return {row.alpha2[0], row.alpha2[1]}; }

const Row* row_of(std::string_view alpha2) {
  const auto* found = std::ranges::lower_bound(kRows, alpha2, {}, &Row::alpha2);
  return found != kRows.end() && found->alpha2 == alpha2 ? found : nullptr;
}

const std::unordered_map<std::string_view, Country>& names() {
  static const auto kNames = [] {
    std::unordered_map<std::string_view, Country> map;
    for (const Row& row : kRows) {
      for (std::size_t begin = 0; begin <= row.names.size();) {
        const auto end = std::min(row.names.find(';', begin), row.names.size());
        map.emplace(row.names.substr(begin, end - begin), country_of(row));
        begin = end + 1;
      }
    }
    return map;
  }();
  return kNames;
}

/// As the table writes names: lower case, no punctuation, one space between words.
Result<std::string> spelt_as_in_the_table(std::string_view text, Diacritics diacritics) {
  thread_local TextFolder folder;  // it learns letters as it meets them
  std::string folded;
  if (auto done = folder.fold(text, diacritics, folded); !done) return fail(done.error());
  std::string name;
  for (const char c : folded) {
    if (c == '.' || c == '\'') continue;
    if (c == ' ' || c == ',' || c == '-') {
      if (!name.empty() && name.back() != ' ') name += ' ';
    } else {
      name += c;
    }
  }
  if (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

}  // namespace

Country country_named(std::string_view name) {
  const auto found = names().find(name);
  return found == names().end() ? Country() : found->second;
}

std::string_view nation_of_the_uk(std::string_view text) {
  constexpr std::array<std::string_view, 4> kNations{
      "england", "scotland", "wales", "northern ireland"};
  if (text.size() < 5) return {};  // codes, which are what a field mostly holds
  const auto name = spelt_as_in_the_table(text, Diacritics::keep);
  if (!name) return {};
  const auto* const found = std::ranges::find(kNations, *name);
  return found == kNations.end() ? std::string_view() : *found;
}

Result<Country> parse_country(std::string_view text) {
  if (text.size() == 2) {  // the common spelling, without a detour
    const std::array upper{static_cast<char>(text[0] & ~0x20), static_cast<char>(text[1] & ~0x20)};
    if (const Row* row = row_of({upper.data(), upper.size()})) return country_of(*row);
  }
  for (const auto diacritics : {Diacritics::keep, Diacritics::latin}) {
    auto name = spelt_as_in_the_table(text, diacritics);
    if (!name) return fail(name.error());
    if (name->empty()) return Country();
    if (const auto country = country_named(*name); country.is_known()) return country;
    if (!nation_of_the_uk(*name).empty()) return Country('G', 'B');
    std::string upper = *name;
    for (char& c : upper)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (upper == "ZZ") return Country();
    if (const Row* row = row_of(upper)) return country_of(*row);
    if (const auto* row = std::ranges::find(kRows, upper, &Row::alpha3); row != kRows.end())
      return country_of(*row);
  }
  return fail(ErrorCode::unknown_country,
              "the country field names no country: write an ISO 3166-1 code or an English name");
}

std::string_view alpha3(Country country) {
  const Row* row = row_of(country.code());
  return row == nullptr ? std::string_view() : row->alpha3;
}

}  // namespace geonce
