#include <map>
#include <memory>
#include <string>

#include "contract/tiers/tier_contract.h"

namespace geonce {
namespace {

/// A kind of tier. Servers are started once for all tests of it.
class Kind {
 public:
  virtual ~Kind() = default;
  virtual OpenedTier open() = 0;
  virtual void empty() {}
  [[nodiscard]] virtual bool is_shared() const { return true; }  // by processes
};

class MemoryKind final : public Kind {
 public:
  OpenedTier open() override {
    return {std::make_shared<Guarded<std::vector<std::string>>>(),
            open_memory_tier(std::size_t{64} << 20U, system_clock())};
  }
  [[nodiscard]] bool is_shared() const override { return false; }
};

class StandaloneKind final : public Kind {
 public:
  OpenedTier open() override { return open_tier(server_.url()); }
  void empty() override { server_.command({"FLUSHALL"}); }

 private:
  RedisServer server_;
};

class ClusterKind final : public Kind {
 public:
  OpenedTier open() override { return open_tier(servers_.url()); }
  void empty() override {
    for (RedisServer* master : servers_.masters()) master->command({"FLUSHALL"});
  }

 private:
  RedisClusterServers servers_;
};

class SentinelKind final : public Kind {
 public:
  OpenedTier open() override { return open_tier(servers_.url()); }
  void empty() override { servers_.master->command({"FLUSHALL"}); }

 private:
  RedisSentinelServers servers_;
};

class AnyTier : public ::testing::TestWithParam<std::string> {
 protected:
  static Kind& kind() {
    static std::map<std::string, std::unique_ptr<Kind>> kinds;
    std::unique_ptr<Kind>& kind = kinds[GetParam()];
    if (kind) return *kind;
    if (GetParam() == "memory") kind = std::make_unique<MemoryKind>();
    if (GetParam() == "redis") kind = std::make_unique<StandaloneKind>();
    if (GetParam() == "cluster") kind = std::make_unique<ClusterKind>();
    if (GetParam() == "sentinel") kind = std::make_unique<SentinelKind>();
    return *kind;
  }
  void SetUp() override {
    kind().empty();
    opened_ = kind().open();
    // A kind that connects first may miss until it has.
    ASSERT_TRUE(comes_true([this] {
      const Slot probe = slot_of(1'000'000);
      return keep(*opened_.tier, probe, cached_of("probe")) &&
             look_up(*opened_.tier, probe) == "probe";
    })) << opened_.all();
  }
  Tier& tier() { return *opened_.tier; }

  OpenedTier opened_;
};

TEST_P(AnyTier, remembers_what_was_stored_under_its_slot_alone) {
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("a", 7)));
  const Slot slot = slot_of(1);
  const auto found = tier().find(std::span(&slot, 1), soon());
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->front());
  const Cached& cached = *found->front();
  EXPECT_EQ(*cached.answer, *answer_of("a"));
  EXPECT_EQ(cached.gen, 7);
  EXPECT_GT(cached.answered_at, 0);
  EXPECT_GT(cached.expires_at, cached.answered_at);
  EXPECT_EQ(look_up(tier(), slot_of(2)), "-");
  EXPECT_EQ(look_up(tier(), slot_of(1, 2)), "-") << "another pool";
}

TEST_P(AnyTier, answers_no_slots_with_nothing) {
  const auto found = tier().find({}, soon());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
  EXPECT_TRUE(tier().store({}, soon()));
  EXPECT_TRUE(tier().forget({}, soon()));
}

TEST_P(AnyTier, answers_thousands_of_slots_in_the_order_asked) {
  std::vector<Remembered> entries;
  std::vector<Slot> slots;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    slots.push_back(slot_of(i));
    if (i % 3 != 0) entries.push_back({slots.back(), cached_of(std::to_string(i))});
  }
  slots.push_back(slot_of(1));
  ASSERT_TRUE(tier().store(entries, soon()));
  const auto found = tier().find(slots, soon());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), slots.size());
  for (std::uint64_t i = 0; i < 5'000; ++i)
    ASSERT_EQ(id((*found)[i]), i % 3 == 0 ? "-" : std::to_string(i));
  EXPECT_EQ(id(found->back()), "1");
}

TEST_P(AnyTier, keeps_a_no_match_as_it_is) {
  Answer no_match;
  no_match.provider = "example";
  Cached cached = cached_of("");
  cached.answer = std::make_shared<const Answer>(no_match);
  ASSERT_TRUE(keep(tier(), slot_of(1), cached));
  const Slot slot = slot_of(1);
  const auto found = tier().find(std::span(&slot, 1), soon());
  ASSERT_TRUE(found && found->front());
  EXPECT_EQ(*found->front()->answer, no_match);
}

