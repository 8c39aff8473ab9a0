#include <gmock/gmock.h>

#include "contract/store/store_contract.h"

// The rules of buying: who may call, what a call's end does, and what the ledger says of it.

namespace geonce::contract {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using enum ReleaseRequest::Kind;

TakeRequest with_two(TakeRequest request) {
  request.chain =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"alpha", "beta"});
  return request;
}

TEST_P(Store, what_was_bought_is_found_with_what_is_left_of_its_life) {
  buy(slot(1), match());
  clock_.advance(1h);
  const auto found = find(slot(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->answer, match());
  EXPECT_EQ(found->gen, 1);
  EXPECT_EQ(found->fresh_left, kFresh - 1h);
  EXPECT_EQ(found->stale_left, kStale - 1h);
  EXPECT_EQ(found->erase_left, kErase - 1h);
  EXPECT_EQ(found->answered_at, clock_.now_utc() - milliseconds(1h).count());
}

TEST_P(Store, nobody_is_told_to_send_before_claim_and_intent_can_be_read_back) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.gen, 1);
  EXPECT_EQ(taken.attempt, 1);
  EXPECT_EQ(taken.step, 0U);
  EXPECT_EQ(taken.query_json, request.query_json);
  const auto rows = ledger_of(request.intent);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].event, LedgerEvent::prepared);
  EXPECT_EQ(rows[0].provider, "alpha");
  EXPECT_EQ(rows[0].slot, slot(1));
  EXPECT_EQ(rows[0].at, clock_.now_utc());
  EXPECT_EQ(open()->open_intents(owner_, {}, Deadline::never())->size(), 1U);
}

TEST_P(Store, a_second_taker_waits_until_the_first_is_overdue) {
  (void)take(slot(1));
  clock_.advance(4s);
  const auto second = take(slot(1));
  EXPECT_EQ(second.verdict, Verdict::wait);
  EXPECT_EQ(second.wait_for, kClaimLife - 4s);
}

TEST_P(Store, a_taker_who_comes_after_the_answer_reads_it_instead_of_paying) {
  buy(slot(1), match());
  const auto taken = take(slot(1));
  EXPECT_EQ(taken.verdict, Verdict::fresh);
  ASSERT_TRUE(taken.found);
  EXPECT_EQ(*taken.found->answer, match());
}

TEST_P(Store, a_stale_answer_is_bought_again_under_the_next_gen) {
  buy(slot(1), match());
  clock_.advance(kFresh);
  const auto request = ask(slot(1));
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.gen, 2);
  EXPECT_EQ(find(slot(1))->fresh_left, 0ms);  // still there, to be served as stale
  EXPECT_TRUE(commit(answer_to(request, taken, match(60))).stored);
  EXPECT_EQ(find(slot(1))->gen, 2);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 60);
}

TEST_P(Store, a_claim_that_is_overdue_is_taken_over_and_the_old_intent_is_ledgered_unknown) {
  const auto first = ask(slot(1));
  (void)take(first);
  clock_.advance(kClaimLife);
  const auto second = ask(slot(1));
  const auto taken = take(second);
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.attempt, 2);
  EXPECT_EQ(taken.gen, 1);
  EXPECT_THAT(events_of(first.intent), ElementsAre("prepared", "unknown"));
  EXPECT_EQ(ledger_of(first.intent)[1].reason, "takeover");
  EXPECT_EQ(ledger_of(first.intent)[1].billed, Billed::unknown);
  EXPECT_EQ(ledger_of(second.intent)[0].cause, Cause::takeover);
  EXPECT_EQ(ledger_of(second.intent)[0].attempt, 2);
}

