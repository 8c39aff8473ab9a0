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
  /// errors    contradictory_fields  a city field names another state or postcode than their own
  Result<void> fields(const Tokens& tokens, const Parts& parts, Canonical& out);

  /// Han, Hangul and Thai are written in one order without marks between the parts, so that fields
  /// in them are read as the text they make.
  static bool reads_as_one(const QueryView& query, Country country);
  static std::string in_one_line(const QueryView& query, Country country);

  /// The line that reads back as `canonical`.
  static std::string one_line(const Canonical& canonical, const CountryRules& rules);

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct House {
    Range range;  // of its tokens, the mark included; empty: none
    std::string text;
  };
  struct Street {
    std::size_t segment = kNone;  // where it stands
    Range road;
    House house;
    Range tail;         // behind the number: doors
    std::string units;  // in front of it
  };

  void begin(const Tokens& tokens, Country country);
  void split(Range range, std::vector<Range>& segments) const;

  // The steps of a free text.
  void take_own_country(Range& text);
  bool find_segments(Range text, Canonical& out);
  void take_admin(Canonical& out);
  void take_boxes(Canonical& out);
  bool find_street(Street& street);
  bool find_road(Street& street);
  bool cut_off_town(Street& street);
  void put_street(const Street& street, Canonical& out) const;
  void put_rest(const Street& street, Canonical& out) const;
  [[nodiscard]] bool is_in_own_script(Range text) const;
  void in_own_script(Range text, Canonical& out) const;

  // The steps of fields.
  Range find_line(const Parts& parts, Street& street);
  void take_number(Range number, Street& street) const;
  void drop_number(Street& street) const;
  void find_number(Street& street) const;
  void put_unit(Range unit, Canonical& out) const;
  Result<void> put_town(const Parts& parts, Canonical& out);
  void put_state(Range state, Canonical& out) const;
  Result<void> take_postcode(Range& city, Canonical& out);
  Result<void> take_state(Range& city, Canonical& out) const;

  // How a number and its road may stand.
  bool unit_and_house(Range range, Street& street) const;
  bool house_before_road(Range range, Range next, Street& street) const;
  bool numbered_street(Range range, Range next, Street& street) const;
  bool house_and_road(Range range, Street& street) const;
  bool house_behind_road(Range range, Range next, Street& street) const;

  // Units and boxes.
  /// All of the range is units.
  bool units(Range range, std::string& out) const;
  void doors(Range range, std::string& out) const;
  /// The end of the units that open the range.
  std::size_t leading_units(Range range, std::string& out) const;
  /// Where the units begin that end the range; its end when there are none.
  [[nodiscard]] std::size_t trailing_units(Range range) const;
  bool glued_unit(std::size_t i, std::string& out) const;
  WordBook::Found storey(std::size_t i, std::size_t last, std::string_view& number) const;
  std::size_t box(Range range, std::string& out) const;
  [[nodiscard]] bool is_door(Range range) const;
  void door(Range range, std::string& out) const;

  // The number.
  [[nodiscard]] bool is_lettered_house(std::string_view text) const;
  bool house_at(std::size_t i, std::size_t last, House& house) const;
  bool house_in_front(Range range, House& house) const;
  bool house_behind(Range range, House& house) const;
  [[nodiscard]] bool find_house(Range range, House& house) const;
  [[nodiscard]] bool opens_no_name(std::size_t i, std::size_t last) const;
  void put_house(std::string_view text, Canonical& out) const;

  // Names.
  [[nodiscard]] bool is_square(Range range) const;
  [[nodiscard]] bool is_numbered_road(Range range) const;
  [[nodiscard]] std::size_t road_end_by_type(Range range) const;
  void road(Range range, std::string& out) const;
  void name(Range range, std::string& out) const;
  void town_name(Range range, std::string& out) const;
  void quarter(Range& range, std::string& out) const;
  void add_extra(Range range, std::string& out) const;

  const Tokens* tokens_ = nullptr;
  const CountryRules* rules_ = nullptr;
  const WordBook* book_ = nullptr;
  WordBook::Text text_;
  Country country_;
  Postcode postcode_;
  std::vector<Range> segments_;
  std::vector<bool> spent_;
  std::size_t town_ = kNone;  // the segment behind the postcode
  bool has_boundary_ = false;
};

}  // namespace geonce
