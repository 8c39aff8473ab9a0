#include <set>
#include <thread>

#include "contract/tiers/tier_contract.h"
#include "io/redis_cluster.h"
#include "tiers/redis_value.h"

// Several servers: slots that move, masters that die.

namespace geonce {
namespace {

std::string key_of(const Slot& slot) { return redis_key("geonce:", slot); }

/// So many entries, `name` in each.
std::vector<Remembered> entries_of(std::uint64_t count, std::int64_t gen) {
  std::vector<Remembered> entries;
  for (std::uint64_t i = 0; i < count; ++i)
    entries.push_back({slot_of(i), cached_of(std::to_string(i), gen)});
  return entries;
}
std::vector<Slot> slots_of(std::uint64_t count) {
  std::vector<Slot> slots;
  for (std::uint64_t i = 0; i < count; ++i) slots.push_back(slot_of(i));
  return slots;
}
/// How many of the first `count` are there; -1: one is not the one it should be.
int hits(Tier& tier, std::uint64_t count) {
  const auto found = tier.find(slots_of(count), soon());
  if (!found) return 0;
  int sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!(*found)[i]) continue;
    if (id((*found)[i]) != std::to_string(i)) return -1;
    ++sum;
  }
  return sum;
}

TEST(RedisCluster, slots_that_move_while_they_are_used_lose_no_answer) {
  RedisClusterServers servers;
  const OpenedTier tier = open_tier(servers.url());
  constexpr std::uint64_t kCount = 300;
  ASSERT_TRUE(comes_true([&] { return tier->store(entries_of(kCount, 1), soon()).has_value(); }));
  ASSERT_EQ(hits(*tier.tier, kCount), static_cast<int>(kCount));

  // All slots of our keys that the first master has go to the second, key by key.
  const auto masters = servers.masters();
  RedisServer& from = *masters[0];
  RedisServer& to = *masters[1];
  const std::string from_id = from.command({"CLUSTER", "MYID"});
  const std::string to_id = to.command({"CLUSTER", "MYID"});
  std::atomic<bool> is_over{false};
  std::atomic<int> looks{0};
  Guarded<std::string> what;
  std::vector<std::jthread> threads;
  struct AtEnd {
    ~AtEnd() { flag = true; }
    std::atomic<bool>& flag;
  } at_end{is_over};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t gen = 2 + t; !is_over; gen += 2, ++looks) {
        if (t == 0) {
          const auto stored = tier->store(entries_of(kCount, gen), soon());
          if (!stored) what.with([&](auto& text) { text += stored.error().message + "\n"; });
        }
        const int found = hits(*tier.tier, kCount);
        if (found != static_cast<int>(kCount))
          what.with([&](auto& text) { text += std::to_string(found) + " hits\n"; });
      }
    });
  int moved = 0;
  std::set<std::uint16_t> done;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint16_t number = redis_slot(key_of(slot_of(i)));
    const std::string slot = std::to_string(number);
    if (done.contains(number) || from.command({"CLUSTER", "COUNTKEYSINSLOT", slot}) == "0")
      continue;
    done.insert(number);
    ASSERT_EQ(to.command({"CLUSTER", "SETSLOT", slot, "IMPORTING", from_id}), "OK");
    ASSERT_EQ(from.command({"CLUSTER", "SETSLOT", slot, "MIGRATING", to_id}), "OK");
    const int before = looks;
    for (std::uint64_t other = 0; other < kCount; ++other) {
      const std::string key = key_of(slot_of(other));
      if (redis_slot(key) != number) continue;
      ASSERT_EQ(
          from.command(
              {"MIGRATE", "127.0.0.1", std::to_string(to.port()), key, "0", "5000", "REPLACE"}),
          "OK");
    }
    // Now it is there and still asked for here: ASK.
    if (moved % 20 == 0) {
      ASSERT_TRUE(comes_true([&] { return looks > before + 2; }));
    }
    ASSERT_EQ(to.command({"CLUSTER", "SETSLOT", slot, "NODE", to_id}), "OK");
    ASSERT_EQ(from.command({"CLUSTER", "SETSLOT", slot, "NODE", to_id}), "OK");
    ++moved;
  }
  const int before = looks;
  ASSERT_TRUE(comes_true([&] { return looks > before + 2; }));
  is_over = true;
  threads.clear();
  EXPECT_GT(moved, 50);
  EXPECT_EQ(what.with([](const auto& text) { return text; }), "") << tier.all();
  EXPECT_EQ(hits(*tier.tier, kCount), static_cast<int>(kCount));
  EXPECT_EQ(tier.noticed("left alone"), 0U) << tier.all();
}