TEST_P(Store, a_call_whose_answer_is_lost_is_in_doubt_with_what_it_may_have_cost) {
  auto first = ask(slot(1));
  first.chain =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"alpha", "beta"});
  first.prices = {Money{500}, Money{7'000}};
  auto on = next_after(first, take(first));
  on.refused = true;
  on.call.billed = Billed::no;
  on.prices = first.prices;
  ASSERT_EQ(advance(on).step, 1U);
  const auto open = store_->open_intents(owner_, {}, Deadline::never());
  ASSERT_THAT(*open, SizeIs(1));
  EXPECT_EQ(open->front().price, Money{7'000});
  clock_.advance(kClaimLife);
  ASSERT_EQ(take(slot(1)).verdict, Verdict::send);
  EXPECT_THAT(events_of(on.next_intent), ElementsAre("prepared", "unknown"));
  EXPECT_EQ(ledger_of(on.next_intent)[1].price, Money{7'000});
  EXPECT_EQ(ledger_of(on.next_intent)[1].units, 1);
  EXPECT_EQ(sum("beta").in_doubt, Money{7'000});
}

TEST_P(Store, a_takeover_sends_the_bytes_that_the_first_attempt_froze) {
  (void)take(slot(1));
  clock_.advance(kClaimLife);
  auto other_spelling = ask(slot(1));
  other_spelling.query_json = R"({"text":"1 SOME STREET"})";
  EXPECT_EQ(take(other_spelling).query_json, ask(slot(1)).query_json);
}

TEST_P(
    Store,
    as_many_unknown_outcomes_as_allowed_are_followed_by_one_more_call_and_then_the_key_is_blocked) {
  for (int attempt = 1; attempt <= 3; ++attempt) {
    auto request = ask(slot(1));
    request.max_unknown = 2;
    const auto taken = take(request);
    ASSERT_EQ(taken.verdict, Verdict::send);
    EXPECT_EQ(taken.attempt, attempt);
    clock_.advance(kClaimLife);
  }
  auto request = ask(slot(1));
  request.max_unknown = 2;
  EXPECT_EQ(take(request).verdict, Verdict::blocked);
  clock_.advance(24h * 365);
  EXPECT_EQ(take(request).verdict, Verdict::blocked) << "no timer opens a blocked key";
  EXPECT_EQ(sum().prepared, 3);
  EXPECT_EQ(sum().unknown, 3);
}

TEST_P(Store, where_takeover_is_never_the_first_unknown_outcome_blocks) {
  (void)take(slot(1));
  clock_.advance(kClaimLife);
  auto request = ask(slot(1));
  request.max_unknown = -1;
  EXPECT_EQ(take(request).verdict, Verdict::blocked);
  EXPECT_THAT(ledger_of(request.intent), IsEmpty());
}

TEST_P(Store, a_late_answer_is_stored_and_opens_a_blocked_key) {
  const auto first = ask(slot(1));
  const auto taken = take(first);
  clock_.advance(kClaimLife);
  auto impatient = ask(slot(1));
  impatient.max_unknown = -1;
  ASSERT_EQ(take(impatient).verdict, Verdict::blocked);
  const auto committed = commit(answer_to(first, taken, match()));
  EXPECT_TRUE(committed.stored);
  EXPECT_TRUE(find(slot(1)));
  EXPECT_EQ(take(impatient).verdict, Verdict::fresh);
  EXPECT_THAT(events_of(first.intent), ElementsAre("prepared", "unknown", "answered"));
  EXPECT_EQ(sum().unknown, 0) << "an intent counts once, and knowing beats not knowing";
  EXPECT_EQ(sum().answered, 1);
}

TEST_P(Store, what_a_person_learns_of_a_lost_call_closes_the_doubt_and_opens_the_key) {
  for (const bool was_billed : {true, false}) {
    const Slot where = slot(was_billed ? 1 : 2);
    const LedgerSum before = sum();
    auto first = ask(where);
    first.prices = {Money{500}};
    (void)take(first);
    clock_.advance(kClaimLife);
    auto impatient = ask(where);
    impatient.max_unknown = -1;
    ASSERT_EQ(take(impatient).verdict, Verdict::blocked);
    ASSERT_EQ(sum().in_doubt, before.in_doubt + Money{500});
    const Reconciliation learnt{where, first.intent, was_billed, "invoice 2026-05, line 3"};
    EXPECT_EQ(*store_->reconcile({&learnt, 1}, Deadline::never()), 1U);
    EXPECT_THAT(events_of(first.intent), ElementsAre("prepared", "unknown", "reconciled"));
    const LedgerRow row = ledger_of(first.intent)[2];
    EXPECT_EQ(row.billed, was_billed ? Billed::yes : Billed::no);
    EXPECT_EQ(row.reason, learnt.reason);
    EXPECT_EQ(row.slot, where);
    EXPECT_EQ(sum().in_doubt, before.in_doubt);
    EXPECT_EQ(sum().billed, before.billed + Money{was_billed ? 500 : 0});
    EXPECT_EQ(take(impatient).verdict, Verdict::send);
    EXPECT_EQ(*store_->reconcile({&learnt, 1}, Deadline::never()), 0U) << "once is enough";
  }
}

TEST_P(Store, only_lost_calls_are_reconciled) {
  const auto open = ask(slot(1));
  (void)take(open);
  const auto answered = ask(slot(2));
  const auto taken = take(answered);
  ASSERT_TRUE(commit(answer_to(answered, taken, match())).stored);
  const std::vector<Reconciliation> learnt{{slot(1), open.intent, true, "x"},
                                           {slot(2), answered.intent, true, "x"},
                                           {slot(3), new_intent(), true, "x"}};
  EXPECT_EQ(*store_->reconcile(learnt, Deadline::never()), 0U);
  EXPECT_THAT(events_of(open.intent), ElementsAre("prepared"));
  EXPECT_THAT(events_of(answered.intent), ElementsAre("prepared", "answered"));
  EXPECT_EQ(take(slot(1)).verdict, Verdict::wait);
}

TEST_P(Store,
       a_late_answer_after_the_reconciliation_is_stored_and_the_invoice_is_right_on_the_money) {
  auto first = ask(slot(1));
  first.prices = {Money{500}};
  const auto taken = take(first);
  clock_.advance(kClaimLife);
  auto impatient = ask(slot(1));
  impatient.max_unknown = -1;
  ASSERT_EQ(take(impatient).verdict, Verdict::blocked);
  const Reconciliation learnt{slot(1), first.intent, false, "x"};
  ASSERT_EQ(*store_->reconcile({&learnt, 1}, Deadline::never()), 1U);
  const auto open = store_->open_intents(owner_, {&first.intent, 1}, Deadline::never());
  EXPECT_THAT(*open, SizeIs(1)) << "a spool that has the answer is told where it belongs";
  EXPECT_TRUE(commit(answer_to(first, taken, match())).stored);
  EXPECT_EQ(take(impatient).verdict, Verdict::fresh);
  EXPECT_EQ(sum().answered, 1);
  EXPECT_EQ(sum().billed, Money{});
}

TEST_P(Store, a_late_answer_fills_the_window_and_the_one_who_took_over_is_redundant) {
  const auto first = ask(slot(1));
  const auto first_taken = take(first);
  clock_.advance(kClaimLife);
  const auto second = ask(slot(1));
  const auto second_taken = take(second);
  const auto late = commit(answer_to(first, first_taken, match(1)));
  EXPECT_TRUE(late.stored);
  EXPECT_FALSE(late.held);
  EXPECT_TRUE(ledger_of(first.intent).back().late);
  const auto surplus = commit(answer_to(second, second_taken, match(2)));
  EXPECT_FALSE(surplus.stored);
  EXPECT_TRUE(surplus.held);
  EXPECT_GT(surplus.fresh_left, 0ms);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 1);
  EXPECT_TRUE(ledger_of(second.intent).back().redundant);
  EXPECT_EQ(sum().redundant, 1);
}

TEST_P(Store, a_commit_repeated_after_doubt_changes_nothing) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  const auto once = commit(answer_to(request, taken, match()));
  const auto twice = commit(answer_to(request, taken, match()));
  EXPECT_TRUE(once.stored);
  EXPECT_TRUE(once.held);
  EXPECT_TRUE(twice.stored);
  EXPECT_EQ(twice.fresh_left, once.fresh_left);
  const auto found = find(slot(1));
  for (const auto& committed : {once, twice}) {
    EXPECT_EQ(committed.answered_at, found->answered_at);
    EXPECT_EQ(committed.fresh_until, found->fresh_until);
  }
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "answered"));
  EXPECT_EQ(find(slot(1))->gen, 1);
}

TEST_P(Store, a_take_repeated_after_doubt_is_the_same_claim) {
  const auto request = ask(slot(1));
  const auto once = take(request);
  const auto twice = take(request);
  EXPECT_EQ(twice.verdict, Verdict::send);
  EXPECT_EQ(twice.fence, once.fence);
  EXPECT_EQ(twice.attempt, once.attempt);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared"));
}

TEST_P(Store, a_release_repeated_after_doubt_changes_nothing) {
  for (const auto kind : {refused, voided, unknown}) {
    const auto where = slot(static_cast<std::uint32_t>(kind) + 10);
    const auto request = ask(where);
    auto end = ending(kind, request, take(request));
    end.cool_down = 5s;
    EXPECT_TRUE(release(end).held);
    const auto before = take(where);
    (void)release(end);
    EXPECT_EQ(ledger_of(request.intent).size(), 2U);
    const auto after = take(where);
    EXPECT_EQ(after.verdict, before.verdict == Verdict::send ? Verdict::wait : before.verdict);
  }
}

TEST_P(Store, an_intent_used_for_a_second_attempt_is_refused) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  (void)release(ending(voided, request, taken));
  const auto again = store_->take({&request, 1}, Deadline::never());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::internal);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send) << "and nothing was claimed by it";
}

