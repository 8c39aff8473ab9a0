#include <gmock/gmock.h>

#include "contract/store/store_contract.h"

// What is read back: entries, ledger, open intents, places, batches; and what is swept away.

namespace geonce::contract {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using enum ReleaseRequest::Kind;

// --- entries
// ------------------------------------------------------------------------------------------

TEST_P(Store, an_entry_is_shown_with_what_was_asked_and_by_which_intent) {
  const auto request = ask(slot(1));
  (void)commit(answer_to(request, take(request), match()));
  const auto row = store_->entry(slot(1), Deadline::never());
  ASSERT_TRUE(row && *row);
  const auto& entry = **row;
  EXPECT_EQ(entry.slot, slot(1));
  EXPECT_EQ(*entry.answer, match());
  EXPECT_EQ(entry.query_json, request.query_json);
  EXPECT_EQ(entry.pre_image, request.pre_image) << "NUL bytes and all";
  EXPECT_EQ(entry.building_key, building(1));
  EXPECT_EQ(entry.intent, request.intent);
  EXPECT_EQ(entry.fresh_until, clock_.now_utc() + kFresh.count());
  EXPECT_EQ(entry.stale_until, clock_.now_utc() + kStale.count());
  EXPECT_EQ(entry.erase_after, clock_.now_utc() + kErase.count());
  EXPECT_FALSE(store_->entry(slot(2), Deadline::never())->has_value());
}

TEST_P(Store, a_tombstone_is_shown_as_an_entry_without_an_answer) {
  buy(slot(1), match());
  const auto where = slot(1);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  const auto row = store_->entry(where, Deadline::never());
  ASSERT_TRUE(row && *row);
  EXPECT_FALSE((*row)->answer);
  EXPECT_EQ((*row)->gen, 2);
  EXPECT_EQ((*row)->query_json, "");
  EXPECT_FALSE((*row)->building_key);
}

TEST_P(Store, corrections_are_found_among_the_entries) {
  for (std::uint32_t n = 0; n < 4; ++n) buy(slot(n), match());
  ASSERT_TRUE(store_->pin(slot(2), match(1, 2, "pinned"), "{}", "", {}, Deadline::never()));
  EntryFilter filter;
  filter.pinned = true;
  const auto entries = store_->entries(filter, Deadline::never());
  ASSERT_TRUE(entries);
  ASSERT_THAT(*entries, SizeIs(1));
  EXPECT_EQ(entries->front().slot, slot(2));
}

TEST_P(Store, entries_are_found_by_their_building) {
  for (std::uint32_t n = 0; n < 6; ++n) {
    const auto request = ask(slot(n));
    auto commit = answer_to(request, take(request), match());
    commit.building_key = n < 4 ? std::optional(building(n % 2)) : std::nullopt;
    if (n == 5) commit.building_key = slot(5).key;
    (void)this->commit(commit);
  }
  EntryFilter filter;
  filter.building = Slot{kDefaultPool, building(1)};
  auto entries = store_->entries(filter, Deadline::never());
  ASSERT_TRUE(entries);
  std::vector<Slot> expected{slot(1), slot(3)};
  std::ranges::sort(expected);
  ASSERT_THAT(*entries, SizeIs(2));
  EXPECT_EQ((*entries)[0].slot, expected[0]);
  EXPECT_EQ((*entries)[1].slot, expected[1]);
  filter.limit = 1;
  filter.after = expected[0];
  entries = store_->entries(filter, Deadline::never());
  ASSERT_TRUE(entries);
  ASSERT_THAT(*entries, SizeIs(1));
  EXPECT_EQ(entries->front().slot, expected[1]);
  filter = {};
  filter.building = slot(5);
  entries = store_->entries(filter, Deadline::never());
  ASSERT_TRUE(entries);
  ASSERT_THAT(*entries, SizeIs(1)) << "an address without a unit is its own building";
  EXPECT_EQ(entries->front().slot, slot(5));
  for (const Slot& nothing : {slot(1), slot(4), Slot{7, building(1)}, Slot{7, slot(5).key}}) {
    filter.building = nothing;
    EXPECT_THAT(*store_->entries(filter, Deadline::never()), IsEmpty());
  }
}

TEST_P(Store, entries_come_in_pages_in_slot_order_and_by_provider_and_kind) {
  std::vector<Slot> slots;
  for (std::uint32_t n = 0; n < 10; ++n) {
    slots.push_back(slot(n));
    buy(slots.back(), n % 2 == 0 ? match(1, 1, "alpha") : no_match("beta"));
  }
  std::sort(slots.begin(), slots.end());
  EntryFilter filter;
  filter.limit = 4;
  std::vector<Slot> seen;
  for (;;) {
    const auto page = store_->entries(filter, Deadline::never());
    ASSERT_TRUE(page);
    for (const auto& row : *page) seen.push_back(row.slot);
    if (page->size() < filter.limit) break;
    filter.after = seen.back();
  }
  EXPECT_EQ(seen, slots);
  filter = {};
  filter.provider = "beta";
  EXPECT_THAT(*store_->entries(filter, Deadline::never()), SizeIs(5));
  filter.kind = AnswerKind::match;
  EXPECT_THAT(*store_->entries(filter, Deadline::never()), IsEmpty());
}

TEST_P(Store, an_entry_past_its_erase_instant_is_not_shown_to_anybody) {
  buy(slot(1), match());
  clock_.advance(kErase);
  EXPECT_FALSE(store_->entry(slot(1), Deadline::never())->has_value());
  EXPECT_THAT(*store_->entries({}, Deadline::never()), IsEmpty());
}

// --- ledger
// -------------------------------------------------------------------------------------------

TEST_P(Store, the_ledger_keeps_what_was_said_of_a_call) {
  auto request = ask(slot(1));
  request.bulk = true;
  request.cause = Cause::batch;
  auto end = answer_to(request, take(request), match());
  end.call->reason = "ok";
  end.call->provider_request_id = "r-1";
  end.call->units = 2;
  (void)commit(end);
  const auto rows = ledger_of(request.intent);
  ASSERT_THAT(rows, SizeIs(2));
  const auto& row = rows[1];
  EXPECT_EQ(row.event, LedgerEvent::answered);
  EXPECT_EQ(row.cause, Cause::batch);
  EXPECT_TRUE(row.bulk);
  EXPECT_EQ(row.http_status, 200);
  EXPECT_EQ(row.reason, "ok");
  EXPECT_EQ(row.provider_request_id, "r-1");
  EXPECT_EQ(row.billed, Billed::yes);
  EXPECT_EQ(row.units, 2);
  EXPECT_EQ(row.price, Money{5'000});
  EXPECT_EQ(row.gen, 1);
}

TEST_P(Store, the_ledger_is_filtered_by_time_slot_provider_and_event) {
  const auto start = clock_.now_utc();
  buy(slot(1), match());
  clock_.advance(1h);
  buy(slot(2), match());
  LedgerFilter filter;
  filter.to = start + 1;
  EXPECT_THAT(*store_->ledger(filter, Deadline::never()), SizeIs(2));
  filter = {};
  filter.from = start + 1;
  EXPECT_THAT(*store_->ledger(filter, Deadline::never()), SizeIs(2));
  filter = {};
  filter.slot = slot(2);
  const auto of_slot = store_->ledger(filter, Deadline::never());
  ASSERT_THAT(*of_slot, SizeIs(2));
  EXPECT_EQ((*of_slot)[0].event, LedgerEvent::answered) << "newest first";
  EXPECT_EQ((*of_slot)[0].slot, slot(2));
  filter = {};
  filter.provider = "beta";
  EXPECT_THAT(*store_->ledger(filter, Deadline::never()), IsEmpty());
  filter = {};
  filter.event = LedgerEvent::prepared;
  filter.newest_first = false;
  filter.limit = 1;
  const auto oldest = store_->ledger(filter, Deadline::never());
  ASSERT_THAT(*oldest, SizeIs(1));
  EXPECT_EQ((*oldest)[0].at, start);
}

TEST_P(Store, the_sums_of_the_ledger_balance) {
  auto refused_ask = ask(slot(1));
  (void)release(ending(refused, refused_ask, take(refused_ask)));
  auto void_ask = ask(slot(2));
  (void)release(ending(voided, void_ask, take(void_ask)));
  auto lost_ask = ask(slot(3));
  auto lost = ending(unknown, lost_ask, take(lost_ask));
  (void)release(lost);
  buy(slot(4), match());
  auto open_ask = ask(slot(5));
  open_ask.prices = {Money{700}};
  (void)take(open_ask);
  const auto total = sum();
  EXPECT_EQ(total.prepared, 5);
  EXPECT_EQ(total.refused, 1);
  EXPECT_EQ(total.voided, 1);
  EXPECT_EQ(total.unknown, 1);
  EXPECT_EQ(total.answered, 1);
  EXPECT_EQ(total.open, 1);
  EXPECT_EQ(total.prepared,
            total.answered + total.refused + total.unknown + total.voided + total.open);
  EXPECT_EQ(total.billed_units, 1);
  EXPECT_EQ(total.billed, Money{5'000});
  EXPECT_EQ(total.in_doubt_units, 2) << "the lost one, and the open one until it is known better";
  EXPECT_EQ(total.in_doubt, Money{5'700});
}

// --- adoption
// -----------------------------------------------------------------------------------------

TEST_P(Store, a_dead_owners_open_intents_are_told_with_all_that_is_needed_to_commit_them) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  buy(slot(2), match());  // has its outcome
  const auto owner = owner_;
  owner_ = new_intent();
  (void)take(slot(3));  // another's
  const auto open = store_->open_intents(owner, {}, Deadline::never());
  ASSERT_TRUE(open);
  ASSERT_THAT(*open, SizeIs(1));
  const auto& intent = open->front();
  EXPECT_EQ(intent.intent, request.intent);
  EXPECT_EQ(intent.slot, slot(1));
  EXPECT_EQ(intent.fence, taken.fence);
  EXPECT_EQ(intent.gen, taken.gen);
  EXPECT_EQ(intent.provider, "alpha");
  EXPECT_EQ(intent.owner, owner);
  EXPECT_EQ(intent.query_json, request.query_json);
  EXPECT_EQ(intent.pre_image, request.pre_image);
  EXPECT_TRUE(intent.claim_held);
  EXPECT_TRUE(commit(answer_to(request, taken, match())).stored);
  EXPECT_THAT(*store_->open_intents(owner, {}, Deadline::never()), IsEmpty());
}

TEST_P(Store, an_intent_taken_over_is_still_told_to_who_holds_its_answer) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  const auto owner = owner_;
  clock_.advance(kClaimLife);
  owner_ = new_intent();
  (void)take(slot(1));
  EXPECT_THAT(*store_->open_intents(owner, {}, Deadline::never()), IsEmpty())
      << "it has an outcome: unknown";
  const std::vector also{request.intent, new_intent()};
  const auto open = store_->open_intents(new_intent(), also, Deadline::never());
  ASSERT_TRUE(open);
  ASSERT_THAT(*open, SizeIs(1));
  EXPECT_EQ(open->front().intent, request.intent);
  EXPECT_FALSE(open->front().claim_held);
  EXPECT_EQ(open->front().gen, taken.gen);
  EXPECT_EQ(open->front().query_json, request.query_json);
}

TEST_P(Store, an_answer_that_was_noted_is_told_to_who_has_it_while_it_can_end_its_window) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  ASSERT_EQ(advance(next_after(request, taken)).verdict, Advanced::Verdict::exhausted);
  const auto owner = owner_;
  const auto told = [&] {
    return *store_->open_intents(owner, {&request.intent, 1}, Deadline::never());
  };
  ASSERT_THAT(told(), SizeIs(1));
  EXPECT_TRUE(told().front().noted);
  EXPECT_EQ(told().front().fence, taken.fence);
  EXPECT_EQ(told().front().query_json, request.query_json);
  clock_.advance(kClaimLife);
  EXPECT_THAT(told(), SizeIs(1)) << "nobody has taken over";
  owner_ = new_intent();
  const auto next = ask(slot(1));
  const auto next_taken = take(next);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(commit(answer_to(next, next_taken, match())).stored);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_P(Store, an_intent_is_told_once_even_when_asked_for_twice) {
  const auto request = ask(slot(1));
  (void)take(request);
  const std::vector also{request.intent, request.intent};
  EXPECT_THAT(*store_->open_intents(owner_, also, Deadline::never()), SizeIs(1));
}

// --- places
// -------------------------------------------------------------------------------------------

PlaceRow point(double lat_deg, std::vector<Key> keys) {
  PlaceRow row;
  row.id = "p1";
  row.at = {lat_deg, 11.5};
  row.house_number = "12B";
  row.street = "Storgata";
  row.unit = "H0101";
  row.city = "Elverum";
  row.district = "Elverum";
  row.region = "Innlandet";
  row.postcode = "2408";
  row.country = Country('N', 'O');
  row.keys = std::move(keys);
  return row;
}

TEST_P(Store, a_place_is_found_by_each_of_its_keys) {
  const std::vector rows{point(60.88, {slot(1).key, slot(2).key})};
  ASSERT_TRUE(store_->load_places("own", false, rows, Deadline::never()));
  const std::vector<std::vector<Key>> questions{
      {slot(2).key}, {slot(9).key, slot(1).key}, {slot(9).key}, {}};
  const auto hits = store_->find_places(questions, Deadline::never());
  ASSERT_TRUE(hits);
  ASSERT_TRUE((*hits)[0] && (*hits)[1]);
  EXPECT_FALSE((*hits)[2] || (*hits)[3]);
  const auto& hit = *(*hits)[0];
  EXPECT_EQ(hit.candidates, 1U);
  EXPECT_EQ(hit.place.id, "p1");
  EXPECT_EQ(hit.place.at, rows[0].at);
  EXPECT_EQ(hit.place.house_number, "12B");
  EXPECT_EQ(hit.place.street, "Storgata");
  EXPECT_EQ(hit.place.unit, "H0101");
  EXPECT_EQ(hit.place.city, "Elverum");
  EXPECT_EQ(hit.place.region, "Innlandet");
  EXPECT_EQ(hit.place.postcode, "2408");
  EXPECT_EQ(hit.place.country, Country('N', 'O'));
}

TEST_P(Store, several_places_under_a_key_are_ambiguous_unless_they_are_one_point) {
  const auto one = slot(1).key;
  const auto two = slot(2).key;
  const std::vector rows{point(60.88, {one, two}), point(60.88 + 1e-7, {one}), point(60.89, {two})};
  ASSERT_TRUE(store_->load_places("own", false, rows, Deadline::never()));
  const std::vector<std::vector<Key>> questions{{one}, {two}};
  const auto hits = store_->find_places(questions, Deadline::never());
  EXPECT_EQ((*hits)[0]->candidates, 1U) << "equal to 1e-6 degrees";
  EXPECT_EQ((*hits)[1]->candidates, 2U);
}

TEST_P(Store, the_first_key_that_has_a_place_decides_even_when_it_is_ambiguous) {
  const std::vector rows{
      point(60.88, {slot(1).key}), point(60.89, {slot(1).key}), point(60.9, {slot(2).key})};
  ASSERT_TRUE(store_->load_places("own", false, rows, Deadline::never()));
  const std::vector<std::vector<Key>> questions{{slot(1).key, slot(2).key}};
  EXPECT_EQ((*store_->find_places(questions, Deadline::never()))[0]->candidates, 2U);
}

TEST_P(Store, loading_a_source_anew_replaces_its_places_and_leaves_the_others) {
  const std::vector first{point(60.1, {slot(1).key}), point(60.2, {slot(2).key})};
  const std::vector other{point(60.3, {slot(1).key})};
  const std::vector second{point(60.4, {slot(3).key})};
  ASSERT_TRUE(store_->load_places("own", true, first, Deadline::never()));
  ASSERT_TRUE(store_->load_places("city", true, other, Deadline::never()));
  ASSERT_TRUE(store_->load_places("own", true, second, Deadline::never()));
  ASSERT_TRUE(store_->load_places("own", false, other, Deadline::never()));
  const std::vector<std::vector<Key>> questions{{slot(1).key}, {slot(2).key}, {slot(3).key}};
  const auto hits = store_->find_places(questions, Deadline::never());
  EXPECT_EQ((*hits)[0]->place.at.lat_deg, 60.3);
  EXPECT_FALSE((*hits)[1]);
  EXPECT_EQ((*hits)[2]->place.at.lat_deg, 60.4);
  const auto stats = store_->places_stats(Deadline::never());
  EXPECT_EQ(stats->points, 3);
  EXPECT_EQ(stats->keys, 3);
  EXPECT_EQ(stats->loaded_at, clock_.now_utc());
  EXPECT_THAT(stats->by_source,
              ElementsAre(std::pair<std::string, std::int64_t>("city", 1),
                          std::pair<std::string, std::int64_t>("own", 2)));
}

// --- batches
// ------------------------------------------------------------------------------------------

const std::string kIdentity(32, 'i');

TEST_P(Store, the_same_batch_opened_again_is_the_same_batch) {
  const auto first = store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_new);
  EXPECT_EQ(first->state, "running");
  EXPECT_EQ(first->created_at, clock_.now_utc());
  const auto again = open()->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->id, first->id);
  const auto other =
      store_->open_batch(std::string(32, 'x'), "in.csv", BatchStart::resume, Deadline::never());
  EXPECT_TRUE(other->is_new);
  EXPECT_NE(other->id, first->id);
}

TEST_P(Store, a_restart_makes_a_new_batch_which_is_the_one_from_then_on) {
  const auto first = store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  const auto second =
      store_->open_batch(kIdentity, "in.csv", BatchStart::restart, Deadline::never());
  EXPECT_TRUE(second->is_new);
  EXPECT_NE(second->id, first->id);
  EXPECT_EQ(store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never())->id,
            second->id);
}

TEST_P(Store, a_refresh_goes_on_until_it_has_reached_its_end) {
  const auto open = [&](BatchStart start) {
    return *store_->open_batch(kIdentity, "in.csv", start, Deadline::never());
  };
  const auto plain = open(BatchStart::resume);
  EXPECT_EQ(plain.refresh_before, 0);
  clock_.advance(1h);
  auto first = open(BatchStart::refresh);
  EXPECT_TRUE(first.is_new);
  EXPECT_EQ(first.refresh_before, clock_.now_utc());
  clock_.advance(1h);
  const auto killed = open(BatchStart::refresh);
  EXPECT_EQ(killed.id, first.id);
  EXPECT_EQ(killed.refresh_before, first.refresh_before);
  first.state = "interrupted";
  ASSERT_TRUE(store_->close_batch(first, Deadline::never()));
  EXPECT_EQ(open(BatchStart::refresh).id, first.id);
  EXPECT_EQ(open(BatchStart::resume).id, first.id);
  first.state = "complete";
  ASSERT_TRUE(store_->close_batch(first, Deadline::never()));
  const auto second = open(BatchStart::refresh);
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(second.refresh_before, clock_.now_utc());
}

TEST_P(Store, chunks_are_kept_replaced_and_end_with_their_terms) {
  const auto batch = store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  const std::string bytes("a\0b", 3);
  const std::vector<BatchChunk> chunks{{0, bytes, 1h}, {1, "old", 1h}, {2, "never kept", 0ms}};
  ASSERT_TRUE(store_->save_chunks(batch->id, chunks, Deadline::never()));
  const std::vector<BatchChunk> newer{{1, "new", 2h}};
  ASSERT_TRUE(store_->save_chunks(batch->id, newer, Deadline::never()));
  EXPECT_EQ(store_->batch_chunk(batch->id, 0, Deadline::never()), bytes);
  EXPECT_EQ(store_->batch_chunk(batch->id, 1, Deadline::never()), "new");
  EXPECT_EQ(store_->batch_chunk(batch->id, 2, Deadline::never()), std::nullopt);
  clock_.advance(1h);
  EXPECT_EQ(store_->batch_chunk(batch->id, 0, Deadline::never()), std::nullopt);
  EXPECT_EQ(store_->batch_chunk(batch->id, 1, Deadline::never()), "new");
  const std::vector<BatchChunk> gone{{1, "x", 0ms}};
  ASSERT_TRUE(store_->save_chunks(batch->id, gone, Deadline::never()));
  EXPECT_EQ(store_->batch_chunk(batch->id, 1, Deadline::never()), std::nullopt)
      << "what may not be kept does not leave an older copy either";
}

TEST_P(Store, a_closed_batch_says_how_it_ended) {
  auto batch = *store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  clock_.advance(1min);
  batch.state = "complete_with_errors";
  batch.rows = 77;
  batch.summary_json = R"({"rows":77})";
  ASSERT_TRUE(store_->close_batch(batch, Deadline::never()));
  (void)store_->open_batch(std::string(32, 'x'), "two.csv", BatchStart::resume, Deadline::never());
  const auto all = store_->batches(10, Deadline::never());
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_EQ((*all)[0].label, "two.csv") << "newest first";
  const auto& closed = (*all)[1];
  EXPECT_EQ(closed.state, "complete_with_errors");
  EXPECT_EQ(closed.rows, 77);
  EXPECT_EQ(closed.summary_json, batch.summary_json);
  EXPECT_EQ(closed.updated_at, clock_.now_utc());
  EXPECT_EQ(closed.identity, kIdentity);
}

TEST_P(Store, a_batch_that_is_not_there_is_named_in_the_error) {
  BatchHead head;
  head.id = new_intent();
  const auto closed = store_->close_batch(head, Deadline::never());
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::not_found);
  EXPECT_THAT(closed.error().message, testing::HasSubstr(to_string(head.id)));
  const std::vector<BatchChunk> chunks{{0, "x", 1h}};
  EXPECT_EQ(store_->save_chunks(head.id, chunks, Deadline::never()).error().code,
            ErrorCode::not_found);
}

// --- sweep, stats, check
// ------------------------------------------------------------------------------

TEST_P(Store, a_sweep_erases_what_has_outlived_its_terms_a_few_rows_at_a_time) {
  for (std::uint32_t n = 0; n < 7; ++n) buy(slot(n), match());
  auto request = ask(slot(20));
  auto end = answer_to(request, take(request), no_match());
  end.no_match_for = 4h;
  end.life.erase = 24h * 365;
  (void)commit(end);
  ASSERT_TRUE(store_->pin(slot(21), match(), "{}", "", std::nullopt, Deadline::never()));
  auto batch = *store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never());
  const std::vector<BatchChunk> chunks{{0, "x", 1h}};
  ASSERT_TRUE(store_->save_chunks(batch.id, chunks, Deadline::never()));
  EXPECT_EQ(store_->sweep(100, Deadline::never())->entries, 0);

