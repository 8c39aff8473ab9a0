#include "resolver/lane.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

using namespace std::chrono_literals;

class Lane : public testing::Test {
 protected:
  FlightPtr flight() {
    Subject subject;
    subject.slot.key.bytes.fill(++made_);
    return std::make_shared<Flight>(rules_, std::move(subject), std::nullopt, clock_.now());
  }
  /// Wants a call and takes its claim as soon as it is let through.
  void want(geonce::Lane& lane, std::size_t count, bool bulk = false) {
    for (std::size_t i = 0; i < count; ++i) lane.want(flight(), bulk);
  }
  /// Everything that may go now; returns the calls.
  std::vector<std::vector<Ready>> pump(geonce::Lane& lane, bool bulk = false) {
    std::vector<std::vector<Ready>> calls;
    for (;;) {
      auto work = lane.next(clock_.now());
      if (work.again) again_ = *work.again;
      if (work.is_empty()) return calls;
      late_ += work.late.size();
      for (auto& call : work.calls) calls.push_back(std::move(call));
      for (const auto& admitted : work.admit) {
        act::Call call;
        call.send_before = clock_.now() + 2s;
        call.bulk = bulk;
        lane.has_taken(bulk);
        lane.ready({admitted, call, {}});
      }
    }
  }
  void end(geonce::Lane& lane,
           geonce::Lane::Health health,
           milliseconds span = {},
           milliseconds took = 50ms) {
    Error why;
    why.code = ErrorCode::provider_fatal;
    lane.ended(health, span, why, took, clock_.now());
  }

  using Health = geonce::Lane::Health;
  FakeClock clock_;
  RequestRules rules_ = [] {
    RequestRules rules;
    rules.chain.emplace_back();
    rules.standard.steps = {0};
    return rules;
  }();
  std::uint8_t made_ = 0;
  std::size_t late_ = 0;
  Mono again_;
};

TEST_F(Lane, no_more_calls_are_under_way_than_there_are_slots) {
  geonce::Lane lane("alpha", {.concurrency = 3});
  want(lane, 10);
  EXPECT_EQ(pump(lane).size(), 3U);
  EXPECT_TRUE(pump(lane).empty());
  end(lane, Health::good);
  EXPECT_EQ(pump(lane).size(), 1U);
  EXPECT_EQ(lane.in_flight(), 3U);
}

TEST_F(Lane, claims_are_taken_ahead_of_their_slots_only_where_calls_are_quick) {
  for (const auto& [took, ahead] :
       {std::pair{50ms, 4U}, std::pair{2'000ms, 2U}, std::pair{60'000ms, 0U}}) {
    geonce::Lane lane("alpha", {.concurrency = 4});
    want(lane, 4);
    ASSERT_EQ(pump(lane).size(), 4U);
    end(lane, Health::good, {}, took);
    want(lane, 1);
    ASSERT_EQ(pump(lane).size(), 1U);
    want(lane, 20);
    std::size_t let_through = 0;
    for (;;) {
      const auto work = lane.next(clock_.now());
      if (work.is_empty()) break;
      let_through += work.admit.size();
    }
    EXPECT_EQ(let_through, ahead) << took.count() << " ms";
  }
}

