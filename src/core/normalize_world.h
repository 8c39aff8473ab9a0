#pragma once

#include <string>
#include <vector>

#include "core/country_rules.h"
#include "core/normalize_grammar.h"
#include "core/word_book.h"

namespace geonce {

/// The address lines of the countries of tables/country_rules.inc. What is not certain is left as
/// spelt: a reading that is missed costs one call, a wrong one a wrong point for ever.
class WorldGrammar {
 public:
  static bool speaks_for(Country country) { return rules_of(country) != nullptr; }

  /// False: no reading is certain, and `out` is not to be used.
  bool free_text(const Tokens& tokens, Range text, Canonical& out);
  void fields(const Tokens& tokens, const Parts& parts, Canonical& out);

  /// The line that reads back as `canonical`.
  static std::string one_line(const Canonical& canonical, const CountryRules& rules);

 private:
  struct House {
    Range range;  // of its tokens, the mark included; empty: none
    std::string text;
  };
  void begin(const Tokens& tokens, Country country);
  void split(Range range, std::vector<Range>& segments) const;

  void take_admin(std::vector<Range>& segments, std::size_t town, Canonical& out) const;
  /// All of the range is units, or a box.
  bool units(Range range, std::string& out) const;
  /// The end of the units that open the range.
  std::size_t leading_units(Range range, std::string& out) const;
  bool box(Range range, std::string& out) const;
  [[nodiscard]] bool is_door(Range range) const;
  bool house_at(std::size_t i, std::size_t last, House& house) const;
  bool house_in_front(Range range, House& house) const;
  bool house_behind(Range range, House& house) const;
  [[nodiscard]] bool opens_no_name(std::size_t i, std::size_t last) const;
  [[nodiscard]] std::size_t trailing_units(Range range) const;
  void put_house(std::string_view text, Canonical& out) const;
  [[nodiscard]] bool find_house(Range range, House& house) const;
  [[nodiscard]] std::size_t road_end_by_type(Range range) const;
  void road(Range range, std::string& out) const;
  void name(Range range, std::string& out) const;
  void town_name(Range range, std::string& out) const;
  void quarter(Range& range, std::string& out) const;
  void door(Range range, std::string& out) const;

  const Tokens* tokens_ = nullptr;
  const CountryRules* rules_ = nullptr;
  const WordBook* book_ = nullptr;
  WordBook::Text text_;
  Country country_;
  Postcode postcode_;
  std::vector<Range> segments_;
};

}  // namespace geonce