TEST_P(Store, a_call_proven_unsent_frees_the_key_at_once) {
  const auto request = ask(slot(1));
  const auto taken = take(request);
  EXPECT_TRUE(release(ending(voided, request, taken)).held);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "void"));
  const auto next = take(slot(1));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.attempt, 1);
}

TEST_P(Store, a_void_after_an_unknown_attempt_does_not_reset_what_was_counted) {
  (void)take(slot(1));
  clock_.advance(kClaimLife);
  const auto second = ask(slot(1));
  (void)release(ending(voided, second, take(second)));
  const auto third = take(slot(1));
  EXPECT_EQ(third.verdict, Verdict::send);
  EXPECT_EQ(third.attempt, 2) << "the unsent second attempt is made good, the first still counts";
}

TEST_P(Store, a_refused_key_cools_down_for_every_process) {
  const auto request = ask(slot(1));
  auto end = ending(refused, request, take(request));
  end.cool_down = 30s;
  EXPECT_TRUE(release(end).held);
  clock_.advance(10s);
  const auto other = open();
  auto again = ask(slot(1));
  const auto cooling = other->take({&again, 1}, Deadline::never());
  ASSERT_TRUE(cooling);
  EXPECT_EQ(cooling->front().verdict, Verdict::cooldown);
  EXPECT_EQ(cooling->front().wait_for, 20s);
  auto eager = ask(slot(1));
  eager.refresh_before = kRefreshAll;
  EXPECT_EQ(take(eager).verdict, Verdict::cooldown) << "not even a refresh hurries a provider";
  clock_.advance(20s);
  const auto taken = take(slot(1));
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.attempt, 1) << "a refusal is no unknown outcome";
  EXPECT_EQ(ledger_of(request.intent).back().event, LedgerEvent::refused);
}

