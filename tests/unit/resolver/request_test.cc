#include "resolver/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The machine of one key, without threads, I/O or a clock: events in, one action out.

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class Request : public testing::Test {
 protected:
  Request() { with_chain({"alpha"}); }

  void with_chain(const std::vector<std::string>& names) {
    rules_.chain.clear();
    rules_.standard.steps.clear();
    for (const auto& name : names) {
      ChainStep step;
      step.name = name;
      step.terms.keep = Terms::Keep::unlimited;
      rules_.standard.steps.push_back(rules_.chain.size());
      rules_.chain.push_back(std::move(step));
    }
  }
  Moment now() const { return {now_, 1'800'000'000'000, until_}; }
  geonce::Request make() {
    subject_.slot.key.bytes.fill(7);
    return geonce::Request(rules_, subject_);
  }

  static Found found(milliseconds fresh, milliseconds stale, AnswerKind kind = AnswerKind::match) {
    Found found;
    found.gen = 3;
    Answer answer;
    answer.kind = kind;
    answer.provider = "before";
    found.answer = std::make_shared<const Answer>(answer);
    found.fresh_left = fresh;
    found.stale_left = stale;
    found.erase_left = stale + 1h;
    return found;
  }
  static Taken verdict(Taken::Verdict what, std::size_t step = 0) {
    Taken taken;
    taken.verdict = what;
    taken.step = step;
    taken.fence = 11;
    taken.gen = 4;
    taken.query_json = R"({"text":"frozen"})";
    taken.wait_for = 5s;
    return taken;
  }
  static Outcome outcome(OutcomeKind kind, FailureClass failure = FailureClass::none) {
    Outcome outcome;
    outcome.kind = kind;
    outcome.failure = failure;
    outcome.answer.precision = Precision::rooftop;
    outcome.answer.at = LatLng{1, 2};
    outcome.billed = kind == OutcomeKind::refused ? Billed::no : Billed::yes;
    outcome.price = {500};
    outcome.reason = "so it was";
    return outcome;
  }
  static Admission all(std::vector<std::size_t> steps) {
    Admission admission;
    admission.steps = std::move(steps);
    admission.intent.bytes[0] = 1;
    return admission;
  }
  /// From nothing known to the call of provider `step`.
  act::Call called(geonce::Request& request, std::size_t step = 0) {
    const auto admit = std::get<act::Admit>(request.begin(std::nullopt, now_));
    (void)std::get<act::Take>(request.admitted(all(admit.steps)));
    return std::get<act::Call>(request.was_taken(verdict(Taken::Verdict::send, step), now_, now()));
  }
  static const Resolved& resolved(const geonce::Request& request) {
    return request.ending().resolved;
  }

  RequestRules rules_;
  Subject subject_;
  Mono now_{1h};
  Mono until_ = Mono::max();
};

TEST_F(Request, what_the_store_remembers_decides_whether_anything_is_asked) {
  struct Row {
    const char* name;
    std::optional<Found> found;
    bool refresh, retry_no_match, cache_only;
    const char* expected;
  };
  const std::vector<Row> rows{
      {"fresh", found(1h, 2h), false, false, false, "db"},
      {"nothing", std::nullopt, false, false, false, "ask"},
      {"stale", found(0h, 2h), false, false, false, "ask"},
      {"fresh, refresh", found(1h, 2h), true, false, false, "ask"},
      {"fresh no-match", found(1h, 2h, AnswerKind::no_match), false, false, false, "negative"},
      {"fresh no-match, retry", found(1h, 2h, AnswerKind::no_match), false, true, false, "ask"},
      {"fresh match, retry no-matches", found(1h, 2h), false, true, false, "db"},
      {"nothing, cache only", std::nullopt, false, false, true, "cache_only_miss"},
      {"stale, cache only", found(0h, 2h), false, false, true, "cache_only_miss"},
  };
  for (const Row& row : rows) {
    subject_.refresh_before = row.refresh ? kRefreshAll : 0;
    subject_.retry_no_match = row.retry_no_match;
    subject_.cache_only = row.cache_only;
    auto request = make();
    const auto action = request.begin(row.found, now_);
    std::string got = "ask";
    if (std::holds_alternative<act::Done>(action))
      got = resolved(request).error ? to_string(resolved(request).error->code)
                                    : to_string(resolved(request).source);
    EXPECT_EQ(got, row.expected) << row.name;
  }
}

