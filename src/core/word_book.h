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
  front,  // street type before the name: rue, calle, ulica
  last,   // street type behind the name: road, utca
  tail,   // end of a compound that is a street type: -strasse
  unit,   // door, floor, staircase, building: an id follows
  mark,   // before a house number, and left out: No., nº
  extra,  // behind a house number, and part of it: bis, ter
  name,   // written out in names: St → saint
  box,    // box of a post office: a number follows
  admin,  // state or province, by code or name
};

/// The words of one country, from its word lists (tables/words_*.inc), in the country's letters.
/// Immutable, shared by all threads.
class WordBook {
 public:
  static const WordBook& of(const CountryRules& rules, Country country);

  struct Found {
    std::string_view code;  // empty: no such word there
    std::size_t count = 0;  // of tokens
    explicit operator bool() const { return count > 0; }
  };
  /// The longest word of this kind that begins at token `i` and ends by `last`.
  [[nodiscard]] Found at(WordKind kind,
                         const Tokens& tokens,
                         std::size_t i,
                         std::size_t last) const;
  /// The longest that ends before token `last` and does not begin before `first`.
  [[nodiscard]] Found before(WordKind kind,
                             const Tokens& tokens,
                             std::size_t first,
                             std::size_t last) const;
  /// The code with which a compound ends whose end is `tail`: lindenstrasse → str, 7 bytes.
  struct Tail {
    std::string_view code;
    std::size_t size = 0;
  };
  [[nodiscard]] Tail tail(const Token& token, std::string_view text) const;

 private:
  struct Use {
    WordKind kind;
    bool needs_stop;  // `r.` is rue, `r` is a letter
    std::string code;
  };
  static constexpr std::size_t kLongest = 4;  // tokens of a word

  void add(std::string_view list, TextFolder& folder, Country country);
  void add_word(WordKind kind,
                std::string_view code,
                std::string_view spelling,
                TextFolder& folder,
                Country country);
  [[nodiscard]] const Use* find(WordKind kind,
                                const Tokens& tokens,
                                std::size_t first,
                                std::size_t last) const;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::vector<Use>, Hash, std::equal_to<>> words_;
  struct TailWord {
    std::string spelling;
    Use use;
  };
  std::vector<TailWord> tails_;  // longest first
};

}  // namespace geonce
