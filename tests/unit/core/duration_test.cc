#include "core/duration.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;

TEST(Duration, is_read_with_its_units_and_written_with_the_largest_that_fits) {
  struct Case {
    const char* text;
    std::int64_t ms;
    const char* written;
  };
  for (const auto& [text, ms, written] : {Case{"180d", 15'552'000'000, "180d"},
                                          Case{"4h", 14'400'000, "4h"},
                                          Case{"24h", 86'400'000, "1d"},
                                          Case{"30m", 1'800'000, "30m"},
                                          Case{"1h30m", 5'400'000, "90m"},
                                          Case{"8s", 8'000, "8s"},
                                          Case{"500ms", 500, "500ms"},
                                          Case{"1s500ms", 1'500, "1500ms"},
                                          Case{"0s", 0, "0s"}}) {
    const auto span = parse_duration(text);
    ASSERT_TRUE(span) << text;
    EXPECT_EQ(span->count(), ms) << text;
    EXPECT_EQ(duration_text(*span), written);
  }
}

TEST(Duration, anything_else_is_refused) {
  for (const char* text : {"",
                           "4",
                           "h",
                           "4 h",
                           "-4h",
                           "+4h",
                           "4.5h",
                           "4w",
                           "4H",
                           "1e3s",
                           "99999999999999999999s",
                           "40000d"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace geonce
