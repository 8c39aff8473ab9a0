#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/country.h"
#include "core/result.h"

namespace geonce {

/// Which marks on letters a country's postal convention leaves out. docs/formats/key.md, "Letters".
enum class Diacritics : std::uint8_t {
  keep,      // Nordic, Baltic, Slavic, Turkish, Vietnamese … and where nobody said which country
  latin,     // every mark on Latin letters off: US, FR, PT …
  spanish,   // as latin, but ñ stays
  german,    // ä → ae, ö → oe, ü → ue, other marks off
  danish,    // æ → ae, ø → oe, å → aa, other marks off
  romanian,  // ş ţ (cedilla) → ș ț (comma below)
  greek,     // tonos off
  russian,   // ё → е
  semitic,   // Hebrew points, Arabic vowel signs and tatweel off
  taiwan,    // 臺 → 台
};

Diacritics diacritics_of(Country country);

/// Characters: case, width, compatibility forms, digits, dashes, quotes, marks. What comes out
/// holds words, ` ` between them, `,` where a line or field ends, and the marks `. ' - / & + # :`
/// as spelt.
class TextFolder {
 public:
  TextFolder();
  ~TextFolder();
  TextFolder(const TextFolder&) = delete;
  TextFolder& operator=(const TextFolder&) = delete;

  /// errors    invalid_address  invalid UTF-8
  Result<void> fold(std::string_view bytes, Diacritics diacritics, std::string& out);
  /// The same by the Unicode library alone: what `fold` says in less time of texts whose letters do
  /// not depend on their neighbours.
  Result<void> fold_at_length(std::string_view bytes, Diacritics diacritics, std::string& out);

 private:
  struct Buffers;
  bool fold_by_letter(std::string_view bytes, Diacritics diacritics, std::string& out);
  std::unique_ptr<Buffers> buffers_;  // made for the first text that is not ASCII
};

struct Word;  // an entry of a lexicon, normalize_lexicon.h

/// A piece of the folded text: a word, a number, or one of the marks `& # -` on its own.
struct Token {
  enum Kind : std::uint8_t { digits = 1, letters = 2, marks = 4 };  // what it is made of, a set

  std::uint16_t begin = 0, end = 0;  // offsets into Tokens::text
  std::uint8_t kind = 0;
  bool after_break = false;   // a comma or line end stands before it
  bool after_hyphen = false;  // it was joined to the token before by a hyphen
  bool dotted = false;        // a stop stands behind it
  const Word* word = nullptr;

  [[nodiscard]] bool is_number() const { return kind == digits; }
  [[nodiscard]] bool has_digit() const { return (kind & digits) != 0; }
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

/// The tokens of one text, with one space between them, so that a run of tokens is a view.
struct Tokens {
  std::string text;
  std::vector<Token> items;

  void clear() {
    text.clear();
    items.clear();
  }
  [[nodiscard]] std::size_t size() const { return items.size(); }
  const Token& operator[](std::size_t i) const { return items[i]; }
  Token& operator[](std::size_t i) { return items[i]; }
  [[nodiscard]] std::string_view view(std::size_t i) const { return view(i, i + 1); }
  /// Tokens [first, last) as written between single spaces.
  [[nodiscard]] std::string_view view(std::size_t first, std::size_t last) const {
    if (first >= last) return {};
    return std::string_view(text).substr(items[first].begin,
                                         std::size_t{items[last - 1].end} - items[first].begin);
  }
};

/// Tokens [first, last).
struct Range {
  std::size_t first = 0, last = 0;
  [[nodiscard]] bool empty() const { return first >= last; }
  [[nodiscard]] std::size_t size() const { return empty() ? 0 : last - first; }
};

/// How a country writes words; the rest of the token rules hold everywhere.
struct TokenRules {
  bool splits_elisions = false;     // l'Étoile is two words
  bool joins_contractions = false;  // v.le, p.za, c.so are one
};
TokenRules token_rules_of(Country country);

/// Appends the tokens of a folded text; the first of them counts as standing after a break.
void tokenize(std::string_view folded, TokenRules rules, Tokens& out);

}  // namespace geonce
