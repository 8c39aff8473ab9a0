#include "contract/tiers/tier_contract.h"
#include "tiers/redis_value.h"

// One server, and what can happen to it. Nothing of this may be more than a miss.

namespace geonce {
namespace {

constexpr milliseconds kShort{50};

std::string key_of(const Slot& slot) { return redis_key("geonce:", slot); }

bool works(Tier& tier) {
  const Slot probe = slot_of(1'000'000);
  return keep(tier, probe, cached_of("probe")) && look_up(tier, probe) == "probe";
}

class RedisFaults : public ::testing::Test {
 protected:
  void use(OpenedTier tier) {
    tier_ = std::move(tier);
    ASSERT_TRUE(comes_true([this] { return works(*tier_.tier); })) << tier_.all();
  }
  Tier& tier() { return *tier_.tier; }

  RedisServer server_;
  OpenedTier tier_;
};

TEST_F(RedisFaults, a_killed_server_is_noticed_once_and_found_again) {
  use(open_tier(server_.url(), kShort));
  server_.kill();
  EXPECT_TRUE(comes_true([&] {
    EXPECT_NE(look_up(tier(), slot_of(1)), "probe");
    return tier_.noticed("left alone until it works again") == 1;
  }));
  EXPECT_FALSE(keep(tier(), slot_of(1), cached_of("a")));
  server_.start();
  EXPECT_TRUE(comes_true([&] { return works(tier()); }));
  EXPECT_EQ(tier_.noticed("left alone until it works again"), 1U) << tier_.all();
  EXPECT_EQ(tier_.noticed("works again"), 2U) << tier_.all();
}

TEST_F(RedisFaults, a_server_that_does_not_answer_costs_nothing_once_it_is_left_alone) {
  use(open_tier(server_.url(), kShort));
  server_.pause();
  EXPECT_TRUE(comes_true([&] {
    EXPECT_EQ(look_up(tier(), slot_of(1)), "!");
    return tier_.noticed("left alone until it works again") == 1;
  })) << tier_.all();
  // At 50 ms each these would outlast every patience with a test.
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(look_up(tier(), slot_of(1)), "!");
  server_.resume();
  EXPECT_TRUE(comes_true([&] { return works(tier()); }));
}

TEST_F(RedisFaults, a_server_that_was_never_there_is_noticed_once) {
  server_.kill();
  const OpenedTier tier = open_tier(server_.url(), kShort);
  EXPECT_TRUE(comes_true([&] {
    EXPECT_EQ(look_up(*tier.tier, slot_of(1)), "!");
    return tier.noticed("left alone until it works again") == 1;
  }));
  server_.start();
  EXPECT_TRUE(comes_true([&] { return works(*tier.tier); }));
}

TEST_F(RedisFaults, connections_that_ended_while_nobody_looked_cost_no_answer) {
  use(open_tier(server_.url()));
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("a")));
  server_.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_EQ(look_up(tier(), slot_of(1)), "a");
}

TEST_F(RedisFaults, an_emptied_server_is_a_miss_and_forgotten_scripts_are_brought_again) {
  use(open_tier(server_.url()));
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("a")));
  server_.command({"FLUSHALL"});
  EXPECT_EQ(look_up(tier(), slot_of(1)), "-");
  server_.command({"SCRIPT", "FLUSH"});
  std::vector<Remembered> entries;
  std::vector<Slot> slots;
  for (std::uint64_t i = 0; i < 1'200; ++i) {
    slots.push_back(slot_of(i));
    entries.push_back({slots.back(), cached_of(std::to_string(i))});
  }
  const auto stored = tier().store(entries, soon());
  ASSERT_TRUE(stored) << stored.error().message;
  const auto found = tier().find(slots, soon());
  ASSERT_TRUE(found);
  for (std::uint64_t i = 0; i < 1'200; ++i) ASSERT_EQ(id((*found)[i]), std::to_string(i));
}

TEST_F(RedisFaults, what_comes_too_late_never_comes_in) {
  use(open_tier(server_.url()));
  const Deadline past{system_clock().now() - seconds{1}};
  (void)keep(tier(), slot_of(1), cached_of("late"), past);
  ASSERT_TRUE(works(tier()));  // whatever was sent before has been carried out by now
  EXPECT_EQ(server_.command({"GET", key_of(slot_of(1))}), "nil");
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("in time")));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "in time");
}