TEST_F(Request, a_pinned_answer_is_served_even_to_a_refresh) {
  subject_.refresh_before = kRefreshAll;
  Found pinned = found(0h, 0h);
  pinned.pinned = true;
  auto request = make();
  EXPECT_TRUE(std::holds_alternative<act::Done>(request.begin(pinned, now_)));
  EXPECT_EQ(resolved(request).source, AnswerSource::db);
}

TEST_F(Request, the_call_carries_what_the_claim_froze_and_the_window_counts_from_before_the_claim) {
  auto request = make();
  const auto call = called(request);
  EXPECT_EQ(call.query_json, R"({"text":"frozen"})");
  EXPECT_EQ(call.send_before, now_ + 2s);
}

TEST_F(Request, verdicts_of_the_store_lead_where_they_should) {
  struct Row {
    Taken::Verdict verdict;
    const char* expected;
  };
  for (const auto& [what, expected] : {Row{Taken::Verdict::cooldown, "cooling_down"},
                                       Row{Taken::Verdict::blocked, "in_doubt"},
                                       Row{Taken::Verdict::exhausted, "negative"}}) {
    auto request = make();
    (void)request.begin(std::nullopt, now_);
    (void)request.admitted(all({0}));
    const auto action = request.was_taken(verdict(what), now_, now());
    ASSERT_TRUE(std::holds_alternative<act::Done>(action)) << expected;
    EXPECT_EQ(resolved(request).error ? to_string(resolved(request).error->code)
                                      : to_string(resolved(request).source),
              expected);
  }
}

TEST_F(Request, who_finds_another_process_calling_waits_looks_again_and_never_calls_beside_it) {
  auto request = make();
  (void)request.begin(std::nullopt, now_);
  (void)request.admitted(all({0}));
  milliseconds before{0};
  for (int i = 0; i < 8; ++i) {
    const auto wait =
        std::get<act::Wait>(request.was_taken(verdict(Taken::Verdict::wait), now_, now()));
    EXPECT_GE(wait.span, std::min(milliseconds{12} * (1 << std::min(i, 4)), milliseconds{200}));
    EXPECT_LE(wait.span, 400ms);
    EXPECT_FALSE(wait.for_store);
    before = wait.span;
    ASSERT_TRUE(std::holds_alternative<act::Read>(request.woken()));
    if (i == 7) break;
    ASSERT_TRUE(std::holds_alternative<act::Admit>(request.was_read(std::optional<Found>{}, now_)));
    (void)request.admitted(all({0}));
  }
  EXPECT_GE(before, 200ms);
  EXPECT_TRUE(
      std::holds_alternative<act::Done>(request.was_read(std::optional(found(1h, 2h)), now_)));
  EXPECT_EQ(resolved(request).source, AnswerSource::db);
  EXPECT_EQ(resolved(request).calls, 0);
}

TEST_F(Request, when_the_last_caller_has_left_nobody_waits_on) {
  auto request = make();
  (void)request.begin(std::nullopt, now_);
  (void)request.admitted(all({0}));
  until_ = now_ + 10ms;
  const auto wait =
      std::get<act::Wait>(request.was_taken(verdict(Taken::Verdict::wait), now_, now()));
  EXPECT_LE(wait.span, 10ms);
  now_ += 10ms;
  (void)request.woken();
  (void)request.was_read(std::optional<Found>{}, now_);
  (void)request.admitted(all({0}));
  EXPECT_TRUE(std::holds_alternative<act::Done>(
      request.was_taken(verdict(Taken::Verdict::wait), now_, now())));
  EXPECT_EQ(resolved(request).error->code, ErrorCode::deadline_exceeded);
}

