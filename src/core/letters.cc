#include "core/letters.h"

#include <algorithm>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

namespace geonce {

// The macro narrows inside itself.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    UChar32 c = 0;
    U8_NEXT(text, at, text.size(), c);
    if (c < 0) return false;
  }
  return true;
}
#pragma GCC diagnostic pop

std::string in_ascii(std::string_view utf8) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(utf8.begin(), utf8.end(), is_ascii)) return std::string(utf8);
  UErrorCode status = U_ZERO_ERROR;
  const auto* nfkd = icu::Normalizer2::getNFKDInstance(status);
  const auto whole = icu::UnicodeString::fromUTF8({utf8.data(), static_cast<int>(utf8.size())});
  const auto apart = U_SUCCESS(status) != 0 ? nfkd->normalize(whole, status) : whole;
  std::string out;
  for (std::int32_t at = 0; at < apart.length(); at = apart.moveIndex32(at, 1)) {
    const UChar32 c = apart.char32At(at);
    if (c < 0x80)
      out += static_cast<char>(c);
    else if (u_getCombiningClass(c) == 0)
      out += '?';
  }
  return out;
}

}  // namespace geonce
