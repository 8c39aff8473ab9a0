#include "core/like_words.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace geonce {
namespace {

struct Row {
  const char* a;
  const char* b;
  std::optional<WordLikeness> expected;
};

constexpr auto kMarks = WordLikeness::marks;
constexpr auto kMisspelling = WordLikeness::misspelling;
constexpr auto kAbbreviation = WordLikeness::abbreviation;

TEST(LikeWords, words_that_are_one_word_written_twice_are_told_by_how_they_differ) {
  LikeWords like;
  for (const Row& row : {
           Row{"rd", "road", kAbbreviation},
           Row{"blvd", "boulevard", kAbbreviation},
           Row{"apt", "apartment", kAbbreviation},
           Row{"ave", "avenue", kAbbreviation},
           Row{"пр", "проспект", kAbbreviation},
           Row{"bd", "bélvédère", kAbbreviation},
           Row{"cedar", "cedr", kMisspelling},
           Row{"cedar", "ceder", kMisspelling},
           Row{"cedar", "cedra", kMisspelling},
           Row{"невский", "невскй", kMisspelling},
           Row{"görlitz", "görltz", kMisspelling},
           Row{"église", "eglise", kMarks},
           Row{"müller", "muller", kMarks},
           Row{"müller", "mueller", kMarks},
           Row{"åsen", "aasen", kMarks},
           Row{"øster", "oester", kMarks},
           Row{"αθήνα", "αθηνα", kMarks},
           Row{"ёлочная", "елочная", kMarks},
       }) {
    EXPECT_EQ(like(row.a, row.b), row.expected) << row.a << ' ' << row.b;
    EXPECT_EQ(like(row.b, row.a), row.expected) << row.b << ' ' << row.a;
    EXPECT_EQ(like.first_letter(row.a), like.first_letter(row.b)) << row.a << ' ' << row.b;
    EXPECT_NE(like.first_letter(row.a), U'\0') << row.a;
  }
}

TEST(LikeWords, words_that_may_be_two_are_like_nothing) {
  LikeWords like;
  for (const Row& row : {
           Row{"", "", {}},
           Row{"", "a", {}},
           Row{"road", "road", {}},
           Row{"road", "", {}},
           Row{"n", "north", {}},  // N Street is not North Street
           Row{"n", "s", {}},
           Row{"é", "e", {}},
           Row{"nw", "ne", {}},
           Row{"oak", "elm", {}},
           Row{"mill", "hill", {}},  // another first letter
           Row{"12", "122", {}},
           Row{"5th", "6th", {}},
           Row{"a12", "a13", {}},
           Row{"ii", "iii", {}},
           Row{"xvii", "xviii", {}},
           Row{"&", "and", {}},
           Row{"三元里大街", "二元里大街", {}},
           Row{"中山三路", "中山二路", {}},
           Row{"road", "rd\xFF", {}},  // not UTF-8
           Row{"\xC3", "\xC3\xA9", {}},
       }) {
    EXPECT_EQ(like(row.a, row.b), std::nullopt) << row.a << ' ' << row.b;
    EXPECT_EQ(like(row.b, row.a), std::nullopt) << row.b << ' ' << row.a;
  }
  for (const char* word : {"", "n", "é", "12", "5th", "&", "#", "4-b", "\xC3", "\xC3\xC3"})
    EXPECT_EQ(like.first_letter(word), U'\0') << word;
}

TEST(LikeWords, a_long_word_is_compared_in_linear_time) {
  LikeWords like;
  const std::string a(200'000, 'a');
  EXPECT_EQ(like(a, a + "b"), WordLikeness::misspelling);
  EXPECT_EQ(like(a, a + "bc"), WordLikeness::abbreviation);
}

}  // namespace
}  // namespace geonce