TEST_F(RedisFaults, nothing_stays_longer_than_it_may_and_the_end_of_a_window_stays_a_minute) {
  RedisTierOptions options;
  options.max_stay = minutes{5};
  use(open_tier(server_.url(), kPatience, options));
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("long", 1, minutes{60 * 24 * 90})));
  ASSERT_TRUE(keep(tier(), slot_of(2), cached_of("middle", 1, minutes{2})));
  ASSERT_TRUE(keep(tier(), slot_of(3), cached_of("brief", 1, seconds{2})));
  ASSERT_TRUE(end(tier(), slot_of(4), 1));
  const auto left = [&](std::uint64_t n) {
    return std::stoll(server_.command({"PTTL", key_of(slot_of(n))}));
  };
  EXPECT_LE(left(1), 300'000);
  EXPECT_GT(left(1), 200'000);
  EXPECT_LE(left(2), 120'000);
  EXPECT_GT(left(2), 60'000);
  EXPECT_LE(left(3), 60'000);
  EXPECT_GT(left(3), 30'000);
  EXPECT_LE(left(4), 60'000);
  EXPECT_GT(left(4), 30'000);
  const Slot slot = slot_of(1);
  const auto found = tier().find(std::span(&slot, 1), soon());
  ASSERT_TRUE(found && found->front());
  EXPECT_GT(found->front()->fresh_until, system_clock().now() + minutes{60 * 24 * 80})
      << "its life is not shortened by its stay";
}

TEST_F(RedisFaults, what_nobody_can_read_is_a_miss_and_makes_room) {
  use(open_tier(server_.url()));
  const Cached cached = cached_of("a", 7);
  const std::string good =
      encode(7, 4'000'000'000'000, cached.answered_at, cached.expires_at, *cached.answer);
  std::string codec_9 = good;
  codec_9[2] = 9;
  struct Row {
    const char* name;
    std::string bytes;
    bool keeps_its_window;
  };
  const std::vector<Row> rows{{"nothing", "", false},
                              {"garbage", "\xff\x01\x02 garbage", false},
                              {"somebody's", std::string(100'000, '{'), false},
                              {"another codec", codec_9, true},
                              {"cut", good.substr(0, good.size() - 3), true},
                              {"cut in its head", good.substr(0, 11), false},
                              {"a window nobody counted to",
                               std::string("gn\x01\x01") + std::string(8, '\xFF') + good.substr(12),
                               false}};
  for (const Row& row : rows) {
    const Slot slot = slot_of(1);
    server_.command({"SET", key_of(slot), row.bytes});
    EXPECT_EQ(look_up(tier(), slot), "-") << row.name;
    const auto left = server_.command({"GET", key_of(slot)});
    EXPECT_EQ(left, row.keeps_its_window ? encode_ended(6) : "nil") << row.name;
    ASSERT_TRUE(keep(tier(), slot, cached_of("six", 6)));
    EXPECT_EQ(look_up(tier(), slot), row.keeps_its_window ? "-" : "six") << row.name;
    ASSERT_TRUE(keep(tier(), slot, cached));
    EXPECT_EQ(look_up(tier(), slot), "a") << row.name;
    server_.command({"DEL", key_of(slot)});
  }
  server_.command({"LPUSH", key_of(slot_of(2)), "somebody's list"});
  EXPECT_EQ(look_up(tier(), slot_of(2)), "-");
  EXPECT_FALSE(keep(tier(), slot_of(2), cached)) << "WRONGTYPE";
  EXPECT_EQ(look_up(tier(), slot_of(2)), "-");
  std::vector<Remembered> many;
  for (std::uint64_t n = 1; n <= 120; ++n)
    many.push_back({slot_of(n), cached_of("one of many", 8)});
  EXPECT_FALSE(tier().store(many, soon())) << "WRONGTYPE";
  for (std::uint64_t n = 1; n <= 120; ++n)
    EXPECT_EQ(look_up(tier(), slot_of(n)), n == 2 ? "-" : "one of many") << n;
}

TEST_F(RedisFaults, a_clock_that_was_set_back_lengthens_no_life) {
  use(open_tier(server_.url()));
  const UtcMs now = system_clock().now_utc();
  const auto put = [&](std::int64_t dead_at, UtcMs answered_at, UtcMs expires_at) {
    server_.command(
        {"SET", key_of(slot_of(1)), encode(1, dead_at, answered_at, expires_at, *answer_of("a"))});
    return look_up(tier(), slot_of(1));
  };
  EXPECT_EQ(put(now + 60'000, now - 60'000, now + 60'000), "a");
  EXPECT_EQ(put(now + 180'000, now - 60'000, now + 60'000), "-") << "more than it was ever given";
  EXPECT_EQ(put(now + 60'000, now - 120'000, now - 1'000), "-") << "over by our own clock";
  EXPECT_EQ(put(now - 1'000, now - 60'000, now + 60'000), "-") << "over by the server's";
  EXPECT_EQ(put(now + 60'000, 0, 0), "a") << "nothing else is known";
}

struct Policy {
  const char* name;
  bool may_refuse;
};

class RedisMemory : public ::testing::TestWithParam<Policy> {};

TEST_P(RedisMemory, a_full_server_forgets_or_refuses_and_never_fails_a_look) {
  RedisServer server({"--maxmemory", "4mb", "--maxmemory-policy", GetParam().name});
  const OpenedTier tier = open_tier(server.url());
  ASSERT_TRUE(comes_true([&] { return works(*tier.tier); }));
  bool was_refused = false;
  for (std::uint64_t block = 0; block < 40; ++block) {
    std::vector<Remembered> entries;
    std::vector<Slot> slots;
    for (std::uint64_t i = 0; i < 500; ++i) {
      slots.push_back(slot_of(block * 500 + i));
      entries.push_back({slots.back(), cached_of(std::to_string(block * 500 + i))});
    }
    was_refused = !tier->store(entries, soon()) || was_refused;
    const auto found = tier->find(slots, soon());
    ASSERT_TRUE(found) << found.error().message;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if ((*found)[i]) {
        ASSERT_EQ(id((*found)[i]), entries[i].cached.answer->place_id);
      }
    }
  }
  EXPECT_EQ(was_refused, GetParam().may_refuse) << tier.all();
  EXPECT_EQ(tier.noticed("refuses a command: OOM"), GetParam().may_refuse ? 1U : 0U) << tier.all();
  EXPECT_EQ(tier.noticed("left alone"), 0U) << "it works";
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         RedisMemory,
                         ::testing::Values(Policy{"noeviction", true},
                                           Policy{"allkeys-lfu", false},
                                           Policy{"allkeys-lru", false},
                                           Policy{"allkeys-random", false},
                                           Policy{"volatile-lfu", false},
                                           Policy{"volatile-lru", false},
                                           Policy{"volatile-random", false},
                                           Policy{"volatile-ttl", false}),
                         [](const auto& policy) {
                           std::string name = policy.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace geonce