TEST_F(Request, a_refresh_is_served_by_an_answer_that_is_newer_than_its_beginning) {
  subject_.refresh_before = kRefreshAll;
  auto request = make();
  (void)request.begin(found(1h, 2h), now_);
  const auto take = std::get<act::Take>(request.admitted(all({0})));
  EXPECT_EQ(take.request.refresh_before, kRefreshAll);
  EXPECT_EQ(take.request.cause, Cause::forced);
  (void)request.was_taken(verdict(Taken::Verdict::wait), now_, now());
  (void)request.woken();
  EXPECT_TRUE(
      std::holds_alternative<act::Admit>(request.was_read(std::optional(found(1h, 2h)), now_)))
      << "the same as before";
  (void)request.admitted(all({0}));
  (void)request.was_taken(verdict(Taken::Verdict::wait), now_, now());
  (void)request.woken();
  Found newer = found(1h, 2h);
  newer.gen = 4;
  EXPECT_TRUE(std::holds_alternative<act::Done>(request.was_read(std::optional(newer), now_)));
}

TEST_F(Request, every_outcome_has_its_end) {
  struct Row {
    const char* name;
    Outcome outcome;
    const char* end;  // what goes to the store
    milliseconds cool_down;
    const char* told;
  };
  auto named = outcome(OutcomeKind::refused, FailureClass::retry_after);
  named.delay = 90s;
  const std::vector<Row> rows{
      {"match", outcome(OutcomeKind::match), "commit", 0s, "paid"},
      {"no match", outcome(OutcomeKind::no_match), "commit", 0s, "paid"},
      {"ambiguous", outcome(OutcomeKind::ambiguous), "commit", 0s, "paid"},
      {"retry",
       outcome(OutcomeKind::refused, FailureClass::retry),
       "refused",
       2s,
       "provider_retry"},
      {"retry-after", named, "refused", 90s, "provider_retry_after"},
      {"permanent",
       outcome(OutcomeKind::refused, FailureClass::permanent),
       "refused",
       600s,
       "provider_permanent"},
      {"fatal",
       outcome(OutcomeKind::refused, FailureClass::fatal),
       "refused",
       0s,
       "provider_fatal"},
      {"not sent", outcome(OutcomeKind::not_sent), "voided", 0s, "not_sent"},
      {"pending", outcome(OutcomeKind::pending), "unknown", 0s, "in_doubt"},
      {"unknown", outcome(OutcomeKind::unknown), "unknown", 0s, "in_doubt"},
  };
  for (const Row& row : rows) {
    auto request = make();
    (void)called(request);
    auto action = request.was_answered(row.outcome, false);
    if (std::holds_alternative<act::Commit>(action)) {
      EXPECT_STREQ(row.end, "commit") << row.name;
      Committed committed;
      committed.stored = true;
      committed.fresh_left = 1h;
      committed.answered_at = 5;
      committed.fresh_until = 7;
      action = request.was_committed(committed, now_, now());
      EXPECT_EQ(request.ending().fresh_left, 1h);
      EXPECT_EQ(resolved(request).answered_at, 5);
      EXPECT_EQ(resolved(request).expires_at, 7);
      EXPECT_EQ(resolved(request).cost, Money{500});
    } else {
      const auto& release = std::get<act::Release>(action).request;
      EXPECT_EQ(release.kind == ReleaseRequest::Kind::refused  ? "refused"
                : release.kind == ReleaseRequest::Kind::voided ? "voided"
                                                               : "unknown",
                std::string(row.end))
          << row.name;
      EXPECT_EQ(release.cool_down, row.cool_down) << row.name;
      Released released;
      released.blocked = release.kind == ReleaseRequest::Kind::unknown;
      action = request.was_released(released, now());
    }
    EXPECT_TRUE(std::holds_alternative<act::Done>(action)) << row.name;
    EXPECT_EQ(resolved(request).error ? to_string(resolved(request).error->code)
                                      : to_string(resolved(request).source),
              row.told)
        << row.name;
  }
}