  clock_.advance(kErase);
  const auto swept = store_->sweep(5, Deadline::never());
  EXPECT_EQ(swept->entries, 5);
  EXPECT_EQ(swept->negatives, 1);
  EXPECT_EQ(swept->chunks, 1);
  EXPECT_EQ(swept->batches, 0) << "a batch outlives its rows for a while";
  EXPECT_EQ(store_->sweep(5, Deadline::never())->entries, 2);
  EXPECT_EQ(store_->sweep(5, Deadline::never())->entries, 0);
  EXPECT_EQ(store_->stats(Deadline::never())->entries, 2) << "the one with a long life and the pin";
  clock_.advance(24h * 40);
  EXPECT_EQ(store_->sweep(5, Deadline::never())->batches, 1);
  EXPECT_TRUE(find(slot(21)));
  EXPECT_EQ(sum().prepared, 8) << "the ledger stays";
}

TEST_P(Store, a_cool_down_long_over_is_swept_but_not_what_an_unknown_call_left) {
  auto request = ask(slot(1));
  auto end = ending(refused, request, take(request));
  end.cool_down = 1min;
  (void)release(end);
  (void)take(slot(2));
  clock_.advance(24h * 2);
  request = ask(slot(2));
  end = ending(refused, request, take(request));
  end.cool_down = 1min;
  (void)release(end);
  clock_.advance(24h * 2);
  EXPECT_EQ(store_->sweep(10, Deadline::never())->claims, 1);
  EXPECT_EQ(take(slot(2)).attempt, 2);
}

