#include "batch/encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "batch/scan.h"

namespace geonce {
namespace {

using namespace std::string_view_literals;

constexpr std::array<std::pair<Encoding, std::string_view>, 5> kNames{{
    {Encoding::utf_8, "utf-8"},
    {Encoding::utf_16le, "utf-16le"},
    {Encoding::utf_16be, "utf-16be"},
    {Encoding::windows_1252, "windows-1252"},
    {Encoding::iso_8859_1, "iso-8859-1"},
}};

// Bytes 0x80 to 0x9F of Windows-1252 (unicode.org, VENDORS/MICSFT/WINDOWS/CP1252.TXT). The five
// bytes that table leaves open stand for the C1 controls of the same number, as in the WHATWG
// Encoding Standard, so that every byte comes back.
constexpr std::array<char16_t, 32> kWindows1252{
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

std::size_t ascii_run(std::string_view bytes, std::size_t from) {
  std::size_t at = from;
  for (; at + kBlock <= bytes.size(); at += kBlock)
    if (const auto mask = beyond_ascii_mask(bytes.data() + at); mask != 0)
      return at + static_cast<std::size_t>(std::countr_zero(mask));
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at;
}

enum class Sequence : std::uint8_t { valid, cut, invalid };
struct Utf8Sequence {
  Sequence kind;
  std::size_t size;
};

// Table 3-7 of the Unicode Standard: the second byte's range depends on the first.
Utf8Sequence utf8_sequence(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(0);
  std::size_t size = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first < 0x80) return {Sequence::valid, 1};
  if (first >= 0xC2 && first <= 0xDF) {
    size = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    size = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    size = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return {Sequence::invalid, 0};
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (i == bytes.size()) return {Sequence::cut, i};
    if (byte(i) < low || byte(i) > high) return {Sequence::invalid, 0};
    low = 0x80;
    high = 0xBF;
  }
  return {Sequence::valid, size};
}

Decoded decode_utf8(std::string_view bytes, std::string& utf8) {
  Decoded decoded;
  for (std::size_t at = 0;;) {
    at = ascii_run(bytes, at);
    decoded.taken = at;
    if (at == bytes.size()) break;
    const Utf8Sequence sequence = utf8_sequence(bytes.substr(at));
    decoded.is_invalid = sequence.kind == Sequence::invalid;
    if (sequence.kind != Sequence::valid) break;
    at += sequence.size;
  }
  utf8.append(bytes.substr(0, decoded.taken));
  return decoded;
}

Decoded decode_one_byte(Encoding encoding, std::string_view bytes, std::string& utf8) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t beyond = ascii_run(bytes, at);
    utf8.append(bytes.substr(at, beyond - at));
    at = beyond;
    if (at == bytes.size()) break;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    const bool by_table = encoding == Encoding::windows_1252 && byte < 0xA0;
    append_utf8(by_table ? char32_t{kWindows1252[byte - 0x80U]} : char32_t{byte}, utf8);
  }
  return {bytes.size(), false};
}

bool is_high_surrogate(char32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(char32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

Decoded decode_utf16(bool big_endian, std::string_view bytes, std::string& utf8) {
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<char32_t>(big_endian ? first << 8 | second : second << 8 | first);
  };
  std::size_t at = 0;
  while (at + 2 <= bytes.size()) {
    const char32_t first = unit(at);
    if (is_low_surrogate(first)) return {at, true};
    if (!is_high_surrogate(first)) {
      append_utf8(first, utf8);
      at += 2;
      continue;
    }
    if (at + 4 > bytes.size()) break;
    const char32_t second = unit(at + 2);
    if (!is_low_surrogate(second)) return {at, true};
    append_utf8(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), utf8);
    at += 4;
  }
  return {at, false};
}