TEST_F(Request, an_unknown_outcome_is_tried_once_more_while_somebody_waits) {
  auto request = make();
  (void)called(request);
  (void)request.was_answered(outcome(OutcomeKind::unknown), false);
  EXPECT_TRUE(
      std::holds_alternative<act::Admit>(request.was_released(Released{true, false}, now())));

  auto left = make();
  (void)called(left);
  (void)left.was_answered(outcome(OutcomeKind::unknown), false);
  until_ = now_;
  EXPECT_TRUE(std::holds_alternative<act::Done>(left.was_released(Released{true, false}, now())));
  EXPECT_EQ(resolved(left).error->code, ErrorCode::in_doubt);
  EXPECT_EQ(resolved(left).error->billed, Billed::unknown);
}

TEST_F(Request, a_late_claim_is_void_and_taken_anew) {
  auto request = make();
  (void)called(request);
  const auto release = std::get<act::Release>(request.was_unsent(Unsent::late, {}));
  EXPECT_EQ(release.request.kind, ReleaseRequest::Kind::voided);
  EXPECT_TRUE(
      std::holds_alternative<act::Admit>(request.was_released(Released{true, false}, now())));
}

TEST_F(Request, a_failing_store_is_no_reason_to_keep_callers_waiting_or_to_forget_the_answer) {
  auto request = make();
  (void)called(request);
  (void)request.was_answered(outcome(OutcomeKind::match), false);
  milliseconds longest{0};
  for (int i = 0; i < 12; ++i) {
    const auto wait =
        std::get<act::Wait>(request.was_committed(fail(ErrorCode::disk_full, "full"), now_, now()));
    EXPECT_TRUE(wait.for_store);
    EXPECT_TRUE(request.has_ended());
    EXPECT_TRUE(resolved(request).answer);
    EXPECT_FALSE(resolved(request).is_stored);
    longest = std::max(longest, wait.span);
    ASSERT_TRUE(std::holds_alternative<act::Commit>(request.woken()));
  }
  EXPECT_GT(longest, 2s);
  Committed committed;
  committed.stored = true;
  EXPECT_TRUE(std::holds_alternative<act::Done>(request.was_committed(committed, now_, now())));
}

TEST_F(Request,
       an_answer_told_while_the_store_failed_is_brought_to_it_whatever_became_of_the_claim) {
  with_chain({"alpha", "beta"});
  const auto fails = [] { return fail(ErrorCode::store_busy, "busy"); };
  for (const bool is_lost : {false, true}) {
    auto request = make();
    (void)called(request);
    (void)request.was_answered(outcome(OutcomeKind::ambiguous), false);
    (void)request.admitted(all({1}));
    Advanced on;
    on.verdict = Advanced::Verdict::send;
    on.step = 1;
    Action action;
    if (is_lost) {  // the store has done it and did not say so
      (void)request.was_advanced(fails(), now_, now());
      action = request.woken();
    } else {
      (void)request.was_advanced(on, now_, now());
      (void)request.was_answered(outcome(OutcomeKind::unknown), false);
      (void)request.was_released(fails(), now());
      ASSERT_TRUE(std::holds_alternative<act::Release>(request.woken()));
      action = request.was_released(Released{true, false}, now());
    }
    EXPECT_TRUE(resolved(request).answer) << "told already";
    const auto commit = std::get<act::Commit>(action);
    EXPECT_EQ(commit.request.answer->provider, "alpha");
    EXPECT_EQ(
        commit.request.answered_by.value_or(commit.request.call.value_or(CallRecord{}).intent),
        all({}).intent);
    EXPECT_TRUE(std::holds_alternative<act::Done>(request.was_committed(Committed{}, now_, now())));
  }
}

TEST_F(Request, an_answer_that_may_not_be_kept_is_given_and_not_stored) {
  rules_.chain[0].terms.keep = Terms::Keep::nothing;
  auto request = make();
  (void)called(request);
  const auto commit =
      std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::match), false));
  EXPECT_EQ(commit.request.life.erase, 0ms);
  EXPECT_TRUE(commit.request.call);
  (void)request.was_committed(Committed{}, now_, now());
  EXPECT_TRUE(resolved(request).answer);
  EXPECT_EQ(resolved(request).keep, 0ms);
  EXPECT_EQ(request.ending().fresh_left, 0ms);
  EXPECT_FALSE(request.was_redundant());
}

