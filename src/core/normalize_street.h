#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/normalize_grammar.h"
#include "core/normalize_lexicon.h"

namespace geonce {

/// The parts of a street line as the US and Canada write them: house, road, unit, box. All ranges
/// lie within one field of the text unless said otherwise; every `out` is appended to.
class StreetRules {
 public:
  /// `tokens` carry the words of the country's lexicon and outlive the call sequence.
  void begin(const Tokens& tokens, bool canada, bool puerto_rico) {
    tokens_ = &tokens;
    canada_ = canada;
    puerto_rico_ = puerto_rico;
  }

  /// The end of a house number that opens the range and leaves a road behind it; `range.first` when
  /// there is none.
  std::size_t house(Range range, std::string* out) const;
  /// A field that holds a house number and nothing else.
  bool is_house(Range range, std::string& out) const;

  /// The end of the units that open the range. `inside` a street line the words after the id are no
  /// part of it.
  std::size_t units(Range range, bool inside, std::string& out) const;
  /// A lone `4B` between two commas is a unit.
  [[nodiscard]] bool is_bare_unit(Range range) const;
  static void append_unit(std::string_view unit_class, std::string_view id, std::string& out);

  /// The end of a PO box, rural route or the like that opens the range, which may cross commas.
  std::size_t box(Range range, std::string& out) const;

  void road(Range range, std::string& out);
  /// What a road ends with beyond doubt, looked for where no comma says it.
  enum class End { none, found, doubtful };
  /// `more_follows`: a state or postcode was taken off, so a locality is to be expected.
  End road_end(Range range, bool more_follows, std::size_t& end) const;
  [[nodiscard]] bool is_road(Range range) const;

  void locality(Range range, std::string& out) const;

  [[nodiscard]] const Word& word(std::size_t i) const { return *(*tokens_)[i].word; }
  [[nodiscard]] std::string_view view(std::size_t i) const { return tokens_->view(i); }
  [[nodiscard]] const Token& token(std::size_t i) const { return (*tokens_)[i]; }

 private:
  struct Direction {
    std::string_view code;
    std::size_t count = 0;
    bool spelt_out = false;
  };
  Direction direction_at(std::size_t i, std::size_t last) const;
  Direction direction_before(std::size_t i, std::size_t first) const;

  struct Highway {
    std::string_view code, number;
    std::size_t end = 0;  // 0: none
  };
  Highway highway_class(std::size_t i, std::size_t last) const;
  /// Appends the highway that opens the range and returns its end; `range.first` when there is
  /// none.
  std::size_t highway(Range range, std::string* out) const;
  [[nodiscard]] std::size_t grid_end(Range range) const;
  [[nodiscard]] std::size_t front_type_end(Range range) const;
  [[nodiscard]] std::size_t behind_type(std::size_t i, std::size_t last, bool& doubtful) const;

  void name(Range range, bool typed, std::string& out) const;
  bool french(Range range, std::string& out) const;
  bool type_in_front(Range range, std::string& out) const;
  [[nodiscard]] bool is_saint(std::size_t i, Range name) const;
  [[nodiscard]] bool is_single_letter(std::size_t i) const {
    return token(i).kind == Token::letters && token(i).size() == 1;
  }
  [[nodiscard]] bool is_plain_word(std::size_t i) const {
    return token(i).kind == Token::letters && token(i).size() >= 2;
  }
  std::size_t id(std::size_t i, Range range, bool inside, bool named, std::string& out) const;

  const Tokens* tokens_ = nullptr;
  bool canada_ = false;
  bool puerto_rico_ = false;
};

}  // namespace geonce
