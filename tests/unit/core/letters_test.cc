#include "core/letters.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(Letters, marks_are_dropped_and_other_letters_become_question_marks) {
  EXPECT_EQ(in_ascii("7 Peña St, Cañon City"), "7 Pena St, Canon City");
  EXPECT_EQ(in_ascii("Pen\u0303a"), "Pena");
  EXPECT_EQ(in_ascii("½ Åse"), "1?2 Ase");
  EXPECT_EQ(in_ascii("東京 1"), "?? 1");
  EXPECT_EQ(in_ascii("#&;|\"\\%"), "#&;|\"\\%");
  EXPECT_EQ(in_ascii("bad \xE9 byte"), "bad ? byte");
  EXPECT_EQ(in_ascii(""), "");
}

TEST(Letters, utf8_is_told_from_other_bytes) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("Köln 東京 😀"));
  EXPECT_FALSE(is_utf8("K\xF6ln"));
  EXPECT_FALSE(is_utf8("cut \xE2\x82"));
  EXPECT_FALSE(is_utf8("\xC0\xAF"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
}

}  // namespace
}  // namespace geonce
