#include "contract/store/store_contract.h"

// What is left of an address that somebody wanted forgotten.

namespace geonce::contract {
namespace {

std::string bytes_of(const Slot& where) { return {where.key.bytes.begin(), where.key.bytes.end()}; }

Forgotten forget(geonce::Store& store, const Slot& where, std::vector<Key> former = {}) {
  const auto forgotten = store.forget({where, std::move(former)}, Deadline::never());
  EXPECT_TRUE(forgotten) << forgotten.error().message;
  return *forgotten;
}

TEST_P(Store, of_a_forgotten_address_a_window_without_a_content_is_left_and_the_ledger) {
  buy(slot(1), match());
  buy(slot(2), match());
  EXPECT_EQ(forget(*store_, slot(1)).entries, 1);
  EXPECT_FALSE(find(slot(1)));
  EXPECT_TRUE(find(slot(2)));
  const auto row = store_->entry(slot(1), Deadline::never());
  ASSERT_TRUE(row && *row);
  EXPECT_FALSE((*row)->answer);
  EXPECT_EQ((*row)->query_json + (*row)->pre_image, "");
  EXPECT_FALSE((*row)->building_key);
  EXPECT_EQ(sum().billed_units, 2) << "what was paid was paid";
  EXPECT_EQ(forget(*store_, slot(1)).entries, 0);
}

TEST_P(Store, a_correction_is_forgotten_too) {
  ASSERT_TRUE(store_->pin(slot(1), match(1, 2), "{}", "pre", {}, Deadline::never()));
  EXPECT_EQ(forget(*store_, slot(1)).entries, 1);
  EXPECT_FALSE(find(slot(1)));
}

TEST_P(Store, a_call_under_way_cannot_bring_back_what_was_forgotten) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  EXPECT_EQ(forget(*store_, slot(1)).claims, 1);
  const auto open = store_->open_intents(owner_, {}, Deadline::never());
  ASSERT_TRUE(open);
  for (const auto& one : *open) EXPECT_EQ(one.query_json + one.pre_image, "");
  EXPECT_FALSE(commit(answer_to(request, taken, match())).stored);
  EXPECT_FALSE(find(slot(1)));
  EXPECT_EQ(sum().billed_units, 1);
  buy(slot(1), match());
  EXPECT_TRUE(find(slot(1))) << "who asks anew buys anew";
}

TEST_P(Store, a_key_that_cools_down_is_forgotten) {
  const auto request = ask(slot(1));
  auto refused = ending(ReleaseRequest::Kind::refused, request, take(request));
  refused.cool_down = 10min;
  ASSERT_TRUE(release(refused).held);
  EXPECT_EQ(forget(*store_, slot(1)).claims, 1);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send);
}

TEST_P(Store, parts_of_batches_that_have_the_address_are_erased_and_not_filed_again) {
  auto batch =
      store_->open_batch(std::string(32, 'i'), "in.csv", BatchStart::resume, Deadline::never());
  ASSERT_TRUE(batch);
  std::vector<BatchChunk> chunks;
  for (std::int64_t n = 0; n < 4; ++n)
    chunks.push_back({n, "rows " + bytes_of(slot(static_cast<std::uint32_t>(n))) + " rows", 24h});
  ASSERT_TRUE(store_->save_chunks(batch->id, chunks, Deadline::never()));
  clock_.advance(1s);
  EXPECT_EQ(forget(*store_, slot(1), {slot(2).key}).chunks, 2);
  ASSERT_TRUE(store_->save_chunks(batch->id, chunks, Deadline::never()));
  std::vector<bool> kept;
  for (std::int64_t n = 0; n < 4; ++n)
    kept.push_back(store_->batch_chunk(batch->id, n, Deadline::never())->has_value());
  EXPECT_EQ(kept, (std::vector<bool>{true, false, false, true}));

  clock_.advance(1s);
  batch = store_->open_batch(std::string(32, 'j'), "in.csv", BatchStart::resume, Deadline::never());
  ASSERT_TRUE(store_->save_chunks(batch->id, chunks, Deadline::never()));
  EXPECT_TRUE(store_->batch_chunk(batch->id, 1, Deadline::never())->has_value())
      << "a batch that began afterwards has asked for it anew";
}

TEST_P(Store, that_an_address_was_forgotten_is_heard) {
  buy(slot(1), match());
  const auto before = store_->ended_since("", 10, Deadline::never());
  forget(*store_, slot(1));
  const auto since = store_->ended_since(before->cursor, 10, Deadline::never());
  ASSERT_TRUE(since && since->windows.size() == 1);
  EXPECT_EQ(since->windows.front().slot, slot(1));
}

}  // namespace
}  // namespace geonce::contract
