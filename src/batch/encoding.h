#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace geonce {

/// How text stands in a file. Inside the program text is UTF-8; each of these comes back to the
/// same bytes, so rows can be decoded, worked on and encoded again without a loss.
enum class Encoding : std::uint8_t { utf_8, utf_16le, utf_16be, windows_1252, iso_8859_1 };

/// "utf-8", "utf-16le", …
std::string_view to_string(Encoding encoding);
std::optional<Encoding> parse_encoding(std::string_view word);

/// Its byte order mark; empty for the one-byte encodings.
std::string_view byte_order_mark(Encoding encoding);

struct Decoded {
  std::size_t taken = 0;  // bytes that were understood
  bool is_invalid =
      false;  // what follows them can never be; else they are all, or all but a cut end
};
/// Appends `bytes` as UTF-8, as far as they are valid: RFC 3629 (no surrogates, no overlong forms),
/// paired surrogates in UTF-16. The one-byte encodings have a character for every byte.
Decoded decode(Encoding encoding, std::string_view bytes, std::string& utf8);

bool is_ascii(std::string_view bytes);
void append_utf8(char32_t character, std::string& utf8);

/// Appends valid UTF-8 in another encoding.
/// returns   nullopt, or the first character that the encoding does not have
std::optional<char32_t> encode(Encoding encoding, std::string_view utf8, std::string& bytes);

}  // namespace geonce
