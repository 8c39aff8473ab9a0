#pragma once

#include <array>
#include <compare>
#include <string>
#include <string_view>

#include "core/result.h"

namespace geonce {

/// ISO 3166-1 alpha-2, upper case; `ZZ` where nobody said which country.
class Country {
 public:
  constexpr Country() = default;
  /// For tables and tests: two upper-case letters that are known to be a code.
  constexpr Country(char first, char second) : letters_{first, second} {}

  [[nodiscard]] bool is_known() const { return letters_ != std::array{'Z', 'Z'}; }
  /// A small number for tables, below kIndices.
  static constexpr std::size_t kIndices = std::size_t{26} * 26;
  [[nodiscard]] std::size_t index() const {
    return static_cast<std::size_t>(letters_[0] - 'A') * 26 +
           static_cast<std::size_t>(letters_[1] - 'A');
  }
  [[nodiscard]] std::string_view code() const { return {letters_.data(), letters_.size()}; }
  friend constexpr auto operator<=>(const Country&, const Country&) = default;

 private:
  std::array<char, 2> letters_{'Z', 'Z'};
};

/// alpha-2, alpha-3 or an English or own name, in any case; blank = `ZZ`. England, Scotland, Wales
/// and Northern Ireland are `GB`. Table: tables/country_names.inc, ISO 3166-1. errors
/// unknown_country
Result<Country> parse_country(std::string_view text);

/// The country with this name (not code), written as the table writes it; `ZZ` when there is none.
Country country_named(std::string_view name);

/// `england`, `scotland`, `wales` or `northern ireland` where the text names one of them, in any
/// case: parts of `GB` that a town's name may need beside it. Else empty.
std::string_view nation_of_the_uk(std::string_view text);

/// "USA" for "US"; empty for `ZZ`.
std::string_view alpha3(Country country);

}  // namespace geonce
