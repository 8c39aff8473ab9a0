#include "core/word_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using testing::ElementsAre;
using testing::Optional;
using Owners = std::optional<std::vector<std::size_t>>;

Owners owners(std::string_view text, const std::vector<TextPart>& parts) {
  Tokens tokens;
  tokenize(text, {}, tokens);
  return word_owners(tokens, parts);
}

TEST(BareLetters, leave_out_what_readers_drop) {
  for (const auto& [text, bare] : std::initializer_list<std::pair<const char*, const char*>>{
           {"12-14 O'Neal St.", "1214onealst"},
           {"fürth", "furth"},
           {"đường łódź straße", "duonglodzstrasse"},
           {"город йошкар", "городиошкар"},
           {"# & /", ""},
           {"三田 5", "三田5"}})
    EXPECT_THAT(bare_letters(text), Optional(std::string(bare))) << text;
  EXPECT_EQ(bare_letters("\xC3("), std::nullopt);
}

TEST(WordOwners, each_word_belongs_to_the_part_that_has_its_letters) {
  EXPECT_THAT(owners("12 rua augusta lisboa",
                     {{"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}}),
              Optional(ElementsAre(0, 1, 1, 2)));
}

TEST(WordOwners, a_reader_may_split_words_and_drop_marks) {
  EXPECT_THAT(owners("37-18 o'neal, đà nẵng",
                     {{"house_number", "37 18"}, {"road", "o neal"}, {"city", "da nang"}}),
              Optional(ElementsAre(0, 1, 2, 2)));
}

TEST(WordOwners, a_mark_alone_belongs_to_what_stands_behind_it) {
  EXPECT_THAT(owners("oak & main # 4", {{"road", "oak & main"}, {"unit", "# 4"}}),
              Optional(ElementsAre(0, 0, 0, 1, 1)));
  EXPECT_THAT(owners("oak # 4 &", {{"road", "oak"}, {"unit", "4"}}),
              Optional(ElementsAre(0, 1, 1, 1)));
}

TEST(WordOwners, parts_that_are_not_the_text_own_nothing) {
  const std::vector<TextPart> whole{{"house_number", "12"}, {"road", "oak"}};
  EXPECT_NE(owners("12 oak", whole), std::nullopt);
  EXPECT_EQ(owners("12 oak ridge", whole), std::nullopt);  // a word is lost
  EXPECT_EQ(owners("12", whole), std::nullopt);            // one is invented
  EXPECT_EQ(owners("oak 12", whole), std::nullopt);        // another order
  EXPECT_EQ(owners("12oak", whole), std::nullopt);         // a word divided
  EXPECT_EQ(owners("12 oak", {}), std::nullopt);
  EXPECT_EQ(owners("12 oak", {{"house_number", "12"}, {"road", "\xC3("}}), std::nullopt);
  EXPECT_EQ(owners("& #", {{"road", "& #"}}), std::nullopt);  // there is nothing to go by
}

}  // namespace
}  // namespace geonce