TEST_P(Store, a_refusal_without_cool_down_frees_the_key) {
  const auto request = ask(slot(1));
  (void)release(ending(refused, request, take(request)));
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send);
}

TEST_P(Store, an_owner_who_sees_the_outcome_lost_lets_the_next_one_in_at_once) {
  const auto request = ask(slot(1));
  const auto released = release(ending(unknown, request, take(request)));
  EXPECT_TRUE(released.held);
  EXPECT_FALSE(released.blocked);
  const auto next = take(slot(1));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.attempt, 2);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "unknown"));
}

TEST_P(Store, an_owner_who_sees_one_outcome_too_many_lost_blocks_the_key) {
  const auto request = ask(slot(1));
  auto end = ending(unknown, request, take(request));
  end.max_unknown = 0;
  EXPECT_TRUE(release(end).blocked);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::blocked);
  EXPECT_TRUE(release(end).blocked) << "and says so again when asked again";
}

TEST_P(Store, a_refusal_that_comes_late_settles_the_unknown_outcome) {
  const auto first = ask(slot(1));
  const auto taken = take(first);
  clock_.advance(kClaimLife);
  (void)take(slot(1));
  const auto released = release(ending(refused, first, taken));
  EXPECT_FALSE(released.held);
  EXPECT_TRUE(ledger_of(first.intent).back().late);
  EXPECT_EQ(sum().refused, 1);
  EXPECT_EQ(sum().unknown, 0);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::wait) << "the claim is another's and stays his";
}