TEST_P(Store, the_statistics_count_what_there_is) {
  buy(slot(1), match());
  (void)take(slot(2));
  (void)take(slot(3));
  clock_.advance(kClaimLife);
  auto strict = ask(slot(3));
  strict.max_unknown = 0;
  (void)take(strict);
  const std::vector rows{point(60.88, {slot(1).key})};
  ASSERT_TRUE(store_->load_places("own", false, rows, Deadline::never()));
  ASSERT_TRUE(store_->open_batch(kIdentity, "in.csv", BatchStart::resume, Deadline::never()));
  const auto stats = store_->stats(Deadline::never());
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->kind, GetParam().kind);
  EXPECT_FALSE(stats->where.empty());
  EXPECT_FALSE(stats->version.empty());
  EXPECT_GE(stats->schema, 1);
  EXPECT_GT(stats->bytes, 0);
  EXPECT_EQ(stats->entries, 1);
  EXPECT_EQ(stats->open_claims, 1);
  EXPECT_EQ(stats->blocked_claims, 1);
  EXPECT_EQ(stats->ledger_rows, 5);
  EXPECT_EQ(stats->places, 1);
  EXPECT_EQ(stats->batches, 1);
}

TEST_P(Store, a_sound_store_passes_its_check) {
  for (std::uint32_t n = 0; n < 20; ++n) buy(slot(n), match());
  (void)take(slot(30));
  const auto sound = store_->check(Deadline::never());
  EXPECT_TRUE(sound) << sound.error().message;
}

