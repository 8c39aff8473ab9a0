#include <atomic>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/guarded.h"
#include "resolver/live.h"
#include "resolver/publisher.h"
#include "support/fake_provider.h"
#include "support/faulty_store.h"
#include "support/memory_spool.h"
#include "support/temp_dir.h"

// A tier between the memory and the store that processes share.

namespace geonce {
namespace {

using namespace std::chrono_literals;

/// What the contract says, as a map, with a switch.
class FakeTier final : public Tier {
 public:
  std::atomic<bool> is_down{false};
  std::atomic<int> finds{0};

  Result<std::vector<std::optional<Cached>>> find(std::span<const Slot> slots, Deadline) override {
    ++finds;
    if (is_down) return fail(ErrorCode::io_failed, "down");
    return entries_.with([&](auto& entries) {
      std::vector<std::optional<Cached>> found;
      for (const Slot& slot : slots) {
        const auto at = entries.find(slot);
        const bool is_there = at != entries.end() && at->second.answer &&
                              at->second.fresh_until > system_clock().now();
        found.push_back(is_there ? std::optional(at->second) : std::nullopt);
      }
      return found;
    });
  }
  Result<void> store(std::span<const Remembered> all, Deadline) override {
    if (is_down) return fail(ErrorCode::io_failed, "down");
    entries_.with([&](auto& entries) {
      for (const Remembered& one : all) put(entries[one.slot], one.cached);
    });
    return {};
  }
  Result<void> forget(std::span<const Ended> all, Deadline) override {
    if (is_down) return fail(ErrorCode::io_failed, "down");
    entries_.with([&](auto& entries) {
      for (const Ended& one : all) {
        Cached tombstone;
        tombstone.gen = one.gen;
        put(entries[one.slot], tombstone);
      }
    });
    return {};
  }
  [[nodiscard]] std::int64_t gen_of(const Slot& slot) {
    return entries_.with([&](auto& entries) { return entries[slot].gen; });
  }
  [[nodiscard]] bool has_answer(const Slot& slot) {
    return entries_.with([&](auto& entries) { return entries[slot].answer != nullptr; });
  }
  void clear() {
    entries_.with([](auto& entries) { entries.clear(); });
  }

 private:
  static void put(Cached& present, const Cached& next) {
    if (next.gen > present.gen || (next.gen == present.gen && !next.answer)) present = next;
  }
  Guarded<std::map<Slot, Cached>> entries_;
};

class SharedTier : public testing::Test {
 protected:
  SharedTier() {
    auto opened = open_sqlite_store({.path = dir_.file("store.db")});
    EXPECT_TRUE(opened) << opened.error().message;
    sqlite_ = std::move(*opened);
    store_ = std::make_unique<FaultyStore>(*sqlite_);
  }
  Resolver& resolver() {
    if (!resolver_)
      resolver_ = open_resolver({.store = *store_,
                                 .memory = *memory_,
                                 .spool = spool_,
                                 .clock = system_clock(),
                                 .owner = make_uuid(system_clock()),
                                 .chain = {provider_},
                                 .life = {},
                                 .accept = {},
                                 .options = {},
                                 .shared = &tier_});
    return *resolver_;
  }
  /// A process of its own, as far as memory goes; what the last one had to publish is out.
  void restart() {
    resolver_.reset();
    memory_ = open_memory_tier(1U << 20U, system_clock());
    store_->slots_read = 0;
  }
  static Ask ask(std::size_t n, AskOptions options = {}) {
    Ask ask;
    ask.query.text = std::to_string(n) + " Sample St, Springfield, IL 62701";
    ask.query.country = Country('U', 'S');
    Normalizer normalizer;
    ask.slot.key = normalizer.key(ask.query.view())->key;
    ask.options = std::move(options);
    return ask;
  }
  Resolved one(const Ask& question) {
    return resolver().resolve({question}, Deadline::never()).front();
  }