TEST_F(Lane, a_slow_store_gets_its_claims_earlier_so_that_no_slot_waits_for_one) {
  for (const auto& [took, ahead] :
       {std::pair{0ms, 4U}, std::pair{100ms, 16U}, std::pair{9'000ms, 80U}}) {
    geonce::Lane lane("alpha", {.concurrency = 4});
    want(lane, 4);
    ASSERT_EQ(pump(lane).size(), 4U);
    end(lane, Health::good, {}, 50ms);
    for (int i = 0; i < 100; ++i) {
      lane.want(flight(), false);
      for (const auto& admitted : lane.next(clock_.now()).admit) {
        (void)admitted;
        lane.has_taken(false, took);
      }
    }
    want(lane, 200);
    std::size_t let_through = 0;
    for (;;) {
      const auto work = lane.next(clock_.now());
      if (work.is_empty()) break;
      let_through += work.admit.size();
    }
    EXPECT_NEAR(static_cast<double>(let_through), 1.0 + ahead, 1.0) << took.count() << " ms";
  }
}

TEST_F(Lane, who_waited_longer_than_the_send_window_is_told) {
  geonce::Lane lane("alpha", {.concurrency = 1});
  want(lane, 1);
  ASSERT_EQ(pump(lane).size(), 1U);
  end(lane, Health::good, {}, 10ms);
  want(lane, 3);
  ASSERT_EQ(pump(lane).size(), 1U);
  clock_.advance(1'999ms);
  EXPECT_TRUE(lane.next(clock_.now()).late.empty());
  clock_.advance(1ms);
  EXPECT_EQ(lane.next(clock_.now()).late.size(), 1U);
  EXPECT_EQ(lane.in_flight(), 1U);
}

TEST_F(Lane, the_rate_counts_lookups_and_a_bulk_call_is_paid_off_afterwards) {
  geonce::Lane lane("alpha", {.concurrency = 8, .rate_per_s = 10, .bulk_size = 20});
  want(lane, 20, true);
  ASSERT_EQ(pump(lane, true).size(), 1U);
  want(lane, 1);
  EXPECT_TRUE(pump(lane).empty());
  clock_.advance(1'000ms);
  EXPECT_TRUE(pump(lane).empty()) << "20 lookups take 2 s";
  clock_.advance(1'000ms);
  EXPECT_EQ(pump(lane).size(), 1U);
}

TEST_F(Lane, one_call_a_second_is_one_call_a_second) {
  geonce::Lane lane("alpha", {.concurrency = 8, .rate_per_s = 1});
  want(lane, 10);
  std::vector<Mono> sent;
  for (int i = 0; i < 100; ++i) {
    for (std::size_t calls = pump(lane).size(); calls > 0; --calls) sent.push_back(clock_.now());
    clock_.advance(50ms);
    lane.woke();
  }
  ASSERT_EQ(sent.size(), 5U);
  for (std::size_t i = 1; i < sent.size(); ++i) EXPECT_GE(sent[i] - sent[i - 1], 1s);
  EXPECT_EQ(late_, 0U);
}

TEST_F(Lane, those_who_go_in_bulk_go_together_and_no_more_than_fit) {
  geonce::Lane lane("alpha", {.concurrency = 2, .bulk_size = 10});
  want(lane, 25, true);
  const auto calls = pump(lane, true);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].size(), 10U);
  EXPECT_EQ(calls[1].size(), 10U);
}

TEST_F(Lane, who_was_refused_in_company_travels_in_smaller_company) {
  geonce::Lane lane("alpha", {.concurrency = 8, .bulk_size = 10});
  want(lane, 10, true);
  auto calls = pump(lane, true);
  ASSERT_EQ(calls.size(), 1U);
  for (Ready& ready : calls[0]) {
    ready.flight->bulk_limit = 5;
    lane.ready(std::move(ready));
  }
  calls = pump(lane, true);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].size(), 5U);
}

TEST_F(Lane, a_pause_stops_everybody_for_as_long_as_the_provider_said) {
  geonce::Lane lane("alpha", {.concurrency = 4});
  want(lane, 1);
  ASSERT_EQ(pump(lane).size(), 1U);
  end(lane, Health::pause, 3s);
  want(lane, 1);
  EXPECT_TRUE(pump(lane).empty());
  EXPECT_EQ(again_, clock_.now() + 3s);
  const auto standing = lane.standing(clock_.now());
  EXPECT_FALSE(standing.is_up);
  EXPECT_FALSE(standing.is_stopped);
  EXPECT_EQ(standing.why->retry_after, 3s);
  clock_.advance(3s);
  lane.woke();
  EXPECT_EQ(pump(lane).size(), 1U);
}

TEST_F(Lane, a_fatal_refusal_stops_the_provider_and_then_one_call_tries_it) {
  geonce::Lane lane("alpha", {.concurrency = 4});
  want(lane, 1);
  ASSERT_EQ(pump(lane).size(), 1U);
  end(lane, Health::stop, 60s);
  EXPECT_TRUE(lane.standing(clock_.now()).is_stopped);
  want(lane, 5);
  clock_.advance(60s);
  EXPECT_EQ(pump(lane).size(), 1U);
  end(lane, Health::good);
  EXPECT_EQ(pump(lane).size(), 4U);
}

TEST_F(Lane, five_faults_in_a_row_open_the_breaker_and_each_failed_trial_doubles_it) {
  geonce::Lane lane("alpha", {.concurrency = 1});
  for (int i = 0; i < 5; ++i) {
    want(lane, 1);
    ASSERT_EQ(pump(lane).size(), 1U) << i;
    end(lane, Health::failed);
  }
  auto standing = lane.standing(clock_.now());
  EXPECT_EQ(standing.until, clock_.now() + 2s);
  EXPECT_EQ(standing.why->code, ErrorCode::cooling_down);
  clock_.advance(2s);
  want(lane, 1);
  ASSERT_EQ(pump(lane).size(), 1U);
  end(lane, Health::failed);
  EXPECT_EQ(lane.standing(clock_.now()).until, clock_.now() + 4s);
  clock_.advance(4s);
  want(lane, 1);
  ASSERT_EQ(pump(lane).size(), 1U);
  end(lane, Health::good);
  EXPECT_TRUE(lane.standing(clock_.now()).is_up);
}

TEST_F(Lane, a_success_between_faults_keeps_the_breaker_closed) {
  geonce::Lane lane("alpha", {.concurrency = 1});
  for (int i = 0; i < 20; ++i) {
    want(lane, 1);
    ASSERT_EQ(pump(lane).size(), 1U);
    end(lane, i % 4 == 3 ? Health::good : Health::failed);
    EXPECT_TRUE(lane.standing(clock_.now()).is_up);
  }
}

}  // namespace
}  // namespace geonce