TEST_F(Request, the_first_caller_is_told_what_the_terms_let_the_next_one_find) {
  rules_.chain[0].terms.keep_fields = {"lat", "lon"};
  Outcome given = outcome(OutcomeKind::match);
  given.answer.formatted = "Storgata 1, 2406 Elverum";
  given.answer.confidence = 0.9;
  auto request = make();
  (void)called(request);
  const auto commit = std::get<act::Commit>(request.was_answered(given, false));
  EXPECT_EQ(commit.request.answer->formatted, "");
  EXPECT_EQ(commit.request.answer->at, (LatLng{1, 2}));
  EXPECT_GT(commit.request.life.erase, 0ms);
  (void)request.was_committed(Committed{}, now_, now());
  EXPECT_EQ(*resolved(request).answer, *commit.request.answer);
}

TEST_F(Request, while_the_store_is_behind_callers_are_told_no_more_than_later) {
  rules_.chain[0].terms.keep_fields = {"lat", "lon"};
  Outcome given = outcome(OutcomeKind::match);
  given.answer.formatted = "Storgata 1, 2406 Elverum";
  auto request = make();
  (void)called(request);
  (void)request.was_answered(given, false);
  (void)request.was_committed(fail(ErrorCode::store_unavailable, "gone"), now_, now());
  EXPECT_TRUE(request.has_ended());
  EXPECT_EQ(resolved(request).answer->formatted, "");
  const auto again = std::get<act::Commit>(request.woken());
  EXPECT_EQ(*again.request.answer, *resolved(request).answer);
}

TEST_F(Request, an_unsure_answer_lives_shorter_although_its_confidence_may_not_be_kept) {
  rules_.chain[0].terms.keep_fields = {"lat", "lon"};
  const auto life_at = [&](double confidence) {
    Outcome given = outcome(OutcomeKind::match);
    given.answer.confidence = confidence;
    auto request = make();
    (void)called(request);
    const auto commit = std::get<act::Commit>(request.was_answered(given, false)).request;
    EXPECT_FALSE(commit.answer->confidence);
    return commit.life.fresh;
  };
  EXPECT_LT(life_at(0.2), life_at(0.9));
}

TEST_F(Request, a_match_whose_place_may_not_be_kept_is_given_whole_and_not_stored) {
  rules_.chain[0].terms.keep_fields = {"place_id"};
  Outcome given = outcome(OutcomeKind::match);
  given.answer.formatted = "Storgata 1, 2406 Elverum";
  auto request = make();
  (void)called(request);
  const auto commit = std::get<act::Commit>(request.was_answered(given, false));
  EXPECT_EQ(commit.request.life.erase, 0ms);
  (void)request.was_committed(Committed{}, now_, now());
  EXPECT_EQ(resolved(request).answer->at, (LatLng{1, 2}));
  EXPECT_EQ(resolved(request).answer->formatted, "Storgata 1, 2406 Elverum");
  EXPECT_EQ(resolved(request).keep, 0ms);
}

// --- chains
// ------------------------------------------------------------------------------------------