// --- across opens, and in time
// ------------------------------------------------------------------------

TEST_P(Store, everything_is_there_after_the_store_is_opened_again) {
  buy(slot(1), match());
  const auto request = ask(slot(2));
  const auto taken = take(request);
  store_.reset();
  store_ = open();
  EXPECT_TRUE(find(slot(1)));
  EXPECT_EQ(take(slot(2)).verdict, Verdict::wait);
  EXPECT_TRUE(commit(answer_to(request, taken, match())).held);
}

TEST_P(Store, what_one_process_commits_the_other_finds) {
  const auto other = open();
  buy(slot(1), match());
  const auto where = slot(1);
  EXPECT_TRUE((*other->find({&where, 1}, Deadline::never()))[0]);
}

TEST_P(Store, a_call_whose_deadline_has_passed_does_nothing) {
  const auto request = ask(slot(1));
  const Deadline past{clock_.now()};
  const auto taken = store_->take({&request, 1}, past);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(store_->find({&request.slot, 1}, past).error().code, ErrorCode::deadline_exceeded);
  EXPECT_THAT(ledger_of(request.intent), IsEmpty());
}

TEST_P(Store, asking_for_nothing_gives_nothing) {
  EXPECT_THAT(*store_->find({}, Deadline::never()), IsEmpty());
  EXPECT_THAT(*store_->take({}, Deadline::never()), IsEmpty());
  EXPECT_THAT(*store_->commit({}, Deadline::never()), IsEmpty());
  EXPECT_EQ(*store_->invalidate({}, Deadline::never()), 0U);
}

}  // namespace
}  // namespace geonce::contract
