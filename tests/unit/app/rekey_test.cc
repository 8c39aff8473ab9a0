// What `geonce rekey` would do and does; n0 is made up (tests/support/older_rules.h).
#include "app/rekey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/filed_answers.h"
#include "support/older_rules.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kK1 = "k1 0123456789abcdef0123456789abcdef\n";

class RekeyPlans : public testing::Test {
 protected:
  RekeyPlans() {
    SqliteOptions options;
    options.path = dir_.file("store.db");
    options.clock = &clock_;
    store_ = open_sqlite_store(options).value();
  }

  Slot remember(const std::string& text, const std::string& image, const KeyRing& ring) {
    clock_.advance(1min);
    return file(*store_, ring, image, to_json(us(text)), text);
  }
  Slot as_n0(const std::string& text) { return remember(text, n0(text), KeyRing::plain()); }
  Slot as_n1(const std::string& text) { return remember(text, n1(text), KeyRing::plain()); }
  static std::string n0(const std::string& text) {
    return pre_image_of_n0(us(text).view()).value();
  }

  RekeyPlan plan() {
    const auto plan = plan_rekey(*store_, ring_, nullptr, Deadline::never());
    EXPECT_TRUE(plan);
    EXPECT_EQ(plan->entries, plan->same + plan->moves + plan->merges + plan->unreadable);
    return *plan;
  }
  RekeyReport move() { return rekey_entries(*store_, ring_, nullptr, Deadline::never()).value(); }
  std::vector<std::string> remembered() {
    std::vector<std::string> all;
    const auto entries = store_->entries({}, Deadline::never());
    for (const EntryRow& entry : *entries)
      if (entry.answer) all.push_back(entry.answer->formatted);
    std::ranges::sort(all);
    return all;
  }
  std::string said(const std::string& text) {
    const Slot slot{kDefaultPool, ring_.key(n1(text))};
    const auto found = store_->find(std::span(&slot, 1), Deadline::never());
    return found->front() ? found->front()->answer->formatted : "";
  }

  TempDir dir_;
  FakeClock clock_;
  std::unique_ptr<Store> store_;
  KeyRing ring_ = KeyRing::plain().with_former_rules(kSinceN0);
};

const std::string kOne = "12 Oak St, Reno, NV 89501", kOther = "9 Elm St, Reno, NV 89501";
const std::string kSameAsOne = "12 Oak Street, Reno, NV 89501";
const std::string kUnit1 = "12 Oak St Apt 1, Reno, NV 89501";
const std::string kUnit2 = "12 Oak St Apt 2, Reno, NV 89501";

TEST_F(RekeyPlans, where_nothing_has_changed_nothing_is_to_do) {
  as_n1(kOne);
  as_n1(kUnit1);
  const auto planned = plan();
  EXPECT_EQ(planned.same, 2);
  EXPECT_EQ(planned.by_rules, 0);
  EXPECT_THAT(planned.merge_examples, IsEmpty());
  EXPECT_EQ(move().moved, 0);
}

TEST_F(RekeyPlans, another_secret_moves_and_can_neither_merge_nor_split) {
  ring_ = KeyRing::parse(kK1).value();
  as_n1(kOne);
  as_n1(kUnit1);
  const auto planned = plan();
  EXPECT_EQ(planned.moves, 2);
  EXPECT_EQ(planned.by_rules, 0);
  EXPECT_EQ(planned.splits, 0);
  EXPECT_EQ(move().moved, 2);
  EXPECT_EQ(plan().same, 2);
}

TEST_F(RekeyPlans, other_rules_move_and_may_tell_spellings_apart_that_nobody_has_kept) {
  as_n0(kUnit1);
  as_n0(kOther);
  const auto planned = plan();
  EXPECT_EQ(planned.moves, 2);
  EXPECT_EQ(planned.by_rules, 2);
  EXPECT_EQ(planned.splits, 0) << "of each there is one spelling";
}

TEST_F(RekeyPlans, two_that_become_one_are_told_with_their_keys_and_which_of_them_is_left) {
  const auto earlier = as_n0(kOne);
  const auto later = as_n0(kSameAsOne);
  as_n0(kOther);
  const auto planned = plan();
  EXPECT_EQ(planned.moves, 2);
  EXPECT_EQ(planned.merges, 1);
  ASSERT_THAT(planned.merge_examples, SizeIs(1));
  const auto& entries = planned.merge_examples.front();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].key, "n0_" + to_hex(later.key));
  EXPECT_FALSE(entries[0].is_erased);
  EXPECT_EQ(entries[0].address, kSameAsOne);
  EXPECT_EQ(entries[1].key, "n0_" + to_hex(earlier.key));
  EXPECT_TRUE(entries[1].is_erased);
  for (const auto& entry : entries) EXPECT_EQ(entry.new_key, to_text(sha256(n1(kOne))));

  const auto done = move();
  EXPECT_EQ(done.moved, 2);
  EXPECT_EQ(done.merged, 1);
  EXPECT_THAT(remembered(), ElementsAre(kSameAsOne, kOther));
  EXPECT_EQ(said(kOne), kSameAsOne);
  EXPECT_EQ(plan().same, 2) << "and nothing more is to do";
  EXPECT_EQ(move().merged, 0);
}

