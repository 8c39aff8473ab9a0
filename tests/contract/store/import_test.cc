#include "contract/store/store_contract.h"

// Answers that another store has bought.

namespace geonce::contract {
namespace {

/// An answer of two hours ago, by the test's clock.
EntryRow brought(const Slot& where, UtcMs now, Answer answer = match()) {
  EntryRow entry;
  entry.slot = where;
  entry.answer = std::make_shared<const Answer>(std::move(answer));
  const auto after = [now](milliseconds span) { return now + span.count(); };
  entry.answered_at = after(-2h);
  entry.fresh_until = after(10h);
  entry.stale_until = after(20h);
  entry.erase_after = after(30h);
  entry.query_json = R"({"text":"brought"})";
  entry.pre_image = "brought image";
  entry.building_key = slot(99).key;
  return entry;
}

Imported import_one(geonce::Store& store, const EntryRow& entry) {
  const auto done = store.import_entries(std::span(&entry, 1), Deadline::never());
  EXPECT_TRUE(done) << done.error().message;
  return done ? done->front() : Imported::expired;
}

TEST_P(Store, a_brought_answer_has_what_is_left_of_its_life_and_no_ledger) {
  const auto entry = brought(slot(1), clock_.now_utc());
  EXPECT_EQ(import_one(*store_, entry), Imported::stored);
  const auto found = find(slot(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->answer, *entry.answer);
  EXPECT_EQ(found->fresh_left, 10h);
  EXPECT_EQ(found->stale_left, 20h);
  EXPECT_EQ(found->erase_left, 30h);
  EXPECT_EQ(found->answered_at, entry.answered_at);
  const auto row = store_->entry(slot(1), Deadline::never());
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->query_json, entry.query_json);
  EXPECT_EQ((*row)->pre_image, entry.pre_image);
  EXPECT_EQ((*row)->building_key, entry.building_key);
  EXPECT_FALSE((*row)->intent);
  EXPECT_EQ(sum().prepared, 0);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::fresh);
  clock_.advance(30h);
  EXPECT_FALSE(find(slot(1)));
}

TEST_P(Store, a_brought_answer_does_not_replace_a_younger_one_and_an_older_one_goes) {
  buy(slot(1), match(50));
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc())), Imported::older);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 50);
  clock_.advance(3h);
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc(), match(60))), Imported::stored);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 60);
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc(), match(70))), Imported::older)
      << "twice is once";
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 60);
}

TEST_P(Store, what_was_dropped_is_not_brought_back_by_an_answer_from_before) {
  buy(slot(1), match(50));
  const Slot dropped = slot(1);
  ASSERT_TRUE(store_->invalidate(std::span(&dropped, 1), Deadline::never()));
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc())), Imported::older);
  EXPECT_FALSE(find(slot(1)));
  clock_.advance(3h);
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc())), Imported::stored);
  EXPECT_TRUE(find(slot(1)));
}

TEST_P(Store, a_correction_stays_before_a_brought_answer_and_is_replaced_by_a_younger_one) {
  ASSERT_TRUE(store_->pin(slot(1), match(10), "{}", "image", {}, Deadline::never()));
  clock_.advance(3h);
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc())), Imported::older);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 10);
  auto correction = brought(slot(1), clock_.now_utc(), match(20));
  correction.pinned = true;
  EXPECT_EQ(import_one(*store_, correction), Imported::stored);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 20);
  EXPECT_TRUE(find(slot(1))->pinned);
  clock_.advance(24h * 365);
  EXPECT_TRUE(find(slot(1))) << "a correction has no end";
}

TEST_P(Store, a_brought_answer_whose_life_is_over_is_left_and_one_from_the_future_is_of_now) {
  auto over = brought(slot(1), clock_.now_utc());
  over.erase_after = clock_.now_utc();
  EXPECT_EQ(import_one(*store_, over), Imported::expired);
  EXPECT_FALSE(find(slot(1)));
  auto early = brought(slot(2), clock_.now_utc());
  early.answered_at = clock_.now_utc() + milliseconds{1h}.count();
  EXPECT_EQ(import_one(*store_, early), Imported::stored);
  EXPECT_EQ(find(slot(2))->answered_at, clock_.now_utc());
  EntryRow nothing = brought(slot(3), clock_.now_utc());
  nothing.answer = nullptr;
  EXPECT_EQ(import_one(*store_, nothing), Imported::older);
}

TEST_P(Store, an_answer_whose_life_is_over_does_not_stand_in_the_way_of_a_brought_one) {
  buy(slot(1), match(50));
  clock_.advance(kErase);
  auto entry = brought(slot(1), clock_.now_utc(), match(60));
  entry.answered_at -= milliseconds{2 * kErase}.count();
  EXPECT_EQ(import_one(*store_, entry), Imported::stored);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 60);
}

TEST_P(Store, a_call_on_its_way_ends_behind_a_brought_answer_and_is_in_the_ledger) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(import_one(*store_, brought(slot(1), clock_.now_utc(), match(60))), Imported::stored);
  const auto committed = commit(answer_to(request, taken, match(50)));
  EXPECT_FALSE(committed.stored);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 60);
  EXPECT_EQ(sum().answered, 1);
  EXPECT_EQ(sum().redundant, 1);
  EXPECT_EQ(sum().open, 0);
}

TEST_P(Store, many_are_brought_at_once_in_any_order_and_each_gets_its_own_result) {
  std::vector<EntryRow> entries;
  for (std::uint32_t i = 500; i > 0; --i)
    entries.push_back(brought(slot(i), clock_.now_utc(), match(i % 90)));
  entries[7].erase_after = 1;
  entries.push_back(entries[3]);  // twice in one
  const auto done = store_->import_entries(entries, Deadline::never());
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(done->size(), 501U);
  for (std::size_t i = 0; i < 500; ++i)
    EXPECT_EQ((*done)[i], i == 7 ? Imported::expired : Imported::stored) << i;
  EXPECT_EQ(done->back(), Imported::older);
  EXPECT_FALSE(find(entries[7].slot));
  EXPECT_EQ(find(entries[8].slot)->answer->at->lat_deg, 492 % 90);
}

}  // namespace
}  // namespace geonce::contract
