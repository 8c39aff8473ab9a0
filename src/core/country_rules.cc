#include "core/country_rules.h"

#include <array>

namespace geonce {
namespace {

constexpr auto kBehind = CountryRules::House::behind;
constexpr auto kFront = CountryRules::House::front;
constexpr auto kEither = CountryRules::House::either;
constexpr auto kBehindPostcode = CountryRules::Town::behind_postcode;
constexpr auto kBeforePostcode = CountryRules::Town::before_postcode;

constexpr auto kKept = CountryRules::Slash::kept;
constexpr auto kUnitFirst = CountryRules::Slash::unit_first;
constexpr auto kUnitLast = CountryRules::Slash::unit_last;

constexpr auto kUnspaced = CountryRules::Script::unspaced;
constexpr auto kSpaced = CountryRules::Script::spaced;
constexpr auto kThai = CountryRules::Script::thai;

constexpr auto kRules = std::to_array<CountryRules>({
#include "core/tables/country_rules.inc"
});

}  // namespace

bool is_north_american(Country country) {
  static const auto kThere = [] {
    std::array<bool, Country::kIndices> there{};
    for (const auto* code : {"US", "CA", "PR", "VI", "GU", "AS", "MP", "UM"})
      there.at(Country(code[0], code[1]).index()) = true;
    return there;
  }();
  return kThere[country.index()];
}

const CountryRules* rules_of(Country country) {
  // English is what is written beside the own script wherever the table has no row.
  static constexpr CountryRules kOthers{"", "en", kEither, kBeforePostcode, "", kKept, false};
  static const auto kByCountry = [] {
    std::array<const CountryRules*, Country::kIndices> by_country{};
    by_country.fill(&kOthers);
    by_country.at(Country().index()) = nullptr;  // nobody said which country
    for (const CountryRules& rules : kRules)
      for (std::size_t i = 0; i < rules.countries.size(); i += 3)
        by_country.at(Country(rules.countries[i], rules.countries[i + 1]).index()) = &rules;
    return by_country;
  }();
  return is_north_american(country) ? nullptr : kByCountry[country.index()];
}

}  // namespace geonce