TEST_F(Request, a_chain_asks_on_under_one_claim_and_stores_the_best_answer_with_its_giver) {
  with_chain({"alpha", "beta"});
  auto request = make();
  (void)called(request);
  const auto admit =
      std::get<act::Admit>(request.was_answered(outcome(OutcomeKind::ambiguous), false));
  EXPECT_TRUE(admit.holding);
  EXPECT_THAT(admit.steps, ElementsAre(1));
  auto admission = all({1});
  admission.intent.bytes[0] = 2;
  const auto advance = std::get<act::Advance>(request.admitted(admission));
  EXPECT_THAT(*advance.request.chain, ElementsAre("alpha", "beta"));
  EXPECT_FALSE(advance.request.refused);
  EXPECT_FALSE(advance.request.no_match_for);
  Advanced on;
  on.verdict = Advanced::Verdict::send;
  on.step = 1;
  const auto call = std::get<act::Call>(request.was_advanced(on, now_, now()));
  EXPECT_EQ(call.step, 1U);
  EXPECT_EQ(call.intent.bytes[0], 2);
  const auto commit =
      std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_EQ(commit.request.answer->provider, "alpha");
  EXPECT_EQ(commit.request.answered_by->bytes[0], 1);
  EXPECT_EQ(commit.request.call->provider, "beta");
  EXPECT_TRUE(commit.request.no_match_for);
  (void)request.was_committed(Committed{}, now_, now());
  EXPECT_EQ(resolved(request).calls, 2);
}

TEST_F(Request, a_refusal_met_on_the_way_is_what_callers_hear_when_nobody_answers) {
  with_chain({"alpha", "beta"});
  auto request = make();
  (void)called(request);
  (void)request.was_answered(outcome(OutcomeKind::refused, FailureClass::retry), false);
  (void)request.admitted(all({1}));
  Advanced on;
  on.verdict = Advanced::Verdict::send;
  on.step = 1;
  (void)request.was_advanced(on, now_, now());
  // beta knows nothing, but alpha has not been heard: no negative entry.
  const auto noted =
      std::get<act::Advance>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_TRUE(noted.request.no_match_for);
  on.verdict = Advanced::Verdict::exhausted;
  const auto release = std::get<act::Release>(request.was_advanced(on, now_, now()));
  EXPECT_EQ(release.request.kind, ReleaseRequest::Kind::refused);
  EXPECT_EQ(release.request.call.provider, "alpha");
  EXPECT_EQ(release.request.cool_down, 2s);
  EXPECT_TRUE(std::holds_alternative<act::Done>(request.was_released(Released{}, now())));
  EXPECT_EQ(resolved(request).error->code, ErrorCode::provider_retry);
}

TEST_F(Request, the_claim_stays_ours_when_a_later_call_could_not_leave) {
  with_chain({"alpha", "beta"});
  auto request = make();
  (void)called(request);
  (void)request.was_answered(outcome(OutcomeKind::ambiguous), false);
  (void)request.admitted(all({1}));
  Advanced on;
  on.verdict = Advanced::Verdict::send;
  on.step = 1;
  (void)request.was_advanced(on, now_, now());
  const auto noted = std::get<act::Advance>(
      request.was_unsent(Unsent::network, {ErrorCode::not_sent, "connection refused", {}, {}, {}}));
  EXPECT_TRUE(noted.request.refused);
  EXPECT_EQ(noted.request.call.billed, Billed::no);
  on.verdict = Advanced::Verdict::exhausted;
  const auto commit = std::get<act::Commit>(request.was_advanced(on, now_, now()));
  EXPECT_EQ(commit.request.answer->provider, "alpha");
  EXPECT_FALSE(commit.request.call);
  EXPECT_LE(commit.request.life.fresh, 24h) << "beta could not be asked";
}

TEST_F(Request, an_answer_of_a_window_that_was_closed_does_not_come_into_the_next) {
  with_chain({"alpha", "beta"});
  auto request = make();
  (void)called(request);
  (void)request.was_answered(outcome(OutcomeKind::ambiguous), false);
  (void)request.admitted(all({1}));
  Advanced invalidated;
  invalidated.verdict = Advanced::Verdict::lost;
  ASSERT_TRUE(std::holds_alternative<act::Read>(request.was_advanced(invalidated, now_, now())));
  const auto rest = std::get<act::Admit>(request.was_read(std::optional<Found>{}, now_));
  EXPECT_THAT(rest.steps, ElementsAre(1)) << "it may still be the same window";
  (void)request.admitted(all({1}));
  Taken next = verdict(Taken::Verdict::send);
  next.gen = 6;
  const auto release = std::get<act::Release>(request.was_taken(next, now_, now()));
  EXPECT_EQ(release.request.kind, ReleaseRequest::Kind::voided);
  EXPECT_EQ(release.request.fence, 11);
  const auto anew = std::get<act::Admit>(request.was_released(Released{true, false}, now()));
  EXPECT_THAT(anew.steps, ElementsAre(0, 1)) << "what alpha said is of the old window";
  (void)request.admitted(all({0, 1}));
  next.step = 1;  // alpha knows nothing
  EXPECT_EQ(std::get<act::Call>(request.was_taken(next, now_, now())).step, 1U);
  const auto commit =
      std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_EQ(commit.request.answer->kind, AnswerKind::no_match);
  EXPECT_EQ(commit.request.gen, 6);
}

