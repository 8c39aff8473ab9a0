#include "gateway/parameters.h"

#include <array>

#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(Parameters, are_decoded) {
  Parameters parameters;
  ASSERT_TRUE(parameters.read("q=1+Main%20St%2c+Z%C3%BCrich&empty=&flag&a=b=c&&x=%2B"));
  EXPECT_EQ(parameters.value("q"), "1 Main St, Zürich");
  EXPECT_EQ(parameters.value("empty"), "");
  EXPECT_EQ(parameters.value("flag"), "");
  EXPECT_EQ(parameters.value("a"), "b=c");
  EXPECT_EQ(parameters.value("x"), "+");
  ASSERT_TRUE(parameters.read("q=other"));
  EXPECT_EQ(parameters.value("q"), "other");
  EXPECT_EQ(parameters.value("a"), "");
}

TEST(Parameters, with_a_broken_escape_are_refused) {
  for (const char* query : {"q=%", "q=%2", "q=%zz", "q=a&b=%G0", "%"}) {
    Parameters parameters;
    EXPECT_FALSE(parameters.read(query)) << query;
  }
}

TEST(Parameters, that_nobody_knows_or_that_stand_there_twice_are_refused) {
  constexpr std::array<std::string_view, 2> kKnown{"q", "country"};
  Parameters parameters;
  ASSERT_TRUE(parameters.read("q=a&country=US"));
  EXPECT_TRUE(parameters.only(kKnown));
  ASSERT_TRUE(parameters.read("q=a&contry=US"));
  EXPECT_FALSE(parameters.only(kKnown));
  ASSERT_TRUE(parameters.read("q=a&q=b"));
  EXPECT_EQ(parameters.only(kKnown).error().message, "the parameter q stands there twice");
}

}  // namespace
}  // namespace geonce
