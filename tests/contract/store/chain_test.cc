#include <gmock/gmock.h>

#include "contract/store/store_contract.h"

// Several providers in order, each call with its own intent under one claim.

namespace geonce::contract {
namespace {

using testing::ElementsAre;
using enum ReleaseRequest::Kind;

TakeRequest with_chain(TakeRequest request) {
  request.chain = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"alpha", "beta", "gamma"});
  return request;
}

TEST_P(Store, the_next_provider_is_asked_under_the_same_claim_with_an_intent_of_its_own) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto on = next_after(request, taken);
  on.no_match_for = 4h;
  const auto advanced = advance(on);
  EXPECT_EQ(advanced.verdict, Advanced::Verdict::send);
  EXPECT_EQ(advanced.step, 1U);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "answered"));
  EXPECT_THAT(events_of(on.next_intent), ElementsAre("prepared"));
  EXPECT_EQ(ledger_of(on.next_intent)[0].provider, "beta");

  auto last = answer_to(request, taken, match(1, 1, "beta"));
  last.call->intent = on.next_intent;
  last.call->provider = "beta";
  const auto committed = commit(last);
  EXPECT_TRUE(committed.stored);
  EXPECT_TRUE(committed.held);
  EXPECT_EQ((*store_->entry(slot(1), Deadline::never()))->intent, on.next_intent);
}

TEST_P(Store, a_provider_named_twice_in_a_row_is_asked_twice) {
  auto request = ask(slot(1));
  const auto taken = take(request);
  auto on = next_after(request, taken);
  on.chain = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"alpha", "alpha", "beta"});
  EXPECT_EQ(advance(on).step, 1U);
  EXPECT_EQ(advance(on).step, 1U) << "repeated after a doubt";
  EXPECT_EQ(ledger_of(on.next_intent)[0].provider, "alpha");

  auto further = next_after(request, taken);
  further.chain = on.chain;
  further.step = 1;
  further.call.intent = on.next_intent;
  EXPECT_EQ(advance(further).step, 2U);
}

TEST_P(Store, an_earlier_answer_may_end_a_window_whose_last_call_is_unknown) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  const auto on = next_after(request, taken);
  ASSERT_EQ(advance(on).step, 1U);
  auto lost = ending(unknown, request, taken);
  lost.call.intent = on.next_intent;
  lost.call.provider = "beta";
  (void)release(lost);

  auto best = answer_to(request, taken, match(1, 1, "alpha"));
  best.answered_by = request.intent;
  best.call.reset();
  EXPECT_TRUE(commit(best).stored);
  EXPECT_THAT(events_of(on.next_intent), ElementsAre("prepared", "unknown"));
}

TEST_P(Store, a_chain_may_end_with_the_refusal_it_met_before) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto on = next_after(request, taken);
  on.refused = true;
  ASSERT_EQ(advance(on).step, 1U);
  auto last = next_after(request, taken);
  last.chain = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"beta"});
  last.call.intent = on.next_intent;
  last.call.provider = "beta";
  last.no_match_for = 4h;
  ASSERT_EQ(advance(last).verdict, Advanced::Verdict::exhausted);

  auto stop = ending(refused, request, taken);
  stop.cool_down = 5s;
  EXPECT_TRUE(release(stop).held);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "refused"));
  EXPECT_EQ(take(request.slot).verdict, Verdict::cooldown);
  clock_.advance(6s);
  const auto next = take(with_chain(ask(slot(1))));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.step, 0U);
}

TEST_P(Store, a_provider_that_knows_nothing_is_skipped_while_its_no_match_is_fresh) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto on = next_after(request, taken);
  on.no_match_for = 4h;
  ASSERT_EQ(advance(on).step, 1U);
  auto stop = ending(refused, request, taken);  // beta is down
  stop.call.intent = on.next_intent;
  stop.call.provider = "beta";
  (void)release(stop);

  const auto next = take(with_chain(ask(slot(1))));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.step, 1U);
  auto again = with_chain(ask(slot(2)));
  EXPECT_EQ(take(again).step, 0U) << "of another key nothing is known";
}

TEST_P(Store, a_no_match_of_one_provider_does_not_outlive_its_time) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto end = answer_to(request, taken, match(1, 1, "beta"));
  end.no_match_for = 4h;
  (void)commit(end);
  clock_.advance(kErase);
  EXPECT_EQ(take(with_chain(ask(slot(1)))).step, 0U);
}

