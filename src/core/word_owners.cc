#include "core/word_owners.h"

#include <algorithm>
#include <array>
#include <utility>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/ustring.h>

namespace geonce {
namespace {

/// Letters that have no marks to take off and are still written as others where only ASCII is
/// known.
constexpr std::array<std::pair<UChar32, std::string_view>, 14> kLetters{{{U'æ', "ae"},
                                                                         {U'œ', "oe"},
                                                                         {U'ø', "o"},
                                                                         {U'đ', "d"},
                                                                         {U'ð', "d"},
                                                                         {U'ł', "l"},
                                                                         {U'ħ', "h"},
                                                                         {U'ŧ', "t"},
                                                                         {U'þ', "th"},
                                                                         {U'ß', "ss"},
                                                                         {U'ı', "i"},
                                                                         {U'ŋ', "n"},
                                                                         {U'ſ', "s"},
                                                                         {U'ĸ', "q"}}};

bool is_bare(UChar32 c) {
  switch (u_charType(c)) {
    case U_UPPERCASE_LETTER:
    case U_LOWERCASE_LETTER:
    case U_TITLECASE_LETTER:
    case U_MODIFIER_LETTER:
    case U_OTHER_LETTER:
    case U_COMBINING_SPACING_MARK:
    case U_DECIMAL_DIGIT_NUMBER:
    case U_LETTER_NUMBER:
    case U_OTHER_NUMBER:
      return true;
    default:
      return false;
  }
}

/// nullopt: not UTF-8.
std::optional<icu::UnicodeString> decoded(std::string_view text) {
  const auto size = static_cast<std::int32_t>(text.size());
  std::int32_t units = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8(nullptr, 0, &units, text.data(), size, &status);
  if (status == U_INVALID_CHAR_FOUND) return std::nullopt;
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), size));
}

}  // namespace

std::optional<std::string> bare_letters(std::string_view text) {
  const auto whole = decoded(text);
  if (!whole) return std::nullopt;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const decomposer = icu::Normalizer2::getNFDInstance(status);
  const icu::UnicodeString apart = decomposer->normalize(*whole, status);
  if (U_FAILURE(status) != 0) return std::nullopt;
  std::string bare;
  for (std::int32_t at = 0; at < apart.length(); at = apart.moveIndex32(at, 1)) {
    const UChar32 c = u_tolower(apart.char32At(at));
    if (!is_bare(c)) continue;
    const auto* const known =
        std::ranges::find(kLetters, c, &std::pair<UChar32, std::string_view>::first);
    if (known != kLetters.end())
      bare += known->second;
    else
      icu::UnicodeString(c).toUTF8String(bare);
  }
  return bare;
}

std::optional<std::vector<std::size_t>> word_owners(const Tokens& tokens,
                                                    const std::vector<TextPart>& parts) {
  constexpr auto kNone = SIZE_MAX;
  std::vector<std::size_t> owners(tokens.size(), kNone);
  std::string part;           // what is left of the letters of the part
  std::size_t next_part = 0;  // the one behind it
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto letters = bare_letters(tokens.view(i));
    if (!letters) return std::nullopt;
    if (letters->empty()) continue;
    while (part.empty() && next_part < parts.size()) {
      auto bare = bare_letters(parts[next_part++].words);
      if (!bare) return std::nullopt;
      part = std::move(*bare);
    }
    if (!part.starts_with(*letters)) return std::nullopt;
    part.erase(0, letters->size());
    owners[i] = next_part - 1;
  }
  if (!part.empty()) return std::nullopt;
  for (; next_part < parts.size(); ++next_part)
    if (const auto bare = bare_letters(parts[next_part].words); !bare || !bare->empty())
      return std::nullopt;
  std::size_t behind = kNone;
  for (std::size_t i = tokens.size(); i-- > 0;) {
    if (owners[i] == kNone) owners[i] = behind;
    behind = owners[i];
  }
  for (std::size_t i = 1; i < tokens.size(); ++i)  // at the end there is none behind
    if (owners[i] == kNone) owners[i] = owners[i - 1];
  if (!owners.empty() && owners.front() == kNone) return std::nullopt;
  return owners;
}

}  // namespace geonce