  TempDir dir_;
  std::unique_ptr<Store> sqlite_;
  std::unique_ptr<FaultyStore> store_;
  std::unique_ptr<MemoryTier> memory_ = open_memory_tier(1U << 20U, system_clock());
  FakeTier tier_;
  MemorySpool spool_;
  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>("alpha");
  std::unique_ptr<Resolver> resolver_;  // last: it uses all of the above
};

TEST_F(SharedTier, what_one_process_bought_another_has_without_the_store) {
  EXPECT_EQ(one(ask(1)).source, AnswerSource::paid);
  restart();
  const auto later = one(ask(1));
  EXPECT_EQ(later.source, AnswerSource::redis);
  EXPECT_EQ(later.answer->provider, "alpha");
  EXPECT_EQ(later.gen, 1);
  EXPECT_GT(later.keep, 24h);
  EXPECT_EQ(store_->slots_read, 0);
  EXPECT_EQ(one(ask(1)).source, AnswerSource::l1) << "the memory has it from there";
  EXPECT_EQ(resolver().stats().redis, 1);
  EXPECT_EQ(provider_->lookups(), 1U);
}

TEST_F(SharedTier, what_the_store_knows_is_filled_in) {
  (void)one(ask(1));
  restart();
  tier_.clear();
  EXPECT_EQ(one(ask(1)).source, AnswerSource::db);
  restart();
  EXPECT_EQ(one(ask(1)).source, AnswerSource::redis);
}

TEST_F(SharedTier, many_asks_are_one_look_and_the_store_is_asked_for_the_rest) {
  std::vector<Ask> some, all;
  for (std::size_t n = 0; n < 100; ++n) {
    all.push_back(ask(n));
    if (n % 2 == 0) some.push_back(ask(n));
  }
  (void)resolver().resolve(some, Deadline::never());
  restart();
  const int before = tier_.finds;
  const auto answers = resolver().resolve(all, Deadline::never());
  EXPECT_EQ(tier_.finds, before + 1);
  EXPECT_EQ(store_->slots_read, 50);
  for (std::size_t n = 0; n < 100; ++n)
    EXPECT_EQ(answers[n].source, n % 2 == 0 ? AnswerSource::redis : AnswerSource::paid) << n;
  EXPECT_EQ(provider_->lookups(), 100U);
}

TEST_F(SharedTier, that_is_down_costs_no_answer_and_no_call) {
  (void)one(ask(1));
  restart();
  tier_.is_down = true;
  EXPECT_EQ(one(ask(1)).source, AnswerSource::db);
  EXPECT_EQ(one(ask(2)).source, AnswerSource::paid);
  EXPECT_EQ(provider_->lookups(), 2U);
}

TEST_F(SharedTier, a_no_match_is_shared_too_and_is_a_miss_to_who_retries) {
  provider_->know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  (void)one(ask(1));
  restart();
  const auto later = one(ask(1));
  EXPECT_EQ(later.source, AnswerSource::negative);
  EXPECT_EQ(store_->slots_read, 0);
  restart();
  AskOptions retry;
  retry.retry_no_match = true;
  EXPECT_EQ(one(ask(1, retry)).source, AnswerSource::paid);
}

TEST_F(SharedTier, holds_nothing_that_the_terms_do_not_allow_to_keep) {
  provider_->traits_.terms.keep = Terms::Keep::nothing;
  EXPECT_EQ(one(ask(1)).source, AnswerSource::paid);
  restart();
  EXPECT_FALSE(tier_.has_answer(ask(1).slot));
}

TEST_F(SharedTier, a_refresh_takes_the_place_of_the_older_window) {
  (void)one(ask(1));
  restart();
  AskOptions refresh;
  refresh.refresh_before = kRefreshAll;
  EXPECT_EQ(one(ask(1, refresh)).source, AnswerSource::paid) << "what is shared is too old";
  restart();
  EXPECT_EQ(one(ask(1)).gen, 2);
  EXPECT_EQ(tier_.gen_of(ask(1).slot), 2);
}

TEST_F(SharedTier, hears_later_that_a_window_is_over_when_it_was_down) {
  (void)one(ask(1));
  restart();
  (void)resolver();
  AskOptions refresh;
  refresh.refresh_before = kRefreshAll;
  tier_.is_down = true;
  EXPECT_EQ(one(ask(1, refresh)).gen, 2);
  EXPECT_EQ(one(ask(2)).source, AnswerSource::paid);
  tier_.is_down = false;
  // Whatever is published next brings the news along, and so does time.
  EXPECT_EQ(one(ask(3)).source, AnswerSource::paid);
  const Deadline limit = Deadline::in(60s, system_clock());
  // The news was late when the tier was up again before it came: then the new answer is there.
  const auto gives_the_old = [&] {
    return tier_.has_answer(ask(1).slot) && tier_.gen_of(ask(1).slot) < 2;
  };
  while (gives_the_old() && !limit.has_passed(system_clock())) std::this_thread::yield();
  EXPECT_FALSE(gives_the_old()) << "the old answer is still given out";
}

TEST(Publisher, drops_what_has_waited_too_long_and_says_only_that_the_older_window_is_over) {
  FakeTier tier;
  FakeClock clock;
  const Slot slot;
  const Cached cached{std::make_shared<const Answer>(), 5, clock.now() + 1h, 0, 0};
  {
    Publisher publisher(tier, clock);
    publisher.publish({{slot, cached}}, clock.now() - 10s);
    publisher.replace({slot, cached}, clock.now() - 10s);
  }
  EXPECT_FALSE(tier.has_answer(slot));
  EXPECT_EQ(tier.gen_of(slot), 4);
}

}  // namespace
}  // namespace geonce
