#include <atomic>

#include "contract/coherence/machines.h"

// Answers are dropped while three processes read slowly, buy, and fill memory and Redis. Who asks
// after his process has heard of a drop must never be given an answer of that window.

namespace geonce::coherence {
namespace {

class Invalidation : public testing::TestWithParam<Kind> {};

TEST_P(Invalidation, no_older_answer_is_given_out_after_a_process_has_heard) {
  constexpr std::size_t kAddresses = 40;
  constexpr std::size_t kAtOnce = 10;
  const int wanted = campaign(200);
  std::unique_ptr<RedisServer> redis;
  if (GetParam().has_redis) redis = std::make_unique<RedisServer>();
  const World world(GetParam().is_postgres);
  std::vector<std::unique_ptr<Machine>> machines;
  for (std::uint64_t n = 0; n < 3; ++n) {
    MachineOptions options;
    options.seed = n + 1;
    if (redis) options.redis = "redis://127.0.0.1:" + std::to_string(redis->port());
    machines.push_back(std::make_unique<Machine>(world, options));
  }
  std::vector<Ask> questions;
  for (std::size_t n = 0; n < kAddresses; ++n) questions.push_back(question(n));
  std::vector<std::atomic<std::int64_t>> over(kAddresses);  // the last window that all know is over

  std::atomic<bool> is_done{false};
  std::atomic<std::int64_t> asked{0}, bought{0}, remembered{0}, older{0}, failed{0};
  std::vector<std::jthread> askers;
  for (std::size_t thread = 0; thread < 6; ++thread)
    askers.emplace_back([&, thread] {
      std::mt19937_64 random(thread + 100);
      Machine& machine = *machines[thread % machines.size()];
      while (!is_done) {
        const std::size_t n = random() % kAddresses;
        const std::int64_t floor = over[n];
        const Resolved resolved = machine.ask(questions[n]);
        ++asked;
        if (!resolved.answer)
          ++failed;
        else if (resolved.gen <= floor)
          ++older;
        ++(resolved.calls > 0 ? bought : remembered);
      }
    });

  std::mt19937_64 random(7);
  const auto command = world.open();
  milliseconds longest{0};
  for (int dropped = 0; dropped < wanted && older == 0;) {
    std::vector<std::pair<std::size_t, std::int64_t>> ended;
    const std::size_t first = random();
    for (std::size_t i = 0; i < kAtOnce; ++i, ++dropped) {
      const std::size_t n = (first + i * 3) % kAddresses;
      const Slot slot = questions[n].slot;
      ASSERT_TRUE(command->invalidate({&slot, 1}, Deadline::never()));
      const auto entry = command->entry(slot, Deadline::never());
      ASSERT_TRUE(entry && *entry);
      // Bought anew already: the window before it is over all the same.
      ended.emplace_back(n, (*entry)->answer ? (*entry)->gen - 1 : (*entry)->gen);
    }
    const Mono returned = system_clock().now();
    // One in two commands dies before it has told Redis.
    if (Tier* shared = machines[0]->shared(); shared != nullptr && random() % 2 == 0) {
      ASSERT_TRUE(hand_over(*command, *shared, Deadline::never()));
    }
    for (const auto& machine : machines)
      while (!machine->has_heard(returned)) std::this_thread::yield();
    longest = std::max(longest, std::chrono::ceil<milliseconds>(system_clock().now() - returned));
    for (const auto& [n, gen] : ended) over[n] = gen;
  }
  is_done = true;
  askers.clear();
  EXPECT_EQ(older, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_GT(remembered, 0);
  fmt::print(
      "{} drops: {} asked, {} bought, {} remembered, {} older; heard by all after {} ms at the "
      "latest\n",
      wanted,
      asked.load(),
      bought.load(),
      remembered.load(),
      older.load(),
      longest.count());
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         Invalidation,
                         testing::Values(Kind{"sqlite", false, false},
                                         Kind{"sqlite_redis", false, true},
                                         Kind{"postgres_redis", true, true}),
                         [](const auto& kind) { return kind.param.name; });

TEST(Message, who_is_called_looks_at_once_and_again_when_he_may_have_missed_a_call) {
  RedisServer redis;
  const World world(false);
  MachineOptions options;
  options.redis = "redis://127.0.0.1:" + std::to_string(redis.port());
  options.look_every = 24h;
  Machine machine(world, options);
  while (machine.calls() == 0) std::this_thread::yield();  // it listens

  const auto command = world.open();
  const Ask asked = question(1);
  ASSERT_TRUE(machine.ask(asked).answer);
  ASSERT_TRUE(command->invalidate({&asked.slot, 1}, Deadline::never()));
  const Mono returned = system_clock().now();
  ASSERT_TRUE(hand_over(*command, *machine.shared(), Deadline::never()));
  while (!machine.has_heard(returned)) std::this_thread::yield();

  redis.kill();
  const int calls = machine.calls();
  redis.start();
  while (machine.calls() == calls) std::this_thread::yield();
}

}  // namespace
}  // namespace geonce::coherence