// The text comes from `decode` or from an answer; what is not valid in the latter becomes U+FFFD.
char32_t next_character(std::string_view utf8, std::size_t& at) {
  const Utf8Sequence sequence = utf8_sequence(utf8.substr(at));
  if (sequence.kind != Sequence::valid) {
    ++at;
    return 0xFFFD;
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(utf8[at + i]); };
  char32_t c = byte(0);
  if (sequence.size == 2) c &= 0x1F;
  if (sequence.size == 3) c &= 0x0F;
  if (sequence.size == 4) c &= 0x07;
  for (std::size_t i = 1; i < sequence.size; ++i) c = c << 6 | (byte(i) & 0x3F);
  at += sequence.size;
  return c;
}

std::optional<unsigned char> one_byte(Encoding encoding, char32_t c) {
  if (c < 0x80 || (c >= 0xA0 && c <= 0xFF)) return static_cast<unsigned char>(c);
  if (encoding == Encoding::iso_8859_1)
    return c <= 0xFF ? std::optional(static_cast<unsigned char>(c)) : std::nullopt;
  const auto* const found = std::find(kWindows1252.begin(), kWindows1252.end(), c);
  if (found == kWindows1252.end()) return std::nullopt;
  return static_cast<unsigned char>(0x80 + (found - kWindows1252.begin()));
}

}  // namespace

void append_utf8(char32_t c, std::string& utf8) {
  const auto put = [&](char32_t byte) {
    utf8 += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string_view to_string(Encoding encoding) {
  return kNames.at(static_cast<std::size_t>(encoding)).second;
}

std::optional<Encoding> parse_encoding(std::string_view word) {
  for (const auto& [encoding, name] : kNames)
    if (name == word) return encoding;
  return std::nullopt;
}

std::string_view byte_order_mark(Encoding encoding) {
  switch (encoding) {
    case Encoding::utf_8:
      return "\xEF\xBB\xBF"sv;
    case Encoding::utf_16le:
      return "\xFF\xFE"sv;
    case Encoding::utf_16be:
      return "\xFE\xFF"sv;
    case Encoding::windows_1252:
    case Encoding::iso_8859_1:
      return {};
  }
  return {};
}

bool is_ascii(std::string_view bytes) { return ascii_run(bytes, 0) == bytes.size(); }

Decoded decode(Encoding encoding, std::string_view bytes, std::string& utf8) {
  switch (encoding) {
    case Encoding::utf_8:
      return decode_utf8(bytes, utf8);
    case Encoding::utf_16le:
      return decode_utf16(false, bytes, utf8);
    case Encoding::utf_16be:
      return decode_utf16(true, bytes, utf8);
    case Encoding::windows_1252:
    case Encoding::iso_8859_1:
      return decode_one_byte(encoding, bytes, utf8);
  }
  return {};
}

std::optional<char32_t> encode(Encoding encoding, std::string_view utf8, std::string& bytes) {
  if (encoding == Encoding::utf_8) {
    bytes.append(utf8);
    return std::nullopt;
  }
  const bool big_endian = encoding == Encoding::utf_16be;
  const auto put_unit = [&](char32_t unit) {
    const auto high = static_cast<char>(static_cast<unsigned char>(unit >> 8));
    const auto low = static_cast<char>(static_cast<unsigned char>(unit & 0xFF));
    bytes += big_endian ? high : low;
    bytes += big_endian ? low : high;
  };
  const bool has_units = encoding == Encoding::utf_16le || big_endian;
  for (std::size_t at = 0; at < utf8.size();) {
    if (const std::size_t beyond = has_units ? at : ascii_run(utf8, at); beyond > at) {
      bytes.append(utf8.substr(at, beyond - at));
      at = beyond;
      continue;
    }
    const char32_t c = next_character(utf8, at);
    if (has_units) {
      if (c < 0x10000) {
        put_unit(c);
      } else {
        put_unit(0xD800 + ((c - 0x10000) >> 10));
        put_unit(0xDC00 + ((c - 0x10000) & 0x3FF));
      }
      continue;
    }
    const auto byte = one_byte(encoding, c);
    if (!byte) return c;
    bytes += static_cast<char>(*byte);
  }
  return std::nullopt;
}

}  // namespace geonce
