#pragma once

#include <cstdint>
#include <string_view>

#include "core/country.h"

namespace geonce {

/// How a country writes the lines of an address, beyond its words (word_book.h) and its letters and
/// tokens (normalize_text.h). The table is tables/country_rules.inc.
struct CountryRules {
  enum class House : std::uint8_t { behind, front, either };  // of the road
  enum class Slash : std::uint8_t {
    kept,        // 4/12 is the number
    unit_first,  // 5/12 Kelp St is unit 5 at number 12
    unit_last,   // ul. Lipowa 8/3 is flat 3 at number 8
  };
  enum class Script : std::uint8_t {
    words,
    unspaced,  // Han and Kana, as well as words
    spaced,    // Hangul, as well as words
    thai,      // the same, but from the small to the large
  };
  enum class Town : std::uint8_t { behind_postcode, before_postcode };

  std::string_view countries;  // alpha-2, with blanks
  std::string_view words;      // word lists, the first one's codes win: "nl fr de"
  House house = House::behind;
  Town town = Town::behind_postcode;
  std::string_view admins;  // list of admin names; empty: admins stay as spelt
  Slash slash = Slash::kept;
  bool type_goes_behind = false;  // the street type may stand on either side of the name
  Script script = Script::words;
};

/// The countries and territories whose addresses normalize_north_america.h reads.
bool is_north_american(Country country);

/// nullptr: no country, or one of normalize_north_america.h.
const CountryRules* rules_of(Country country);

}  // namespace geonce