TEST_P(Store, a_call_ends_in_one_way_whatever_comes_late) {
  const auto request = with_two(ask(slot(1)));
  const auto taken = take(request);
  EXPECT_TRUE(release(ending(voided, request, taken)).held);
  EXPECT_FALSE(release(ending(refused, request, taken)).held);
  auto on = next_after(request, taken);
  on.refused = true;
  EXPECT_EQ(advance(on).verdict, Advanced::Verdict::lost);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "void"));
}

TEST_P(Store, an_answer_that_may_not_be_kept_is_ledgered_and_not_stored) {
  const auto request = ask(slot(1));
  auto end = answer_to(request, take(request), match());
  end.life = {};
  const auto committed = commit(end);
  EXPECT_FALSE(committed.stored);
  EXPECT_TRUE(committed.held);
  EXPECT_FALSE(find(slot(1)));
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "answered"));
  EXPECT_FALSE(ledger_of(request.intent).back().redundant);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send);
}

TEST_P(Store, a_life_never_outlasts_the_terms) {
  const auto request = ask(slot(1));
  auto end = answer_to(request, take(request), match());
  end.life = {.fresh = 24h * 180, .stale = 24h * 360, .erase = 24h * 30};
  const auto committed = commit(end);
  EXPECT_EQ(committed.fresh_left, 24h * 30);
  EXPECT_EQ(committed.stale_left, 24h * 30);
  clock_.advance(24h * 30);
  EXPECT_FALSE(find(slot(1)));
}

TEST_P(Store, an_endless_life_does_not_overflow) {
  const auto request = ask(slot(1));
  auto end = answer_to(request, take(request), match());
  end.life = {milliseconds::max(), milliseconds::max(), milliseconds::max()};
  EXPECT_GT(commit(end).fresh_left, 24h * 3650);
  const auto found = find(slot(1));
  ASSERT_TRUE(found);
  EXPECT_GT(clock_.now() + found->fresh_left, clock_.now());
}

TEST_P(Store, nothing_is_found_after_its_erase_instant_and_the_next_taker_pays) {
  buy(slot(1), match());
  clock_.advance(kErase - 1ms);
  EXPECT_TRUE(find(slot(1)));
  clock_.advance(1ms);
  EXPECT_FALSE(find(slot(1)));
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send);
}

TEST_P(Store, a_clock_that_jumps_a_year_ahead_serves_nothing_as_fresh) {
  buy(slot(1), match());
  clock_.jump_utc(24h * 365);
  EXPECT_FALSE(find(slot(1)));
}

TEST_P(Store, equal_slots_in_one_call_get_equal_verdicts_in_the_order_asked) {
  const std::vector<TakeRequest> requests{ask(slot(2)), ask(slot(1)), ask(slot(2))};
  const auto taken = store_->take(requests, Deadline::never());
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)[0].verdict, Verdict::send);
  EXPECT_EQ((*taken)[1].verdict, Verdict::send);
  EXPECT_EQ((*taken)[2].verdict, Verdict::wait);
}

