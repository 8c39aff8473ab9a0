#include "resolver/flight.h"

#include <map>

#include <gtest/gtest.h>

namespace geonce {
namespace {

using namespace std::chrono_literals;

class Flight : public testing::Test {
 protected:
  Flight() {
    ChainStep step;
    step.name = "alpha";
    step.terms.keep = Terms::Keep::unlimited;
    rules_.chain.push_back(std::move(step));
    rules_.standard.steps = {0};
    slot_.key.bytes.fill(1);
  }

  /// A caller with one ask; its answer comes to `answers_` under its number.
  Caller caller(AskOptions options = {}, Deadline deadline = Deadline::never()) {
    Ask ask;
    ask.slot = slot_;
    ask.options = std::move(options);
    const int number = callers_++;
    std::vector<Ask> asks;
    asks.push_back(std::move(ask));
    return {std::make_shared<Group>(
                std::move(asks),
                deadline,
                [this, number](std::size_t, Resolved resolved) {
                  EXPECT_TRUE(answers_.emplace(number, std::move(resolved)).second);
                },
                tally_),
            0};
  }
  Flights::Boarded board(const Caller& caller) {
    return flights_.board(slot_, caller, clock_.now(), [&] {
      Subject subject;
      subject.slot = slot_;
      subject.cache_only = caller.options().cache_only;
      subject.refresh_before = caller.options().refresh_before;
      subject.retry_no_match = caller.options().retry_no_match;
      return std::make_shared<geonce::Flight>(rules_, std::move(subject), stale_, clock_.now());
    });
  }
  void fail_with(const FlightPtr& flight, ErrorCode code) {
    (void)flight->request.denied({code, "so it was", {}, {}, {}});
    tell(flight, false);
  }
  void tell(const FlightPtr& flight, bool goes_on) {
    flights_.tell(flight, goes_on, clock_.now(), [](const Caller& caller, Resolved resolved) {
      caller.group->answer(caller.index, std::move(resolved));
    });
  }
  static std::shared_ptr<SpendCap> cap(std::int64_t calls) {
    return std::make_shared<SpendCap>(calls, std::nullopt);
  }

  FakeClock clock_;
  RequestRules rules_;
  Slot slot_;
  std::optional<Found> stale_;
  Tally tally_;
  Flights flights_;
  int callers_ = 0;
  std::map<int, Resolved> answers_;
};

TEST_F(Flight, waiters_share_the_error_and_the_next_caller_asks_again) {
  const auto first = board(caller());
  EXPECT_TRUE(first.leads);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(board(caller()).leads);
  EXPECT_EQ(flights_.size(), 1U);
  fail_with(first.flight, ErrorCode::provider_retry);
  ASSERT_EQ(answers_.size(), 6U);
  for (const auto& [number, answer] : answers_)
    EXPECT_EQ(answer.error->code, ErrorCode::provider_retry);
  EXPECT_EQ(flights_.size(), 0U);
  EXPECT_FALSE(flights_.join(slot_, caller(), clock_.now()).flight);
  EXPECT_TRUE(board(caller()).leads);
}

TEST_F(Flight, those_who_ask_in_another_manner_do_not_share) {
  AskOptions refresh, retry, cache_only;
  refresh.refresh_before = kRefreshAll;
  retry.retry_no_match = true;
  cache_only.cache_only = true;
  EXPECT_TRUE(board(caller()).leads);
  EXPECT_TRUE(board(caller(refresh)).leads);
  EXPECT_TRUE(board(caller(retry)).leads);
  EXPECT_TRUE(board(caller(cache_only)).leads);
  EXPECT_TRUE(board(caller(cache_only)).leads) << "it waits for nobody";
  EXPECT_FALSE(board(caller()).leads);
  EXPECT_FALSE(board(caller(refresh)).leads);
}

TEST_F(Flight, a_caller_at_its_deadline_leaves_with_what_is_stale_and_is_not_answered_twice) {
  Found found;
  found.gen = 1;
  found.answer = std::make_shared<const Answer>();
  found.stale_left = 1h;
  stale_ = found;
  AskOptions strict;
  strict.serve_stale = false;
  const auto patient = caller({}, Deadline::in(10s, clock_));
  const auto hasty = caller({}, Deadline::in(1s, clock_));
  const auto proud = caller(strict, Deadline::in(1s, clock_));
  const auto flight = board(patient).flight;
  board(hasty);
  board(proud);
  EXPECT_EQ(flight->wanted_until(), clock_.now() + 10s);
  clock_.advance(1s);
  hasty.group->leave(clock_.now());
  proud.group->leave(clock_.now());
  EXPECT_EQ(answers_.at(1).source, AnswerSource::stale);
  EXPECT_EQ(answers_.at(1).error->code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(answers_.at(2).error->code, ErrorCode::deadline_exceeded);
  EXPECT_FALSE(answers_.at(2).answer);
  EXPECT_FALSE(answers_.contains(0));
  fail_with(flight, ErrorCode::provider_retry);
  EXPECT_EQ(answers_.at(0).source, AnswerSource::stale);
  patient.group->leave(clock_.now());
}

TEST_F(Flight, what_is_stale_is_not_served_beyond_its_time) {
  Found found;
  found.answer = std::make_shared<const Answer>();
  found.stale_left = 1h;
  stale_ = found;
  const auto flight = board(caller()).flight;
  clock_.advance(1h);
  fail_with(flight, ErrorCode::provider_retry);
  EXPECT_FALSE(answers_.at(0).answer);
}

TEST_F(Flight, the_first_who_can_pay_pays_and_alone_sees_the_cost) {
  AskOptions broke, rich;
  broke.cap = cap(0);
  rich.cap = cap(5);
  const auto flight = board(caller(broke)).flight;
  board(caller(rich));
  board(caller());
  std::vector<Caller> left;
  EXPECT_TRUE(
      flights_.reserve(*flight, {500}, [&](const Caller& caller) { left.push_back(caller); }));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].options().cap, broke.cap);
  EXPECT_EQ(rich.cap->calls(), 1);
  EXPECT_EQ(flight->cap, rich.cap);
  fail_with(flight, ErrorCode::provider_retry);
  EXPECT_EQ(answers_.size(), 2U);
}

TEST_F(Flight, when_nobody_can_pay_who_comes_next_starts_anew) {
  AskOptions broke;
  broke.cap = cap(0);
  const auto flight = board(caller(broke)).flight;
  EXPECT_FALSE(flights_.reserve(*flight, {500}, [](const Caller&) {}));
  EXPECT_TRUE(board(caller()).leads);
  EXPECT_EQ(flights_.size(), 1U);
  fail_with(flight, ErrorCode::quota_exhausted);
  EXPECT_EQ(flights_.size(), 1U) << "the new one is untouched";
}

TEST_F(Flight, who_comes_while_only_the_store_is_behind_is_answered_at_once) {
  const auto flight = board(caller()).flight;
  (void)flight->request.denied({ErrorCode::provider_retry, "so it was", {}, {}, {}});
  tell(flight, true);
  EXPECT_EQ(flights_.size(), 1U);
  const auto joined = flights_.join(slot_, caller(), clock_.now());
  ASSERT_TRUE(joined.answer);
  EXPECT_EQ(joined.answer->error->code, ErrorCode::provider_retry);
  EXPECT_TRUE(board(caller()).answer);
  tell(flight, false);
  EXPECT_EQ(flights_.size(), 0U);
}

}  // namespace
}  // namespace geonce