TEST_P(Store, a_chain_in_which_nobody_knows_the_address_is_exhausted_without_a_claim) {
  auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto on = next_after(request, taken);
  on.no_match_for = 4h;
  auto step = advance(on);
  for (int provider = 1; provider < 3; ++provider) {
    ASSERT_EQ(step.verdict, Advanced::Verdict::send);
    on.call.intent = on.next_intent;
    on.call.provider = (*request.chain)[step.step];
    on.step = step.step;
    on.next_intent = new_intent();
    step = advance(on);
  }
  EXPECT_EQ(step.verdict, Advanced::Verdict::exhausted);
  EXPECT_EQ(advance(on).verdict, Advanced::Verdict::exhausted) << "repeated after a doubt";
  EXPECT_EQ(take(with_chain(ask(slot(1)))).verdict, Verdict::wait)
      << "the owner still has to commit";

  auto end = answer_to(request, taken, no_match("gamma"));
  end.call.reset();
  end.answered_by = on.call.intent;
  const auto committed = commit(end);
  EXPECT_TRUE(committed.stored);
  EXPECT_TRUE(committed.held);
  EXPECT_TRUE(commit(end).stored) << "repeated after a doubt";

  const auto where = slot(1);
  clock_.advance(1h);
  EXPECT_EQ(take(with_chain(ask(slot(1)))).verdict, Verdict::fresh);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  EXPECT_EQ(take(with_chain(ask(slot(1)))).verdict, Verdict::send)
      << "an invalidation forgets what single providers said, too";
}

TEST_P(Store, providers_that_all_said_no_match_leave_nothing_to_buy) {
  auto request = ask(slot(1));
  const auto taken = take(request);
  auto end = answer_to(request, taken, no_match());
  end.no_match_for = 48h;
  end.life = {.fresh = 1h, .stale = 1h, .erase = 72h};
  (void)commit(end);
  clock_.advance(2h);
  const auto again = take(slot(1));
  EXPECT_EQ(again.verdict, Verdict::exhausted);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::exhausted) << "no claim is left behind";
  request = ask(slot(1));
  request.retry_no_match = true;
  EXPECT_EQ(take(request).verdict, Verdict::send);
}

TEST_P(Store, a_refusal_by_one_provider_asks_the_next) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto on = next_after(request, taken);
  on.refused = true;
  on.call.billed = Billed::no;
  EXPECT_EQ(advance(on).step, 1U);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "refused"));
}

TEST_P(Store, an_advance_repeated_after_doubt_is_the_same_step) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  const auto on = next_after(request, taken);
  ASSERT_EQ(advance(on).step, 1U);
  const auto again = advance(on);
  EXPECT_EQ(again.verdict, Advanced::Verdict::send);
  EXPECT_EQ(again.step, 1U);
  EXPECT_EQ(ledger_of(request.intent).size(), 2U);
  EXPECT_EQ(ledger_of(on.next_intent).size(), 1U);
}

TEST_P(Store, an_advance_keeps_the_claim_alive_for_another_call) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  clock_.advance(kClaimLife - 1s);
  ASSERT_EQ(advance(next_after(request, taken)).verdict, Advanced::Verdict::send);
  clock_.advance(kClaimLife - 1s);
  EXPECT_EQ(take(with_chain(ask(slot(1)))).verdict, Verdict::wait);
}

TEST_P(Store, an_advance_on_a_claim_taken_over_is_lost_and_its_call_is_ledgered_late) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  clock_.advance(kClaimLife);
  ASSERT_EQ(take(with_chain(ask(slot(1)))).verdict, Verdict::send);
  const auto on = next_after(request, taken);
  EXPECT_EQ(advance(on).verdict, Advanced::Verdict::lost);
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "unknown", "answered"));
  EXPECT_TRUE(ledger_of(request.intent).back().late);
  EXPECT_TRUE(ledger_of(on.next_intent).empty());
}

