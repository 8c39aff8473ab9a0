#pragma once

#include <string>
#include <vector>

#include "core/normalize_grammar.h"
#include "core/normalize_lexicon.h"
#include "core/normalize_street.h"

namespace geonce {

/// The address lines of the US, its territories and Canada.
class NorthAmericanGrammar {
 public:
  static bool speaks_for(Country country);

  void free_text(Tokens& tokens, Range text, Canonical& out);
  /// errors    contradictory_fields  two fields name two states, postcodes or house numbers
  Result<void> fields(Tokens& tokens, const Parts& parts, Canonical& out);

 private:
  /// What stands at the end of an address: a state, a postcode.
  struct LastLine {
    std::size_t end = 0;  // what is left ends here
    std::string_view admin;
    std::string postcode, full_postcode;  // 89501; 89501-1234
    [[nodiscard]] bool found() const { return !admin.empty() || !postcode.empty(); }
  };

  void begin(Tokens& tokens, Canonical& out);
  void take_last_line(Range range, LastLine& line);
  std::size_t take_postcode(Range range, LastLine& line) const;
  [[nodiscard]] bool may_be_postcode(std::size_t i, Range range) const;
  std::size_t take_admin(Range range, bool postcode_follows, LastLine& line);
  std::size_t admin_before(std::size_t last,
                           std::size_t first,
                           std::string_view& code,
                           bool& name) const;
  bool leaves_a_town(Range range);
  [[nodiscard]] std::size_t segment_of(std::size_t i, std::size_t first) const;

  void split(Range range);
  bool address(Range range, bool last_line_found, bool town_known);
  bool street(std::size_t index, std::size_t house_first, bool last_line_found, bool town_known);
  bool street_line(Range range, bool has_house, bool town_wanted, bool closed, bool more_follows);
  bool box_only(std::size_t index, bool town_known);
  bool intersection(bool last_line_found);
  bool leading(std::size_t count);
  bool trailing(std::size_t index, bool town_known);
  [[nodiscard]] bool is_urbanization(Range range) const;
  void append_extra(Range range);
  void take_road(Range range);
  void take_town(Range range);
  void finish(Mode mode);
  void clear();

  Result<void> town_field(const Parts& parts);

  Tokens* tokens_ = nullptr;
  Canonical* out_ = nullptr;
  StreetRules rules_;
  bool canada_ = false;
  LastLine line_;
  std::vector<Range> segments_;
  std::vector<Range> others_;  // segments behind the street that are no unit and no box
  Range road_, town_;          // where they stood in the text
  std::string leading_units_, inner_units_, trailing_units_, scratch_;
};

}  // namespace geonce
