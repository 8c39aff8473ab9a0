// Erasing: by whom, what stays, and by when everything is gone.
#include <algorithm>
#include <map>
#include <set>

#include "app/sweeper.h"
#include "contract/store/store_contract.h"

namespace geonce::contract {
namespace {

const std::string kIdentity(32, 'i');
constexpr UtcMs kHour = 3'600'000;

TEST_P(Store, a_lease_is_one_owners_until_its_time_is_over) {
  const OwnerId other = new_intent();
  const auto lease = [this](const OwnerId& owner, milliseconds life) {
    const auto left = store_->lease("sweep", owner, life, Deadline::never());
    EXPECT_TRUE(left) << left.error().message;
    return *left;
  };
  EXPECT_EQ(lease(owner_, 10s), 0s);
  EXPECT_EQ(lease(other, 10s), 10s);
  clock_.advance(4s);
  EXPECT_EQ(lease(other, 10s), 6s);
  EXPECT_EQ(lease(owner_, 10s), 0s) << "renewed";
  clock_.advance(9s);
  EXPECT_EQ(lease(other, 10s), 1s);
  clock_.advance(1s);
  EXPECT_EQ(lease(other, 10s), 0s) << "taken over";
  EXPECT_EQ(lease(owner_, 10s), 10s);
  EXPECT_EQ(lease(other, 0s), 0s) << "given back";
  EXPECT_EQ(lease(owner_, 10s), 0s);
  EXPECT_EQ(*store_->lease("another", other, 10s, Deadline::never()), 0s);
}

TEST_P(Store, a_sweep_keeps_the_gen_of_an_answer_while_a_claim_counts_on_from_it) {
  buy(slot(1), match());
  buy(slot(1 + 100), match());
  clock_.advance(kFresh + 1s);
  const auto request = ask(slot(1));
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  ASSERT_EQ(taken.gen, 2);
  clock_.advance(kErase);
  EXPECT_EQ(store_->sweep(100, Deadline::never())->entries, 2);
  EXPECT_EQ(store_->sweep(100, Deadline::never())->entries, 0);

  const auto left = *store_->entries({}, Deadline::never());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.front().slot, slot(1));
  EXPECT_EQ(left.front().gen, 1);
  EXPECT_EQ(left.front().answer, nullptr);
  EXPECT_EQ(left.front().query_json, "");
  EXPECT_EQ(left.front().pre_image, "");
  EXPECT_FALSE(left.front().building_key);
  EXPECT_FALSE(find(slot(1)));
  // Nothing of it stands in the way of the answer that is on its way.
  EXPECT_TRUE(commit(answer_to(request, taken, match())).stored);
  EXPECT_EQ(find(slot(1))->gen, 2);
}

TEST_P(Store, a_tombstone_stays_as_long_as_its_claim) {
  buy(slot(1), match());
  const auto where = slot(1);
  clock_.advance(kFresh);
  (void)take(where);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  for (int month = 0; month < 3; ++month) {
    clock_.advance(24h * 31);
    while (store_->sweep(10, Deadline::never())->entries > 0) {
    }
    EXPECT_EQ(store_->entries({}, Deadline::never())->size(), 1U);
  }
}

/// Processes that come and go, and now and then one that dies while it erases.
class Sweepers {
 public:
  Sweepers(geonce::Store& store, WorldClock& clock) : store_(store), clock_(clock) {}

  void every_five_minutes(milliseconds span) {
    for (milliseconds passed{0}; passed < span; passed += 5min) {
      clock_.advance(5min);
      if (++rounds_ % 7 == 0) {
        ASSERT_TRUE(store_.lease("sweep", new_intent(), 2min, Deadline::never())) << "and dies";
        continue;
      }
      const auto swept =
          sweep_once(store_, new_intent(), clock_, {}, {}, [this](milliseconds rest) {
            clock_.advance(rest);
          });
      ASSERT_TRUE(swept) << swept.error().message;
      chunks_ += swept->sum.chunks;
    }
  }
  [[nodiscard]] std::int64_t chunks() const { return chunks_; }

 private:
  geonce::Store& store_;
  WorldClock& clock_;
  int rounds_ = 0;
  std::int64_t chunks_ = 0;
};

TEST_P(Store, no_answer_is_held_an_hour_longer_than_its_terms_allow) {
  std::map<Slot, UtcMs> ends;
  for (std::uint32_t n = 0; n < 120; ++n) {
    const auto request = ask(slot(n));
    auto end = answer_to(request, take(request), n % 3 == 0 ? no_match() : match());
    end.life.erase = 1h + (n * 17 % 240) * 6min;
    end.life.fresh = end.life.stale = std::min<milliseconds>(end.life.erase, 30min);
    (void)commit(end);
    ends[slot(n)] = clock_.now_utc() + end.life.erase.count();
    if (n % 5 == 0) {  // somebody buys anew, and is never heard of again
      clock_.advance(31min);
      (void)take(slot(n));
    }
  }
  auto batch = *store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  std::vector<BatchChunk> chunks;
  for (int n = 0; n < 60; ++n) chunks.push_back({n, "rows", 1h + n * 20min});
  ASSERT_TRUE(store_->save_chunks(batch.id, chunks, Deadline::never()));
  const UtcMs chunks_from = clock_.now_utc();

  Sweepers sweepers(*store_, clock_);
  for (int hour = 0; hour < 28; ++hour) {
    ASSERT_NO_FATAL_FAILURE(sweepers.every_five_minutes(1h));
    const UtcMs now = clock_.now_utc();
    EntryFilter all;
    all.limit = 1'000;
    const auto entries = store_->entries(all, Deadline::never());
    std::set<Slot> held;
    for (const EntryRow& entry : *entries)
      if (entry.answer) held.insert(entry.slot);
    for (const auto& [where, end] : ends) {
      EXPECT_FALSE(held.contains(where) && end + kHour <= now);
      EXPECT_FALSE(!held.contains(where) && end > now) << "gone before its end";
    }
    const auto over_since = [&](UtcMs then) {
      return std::ranges::count_if(chunks, [&](const BatchChunk& chunk) {
        return chunks_from + chunk.erase.count() <= then;
      });
    };
    EXPECT_GE(sweepers.chunks(), over_since(now - kHour));
    EXPECT_LE(sweepers.chunks(), over_since(now));
  }
}

TEST_P(Store, whoever_finds_another_erasing_leaves_it_to_him) {
  buy(slot(1), match());
  clock_.advance(kErase);
  ASSERT_TRUE(store_->lease("sweep", new_intent(), 1min, Deadline::never()));
  const auto rest = [](milliseconds /*span*/) {};
  const auto busy = sweep_once(*store_, owner_, clock_, {}, {}, rest);
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->busy, 1min);
  EXPECT_EQ(busy->sum.entries, 0);
  clock_.advance(1min);
  const auto swept = sweep_once(*store_, owner_, clock_, {}, {}, rest);
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->busy, 0s);
  EXPECT_EQ(swept->sum.entries, 1);
  EXPECT_EQ(*store_->lease("sweep", new_intent(), 1min, Deadline::never()), 0s) << "given back";
}

}  // namespace
}  // namespace geonce::contract