TEST_F(Request, in_a_window_that_only_changed_hands_what_was_heard_still_counts) {
  with_chain({"alpha", "beta"});
  auto request = make();
  (void)called(request);
  (void)request.was_answered(outcome(OutcomeKind::ambiguous), false);
  (void)request.admitted(all({1}));
  Advanced taken_over;
  taken_over.verdict = Advanced::Verdict::lost;
  (void)request.was_advanced(taken_over, now_, now());
  (void)request.was_read(std::optional<Found>{}, now_);
  (void)request.admitted(all({1}));
  EXPECT_EQ(std::get<act::Call>(request.was_taken(verdict(Taken::Verdict::send), now_, now())).step,
            1U);
  const auto commit =
      std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_EQ(commit.request.answer->kind, AnswerKind::ambiguous);
}

TEST_F(Request, who_has_answered_somebody_else_has_not_said_that_there_is_no_such_address) {
  with_chain({"alpha", "beta"});
  for (const StepMask answered : {StepMask{0}, StepMask{1}}) {
    auto request = make();
    (void)std::get<act::Admit>(request.begin(std::nullopt, now_));
    (void)request.admitted(all({0, 1}));
    Taken taken = verdict(Taken::Verdict::send, 1);
    taken.answered = answered;
    (void)request.was_taken(taken, now_, now());
    const auto commit =
        std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::no_match), false));
    EXPECT_EQ(commit.request.life.erase > 0ms, answered == 0)
        << "the key is negative only when alpha said so, too";
  }
}

TEST_F(Request,
       an_answer_that_was_fresh_when_it_left_the_store_is_looked_up_again_when_it_is_late) {
  for (const bool is_late : {false, true}) {
    auto request = make();
    (void)request.begin(std::nullopt, now_);
    (void)request.admitted(all({0}));
    Taken taken = verdict(Taken::Verdict::fresh);
    taken.found = found(5s, 10s);
    const Mono asked = now_;
    now_ += is_late ? 5s : 4s;
    const auto action = request.was_taken(taken, asked, now());
    EXPECT_EQ(std::holds_alternative<act::Read>(action), is_late);
    if (!is_late) {
      EXPECT_EQ(request.ending().as_of + request.ending().fresh_left, asked + 5s);
    }
  }
}

TEST_F(Request, whoever_takes_over_from_the_dead_ends_the_window_with_what_they_had_heard) {
  with_chain({"alpha", "beta"});
  OpenIntent open;
  open.intent.bytes[0] = 9;
  open.fence = 11;
  open.gen = 4;
  IntentId first;
  first.bytes[0] = 8;
  auto request = make();
  request.resume(open, 1, false);
  request.heard(first, 0, outcome(OutcomeKind::ambiguous));
  const auto commit =
      std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_EQ(commit.request.answer->provider, "alpha");
  EXPECT_EQ(commit.request.answered_by, first);
  EXPECT_EQ(commit.request.call->intent, open.intent);

  auto alone = make();
  alone.resume(open, 0, false);
  alone.heard(open.intent, 0, outcome(OutcomeKind::ambiguous));
  const auto last = std::get<act::Commit>(alone.finish());
  EXPECT_FALSE(last.request.call);
  EXPECT_EQ(last.request.answered_by, open.intent);

  auto unsettled = make();
  unsettled.resume(open, 0, false);
  unsettled.heard(open.intent, 0, outcome(OutcomeKind::no_match));
  EXPECT_TRUE(std::holds_alternative<act::Done>(unsettled.finish())) << "beta may know it";
}