TEST_P(Store, pools_do_not_see_each_other) {
  buy(slot(1, 1), match());
  EXPECT_FALSE(find(slot(1, 2)));
  EXPECT_EQ(take(slot(1, 2)).verdict, Verdict::send);
}

TEST_P(Store, many_are_found_in_the_order_asked) {
  for (std::uint32_t n = 0; n < 50; ++n) buy(slot(n), match(n));
  std::vector<Slot> slots;
  for (std::uint32_t n = 60; n-- > 0;) slots.push_back(slot(n));
  slots.push_back(slot(7));
  slots.push_back(slot(7));
  const auto found = store_->find(slots, Deadline::never());
  ASSERT_TRUE(found);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto n = i < 60 ? 59 - i : 7;
    if (n >= 50) {
      EXPECT_FALSE((*found)[i]);
    } else {
      ASSERT_TRUE((*found)[i]) << n;
      EXPECT_EQ((*found)[i]->answer->at->lat_deg, static_cast<double>(n));
    }
  }
}

// --- forced and retried windows
// -----------------------------------------------------------------------

TEST_P(Store, a_refresh_buys_although_the_answer_is_fresh) {
  buy(slot(1), match(1));
  auto request = ask(slot(1));
  request.refresh_before = kRefreshAll;
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.gen, 2);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::fresh) << "others are served meanwhile";
  EXPECT_TRUE(commit(answer_to(request, taken, match(2))).stored);
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 2);
}

TEST_P(Store, a_refresh_waits_for_a_call_in_flight) {
  (void)take(slot(1));
  auto request = ask(slot(1));
  request.refresh_before = kRefreshAll;
  EXPECT_EQ(take(request).verdict, Verdict::wait);
}

TEST_P(Store, a_refresh_opens_a_blocked_key_under_a_new_gen) {
  const auto first = ask(slot(1));
  const auto first_taken = take(first);
  clock_.advance(kClaimLife);
  auto strict = ask(slot(1));
  strict.max_unknown = -1;
  ASSERT_EQ(take(strict).verdict, Verdict::blocked);
  auto request = ask(slot(1));
  request.refresh_before = kRefreshAll;
  const auto taken = take(request);
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.gen, first_taken.gen + 1);
  EXPECT_EQ(taken.attempt, 1);
  EXPECT_TRUE(commit(answer_to(request, taken, match(2))).stored);
  EXPECT_FALSE(commit(answer_to(first, first_taken, match(1))).stored)
      << "the old window is closed";
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 2);
}

TEST_P(Store, consecutive_no_matches_are_counted_and_a_match_ends_the_count) {
  for (int streak = 0; streak < 3; ++streak) {
    const auto request = ask(slot(1));
    const auto taken = take(request);
    ASSERT_EQ(taken.verdict, Verdict::send);
    EXPECT_EQ(taken.no_match_streak, streak);
    (void)commit(answer_to(request, taken, no_match()));
    clock_.advance(kFresh);
  }
  EXPECT_EQ((*store_->entry(slot(1), Deadline::never()))->no_match_streak, 3);
  buy(slot(1), match());
  clock_.advance(kFresh);
  EXPECT_EQ(take(slot(1)).no_match_streak, 0);
}

TEST_P(Store, a_remembered_no_match_is_fresh_unless_it_is_to_be_retried) {
  buy(slot(1), no_match());
  EXPECT_EQ(take(slot(1)).verdict, Verdict::fresh);
  auto request = ask(slot(1));
  request.retry_no_match = true;
  EXPECT_EQ(take(request).verdict, Verdict::send);
  buy(slot(2), match());
  request = ask(slot(2));
  request.retry_no_match = true;
  EXPECT_EQ(take(request).verdict, Verdict::fresh) << "a match is not retried";
}

// --- invalidation and pins
// ----------------------------------------------------------------------------

TEST_P(Store, an_invalidated_entry_is_a_miss_and_is_bought_under_a_higher_gen) {
  buy(slot(1), match());
  const std::vector slots{slot(1), slot(2)};
  EXPECT_EQ(store_->invalidate(slots, Deadline::never()), 1U);
  EXPECT_FALSE(find(slot(1)));
  EXPECT_EQ(take(slot(1)).gen, 3);
  EXPECT_EQ(store_->invalidate(slots, Deadline::never()), 0U);
}

