#include "batch/encoding.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using namespace std::string_literals;

TEST(Encoding, every_byte_of_the_one_byte_encodings_comes_back) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (const auto encoding : {Encoding::windows_1252, Encoding::iso_8859_1}) {
    std::string utf8;
    const Decoded decoded = decode(encoding, bytes, utf8);
    EXPECT_EQ(decoded.taken, 256U);
    EXPECT_FALSE(decoded.is_invalid);
    std::string back;
    EXPECT_EQ(encode(encoding, utf8, back), std::nullopt);
    EXPECT_EQ(back, bytes);
  }
}

struct Case {
  const char* name;
  Encoding encoding;
  std::string bytes;
  std::string utf8;
  std::size_t taken;
  bool is_invalid;
};

TEST(Encoding, decodes_up_to_what_is_cut_or_invalid) {
  const std::vector<Case> cases{
      {"ascii", Encoding::utf_8, "abc", "abc", 3, false},
      {"two to four bytes", Encoding::utf_8, "é€😀", "é€😀", 9, false},
      {"cut after the first byte", Encoding::utf_8, "a\xC3", "a", 1, false},
      {"cut after three", Encoding::utf_8, "a\xF0\x9F\x98", "a", 1, false},
      {"a lone tail byte", Encoding::utf_8, "a\xA9z", "a", 1, true},
      {"a Latin-1 letter", Encoding::utf_8, "caf\xE9 x", "caf", 3, true},
      {"overlong slash", Encoding::utf_8, "\xC0\xAF", "", 0, true},
      {"overlong in three bytes", Encoding::utf_8, "\xE0\x80\xAF", "", 0, true},
      {"a surrogate", Encoding::utf_8, "\xED\xA0\x80", "", 0, true},
      {"beyond U+10FFFF", Encoding::utf_8, "\xF4\x90\x80\x80", "", 0, true},
      {"a NUL is a character", Encoding::utf_8, "a\0b"s, "a\0b"s, 3, false},
      {"after a long ASCII run",
       Encoding::utf_8,
       std::string(200, 'x') + "é",
       std::string(200, 'x') + "é",
       202,
       false},
      {"euro in 1252", Encoding::windows_1252, "\x80", "€", 1, false},
      {"the same byte in 8859-1", Encoding::iso_8859_1, "\x80", "\xC2\x80", 1, false},
      {"utf-16le", Encoding::utf_16le, "a\0\xE9\0"s, "aé", 4, false},
      {"utf-16be", Encoding::utf_16be, "\0a\0\xE9"s, "aé", 4, false},
      {"a pair", Encoding::utf_16be, "\xD8\x3D\xDE\x00"s, "😀", 4, false},
      {"half a pair at the end", Encoding::utf_16be, "\0a\xD8\x3D"s, "a", 2, false},
      {"half a unit at the end", Encoding::utf_16le, "a\0b"s, "a", 2, false},
      {"a second half alone", Encoding::utf_16be, "\xDE\x00\0a"s, "", 0, true},
      {"a first half alone", Encoding::utf_16be, "\xD8\x3D\0a"s, "", 0, true},
  };
  for (const Case& c : cases) {
    std::string utf8;
    const Decoded decoded = decode(c.encoding, c.bytes, utf8);
    EXPECT_EQ(utf8, c.utf8) << c.name;
    EXPECT_EQ(decoded.taken, c.taken) << c.name;
    EXPECT_EQ(decoded.is_invalid, c.is_invalid) << c.name;
    std::string back;
    EXPECT_EQ(encode(c.encoding, utf8, back), std::nullopt) << c.name;
    EXPECT_EQ(back, c.bytes.substr(0, c.taken)) << c.name;
  }
}

TEST(Encoding, a_character_that_is_not_there_is_named_not_replaced) {
  std::string bytes;
  EXPECT_EQ(encode(Encoding::windows_1252, "Łódź", bytes), U'Ł');
  EXPECT_EQ(encode(Encoding::iso_8859_1, "5 €", bytes), U'€');
  EXPECT_EQ(encode(Encoding::windows_1252, "\xC2\x80", bytes), char32_t{0x80});
}

TEST(Encoding, the_decoder_agrees_with_a_plain_reading_at_every_offset_of_a_block) {
  for (std::size_t lead = 0; lead < 140; ++lead) {
    const std::string good = std::string(lead, 'a') + "ß" + std::string(70, 'b');
    std::string utf8;
    EXPECT_EQ(decode(Encoding::utf_8, good, utf8).taken, good.size());
    EXPECT_EQ(is_ascii(good), false);
    EXPECT_EQ(is_ascii(std::string_view(good).substr(0, lead)), true);
  }
}

}  // namespace
}  // namespace geonce
