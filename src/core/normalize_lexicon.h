#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/normalize_text.h"

namespace geonce {

/// All a word may be. Which of it a word is depends on where it stands.
struct Word {
  std::string_view text;
  std::string_view type;       // street type: its code
  std::string_view direction;  // n, ne, …
  std::string_view unit;       // unit class: apt, ste, …
  std::string_view admin;      // state or province code, for codes and names of one word
  std::uint8_t number = 0;     // one … nineteen, twenty, thirty …
  std::uint8_t ordinal = 0;    // first … nineteenth, twentieth, thirtieth …
  bool in_towns = false;       // the street type also ends names of towns
  bool stands_alone = false;   // the unit needs no number behind it
  bool sure_unit = false;      // the unit is one anywhere behind a street
  bool opens_highway = false;  // may begin State Route 9, US 30 …
  bool opens_box = false;      // may begin PO Box 3, RR 2 Box 4 …
  bool owns_number = false;    // a number behind it is its own, no postcode

  [[nodiscard]] bool is_type() const { return !type.empty(); }
  [[nodiscard]] bool is_strong_type() const { return !type.empty() && !in_towns; }
  [[nodiscard]] bool is_direction() const { return !direction.empty(); }
  [[nodiscard]] bool is_unit() const { return !unit.empty(); }
};

/// Admin names of more than one word.
struct AdminName {
  std::string_view code, name;
};

/// The words of one country's grammar. Immutable, shared by all threads.
class Lexicon {
 public:
  static const Lexicon& us();
  static const Lexicon& ca();

  /// A word nobody knows has all members empty; never null.
  [[nodiscard]] const Word& find(std::string_view text) const;
  [[nodiscard]] const std::vector<AdminName>& long_admins() const { return long_admins_; }
  /// Points every token at its word.
  void annotate(Tokens& tokens) const;

 private:
  Lexicon();
  Word& at(std::string_view text);
  void add_admin(std::string_view code, std::string_view names);
  [[nodiscard]] std::size_t slot_of(std::string_view text) const;

  static constexpr std::size_t kSlots = 4096;
  static constexpr std::size_t kLongestWord = 16;
  std::vector<Word> words_;
  std::array<std::uint16_t, kSlots> slots_{};  // index into words_, 0 (the unknown word) when free
  std::vector<AdminName> long_admins_;
};

}  // namespace geonce