TEST_F(Request, a_claim_lives_as_long_as_its_slowest_provider_may_take) {
  with_chain({"alpha", "beta"});
  rules_.chain[1].bulk_timeout = 300s;
  auto request = make();
  (void)request.begin(std::nullopt, now_);
  auto admission = all({0, 1});
  const auto single = std::get<act::Take>(request.admitted(admission));
  EXPECT_EQ(single.request.life, 2s + 8s + 4s);
  auto other = make();
  (void)other.begin(std::nullopt, now_);
  admission.bulk = true;
  EXPECT_EQ(std::get<act::Take>(other.admitted(admission)).request.life, 2s + 300s + 4s);
}

TEST_F(Request, the_store_is_told_what_the_call_may_cost_before_it_is_made) {
  with_chain({"alpha", "beta"});
  rules_.chain[0].price_single = {500};
  rules_.chain[0].price_bulk = {400};
  rules_.chain[1].price_single = {5'000};
  rules_.chain[1].price_bulk = {6'000};
  auto request = make();
  const auto admit = std::get<act::Admit>(request.begin(std::nullopt, now_));
  const auto take = std::get<act::Take>(request.admitted(all(admit.steps)));
  EXPECT_THAT(take.request.prices, ElementsAre(Money{500}, Money{5'000}));
  (void)request.was_taken(verdict(Taken::Verdict::send), now_, now());
  const auto next =
      std::get<act::Admit>(request.was_answered(outcome(OutcomeKind::ambiguous), false));
  auto admission = all(next.steps);
  admission.bulk = true;
  const auto advance = std::get<act::Advance>(request.admitted(admission));
  EXPECT_THAT(advance.request.prices, ElementsAre(Money{500}, Money{6'000}))
      << "who finds no company in a bulk call goes alone";
}

TEST_F(Request, a_country_may_have_an_order_of_its_own) {
  with_chain({"alpha", "beta", "gamma"});
  rules_.countries[Country('F', 'R')].steps = {2, 0};
  subject_.query.country = Country('F', 'R');
  auto request = make();
  EXPECT_THAT(std::get<act::Admit>(request.begin(std::nullopt, now_)).steps, ElementsAre(2, 0));
  (void)request.admitted(all({2, 0}));
  (void)request.was_taken(verdict(Taken::Verdict::send, 0), now_, now());
  const auto next =
      std::get<act::Admit>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_THAT(next.steps, ElementsAre(0)) << "alpha is behind gamma here";
  (void)request.admitted(all({0}));
  Advanced on;
  on.verdict = Advanced::Verdict::send;
  on.step = 1;
  (void)request.was_advanced(on, now_, now());
  const auto commit =
      std::get<act::Commit>(request.was_answered(outcome(OutcomeKind::no_match), false));
  EXPECT_GT(commit.request.life.erase, 0ms) << "the whole chain of that country has said so";

  subject_.query.country = Country('U', 'S');
  auto other = make();
  EXPECT_THAT(std::get<act::Admit>(other.begin(std::nullopt, now_)).steps, ElementsAre(0, 1, 2));
}

TEST_F(Request, waits_differ_between_processes) {
  auto one = make();
  (void)one.begin(std::nullopt, now_);
  (void)one.admitted(all({0}));
  RequestRules other_rules = rules_;
  other_rules.jitter_seed = 99;
  geonce::Request other(other_rules, subject_);
  (void)other.begin(std::nullopt, now_);
  (void)other.admitted(all({0}));
  std::vector<milliseconds> a, b;
  for (int i = 0; i < 6; ++i) {
    a.push_back(
        std::get<act::Wait>(one.was_taken(verdict(Taken::Verdict::wait), now_, now())).span);
    b.push_back(
        std::get<act::Wait>(other.was_taken(verdict(Taken::Verdict::wait), now_, now())).span);
  }
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace geonce
