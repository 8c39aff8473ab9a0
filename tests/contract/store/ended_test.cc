#include <gmock/gmock.h>

#include "contract/store/store_contract.h"

// Windows that ended before their time, as other processes hear of them.

namespace geonce::contract {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Ends = std::vector<std::pair<Slot, std::int64_t>>;  // slot, gen

Ends ends_of(const std::vector<EndedWindow>& windows) {
  Ends ends;
  for (const auto& window : windows) ends.emplace_back(window.slot, window.gen);
  return ends;
}

class Listening {
 public:
  explicit Listening(geonce::Store& store) : store_(store) { (void)look(); }
  EndedSince look(std::size_t limit = 1'000) {
    auto since = store_.ended_since(cursor_, limit, Deadline::never());
    EXPECT_TRUE(since) << since.error().message;
    cursor_ = since->cursor;
    return *since;
  }
  Ends hear() { return ends_of(look().windows); }

 private:
  geonce::Store& store_;
  std::string cursor_;
};

void drop(geonce::Store& store, const Slot& where) {
  ASSERT_TRUE(store.invalidate({&where, 1}, Deadline::never()));
}

TEST_P(Store, a_drop_is_heard_once_by_whoever_listens) {
  buy(slot(1), match());
  buy(slot(2), match());
  Listening early(*store_);
  const auto other = open();
  Listening elsewhere(*other);
  drop(*store_, slot(1));
  EXPECT_THAT(early.hear(), ElementsAre(Pair(slot(1), 2)));
  EXPECT_THAT(early.hear(), IsEmpty());
  Listening late(*store_);
  drop(*other, slot(2));
  EXPECT_THAT(early.hear(), ElementsAre(Pair(slot(2), 2)));
  EXPECT_THAT(late.hear(), ElementsAre(Pair(slot(2), 2)));
  EXPECT_THAT(elsewhere.hear(), ElementsAre(Pair(slot(1), 2), Pair(slot(2), 2)));
}

TEST_P(Store, what_no_tier_can_hold_is_not_spoken_of) {
  Listening listening(*store_);
  drop(*store_, slot(1));  // was never there
  drop(*store_, slot(1));
  buy(slot(2), match());
  clock_.advance(kFresh + 1ms);
  buy(slot(2), match());  // the next window, when the first was over by itself
  buy(slot(3), match());
  clock_.advance(kErase + 1ms);
  drop(*store_, slot(3));
  EXPECT_THAT(listening.hear(), IsEmpty());
}

TEST_P(Store, a_drop_is_heard_by_those_who_wait_for_a_call_on_its_way) {
  const auto request = ask(slot(1));
  ASSERT_EQ(take(request).verdict, Verdict::send);
  Listening listening(*store_);
  drop(*store_, slot(1));
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), 2)));
  ASSERT_TRUE(store_->pin(slot(1), match(1, 2), "{}", "", {}, Deadline::never()));
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), 2)));
}

TEST_P(Store, a_stale_answer_that_is_dropped_is_spoken_of) {
  buy(slot(1), match());
  clock_.advance(kFresh + 1ms);
  Listening listening(*store_);
  drop(*store_, slot(1));
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), 2)));
}

TEST_P(Store, a_correction_ends_the_window_before_it) {
  buy(slot(1), match());
  Listening listening(*store_);
  ASSERT_TRUE(store_->pin(slot(1), match(1, 2), "{}", "", {}, Deadline::never()));
  const auto found = find(slot(1));
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), found->gen - 1)));
}

TEST_P(Store, an_answer_bought_anew_ends_the_window_before_it) {
  buy(slot(1), match());
  Listening listening(*store_);
  clock_.advance(1s);
  auto again = ask(slot(1));
  again.refresh_before = kRefreshAll;
  const auto taken = take(again);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_THAT(listening.hear(), IsEmpty());
  ASSERT_TRUE(commit(answer_to(again, taken, match(1, 2))).stored);
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), 1)));
}

TEST_P(Store, an_answer_from_elsewhere_ends_the_window_before_it) {
  buy(slot(1), match());
  auto row = store_->entry(slot(1), Deadline::never());
  ASSERT_TRUE(row && *row);
  Listening listening(*store_);
  clock_.advance(1min);
  (*row)->answered_at = clock_.now_utc();
  ASSERT_EQ(store_->import_entries({&**row, 1}, Deadline::never())->front(), Imported::stored);
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), 1)));
}

TEST_P(Store, of_two_entries_that_become_one_both_keys_are_spoken_of_where_an_answer_went) {
  buy(slot(1), match());
  clock_.advance(1s);
  buy(slot(2), match());
  Listening listening(*store_);
  const auto request = ask(slot(2));
  const Rekey rekey{slot(2), slot(1), request.query_json, request.pre_image, {}};
  ASSERT_EQ(store_->rekey({&rekey, 1}, Deadline::never())->front(), Rekeyed::merged);
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(1), 1)));
  EXPECT_EQ(find(slot(1))->gen, 2);
}

TEST_P(Store, who_has_missed_too_much_is_told_so) {
  Listening listening(*store_);
  for (std::uint32_t n = 0; n < 5; ++n) {
    buy(slot(n), match());
    drop(*store_, slot(n));
  }
  const auto since = listening.look(4);
  EXPECT_TRUE(since.has_gap);
  EXPECT_THAT(since.windows, IsEmpty());
  buy(slot(9), match());
  drop(*store_, slot(9));
  EXPECT_THAT(listening.hear(), ElementsAre(Pair(slot(9), 2))) << "from here on all is well";
}

TEST_P(Store, what_shared_tiers_have_to_be_told_waits_until_they_are) {
  for (std::uint32_t n = 0; n < 3; ++n) {
    buy(slot(n), match());
    drop(*store_, slot(n));
  }
  Listening listening(*store_);
  EXPECT_TRUE(listening.look().has_untold);
  auto untold = store_->untold(2, Deadline::never());
  ASSERT_TRUE(untold);
  EXPECT_THAT(ends_of(*untold), ElementsAre(Pair(slot(0), 2), Pair(slot(1), 2)));
  const std::vector<std::int64_t> numbers{(*untold)[0].number, (*untold)[1].number};
  const auto other = open();
  ASSERT_TRUE(other->told(numbers, Deadline::never()));
  ASSERT_TRUE(other->told(numbers, Deadline::never())) << "two may have told the same";
  untold = store_->untold(2, Deadline::never());
  ASSERT_THAT(*untold, SizeIs(1));
  EXPECT_EQ(untold->front().slot, slot(2));
  const std::int64_t last = untold->front().number;
  ASSERT_TRUE(store_->told({&last, 1}, Deadline::never()));
  EXPECT_FALSE(listening.look().has_untold);
  EXPECT_THAT(*store_->untold(2, Deadline::never()), IsEmpty());
}

}  // namespace
}  // namespace geonce::contract
