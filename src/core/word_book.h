#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/country_rules.h"
#include "core/normalize_text.h"

namespace geonce {

/// What a word may be in an address, by where it stands.
enum class WordKind : std::uint8_t {
  front,      // street type before the name: rue, calle, ulica
  last,       // street type behind the name: road, utca
  tail,       // end of a compound that is a street type: -strasse
  unit,       // door, floor, staircase, building: an id follows
  alone,      // door, floor or side that needs no id: rear, izquierda
  mark,       // before a house number, and left out: No., nº
  extra,      // behind a house number, and part of it: bis, ter
  name,       // written out in names: St → saint
  box,        // box of a post office: a number follows
  town,       // before a town's name, and left out: г.
  quarter,    // ends the name of a quarter, which stands before the road
  admin,      // state or province, by code or name
  state,      // one whose name is also a town's: certain where only a state can stand
  storey,     // a floor, behind its number: 12/F, 12th Floor
  behind,     // may stand behind the type: north, extension
  no_number,  // stands for the number of a house that has none: s/n
};

/// What one word may be.
struct WordUse {
  WordKind kind;
  bool needs_stop;  // `r.` is rue, `r` is a letter
  std::string code;
};

/// A word, and what longer words begin with it. Kinds are sets of bits, so that most questions are
/// answered without a look at the uses.
struct WordEntry {
  std::uint16_t kinds = 0;
  std::uint16_t longer = 0;  // kinds of words of several tokens that begin so
  std::vector<WordUse> uses;
};

/// The words of one country, from its word lists (tables/words_*.inc), in the country's letters.
/// Immutable, shared by all threads.
class WordBook {
 public:
  static const WordBook& of(const CountryRules& rules, Country country);

  /// A text's tokens and the entry of each, so that it is looked up once.
  struct Text {
    const Tokens* tokens = nullptr;
    std::vector<const WordEntry*> entries;
  };
  void look_up(const Tokens& tokens, Text& out) const;

  struct Found {
    std::string_view code;
    std::size_t count = 0;  // of tokens; 0: no such word there
    explicit operator bool() const { return count > 0; }
  };
  /// The longest word of this kind that begins at token `i` and ends by `last`.
  [[nodiscard]] Found at(WordKind kind, const Text& text, std::size_t i, std::size_t last) const;
  /// The longest that ends before token `last` and does not begin before `first`.
  [[nodiscard]] Found before(WordKind kind,
                             const Text& text,
                             std::size_t first,
                             std::size_t last) const;
  /// A word that is a part of a token: the f of 12/f.
  [[nodiscard]] Found word(WordKind kind, std::string_view text) const;
  /// The code with which a compound ends: lindenstrasse → str for its last 7 bytes.
  struct Tail {
    std::string_view code;
    std::size_t size = 0;
  };
  [[nodiscard]] Tail tail(const Token& token, std::string_view text) const;

 private:
  static constexpr std::size_t kLongest = 5;  // tokens of a word

  void add(std::string_view wanted, TextFolder& folder, Country country);
  void add_word(WordKind kind,
                std::string_view code,
                std::string_view spelling,
                TextFolder& folder,
                Country country);
  [[nodiscard]] const WordUse* find(WordKind kind,
                                    const Text& text,
                                    std::size_t first,
                                    std::size_t last) const;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, WordEntry, Hash, std::equal_to<>> words_;
  struct TailWord {
    std::string spelling;
    WordUse use;
  };
  std::vector<TailWord> tails_;  // longest first
};

}  // namespace geonce