TEST_F(RekeyPlans, the_plan_and_the_deed_agree_on_what_is_left_whoever_stands_there_already) {
  as_n1(kOne);
  as_n0(kSameAsOne);  // later: takes the place
  as_n0(kOther);
  as_n1(kOther);  // later: stays where it is
  const auto pinned = as_n0(kUnit1);
  ASSERT_TRUE(store_->pin(
      pinned,
      [] {
        Answer answer;
        answer.kind = AnswerKind::match;
        answer.formatted = "a person's";
        return answer;
      }(),
      to_json(us(kUnit1)),
      n0(kUnit1),
      std::nullopt,
      Deadline::never()));
  as_n1(kUnit1);  // later, but the other is pinned
  const auto planned = plan();
  EXPECT_EQ(planned.same, 1);
  EXPECT_EQ(planned.moves, 2);
  EXPECT_EQ(planned.merges, 3);
  EXPECT_THAT(planned.merge_examples, SizeIs(3));
  for (const auto& entries : planned.merge_examples) {
    EXPECT_FALSE(entries.front().is_erased);
    EXPECT_TRUE(entries.back().is_erased);
  }
  EXPECT_EQ(move().merged, 3);
  EXPECT_THAT(remembered(), SizeIs(3));
  EXPECT_EQ(said(kOne), kSameAsOne);
  EXPECT_EQ(said(kOther), kOther);
  EXPECT_EQ(said(kUnit1), "a person's");
  EXPECT_EQ(plan().same, 3);
}

TEST_F(RekeyPlans, what_was_dropped_since_takes_an_older_answer_along) {
  as_n0(kOne);
  clock_.advance(1min);
  const Slot dropped{kDefaultPool, ring_.key(n1(kOne))};
  ASSERT_TRUE(store_->invalidate(std::span(&dropped, 1), Deadline::never()));
  as_n0(kOther);
  const auto planned = plan();
  EXPECT_EQ(planned.moves, 1);
  EXPECT_EQ(planned.merges, 1);
  (void)move();
  EXPECT_THAT(remembered(), ElementsAre(kOther));
}

TEST_F(RekeyPlans, a_split_is_told_where_both_spellings_are_kept) {
  const auto old = as_n0(kUnit1);
  const auto bought_since = as_n1(kUnit2);
  as_n0(kOther);
  const auto planned = plan();
  EXPECT_EQ(planned.splits, 1);
  EXPECT_EQ(planned.merges, 0);
  ASSERT_THAT(planned.split_examples, SizeIs(1));
  auto entries = planned.split_examples.front();
  ASSERT_THAT(entries, SizeIs(2));
  if (entries[0].address != kUnit1) std::swap(entries[0], entries[1]);
  EXPECT_EQ(entries[0].key, "n0_" + to_hex(old.key));
  EXPECT_EQ(entries[0].new_key, to_text(sha256(n1(kUnit1))));
  EXPECT_EQ(entries[1].key, to_text(bought_since.key));
  EXPECT_EQ(entries[1].new_key, entries[1].key);

  EXPECT_EQ(move().moved, 2);
  EXPECT_EQ(said(kUnit1), kUnit1) << "each keeps what was bought for it";
  EXPECT_EQ(said(kUnit2), kUnit2);
}

TEST_F(RekeyPlans, a_split_under_two_secrets_is_told_even_when_the_old_rules_are_gone) {
  as_n0(kUnit1);
  remember(kUnit2, n0(kUnit2), KeyRing::parse(kK1).value());
  ring_ = KeyRing::plain();
  const auto planned = plan();
  EXPECT_EQ(planned.splits, 1);
  EXPECT_EQ(planned.moves, 2);
}

TEST_F(RekeyPlans, what_has_no_spelling_that_can_be_read_stays) {
  file(*store_, KeyRing::plain(), n0(kOne), "{}", "whose?");
  const auto planned = plan();
  EXPECT_EQ(planned.unreadable, 1);
  EXPECT_EQ(planned.same, 0);
  EXPECT_EQ(move().moved, 0);
  EXPECT_THAT(remembered(), ElementsAre("whose?"));
}

TEST_F(RekeyPlans, of_very_many_some_are_shown) {
  for (int n = 1; n <= 30; ++n) {
    as_n0(fmt::format("{} Oak St, Reno, NV 89501", n));
    as_n0(fmt::format("{} Oak Street, Reno, NV 89501", n));
  }
  const auto planned = plan();
  EXPECT_EQ(planned.merges, 30);
  EXPECT_EQ(planned.moves, 30);
  EXPECT_THAT(planned.merge_examples, SizeIs(20));
  EXPECT_EQ(move().merged, 30);
  EXPECT_EQ(plan().same, 30);
}

}  // namespace
}  // namespace geonce
