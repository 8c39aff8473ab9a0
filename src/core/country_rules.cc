#include "core/country_rules.h"

#include <array>

namespace geonce {
namespace {

constexpr auto kBehind = CountryRules::House::behind;
constexpr auto kFront = CountryRules::House::front;
constexpr auto kEither = CountryRules::House::either;
constexpr auto kBehindPostcode = CountryRules::Town::behind_postcode;
constexpr auto kBeforePostcode = CountryRules::Town::before_postcode;

constexpr auto kRules = std::to_array<CountryRules>({
#include "core/tables/country_rules.inc"
});

}  // namespace

const CountryRules* rules_of(Country country) {
  for (const CountryRules& rules : kRules)
    if (rules.countries.find(country.code()) != std::string_view::npos) return &rules;
  return nullptr;
}

}  // namespace geonce