TEST(RedisCluster, a_master_that_dies_takes_nobody_elses_answers_along_and_its_replica_follows) {
  RedisClusterServers servers;
  const OpenedTier tier = open_tier(servers.url(), milliseconds{500});
  constexpr std::uint64_t kCount = 600;
  ASSERT_TRUE(comes_true([&] { return tier->store(entries_of(kCount, 1), soon()).has_value(); }));
  for (RedisServer* master : servers.masters())
    ASSERT_EQ(master->command({"WAIT", "1", "5000"}), "1");
  RedisServer& victim = *servers.masters()[0];
  victim.kill();
  const int left = hits(*tier.tier, kCount);
  EXPECT_GT(left, 200) << "the other two still answer";
  EXPECT_LT(left, 600);
  EXPECT_TRUE(comes_true([&] { return hits(*tier.tier, kCount) == static_cast<int>(kCount); }))
      << tier.all();
  EXPECT_TRUE(tier->store(entries_of(kCount, 2), soon()));
  EXPECT_EQ(tier.noticed("left alone"), 1U) << tier.all();
}

TEST(RedisCluster, any_of_its_nodes_is_enough_to_find_the_others) {
  RedisClusterServers servers;
  for (const auto& node : servers.nodes) {
    const OpenedTier tier =
        open_tier("redis+cluster://127.0.0.1:1,127.0.0.1:" + std::to_string(node->port()));
    ASSERT_TRUE(comes_true([&] { return tier->store(entries_of(50, 1), soon()).has_value(); }))
        << tier.all();
    EXPECT_EQ(hits(*tier.tier, 50), 50);
  }
}

TEST(RedisCluster, a_server_that_is_none_is_told) {
  RedisServer server;
  const OpenedTier tier = open_tier("redis+cluster://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(comes_true([&] { return tier.noticed("cluster support disabled") == 1; }))
      << tier.all();
  EXPECT_EQ(look_up(*tier.tier, slot_of(1)), "!");
}

TEST(RedisSentinel, the_replica_that_is_promoted_is_followed) {
  RedisSentinelServers servers;
  const OpenedTier tier = open_tier(servers.url(), milliseconds{500});
  ASSERT_TRUE(comes_true([&] { return tier->store(entries_of(100, 1), soon()).has_value(); }));
  ASSERT_EQ(servers.master->command({"WAIT", "1", "5000"}), "1");
  servers.master->kill();
  EXPECT_TRUE(comes_true([&] {
    return hits(*tier.tier, 100) == 100 && tier->store(entries_of(100, 2), soon()).has_value();
  })) << tier.all();
  EXPECT_EQ(servers.replica->info("role"), "master");
}

TEST(RedisSentinel, a_master_that_has_become_a_replica_is_left) {
  RedisSentinelServers servers;
  const OpenedTier tier = open_tier(servers.url(), milliseconds{500});
  ASSERT_TRUE(comes_true([&] { return tier->store(entries_of(10, 1), soon()).has_value(); }));
  ASSERT_EQ(servers.sentinels[0]->command({"SENTINEL", "FAILOVER", "cache"}), "OK");
  std::int64_t gen = 2;
  ASSERT_TRUE(comes_true([&] {
    ++gen;
    return servers.replica->info("role") == "master" && servers.master->info("role") == "slave" &&
           tier->store(entries_of(10, gen), soon()).has_value();
  })) << tier.all();
  EXPECT_EQ(hits(*tier.tier, 10), 10);
}

TEST(RedisSentinel, without_an_answer_or_with_another_name_it_is_told) {
  RedisSentinelServers servers;
  auto url = servers.url();
  url.replace(url.rfind("cache"), 5, "other");
  const OpenedTier other = open_tier(url);
  EXPECT_TRUE(comes_true([&] { return other.noticed("it watches no master other") == 1; }))
      << other.all();
  for (auto& sentinel : servers.sentinels) sentinel->kill();
  const OpenedTier none = open_tier(servers.url());
  EXPECT_TRUE(comes_true([&] { return none.noticed("cannot connect") == 1; })) << none.all();
  servers.sentinels[1]->start();
  EXPECT_TRUE(
      comes_true([&] { return hits(*none.tier, 1) == 0 && none.noticed("is found") == 1; }));
}

}  // namespace
}  // namespace geonce
