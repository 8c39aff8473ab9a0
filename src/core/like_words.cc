#include "core/like_words.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "core/normalize_text.h"

namespace geonce {
namespace {

constexpr std::size_t kShortestMisspelt = 4;  // oak and oat, nw and ne are two words

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Letters only, of any script: no digit, no mark of punctuation.
bool has_letters_only(std::string_view word) {
  return std::ranges::all_of(
      word, [](char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; });
}

bool is_roman_numeral(std::u32string_view word) {
  return word.find_first_not_of(U"ivx") == std::u32string_view::npos;
}

bool is_ideograph(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_IDEOGRAPHIC) != 0;
}

// The macro narrows inside itself.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
/// False: not UTF-8.
bool decode(std::string_view text, std::u32string& out) {
  out.clear();
  for (std::size_t at = 0; at < text.size();) {
    UChar32 c = 0;
    U8_NEXT(text, at, text.size(), c);
    if (c < 0) return false;
    out += static_cast<char32_t>(c);
  }
  return true;
}
#pragma GCC diagnostic pop

/// What is left of two words without the letters that they begin with alike, and end with alike.
template <class View>
void strip_equal_ends(View& a, View& b) {
  const auto begin = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  a.remove_prefix(begin);
  b.remove_prefix(begin);
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
}

/// One letter more, less or other, or two neighbours exchanged.
bool is_one_edit(std::u32string_view a, std::u32string_view b) {
  strip_equal_ends(a, b);
  if (a.size() <= 1 && b.size() <= 1) return true;
  return a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
}

template <class View>
bool is_subsequence(View part, View whole) {
  std::size_t found = 0;
  for (const auto c : whole)
    if (found < part.size() && part[found] == c) ++found;
  return found == part.size();
}

}  // namespace

struct LikeWords::State {
  TextFolder folder;
  std::string bare, one, other;
  std::u32string a, b;
  std::unordered_map<char32_t, char32_t> bare_letters;  // of the first letters met so far

  /// Without marks on Latin letters by `latin`'s rule, and on those of other scripts. False: not
  /// UTF-8.
  bool strip_marks(std::string_view word, Diacritics latin, std::string& out) {
    out = word;
    if (is_ascii(word)) return true;
    for (const auto rule :
         {latin, Diacritics::latin, Diacritics::greek, Diacritics::russian, Diacritics::semitic}) {
      bare.clear();
      if (!folder.fold(out, rule, bare)) return false;
      std::swap(out, bare);
    }
    return true;
  }
};

LikeWords::LikeWords() : state_(std::make_unique<State>()) {}
LikeWords::~LikeWords() = default;

char32_t LikeWords::first_letter(std::string_view word) {
  if (!has_letters_only(word)) return 0;
  if (is_ascii(word)) return word.size() < 2 ? 0 : static_cast<unsigned char>(word.front());
  State& s = *state_;
  if (!decode(word, s.a) || s.a.size() < 2) return 0;
  const auto [known, is_new] = s.bare_letters.try_emplace(s.a.front(), 0);
  if (!is_new) return known->second;
  std::size_t size = 0;
  const char* bytes = word.data();
  U8_FWD_1(bytes, size, word.size());
  if (s.strip_marks(word.substr(0, size), Diacritics::latin, s.one) && decode(s.one, s.a) &&
      !s.a.empty())
    known->second = s.a.front();
  return known->second;
}

std::optional<WordLikeness> LikeWords::operator()(std::string_view a, std::string_view b) {
  if (a == b || !has_letters_only(a) || !has_letters_only(b)) return std::nullopt;
  State& s = *state_;
  if (!is_ascii(a) || !is_ascii(b)) {
    if (!decode(a, s.a) || !decode(b, s.b) || s.a.size() < 2 || s.b.size() < 2) return std::nullopt;
    for (const auto rule : {Diacritics::german, Diacritics::danish, Diacritics::latin}) {
      if (!s.strip_marks(a, rule, s.one) || !s.strip_marks(b, rule, s.other)) return std::nullopt;
      if (s.one == s.other) return WordLikeness::marks;
    }
    a = s.one;
    b = s.other;
  }
  if (a.size() < 2 || b.size() < 2 || a.front() != b.front()) return std::nullopt;
  if (a.size() > b.size()) std::swap(a, b);
  // In bytes, which costs less than letters, and rejects nearly all.
  std::string_view left = a, right = b;
  strip_equal_ends(left, right);
  const bool may_be_edit = right.size() <= std::size_t{2} * U8_MAX_LENGTH;
  const bool may_be_abbreviation = is_subsequence(a, b);
  if (!may_be_edit && !may_be_abbreviation) return std::nullopt;
  if (!decode(a, s.a) || !decode(b, s.b)) return std::nullopt;
  if (s.a.size() > s.b.size()) std::swap(s.a, s.b);
  if (s.a.size() < 2 || s.a.front() != s.b.front()) return std::nullopt;
  if (is_roman_numeral(s.a) && is_roman_numeral(s.b)) return std::nullopt;
  if (s.a.size() >= kShortestMisspelt && is_one_edit(s.a, s.b))
    return std::ranges::any_of(s.b, is_ideograph) ? std::nullopt
                                                  : std::optional(WordLikeness::misspelling);
  if (s.a.size() < s.b.size() && is_subsequence<std::u32string_view>(s.a, s.b))
    return WordLikeness::abbreviation;
  return std::nullopt;
}

}  // namespace geonce
