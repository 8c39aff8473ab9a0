#include "batch/known_rows.h"

#include <thread>

#include <gtest/gtest.h>

namespace geonce {
namespace {

KnownRow row_of(const std::string& spelling, const std::string& cells = {}) {
  KnownRow row;
  row.bytes = spelling + cells;
  row.spelling_size = static_cast<std::uint32_t>(spelling.size());
  row.cells_size = static_cast<std::uint32_t>(cells.size());
  return row;
}

std::string spelling(int i) { return fmt::format("{} Oak St, Reno, NV 89501", i); }

TEST(KnownRows, a_spelling_is_worth_keeping_when_it_comes_again) {
  KnownRows rows(1U << 20U);
  EXPECT_FALSE(rows.look("12 Oak St").is_repeat);
  const auto again = rows.look("12 Oak St");
  EXPECT_TRUE(again.is_repeat);
  EXPECT_FALSE(again.row);
  rows.put(row_of("12 Oak St", ",match,1,2"));
  const auto known = rows.look("12 Oak St");
  ASSERT_TRUE(known.row);
  EXPECT_EQ(known.row->spelling(), "12 Oak St");
  EXPECT_EQ(known.row->cells(), ",match,1,2");
  EXPECT_EQ(known.row->copy(), "");
  EXPECT_FALSE(rows.look("12 Oak Street").row);
}

TEST(KnownRows, rows_that_never_repeat_push_out_none_that_do) {
  KnownRows rows(1U << 20U);
  for (int i = 0; i < 100; ++i) {
    rows.look(spelling(i));
    rows.look(spelling(i));
    rows.put(row_of(spelling(i)));
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 20'000; ++i) rows.look(spelling(1'000 + round * 20'000 + i));
    int kept = 0;
    for (int i = 0; i < 100; ++i) kept += rows.look(spelling(i)).row ? 1 : 0;
    EXPECT_GE(kept, 95) << "round " << round;
  }
}

TEST(KnownRows, the_bound_on_bytes_holds_and_new_rows_find_room) {
  constexpr std::size_t kMostBytes = 512 << 10U;
  KnownRows rows(kMostBytes);
  const std::string cells(200, 'x');
  constexpr int kRows = 20'000;  // ten times what there is room for
  for (int i = 0; i < kRows; ++i) {
    rows.look(spelling(i));
    rows.look(spelling(i));
    rows.put(row_of(spelling(i), cells));
  }
  std::size_t bytes = 0;
  int latest = 0;
  for (int i = 0; i < kRows; ++i) {
    const auto known = rows.look(spelling(i)).row;
    if (!known) continue;
    bytes += sizeof *known + known->bytes.size();
    latest = i;
  }
  EXPECT_LE(bytes, kMostBytes);
  EXPECT_GE(bytes, kMostBytes / 4);
  EXPECT_GT(latest, kRows * 9 / 10);
}

TEST(KnownRows, many_threads_look_and_put_at_once) {
  KnownRows rows(1U << 20U);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&rows] {
      for (int round = 0; round < 5; ++round)
        for (int i = 0; i < 2'000; ++i) {
          const auto known = rows.look(spelling(i));
          if (known.row)
            EXPECT_EQ(known.row->spelling(), spelling(i));
          else if (known.is_repeat)
            rows.put(row_of(spelling(i)));
        }
    });
  threads.clear();
  int kept = 0;
  for (int i = 0; i < 2'000; ++i) kept += rows.look(spelling(i)).row ? 1 : 0;
  EXPECT_GT(kept, 1'500);
}

}  // namespace
}  // namespace geonce