TEST_P(AnyTier, serves_nothing_from_its_fresh_until_on) {
  const Cached brief = cached_of("brief", 1, milliseconds{300});
  ASSERT_TRUE(keep(tier(), slot_of(1), brief));
  const Slot slot = slot_of(1);
  while (system_clock().now() < brief.fresh_until + milliseconds{50}) {
    const Mono asked = system_clock().now();
    const auto found = tier().find(std::span(&slot, 1), soon());
    ASSERT_TRUE(found);
    if (!found->front()) continue;
    EXPECT_LT(asked, brief.fresh_until) << "served after its end";
    EXPECT_LE(found->front()->fresh_until, brief.fresh_until) << "lengthened on the way";
  }
  EXPECT_EQ(look_up(tier(), slot), "-");
}

TEST_P(AnyTier, does_not_remember_what_is_over_already) {
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("dead", 1, milliseconds{-1})));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "-");
}

TEST_P(AnyTier, keeps_the_newer_window_whatever_comes_later) {
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("two", 2)));
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("one", 1)));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "two");
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("three", 3)));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "three");
}

TEST_P(AnyTier, lengthens_no_life_within_a_window) {
  const Cached first = cached_of("first", 1, seconds{60});
  ASSERT_TRUE(keep(tier(), slot_of(1), first));
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("second", 1, seconds{600})));
  const Slot slot = slot_of(1);
  const auto found = tier().find(std::span(&slot, 1), soon());
  ASSERT_TRUE(found && found->front());
  EXPECT_LE(found->front()->fresh_until, first.fresh_until);
}

TEST_P(AnyTier, forgets_the_windows_that_are_over_and_no_newer_one) {
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("one", 1)));
  ASSERT_TRUE(keep(tier(), slot_of(2), cached_of("three", 3)));
  ASSERT_TRUE(end(tier(), slot_of(1), 2));
  ASSERT_TRUE(end(tier(), slot_of(2), 2));
  ASSERT_TRUE(end(tier(), slot_of(3), 2));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "-");
  EXPECT_EQ(look_up(tier(), slot_of(2)), "three");
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("again", 3)));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "again");
}

TEST_P(AnyTier, takes_back_nothing_of_a_window_that_is_over) {
  if (!kind().is_shared()) return;  // in a process the store is read before anybody tells the tier
  const Cached read_before = cached_of("old", 1);
  ASSERT_TRUE(end(tier(), slot_of(1), 2));
  ASSERT_TRUE(keep(tier(), slot_of(1), read_before));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "-") << "read, invalidated, filled in again";
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("of the ended one", 2)));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "-");
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("new", 3)));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "new");
}

TEST_P(AnyTier, is_seen_by_another_process) {
  if (!kind().is_shared()) return;
  ASSERT_TRUE(keep(tier(), slot_of(1), cached_of("a")));
  const OpenedTier other = kind().open();
  EXPECT_TRUE(comes_true([&] { return look_up(*other.tier, slot_of(1)) == "a"; }));
  ASSERT_TRUE(end(*other.tier, slot_of(1), 1));
  EXPECT_EQ(look_up(tier(), slot_of(1)), "-");
}

TEST_P(AnyTier, is_used_by_many_threads_at_once) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kKeys = 200;
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int step = 0; step < 60; ++step) {
          std::vector<Slot> slots;
          std::vector<Remembered> entries;
          std::vector<Ended> ended;
          for (std::uint64_t i = 0; i < 50; ++i) {
            const auto which = (static_cast<std::uint64_t>(step * 7 + t) * 31 + i) % kKeys;
            slots.push_back(slot_of(which));
            entries.push_back({slot_of(which), cached_of(std::to_string(which), step + 1)});
            if (i % 10 == 0) ended.push_back({slot_of(which), step});
          }
          if (!tier().store(entries, soon())) ++wrong;
          if (!tier().forget(ended, soon())) ++wrong;
          const auto found = tier().find(slots, soon());
          if (!found) ++wrong;
          for (std::size_t i = 0; found && i < slots.size(); ++i)
            if ((*found)[i] && id((*found)[i]) != entries[i].cached.answer->place_id) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0) << opened_.all();
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         AnyTier,
                         ::testing::Values("memory", "redis", "cluster", "sentinel"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace geonce
