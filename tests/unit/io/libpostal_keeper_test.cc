#include "io/libpostal_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "support/postal_data.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

/// The keeper alone, with a clock that is moved by hand.
class LibpostalKeeperTest : public testing::Test {
 protected:
  LibpostalKeeperTest() {
    options_.program = LIBPOSTAL_HELPER;
    options_.library = FAKE_LIBPOSTAL;
    options_.data = data_.path();
    options_.timeout = milliseconds{10'000};
    options_.start_timeout = milliseconds{100'000};
    options_.breaker = {3, milliseconds{600'000}, milliseconds{60'000}, milliseconds{240'000}};
  }
  void begin() {
    keeper_.emplace(options_, rounds_);
    ASSERT_TRUE(keeper_->greet().has_value());
    identity_ = LibpostalIdentity::of(FAKE_LIBPOSTAL, data_.path(), {}).value();
    keeper_->expect(&identity_);
    now_ = system_clock().now();
  }
  /// Steps, without time, until it is so.
  template <class Condition>
  void step_until(Condition condition) {
    for (keeper_->step(now_); !condition(); keeper_->step(now_)) {
      pollfd door{keeper_->socket(), POLLIN, 0};
      ::poll(&door, 1, 10);
    }
  }
  Result<std::vector<TextPart>> ask(const std::string& text) {
    PostalRound round(1);
    keeper_->ask({&text, &round, 0});
    step_until([&round] { return round.left == 0; });
    return round.said.front();
  }

  PostalData data_;
  LibpostalOptions options_;
  std::mutex rounds_;
  LibpostalIdentity identity_;
  std::optional<LibpostalKeeper> keeper_;
  Mono now_;
};

TEST_F(LibpostalKeeperTest, waits_for_nothing_when_nobody_asks) {
  begin();
  EXPECT_EQ(keeper_->due(), Mono::max());
  ASSERT_TRUE(ask("reno").has_value());
  EXPECT_EQ(keeper_->due(), Mono::max());
}

TEST_F(LibpostalKeeperTest, the_model_has_its_own_limit) {
  data_.write("address_parser/setup", "hang");
  begin();
  const std::string text = "reno";
  PostalRound round(1);
  keeper_->ask({&text, &round, 0});
  step_until([this] { return !data_.setups().empty(); });
  EXPECT_EQ(keeper_->due(), now_ + options_.start_timeout);
  now_ = keeper_->due() - milliseconds{1};
  keeper_->step(now_);
  EXPECT_EQ(round.left, 1U);
  now_ += milliseconds{1};
  keeper_->step(now_);
  EXPECT_EQ(round.left, 0U);
  EXPECT_EQ(keeper_->socket(), -1) << "its process is gone";
}

TEST_F(LibpostalKeeperTest, a_question_has_its_limit_from_its_own_beginning) {
  data_.answer("bad", "!hang");
  begin();
  ASSERT_TRUE(ask("reno").has_value());
  now_ += milliseconds{3'600'000};
  const std::string bad = "bad", good = "reno";
  PostalRound round(2);
  keeper_->ask({&bad, &round, 0});
  keeper_->ask({&good, &round, 1});
  keeper_->step(now_);
  EXPECT_EQ(keeper_->due(), now_ + options_.timeout);
  now_ = keeper_->due();
  step_until([&round] { return round.left == 0; });
  EXPECT_FALSE(round.said[0].has_value());
  EXPECT_TRUE(round.said[1].has_value());
}

TEST_F(LibpostalKeeperTest, an_answer_that_has_come_counts_however_late_we_look) {
  begin();
  ASSERT_TRUE(ask("reno").has_value());
  const std::string text = "reno";
  PostalRound round(1);
  keeper_->ask({&text, &round, 0});
  keeper_->step(now_);
  // A quick helper's answer has been read by the step that asked.
  pollfd door{keeper_->socket(), POLLIN, 0};
  if (round.left > 0) {
    ASSERT_EQ(::poll(&door, 1, -1), 1);
  }
  keeper_->step(now_ + milliseconds{3'600'000});
  EXPECT_EQ(round.left, 0U);
  EXPECT_TRUE(round.said[0].has_value());
}

TEST_F(LibpostalKeeperTest, a_broken_library_is_tried_again_only_when_somebody_wants_it) {
  data_.write("numex/setup", "fail");
  begin();
  EXPECT_FALSE(ask("reno").has_value());
  EXPECT_EQ(keeper_->due(), Mono::max()) << "nobody wants it";
  EXPECT_FALSE(ask("reno").has_value()) << "refused at once";
  EXPECT_EQ(keeper_->socket(), -1);
  EXPECT_EQ(keeper_->due(), now_ + milliseconds{60'000});
  now_ = keeper_->due();
  keeper_->step(now_);
  EXPECT_NE(keeper_->socket(), -1);
  step_until([this] { return keeper_->socket() == -1; });
  EXPECT_EQ(keeper_->due(), Mono::max());
  EXPECT_FALSE(ask("reno").has_value());
  EXPECT_EQ(keeper_->due(), now_ + milliseconds{120'000}) << "twice as long";
}

TEST_F(LibpostalKeeperTest, who_asks_while_it_is_tried_does_not_wait_for_it) {
  data_.answer("bad", "!crash");
  options_.breaker.failures = 1;
  begin();
  EXPECT_FALSE(ask("bad").has_value());
  EXPECT_FALSE(ask("reno").has_value());
  now_ = keeper_->due();
  keeper_->step(now_);
  ASSERT_NE(keeper_->socket(), -1) << "it is tried";
  const std::string text = "reno";
  PostalRound round(1);
  keeper_->ask({&text, &round, 0});
  keeper_->step(now_);
  EXPECT_EQ(round.left, 0U);
  EXPECT_FALSE(round.said[0].has_value());
  step_until([&] { return ask("reno").has_value(); });
}

}  // namespace
}  // namespace geonce
