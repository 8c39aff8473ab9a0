#include <random>
#include <set>
#include <thread>

#include "contract/store/store_contract.h"
#include "support/child_process.h"

// Many processes on one store, and processes that are killed.

namespace geonce::contract {
namespace {

/// The parent of children holds no store of its own while it forks.
class StoreProcesses : public Store {
 protected:
  void SetUp() override { world_ = GetParam().make(); }
  void open_in_child() {
    auto opened = world_->open(nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    owner_ = new_intent();
  }
};

TEST_P(StoreProcesses, processes_that_open_a_new_store_at_once_all_get_it) {
  std::vector<ChildProcess> children;
  for (int i = 0; i < 6; ++i)
    children.emplace_back([&] {
      open_in_child();
      buy(slot(static_cast<std::uint32_t>(::getpid())), match());
    });
  for (auto& child : children) EXPECT_TRUE(child.join());
  store_ = open();
  EXPECT_EQ(sum().answered, 6);
}

TEST_P(StoreProcesses, four_processes_that_race_for_500_keys_buy_each_once) {
  constexpr std::uint32_t kKeys = 500;
  Pipe sent;
  std::vector<ChildProcess> children;
  for (unsigned p = 0; p < 4; ++p)
    children.emplace_back([&, p] {
      open_in_child();
      std::vector<std::uint32_t> order(kKeys);
      for (std::uint32_t n = 0; n < kKeys; ++n) order[n] = n;
      std::shuffle(order.begin(), order.end(), std::mt19937(p));
      for (std::size_t at = 0; at < order.size(); at += 10) {
        std::vector<TakeRequest> asks;
        for (std::size_t i = at; i < at + 10; ++i) {
          asks.push_back(ask(slot(order[i])));
          asks.back().life = 10min;  // a slow machine must not make a takeover of it
        }
        const auto taken = store_->take(asks, Deadline::never());
        ASSERT_TRUE(taken) << taken.error().message;
        std::vector<CommitRequest> answers;
        for (std::size_t i = 0; i < asks.size(); ++i) {
          if ((*taken)[i].verdict != Verdict::send) continue;
          sent.write(order[at + i]);
          answers.push_back(answer_to(asks[i], (*taken)[i], match()));
        }
        const auto committed = store_->commit(answers, Deadline::never());
        ASSERT_TRUE(committed) << committed.error().message;
        for (const auto& one : *committed) EXPECT_TRUE(one.stored && one.held);
      }
    });
  sent.close_writing();
  std::vector<int> times(kKeys);
  for (std::uint32_t n = 0; sent.read(n);) ++times.at(n);
  for (auto& child : children) EXPECT_TRUE(child.join());
  for (std::uint32_t n = 0; n < kKeys; ++n) EXPECT_EQ(times[n], 1) << n;
  store_ = open();
  EXPECT_EQ(sum().prepared, kKeys);
  EXPECT_EQ(sum().answered, kKeys);
  EXPECT_EQ(sum().redundant, 0);
}

TEST_P(StoreProcesses, a_process_killed_while_writing_loses_nothing_that_it_was_told_is_stored) {
  constexpr int kRounds = 15;
  constexpr std::uint32_t kThreads = 4;
  std::mt19937 chance(11);
  std::set<std::uint32_t> acknowledged;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    Pipe acks;
    ChildProcess child([&] {
      open_in_child();
      std::vector<std::jthread> threads;
      for (std::uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          for (std::uint32_t n = 0;; ++n) {
            const auto number = round * 1'000'000 + t * 100'000 + n;
            buy(slot(number), match());
            acks.write(number);
          }
        });
    });
    acks.close_writing();
    const auto until = std::uniform_int_distribution<std::size_t>(1, 60)(chance);
    std::size_t count = 0;
    std::uint32_t number = 0;
    while (count < until && acks.read(number)) {
      acknowledged.insert(number);
      ++count;
    }
    child.kill();
    while (acks.read(number)) acknowledged.insert(number);

    auto opened = world_->open(nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto sound = (*opened)->check(Deadline::never());
    ASSERT_TRUE(sound) << sound.error().message;
    for (const auto known : acknowledged) {
      const auto where = slot(known);
      const auto found = (*opened)->find({&where, 1}, Deadline::never());
      ASSERT_TRUE(found && (*found)[0]) << "answer " << known << " was acknowledged and is lost";
    }
  }
  EXPECT_GE(acknowledged.size(), static_cast<std::size_t>(kRounds));
  store_ = open();
  const auto total = sum();
  EXPECT_LE(total.open, kRounds * static_cast<int>(kThreads))
      << "no more than what was in flight at the kills";
  EXPECT_EQ(total.prepared, total.answered + total.open);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(kinds,
                         StoreProcesses,
                         testing::ValuesIn(store_kinds_for_processes()),
                         kind_of);

}  // namespace geonce::contract
