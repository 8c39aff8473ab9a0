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

/// Length of the longest start of `bytes` that is valid UTF-8 (RFC 3629: no surrogates, no overlong
/// forms). A sequence that is cut off at the end counts as invalid.
std::size_t valid_utf8_prefix(std::string_view bytes);
bool is_ascii(std::string_view bytes);
/// The bytes of a sequence, 0 to 3, that `bytes` (valid so far) begins at its end without finishing
/// it.
std::size_t cut_utf8_tail(std::string_view bytes);

/// Appends `bytes` as UTF-8 and returns how many of them were taken: all, except a cut sequence at
/// the end and whatever follows the first that is invalid. For utf_8 it copies what is valid.
std::size_t decode(Encoding encoding, std::string_view bytes, std::string& utf8);

/// Appends valid UTF-8 in another encoding.
/// returns   nullopt, or the first character that the encoding does not have
std::optional<char32_t> encode(Encoding encoding, std::string_view utf8, std::string& bytes);

}  // namespace geonce