TEST_P(Store, an_advance_that_comes_when_its_claim_has_ended_begins_nothing) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto stop = ending(refused, request, taken);
  stop.cool_down = 30s;
  ASSERT_TRUE(release(stop).held);
  auto on = next_after(request, taken);
  on.refused = true;
  EXPECT_EQ(advance(on).verdict, Advanced::Verdict::lost);
  EXPECT_TRUE(ledger_of(on.next_intent).empty());
  EXPECT_EQ(take(with_chain(ask(slot(1)))).verdict, Verdict::cooldown);
}

TEST_P(Store, an_advance_after_an_invalidation_is_lost_and_the_key_is_free) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  const auto where = slot(1);
  ASSERT_TRUE(store_->invalidate({&where, 1}, Deadline::never()));
  auto on = next_after(request, taken);
  on.no_match_for = 4h;
  EXPECT_EQ(advance(on).verdict, Advanced::Verdict::lost);
  const auto next = take(with_chain(ask(slot(1))));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.step, 0U) << "the old no-match is not known in the new window";
}

TEST_P(Store, a_takeover_asks_nobody_who_has_answered_in_this_window) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  const auto on =
      next_after(request, taken);  // alpha's answer was not good enough, but no no-match
  ASSERT_EQ(advance(on).step, 1U);
  clock_.advance(kClaimLife);
  const auto next = take(with_chain(ask(slot(1))));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.step, 1U);
  EXPECT_EQ(next.attempt, 2);
}

TEST_P(Store, who_is_passed_over_is_told_by_whether_he_has_answered_or_knows_nothing) {
  auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  auto on = next_after(request, taken);  // alpha's answer was not good enough
  ASSERT_EQ(advance(on).step, 1U);
  on.call.intent = on.next_intent;
  on.call.provider = "beta";
  on.step = 1;
  on.no_match_for = 4h;
  on.next_intent = new_intent();
  ASSERT_EQ(advance(on).step, 2U);
  clock_.advance(kClaimLife);
  const auto next = take(with_chain(ask(slot(1))));
  ASSERT_EQ(next.step, 2U);
  EXPECT_EQ(next.answered, StepMask{1}) << "alpha has answered, beta knows nothing";

  request = with_chain(ask(slot(1)));
  request.chain = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"gamma", "alpha", "beta"});
  clock_.advance(kClaimLife);
  request.max_unknown = 5;
  const auto other = take(request);
  ASSERT_EQ(other.step, 0U);
  EXPECT_EQ(other.answered, StepMask{0}) << "nobody before it";
  const auto last = advance(next_after(request, other));
  EXPECT_EQ(last.verdict, Advanced::Verdict::exhausted);
  EXPECT_EQ(last.answered, StepMask{1} << 1U);
}

TEST_P(Store,
       when_all_have_answered_and_the_best_answer_died_with_its_owner_the_chain_begins_again) {
  const auto request = ask(slot(1));  // one provider
  const auto taken = take(request);
  ASSERT_EQ(advance(next_after(request, taken)).verdict, Advanced::Verdict::exhausted);
  clock_.advance(kClaimLife);
  const auto next = take(slot(1));
  EXPECT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.step, 0U);
  EXPECT_EQ(next.attempt, 1) << "no outcome was unknown";
  EXPECT_THAT(events_of(request.intent), ElementsAre("prepared", "answered"));
}

TEST_P(Store, a_call_prepared_but_not_sent_when_its_claim_ends_is_void) {
  const auto request = with_chain(ask(slot(1)));
  const auto taken = take(request);
  const auto on = next_after(request, taken);
  ASSERT_EQ(advance(on).verdict, Advanced::Verdict::send);
  auto end = answer_to(request, taken, match());
  end.call.reset();
  end.answered_by = request.intent;
  EXPECT_TRUE(commit(end).stored);
  EXPECT_THAT(events_of(on.next_intent), ElementsAre("prepared", "void"));
  EXPECT_EQ((*store_->entry(slot(1), Deadline::never()))->intent, request.intent);
}

TEST_P(Store, a_refresh_asks_providers_that_had_no_match) {
  auto request = ask(slot(1));
  auto end = answer_to(request, take(request), no_match());
  end.no_match_for = 48h;
  (void)commit(end);
  request = ask(slot(1));
  request.refresh_before = kRefreshAll;
  EXPECT_EQ(take(request).verdict, Verdict::send);
}

}  // namespace
}  // namespace geonce::contract
