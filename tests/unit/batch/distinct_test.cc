#include "batch/distinct.h"

#include <filesystem>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(DistinctKeys, counts_each_key_once_whatever_the_order_and_keeps_classes_apart) {
  auto keys = DistinctKeys::open(std::filesystem::temp_directory_path());
  ASSERT_TRUE(keys);
  std::mt19937_64 random(7);
  std::set<std::pair<std::uint64_t, int>> expected;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t value = random() % 60'000;
    Key key;
    std::mt19937_64 digest(value);
    for (auto& byte : key.bytes) byte = static_cast<std::uint8_t>(digest());
    const int kind = static_cast<int>(value % 3);
    expected.emplace(value, kind);
    ASSERT_TRUE((*keys)->add(key, static_cast<std::uint8_t>(kind)));
  }
  const auto counts = (*keys)->count();
  ASSERT_TRUE(counts);
  for (int kind = 0; kind < 3; ++kind)
    EXPECT_EQ(
        counts->at(static_cast<std::size_t>(kind)),
        std::count_if(expected.begin(), expected.end(), [&](auto& e) { return e.second == kind; }));
}

TEST(DistinctKeys, a_folder_that_is_not_there_is_an_error_that_says_what_to_do) {
  const auto keys = DistinctKeys::open("/nowhere/at/all");
  ASSERT_FALSE(keys);
  EXPECT_NE(keys.error().message.find("TMPDIR"), std::string::npos);
}

}  // namespace
}  // namespace geonce