TEST_P(Store, an_answer_begun_before_an_invalidation_cannot_fill_the_new_window) {
  const auto old = ask(slot(1));
  const auto old_taken = take(old);
  const auto where = slot(1);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  EXPECT_EQ(take(slot(1)).verdict, Verdict::wait) << "the call in flight is still one call";
  const auto committed = commit(answer_to(old, old_taken, match()));
  EXPECT_FALSE(committed.stored);
  EXPECT_TRUE(committed.held);
  EXPECT_FALSE(find(slot(1)));
  EXPECT_TRUE(ledger_of(old.intent).back().redundant);
  const auto taken = take(slot(1));
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_GT(taken.gen, old_taken.gen);
}

TEST_P(Store, an_answer_older_than_the_memory_of_an_invalidation_is_not_stored) {
  const auto old = ask(slot(1));
  const auto old_taken = take(old);
  const auto where = slot(1);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  clock_.advance(24h * 31);
  while (store_->sweep(100, Deadline::never())->entries > 0) {
  }
  EXPECT_FALSE(commit(answer_to(old, old_taken, match())).stored);
  EXPECT_FALSE(find(slot(1)));
}

TEST_P(Store, an_invalidation_opens_a_blocked_key) {
  (void)take(slot(1));
  clock_.advance(kClaimLife);
  auto strict = ask(slot(1));
  strict.max_unknown = -1;
  ASSERT_EQ(take(strict).verdict, Verdict::blocked);
  const auto where = slot(1);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  const auto taken = take(strict);
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.attempt, 1);
}

TEST_P(Store, an_attempt_overdue_in_a_closed_window_does_not_count_in_the_new_one) {
  const auto old = ask(slot(1));
  (void)take(old);
  const auto where = slot(1);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  clock_.advance(kClaimLife);
  auto strict = ask(slot(1));
  strict.max_unknown = -1;
  strict.query_json = R"({"text":"new"})";
  const auto taken = take(strict);
  EXPECT_EQ(taken.verdict, Verdict::send);
  EXPECT_EQ(taken.attempt, 1);
  EXPECT_EQ(taken.query_json, strict.query_json);
  EXPECT_THAT(events_of(old.intent), ElementsAre("prepared", "unknown"));
}

TEST_P(Store, a_pinned_answer_is_always_fresh_and_nothing_bought_replaces_it) {
  const auto old = ask(slot(1));
  const auto old_taken = take(old);
  ASSERT_TRUE(
      store_->pin(slot(1), match(48, 2, "person"), "{}", "", building(7), Deadline::never()));
  EXPECT_FALSE(commit(answer_to(old, old_taken, match(1))).stored);
  clock_.advance(24h * 365 * 20);
  const auto found = find(slot(1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->pinned);
  EXPECT_GT(found->fresh_left, 0ms);
  EXPECT_EQ(found->answer->at->lat_deg, 48);
  EXPECT_EQ((*store_->entry(slot(1), Deadline::never()))->building_key, building(7));
  auto request = ask(slot(1));
  request.refresh_before = kRefreshAll;
  EXPECT_EQ(take(request).verdict, Verdict::fresh) << "buying what cannot be stored would be waste";
}

TEST_P(Store, a_pin_is_replaced_by_another_pin_or_lifted_by_an_invalidation) {
  ASSERT_TRUE(store_->pin(slot(1), match(1), "{}", "", std::nullopt, Deadline::never()));
  ASSERT_TRUE(store_->pin(slot(1), match(2), "{}", "", std::nullopt, Deadline::never()));
  EXPECT_EQ(find(slot(1))->answer->at->lat_deg, 2);
  const auto where = slot(1);
  EXPECT_EQ(store_->invalidate({&where, 1}, Deadline::never()), 1U);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send);
}

}  // namespace
}  // namespace geonce::contract
