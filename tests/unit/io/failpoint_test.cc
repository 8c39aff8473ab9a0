#include "io/failpoint.h"

#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

class FailPoints : public testing::Test {
 public:
  FailPoints(const FailPoints&) = delete;
  FailPoints& operator=(const FailPoints&) = delete;

 protected:
  FailPoints() = default;
  ~FailPoints() override { (void)set_failpoints(""); }

  /// Which of the first `count` passages failed.
  static std::vector<int> failing(FailPoint point, int count) {
    std::vector<int> passages;
    for (int i = 1; i <= count; ++i)
      if (failpoint(point).error != 0) passages.push_back(i);
    return passages;
  }
};

TEST_F(FailPoints, are_off_by_default) {
  EXPECT_FALSE(has_failpoints());
  EXPECT_EQ(failpoint(FailPoint::spool_write).error, 0);
  ASSERT_TRUE(set_failpoints(""));
  EXPECT_FALSE(has_failpoints());
}

TEST_F(FailPoints, strike_at_the_passages_that_were_named) {
  ASSERT_TRUE(set_failpoints("spool.write=enospc@3"));
  EXPECT_THAT(failing(FailPoint::spool_write, 6), testing::ElementsAre(3));
  EXPECT_THAT(failing(FailPoint::spool_sync, 6), testing::IsEmpty());
  ASSERT_TRUE(set_failpoints("spool.write=eio@3+;spool.sync=eio"));
  EXPECT_THAT(failing(FailPoint::spool_write, 5), testing::ElementsAre(3, 4, 5));
  EXPECT_THAT(failing(FailPoint::spool_sync, 2), testing::ElementsAre(1, 2));
}

TEST_F(FailPoints, strike_by_chance_and_with_the_same_seed_again) {
  ASSERT_TRUE(set_failpoints("seed=7;spool.write=eio@10%"));
  const auto first = failing(FailPoint::spool_write, 1'000);
  EXPECT_GT(first.size(), 50U);
  EXPECT_LT(first.size(), 200U);
  ASSERT_TRUE(set_failpoints("seed=7;spool.write=eio@10%"));
  EXPECT_EQ(failing(FailPoint::spool_write, 1'000), first);
  ASSERT_TRUE(set_failpoints("seed=8;spool.write=eio@10%"));
  EXPECT_NE(failing(FailPoint::spool_write, 1'000), first);
}

TEST_F(FailPoints, give_the_error_that_was_named) {
  ASSERT_TRUE(set_failpoints("spool.write=enospc;spool.sync=eio;output.write=short"));
  EXPECT_EQ(failpoint(FailPoint::spool_write).error, ENOSPC);
  EXPECT_EQ(failpoint(FailPoint::spool_sync).error, EIO);
  int halfway = 0;
  EXPECT_EQ(failpoint(FailPoint::output_write, [&] { ++halfway; }).error, 0);
  EXPECT_EQ(halfway, 1);
}

TEST_F(FailPoints, do_what_is_done_halfway_only_where_they_strike) {
  ASSERT_TRUE(set_failpoints("spool.write=eio@2"));
  int halfway = 0;
  for (int i = 0; i < 3; ++i) (void)failpoint(FailPoint::spool_write, [&] { ++halfway; });
  EXPECT_EQ(halfway, 1);
}

TEST_F(FailPoints, wait_as_long_as_was_said) {
  ASSERT_TRUE(set_failpoints("CP11=delay:30ms"));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(failpoint(FailPoint::answer_read).error, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds{30});
}

TEST_F(FailPoints, kill_the_process_by_a_signal_that_nothing_can_catch) {
  EXPECT_EXIT(
      {
        (void)set_failpoints("CP12=kill@2");
        failpoint(FailPoint::answer_spooled);
        failpoint(FailPoint::answer_spooled);
      },
      testing::KilledBySignal(SIGKILL),
      "");
}

TEST_F(FailPoints, refuse_what_they_do_not_know) {
  for (const char* text : {"CP99=kill",
                           "nothing=kill",
                           "CP07",
                           "CP07=",
                           "CP07=boom",
                           "CP07=kill@0",
                           "CP07=kill@",
                           "CP07=kill@x",
                           "CP07=kill@0%",
                           "CP07=kill@101%",
                           "CP07=delay:soon",
                           "seed=many",
                           "CP07=kill;CP07=kill",
                           "CP07=kill;call.half-sent=delay:1s",
                           "-=kill",
                           "=kill"}) {
    const auto set = set_failpoints(text);
    ASSERT_FALSE(set) << text;
    EXPECT_EQ(set.error().code, ErrorCode::invalid_config) << text;
    EXPECT_FALSE(has_failpoints()) << text;
  }
}

TEST_F(FailPoints, refuse_what_a_point_cannot_do) {
  for (const char* text : {"CP07=eio", "CP12=short", "spool.sync=short", "postgres.reply=enospc"})
    EXPECT_FALSE(set_failpoints(text)) << text;
}

TEST_F(FailPoints, have_names_of_their_own_and_can_all_kill_and_wait) {
  std::set<std::string_view> names;
  for (const FailPointRow& row : fail_points()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (!row.crash_point.empty()) {
      EXPECT_TRUE(names.insert(row.crash_point).second) << row.crash_point;
    }
    for (const auto* action : {"kill", "delay:1ms"})
      EXPECT_TRUE(set_failpoints(std::string(row.name) + "=" + action)) << row.name;
    EXPECT_FALSE(row.what.empty() || row.where.empty()) << row.name;
  }
}

}  // namespace
}  // namespace geonce
