#include "tiers/memory_tier.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <malloc.h>

namespace {

/// What is allocated by `new` and not yet deleted in this binary, malloc's own bytes included.
std::atomic<std::size_t> live_bytes{0};

void* counted(void* block) {
  if (block == nullptr) std::abort();
  live_bytes += malloc_usable_size(block) + 8;
  return block;
}

void uncounted(void* block) {
  if (block != nullptr) live_bytes -= malloc_usable_size(block) + 8;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  return counted(std::aligned_alloc(to, (size + to - 1) / to * to));
}
void* operator new[](std::size_t size) { return counted(std::malloc(size)); }
void operator delete[](void* block) noexcept { uncounted(block); }
void operator delete[](void* block, std::size_t) noexcept { uncounted(block); }
void operator delete(void* block) noexcept { uncounted(block); }
void operator delete(void* block, std::size_t) noexcept { uncounted(block); }
void operator delete(void* block, std::align_val_t) noexcept { uncounted(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { uncounted(block); }

namespace geonce {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// As evenly spread as digests are (splitmix64).
Slot slot_of(std::uint64_t number, Pool pool = kDefaultPool) {
  Slot slot;
  slot.pool = pool;
  for (std::size_t i = 0; i < slot.key.bytes.size(); i += 8) {
    std::uint64_t word = (number * 4 + i / 8 + 1) * 0x9E3779B97F4A7C15U;
    word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
    word ^= word >> 31U;
    std::memcpy(slot.key.bytes.data() + i, &word, sizeof word);
  }
  return slot;
}

std::shared_ptr<const Answer> answer_of(std::uint64_t number, std::size_t formatted_size = 40) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{1, 2};
  answer.provider = "example";
  answer.formatted.assign(formatted_size, 'x');
  answer.street = "A street with a rather long name";
  answer.place_id = std::to_string(number);
  return std::make_shared<const Answer>(std::move(answer));
}

class MemoryTierTest : public ::testing::Test {
 protected:
  Cached cached(std::uint64_t number, std::int64_t gen = 1, milliseconds life = hours{1}) {
    return {answer_of(number), gen, clock_.now() + life, 0, 0};
  }
  static std::string id(const std::optional<Cached>& found) {
    return found ? found->answer->place_id : "-";
  }
  FakeClock clock_;
};

TEST_F(MemoryTierTest, remembers_what_was_stored_under_its_slot_alone) {
  auto tier = open_memory_tier(kMiB, clock_);
  tier->store_one(slot_of(1), cached(10));
  EXPECT_EQ(id(tier->find_one(slot_of(1))), "10");
  EXPECT_FALSE(tier->find_one(slot_of(2)));
  EXPECT_FALSE(tier->find_one(slot_of(1, 2))) << "another pool";
  EXPECT_EQ(tier->stats().hits, 1U);
  EXPECT_EQ(tier->stats().misses, 2U);
}

TEST_F(MemoryTierTest, answers_many_slots_in_the_order_asked) {
  auto tier = open_memory_tier(kMiB, clock_);
  const std::vector<Remembered> entries{{slot_of(1), cached(1)}, {slot_of(2), cached(2)}};
  ASSERT_TRUE(tier->store(entries, Deadline::never()));
  const std::vector<Slot> slots{slot_of(2), slot_of(3), slot_of(1), slot_of(2)};
  const auto found = tier->find(slots, Deadline::never());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 4U);
  EXPECT_EQ(id((*found)[0]), "2");
  EXPECT_FALSE((*found)[1]);
  EXPECT_EQ(id((*found)[2]), "1");
  EXPECT_EQ(id((*found)[3]), "2");
}

TEST_F(MemoryTierTest, serves_nothing_from_its_fresh_until_on) {
  auto tier = open_memory_tier(kMiB, clock_);
  tier->store_one(slot_of(1), cached(1, 1, seconds{60}));
  clock_.advance(milliseconds{59'999});
  EXPECT_TRUE(tier->find_one(slot_of(1)));
  clock_.advance(milliseconds{1});
  EXPECT_FALSE(tier->find_one(slot_of(1)));
  EXPECT_EQ(tier->stats().entries, 0U);
}

TEST_F(MemoryTierTest, does_not_care_for_a_jump_of_the_wall_clock) {
  auto tier = open_memory_tier(kMiB, clock_);
  tier->store_one(slot_of(1), cached(1, 1, seconds{60}));
  clock_.jump_utc(hours{24});
  EXPECT_TRUE(tier->find_one(slot_of(1)));
  clock_.jump_utc(-hours{72});
  clock_.advance(seconds{60});
  EXPECT_FALSE(tier->find_one(slot_of(1)));
}

TEST_F(MemoryTierTest, keeps_the_newer_window) {
  auto tier = open_memory_tier(kMiB, clock_);
  tier->store_one(slot_of(1), cached(20, 2));
  tier->store_one(slot_of(1), cached(10, 1));
  EXPECT_EQ(id(tier->find_one(slot_of(1))), "20");
  tier->store_one(slot_of(1), cached(21, 2));
  EXPECT_EQ(id(tier->find_one(slot_of(1))), "20") << "the same window cannot be lengthened";
  tier->store_one(slot_of(1), cached(30, 3));
  EXPECT_EQ(id(tier->find_one(slot_of(1))), "30");
}

TEST_F(MemoryTierTest, lets_a_dead_entry_block_nobody_and_a_dead_newer_one_end_the_older) {
  auto tier = open_memory_tier(kMiB, clock_);
  tier->store_one(slot_of(1), cached(20, 2, seconds{1}));
  clock_.advance(seconds{2});
  tier->store_one(slot_of(1), cached(21, 2));
  EXPECT_EQ(id(tier->find_one(slot_of(1))), "21");
  tier->store_one(slot_of(1), cached(30, 3, seconds{0}));
  EXPECT_FALSE(tier->find_one(slot_of(1)));
  EXPECT_EQ(tier->stats().entries, 0U);
}

TEST_F(MemoryTierTest, forgets) {
  auto tier = open_memory_tier(kMiB, clock_);
  const std::size_t empty = tier->stats().bytes;
  tier->store_one(slot_of(1), cached(1));
  const std::vector<Ended> ended{{slot_of(1), 1}, {slot_of(2), 1}};
  ASSERT_TRUE(tier->forget(ended, Deadline::never()));
  EXPECT_FALSE(tier->find_one(slot_of(1)));
  EXPECT_EQ(tier->stats().entries, 0U);
  EXPECT_LT(tier->stats().bytes, empty + 16 * 1024) << "its nodes are kept for the next, no more";
}

TEST_F(MemoryTierTest, sweeps_out_what_nobody_asks_for_any_more) {
  auto tier = open_memory_tier(16 * kMiB, clock_);
  for (std::uint64_t i = 0; i < 1'000; ++i)
    tier->store_one(slot_of(i), cached(i, 1, seconds{i % 2 == 0 ? 1 : 60}));
  EXPECT_EQ(tier->sweep(), 0U);
  clock_.advance(seconds{2});
  EXPECT_EQ(tier->sweep(), 500U);
  EXPECT_EQ(tier->stats().entries, 500U);
  for (std::uint64_t i = 0; i < 1'000; ++i)
    EXPECT_EQ(tier->find_one(slot_of(i)).has_value(), i % 2 == 1) << i;
}

TEST_F(MemoryTierTest, makes_room_with_what_is_over_before_it_takes_what_is_fresh) {
  auto tier = open_memory_tier(kMiB, clock_);
  const auto ask = [&](std::uint64_t i) {
    for (int time = 0; time < 3; ++time) (void)tier->find_one(slot_of(i));
  };
  std::uint64_t count = 0;
  for (; tier->stats().evicted == 0; ++count) {
    tier->store_one(slot_of(count), cached(count, 1, seconds{count % 2 == 0 ? 1 : 60}));
    ask(count);
  }
  for (std::uint64_t i = 0; i < count; ++i) ask(i);  // all have been asked for equally often
  clock_.advance(seconds{2});
  for (std::uint64_t i = 0; i < count / 4; ++i) tier->store_one(slot_of(count + i), cached(i));
  for (std::uint64_t i = 1; i < count; i += 2) EXPECT_TRUE(tier->find_one(slot_of(i))) << i;
}

TEST_F(MemoryTierTest, of_no_size_remembers_nothing) {
  auto tier = open_memory_tier(0, clock_);
  tier->store_one(slot_of(1), cached(1));
  EXPECT_FALSE(tier->find_one(slot_of(1)));
  EXPECT_EQ(tier->stats().turned_away, 1U);
}

TEST_F(MemoryTierTest, agrees_with_a_plain_map_while_there_is_room) {
  auto tier = open_memory_tier(64 * kMiB, clock_);
  struct Known {
    std::uint64_t number;
    std::int64_t gen;
  };
  std::vector<std::optional<Known>> expected(700);
  std::mt19937_64 chance(11);
  for (std::uint64_t step = 0; step < 200'000; ++step) {
    const std::size_t which = chance() % expected.size();
    const Slot slot = slot_of(which);
    auto& known = expected[which];
    switch (chance() % 4) {
      case 0: {
        const auto gen = static_cast<std::int64_t>(chance() % 1'000);
        tier->store_one(slot, cached(step, gen));
        if (!known || known->gen < gen) known = Known{step, gen};
        break;
      }
      case 1:
        if (chance() % 8 == 0) {
          const Ended ended{slot, static_cast<std::int64_t>(chance() % 1'000)};
          ASSERT_TRUE(tier->forget(std::span(&ended, 1), Deadline::never()));
          if (known && known->gen <= ended.gen) known.reset();
        }
        break;
      default:
        ASSERT_EQ(id(tier->find_one(slot)), known ? std::to_string(known->number) : "-") << step;
    }
  }
  std::size_t count = 0;
  for (const auto& known : expected) count += known ? 1 : 0;
  EXPECT_EQ(tier->stats().entries, count);
}

TEST_F(MemoryTierTest, never_takes_more_bytes_than_it_was_given_whatever_the_sizes) {
  for (const std::size_t limit : {64 * 1024UL, kMiB, 7 * kMiB, 40 * kMiB}) {
    const std::size_t before = live_bytes;
    auto tier = open_memory_tier(limit, clock_);
    std::mt19937_64 chance(limit);
    // Small answers first, so that large ones later find the room taken by nodes.
    for (std::uint64_t i = 0; i < 60'000; ++i) {
      const std::size_t size = i < 30'000 ? chance() % 64 : chance() % 6'000;
      tier->store_one(slot_of(i), {answer_of(i, size), 1, clock_.now() + hours{1}, 0, 0});
      if (i % 97 != 0) continue;
      const auto stats = tier->stats();
      ASSERT_LE(stats.bytes, limit);
      const std::size_t real = live_bytes - before;
      ASSERT_LE(real, limit + 4096) << i;
      ASSERT_NEAR(static_cast<double>(stats.bytes),
                  static_cast<double>(real),
                  0.12 * static_cast<double>(real) + 4096)
          << i;
    }
    EXPECT_GT(tier->stats().bytes, limit * 3 / 4) << "and uses what it was given";
    EXPECT_GT(tier->stats().turned_away, 0U);
  }
}

TEST_F(MemoryTierTest, gives_everything_back_when_it_goes) {
  const std::size_t before = live_bytes;
  {
    auto tier = open_memory_tier(4 * kMiB, clock_);
    for (std::uint64_t i = 0; i < 20'000; ++i) tier->store_one(slot_of(i), cached(i));
    EXPECT_GT(live_bytes, before);
  }
  EXPECT_EQ(live_bytes, before);
}

TEST_F(MemoryTierTest, shows_each_write_to_the_next_reader_also_when_full) {
  auto tier = open_memory_tier(2 * kMiB, clock_);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    tier->store_one(slot_of(i), cached(i));
    ASSERT_EQ(id(tier->find_one(slot_of(i))), std::to_string(i));
    if (i % 5 == 0) {
      tier->store_one(slot_of(i / 2), cached(i, static_cast<std::int64_t>(i) + 2));
      ASSERT_EQ(id(tier->find_one(slot_of(i / 2))), std::to_string(i)) << "a newer window";
    }
  }
}

TEST_F(MemoryTierTest, keeps_a_hot_set_through_one_pass_over_a_million_others) {
  constexpr std::uint64_t kHot = 10'000;
  auto tier = open_memory_tier(32 * kMiB, clock_);
  const auto hot = answer_of(1);
  const Cached entry{hot, 1, clock_.now() + hours{1}, 0, 0};
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t i = 0; i < kHot; ++i)
      if (!tier->find_one(slot_of(i))) tier->store_one(slot_of(i), entry);

  for (std::uint64_t i = 0; i < 1'000'000; ++i)
    if (!tier->find_one(slot_of(kHot + i))) tier->store_one(slot_of(kHot + i), entry);

  const auto before = tier->stats();
  EXPECT_LT(before.entries, 80'000U) << "the pass did not simply fit";
  for (std::uint64_t i = 0; i < kHot; ++i) tier->find_one(slot_of(i));
  EXPECT_GE(tier->stats().hits - before.hits, kHot * 90 / 100);
}

TEST_F(MemoryTierTest, takes_back_at_once_who_left_the_small_queue_a_moment_ago) {
  auto tier = open_memory_tier(kMiB, clock_);
  for (std::uint64_t i = 0; i < 2'000; ++i) tier->store_one(slot_of(i), cached(i));
  std::uint64_t last_gone = 0;
  for (std::uint64_t i = 0; i < 2'000; ++i)
    if (!tier->find_one(slot_of(i))) last_gone = i;
  ASSERT_GT(last_gone, 0U);
  const auto before = tier->stats();
  tier->store_one(slot_of(last_gone), cached(1));
  EXPECT_EQ(tier->stats().admitted, before.admitted + 1);
}

TEST_F(MemoryTierTest, keeps_its_promises_to_many_threads_at_once) {
  constexpr std::size_t kThreads = 8;
  constexpr std::uint64_t kKeys = 4'000;
  constexpr std::size_t kLimit = 2 * kMiB;
  auto tier = open_memory_tier(kLimit, clock_);
  std::vector<Slot> slots;
  for (std::uint64_t i = 0; i < kKeys; ++i) slots.push_back(slot_of(i));
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 chance(t);
        for (int step = 0; step < 30'000; ++step) {
          const std::uint64_t which = chance() % kKeys;
          switch (chance() % 8) {
            case 0: {
              const Ended ended{slots[which], static_cast<std::int64_t>(step)};
              ASSERT_TRUE(tier->forget(std::span(&ended, 1), Deadline::never()));
              break;
            }
            case 1:
              if (tier->stats().bytes > kLimit) ++wrong;
              break;
            case 2:
            case 3:
            case 4:
              tier->store_one(slots[which], cached(which, static_cast<std::int64_t>(step)));
              break;
            default:
              if (const auto found = tier->find_one(slots[which]);
                  found && found->answer->place_id != std::to_string(which))
                ++wrong;
          }
        }
        if (t == 0) tier->sweep();
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace geonce
