#include "core/normalize_text.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace geonce {
namespace {

void append_utf8(std::string& out, unsigned c) {
  const auto put = [&out](unsigned byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0U | c >> 6U);
    put(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    put(0xE0U | c >> 12U);
    put(0x80U | (c >> 6U & 0x3FU));
    put(0x80U | (c & 0x3FU));
  } else {
    put(0xF0U | c >> 18U);
    put(0x80U | (c >> 12U & 0x3FU));
    put(0x80U | (c >> 6U & 0x3FU));
    put(0x80U | (c & 0x3FU));
  }
}

constexpr Diacritics kAll[] = {Diacritics::keep,
                               Diacritics::latin,
                               Diacritics::spanish,
                               Diacritics::german,
                               Diacritics::danish,
                               Diacritics::romanian,
                               Diacritics::greek,
                               Diacritics::russian,
                               Diacritics::semitic,
                               Diacritics::taiwan};

void expect_one_fold(TextFolder& folder, const std::string& text, Diacritics diacritics) {
  std::string quick;
  std::string at_length;
  const auto a = folder.fold(text, diacritics, quick);
  const auto b = folder.fold_at_length(text, diacritics, at_length);
  ASSERT_EQ(a.has_value(), b.has_value()) << text;
  if (a) {
    ASSERT_EQ(quick, at_length) << text << " under " << static_cast<int>(diacritics);
  }
}

TEST(TextFolder, every_character_between_letters_and_digits_folds_as_at_length) {
  TextFolder folder;
  for (const auto diacritics : kAll)
    for (unsigned c = 0x80; c < 0x3100; c = c == 0x52F ? 0x2000 : c + 1)
      for (const auto* before : {"a", "9", "n", ".", "i", " n"}) {
        std::string text = before;
        append_utf8(text, c);
        expect_one_fold(folder, text + "4b", diacritics);
      }
}

TEST(TextFolder, mixed_texts_fold_as_at_length) {
  std::mt19937 dice(7);  // NOLINT(cert-msc51-cpp): the same texts each time
  struct Span {
    unsigned first, last;
  };
  const std::vector<Span> spans{{0x20, 0x7E},
                                {0x20, 0x7E},
                                {'0', '9'},
                                {0xA0, 0x24F},
                                {0x300, 0x345},
                                {0x370, 0x52F},
                                {0x5D0, 0x669},
                                {0x1E00, 0x1FFF},
                                {0x2000, 0x206F},
                                {0x2100, 0x218F},
                                {0x2460, 0x2473},
                                {0x3000, 0x30FF},
                                {0x4E00, 0x9FFF},
                                {0xAC00, 0xD7A3},
                                {0x1100, 0x11FF},
                                {0xFF00, 0xFFEF},
                                {0x1F600, 0x1F64F},
                                {0x81FA, 0x81FA}};
  TextFolder folder;
  for (int round = 0; round < 40'000; ++round) {
    // Few kinds of letters a text, as in life.
    const Span one = spans[dice() % spans.size()];
    const Span two = spans[dice() % spans.size()];
    std::string text;
    for (unsigned i = 0; i < 1 + dice() % 12; ++i) {
      const Span span = dice() % 2 == 0 ? one : two;
      append_utf8(text, span.first + static_cast<unsigned>(dice() % (span.last - span.first + 1)));
    }
    expect_one_fold(folder, text, kAll[dice() % std::size(kAll)]);
  }
}

TEST(TextFolder, bytes_that_are_no_utf8_are_refused_wherever_they_stand) {
  TextFolder folder;
  std::string out;
  for (const std::string text : {"K\xF6ln", "Köln \xE2\x82", "\xC0\xAF", "東京\xED\xA0\x80"})
    EXPECT_FALSE(folder.fold(text, Diacritics::keep, out)) << text;
}

}  // namespace
}  // namespace geonce
