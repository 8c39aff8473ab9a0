#include <atomic>
#include <random>
#include <thread>

#include "contract/store/store_contract.h"

// Many threads on one store.

namespace geonce::contract {
namespace {

TEST_P(Store, threads_that_race_for_the_same_keys_buy_each_key_once) {
  constexpr int kThreads = 8;
  constexpr std::uint32_t kKeys = 200;
  std::vector<std::atomic<int>> sent(kKeys);
  std::atomic<int> seen{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        std::vector<std::uint32_t> order(kKeys);
        for (std::uint32_t n = 0; n < kKeys; ++n) order[n] = n;
        std::shuffle(order.begin(), order.end(), std::mt19937(t));
        for (const auto n : order) {
          const auto request = ask(slot(n));
          const auto taken = take(request);
          if (taken.verdict == Verdict::send) {
            ++sent[n];
            EXPECT_TRUE(commit(answer_to(request, taken, match(n % 90))).stored);
          }
        }
        for (const auto n : order) seen += find(slot(n)).has_value() ? 1 : 0;
      });
  }
  for (std::uint32_t n = 0; n < kKeys; ++n) EXPECT_EQ(sent[n], 1) << n;
  const auto total = sum();
  EXPECT_EQ(total.prepared, kKeys);
  EXPECT_EQ(total.answered, kKeys);
  EXPECT_EQ(total.redundant, 0);
  EXPECT_GT(seen, 0);
}

TEST_P(Store, a_reader_never_sees_half_an_answer_or_an_older_one_after_a_newer) {
  const std::vector slots{slot(1), slot(2)};
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> reads{0};
  std::jthread reader([&] {
    std::int64_t last = 0;
    while (!done || reads == 0) {
      const auto found = store_->find(slots, Deadline::never());
      ASSERT_TRUE(found);
      ++reads;
      const auto& one = (*found)[0];
      const auto& two = (*found)[1];
      ASSERT_EQ(one.has_value(), two.has_value()) << "both were committed in one transaction";
      if (!one) continue;
      EXPECT_EQ(one->gen, two->gen);
      EXPECT_EQ(one->answer->at->lat_deg, two->answer->at->lat_deg);
      EXPECT_GE(one->gen, last);
      last = one->gen;
    }
  });
  for (int round = 0; round < 60; ++round) {
    std::vector<TakeRequest> asks;
    for (const auto& where : slots) {
      asks.push_back(ask(where));
      asks.back().refresh_before = kRefreshAll;
    }
    const auto taken = store_->take(asks, Deadline::never());
    ASSERT_TRUE(taken);
    std::vector<CommitRequest> answers;
    for (std::size_t i = 0; i < slots.size(); ++i)
      answers.push_back(answer_to(asks[i], (*taken)[i], match(round)));
    ASSERT_TRUE(store_->commit(answers, Deadline::never()));
  }
  done = true;
}

TEST_P(Store, all_methods_may_be_called_at_once) {
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t n = 0; n < 20; ++n) {
        const auto where = slot(t * 100 + n);
        const auto request = ask(where);
        const auto taken = take(request);
        switch (t) {
          case 0:
            EXPECT_TRUE(commit(answer_to(request, taken, match())).stored);
            break;
          case 1:
            EXPECT_TRUE(release(ending(ReleaseRequest::Kind::voided, request, taken)).held);
            break;
          case 2:
            EXPECT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
            break;
          case 3:
            EXPECT_TRUE(store_->pin(where, match(), "{}", "", std::nullopt, Deadline::never()));
            break;
          case 4:
            EXPECT_TRUE(store_->sweep(10, Deadline::never()));
            break;
          default:
            EXPECT_TRUE(store_->stats(Deadline::never()));
            break;
        }
        EXPECT_TRUE(store_->entries({}, Deadline::never()));
      }
    });
  threads.clear();
  EXPECT_TRUE(store_->check(Deadline::never()));
  EXPECT_EQ(sum().prepared, 120);
}

}  // namespace
}  // namespace geonce::contract
