#include "io/breaker.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;

class BreakerTest : public testing::Test {
 protected:
  void fail_times(int times) {
    for (int i = 0; i < times; ++i) breaker_.failed(clock_.now());
  }
  [[nodiscard]] milliseconds pause() const {
    return std::chrono::duration_cast<milliseconds>(breaker_.until() - clock_.now());
  }
  FakeClock clock_;
  Breaker breaker_{{3, milliseconds{1'000}, milliseconds{100}, milliseconds{300}}};
};

TEST_F(BreakerTest, opens_after_too_many_failures_in_a_while) {
  fail_times(2);
  EXPECT_FALSE(breaker_.is_open());
  clock_.advance(milliseconds{1'001});
  fail_times(2);
  EXPECT_FALSE(breaker_.is_open()) << "the first two are long ago";
  fail_times(1);
  EXPECT_TRUE(breaker_.is_open());
  EXPECT_EQ(pause(), milliseconds{100});
}

TEST_F(BreakerTest, a_try_that_fails_doubles_the_pause_up_to_the_longest) {
  fail_times(3);
  for (const int expected : {200, 300, 300}) {
    clock_.advance(pause());
    fail_times(1);
    EXPECT_TRUE(breaker_.is_open());
    EXPECT_EQ(pause(), milliseconds{expected});
  }
}

TEST_F(BreakerTest, a_try_that_succeeds_closes_it_and_forgets_the_failures) {
  fail_times(3);
  clock_.advance(pause());
  breaker_.succeeded();
  EXPECT_FALSE(breaker_.is_open());
  fail_times(2);
  EXPECT_FALSE(breaker_.is_open());
  fail_times(1);
  EXPECT_EQ(pause(), milliseconds{200}) << "it is the same trouble";
}

TEST_F(BreakerTest, a_quiet_time_resets_the_pause) {
  fail_times(3);
  clock_.advance(pause());
  breaker_.succeeded();
  fail_times(1);
  clock_.advance(milliseconds{1'001});
  fail_times(3);
  EXPECT_EQ(pause(), milliseconds{100});
}

TEST_F(BreakerTest, a_failure_for_now_opens_it_at_once) {
  breaker_.failed_for_now(clock_.now());
  EXPECT_TRUE(breaker_.is_open());
  EXPECT_EQ(pause(), milliseconds{100});
}

}  // namespace
}  // namespace geonce
