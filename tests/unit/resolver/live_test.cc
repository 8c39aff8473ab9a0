#include "resolver/live.h"

#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/place_keys.h"
#include "support/fake_provider.h"
#include "support/faulty_store.h"
#include "support/memory_spool.h"
#include "support/temp_dir.h"

// The resolver as it runs: threads, the embedded store, a provider in this process.

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// Answers that come one by one, from any thread.
class Answers {
 public:
  explicit Answers(std::size_t size) : answers_(size) {}
  void set(std::size_t i, Resolved resolved) {
    const std::lock_guard lock(mutex_);
    answers_[i] = std::move(resolved);
    ++count_;
    more_.notify_all();
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return count_ >= count; });
  }
  const std::vector<Resolved>& wait() {
    wait_for(answers_.size());
    return answers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::size_t count_ = 0;
  std::vector<Resolved> answers_;
};

class Resolver : public testing::Test {
 protected:
  Resolver() {
    auto opened = open_sqlite_store({.path = dir_.file("store.db")});
    EXPECT_TRUE(opened) << opened.error().message;
    sqlite_ = std::move(*opened);
    store_ = std::make_unique<FaultyStore>(*sqlite_);
    options_.cool_down = 0ms;
  }

  FakeProvider& add_provider(const std::string& name) {
    chain_.push_back(std::make_shared<FakeProvider>(name));
    return *chain_.back();
  }

  geonce::Resolver& resolver() {
    if (!resolver_) {
      ResolverParts parts{.store = *store_,
                          .memory = *memory_,
                          .spool = spool_,
                          .clock = system_clock(),
                          .owner = make_uuid(system_clock()),
                          .chain = {chain_.begin(), chain_.end()},
                          .places = places_,
                          .life = {},
                          .accept = {},
                          .options = options_};
      resolver_ = open_resolver(std::move(parts));
    }
    return *resolver_;
  }
  /// A process of its own, as far as memory goes.
  void restart() {
    resolver_.reset();
    memory_ = open_memory_tier(1U << 20U, system_clock());
  }

  static Ask ask(const std::string& text, AskOptions options = {}) {
    Query query;
    query.text = text;
    query.country = Country('U', 'S');
    return ask(std::move(query), std::move(options));
  }
  static Ask ask(Query query, AskOptions options = {}) {
    Normalizer normalizer;
    const auto keyed = normalizer.key(query.view());
    EXPECT_TRUE(keyed) << query.one_line();
    Ask ask;
    ask.slot.key = keyed->key;
    ask.query = std::move(query);
    ask.options = std::move(options);
    return ask;
  }
  static std::string street(std::size_t n) {
    return std::to_string(n) + " Sample St, Springfield, IL 62701";
  }
  Resolved one(const Ask& question, Deadline deadline = Deadline::never()) {
    return resolver().resolve({question}, deadline).front();
  }
  /// Without waiting.
  void start(const Ask& question,
             Answers& answers,
             std::size_t at,
             Deadline deadline = Deadline::never()) {
    resolver().start({question}, deadline, [&answers, at](std::size_t, Resolved resolved) {
      answers.set(at, std::move(resolved));
    });
  }
  static Deadline in(milliseconds span) { return Deadline::in(span, system_clock()); }
  static ErrorCode code(const Resolved& resolved) {
    return resolved.error ? resolved.error->code : ErrorCode::internal;
  }
  std::vector<std::string> events_of(const Slot& slot) {
    LedgerFilter filter;
    filter.slot = slot;
    filter.newest_first = false;
    std::vector<std::string> events;
    const auto rows = store_->ledger(filter, Deadline::never());
    EXPECT_TRUE(rows);
    for (const auto& row : *rows)
      events.push_back(row.provider + " " + std::string(to_string(row.event)));
    return events;
  }
  LedgerSum sum() {
    const auto sums = store_->ledger_sums({}, Deadline::never());
    EXPECT_TRUE(sums);
    LedgerSum total;
    for (const auto& one : *sums) {
      total.prepared += one.prepared;
      total.answered += one.answered;
      total.refused += one.refused;
      total.unknown += one.unknown;
      total.voided += one.voided;
      total.open += one.open;
    }
    return total;
  }
  /// Puts an entry into the store that is stale already.
  void remember_stale(const Ask& question, std::string formatted) {
    TakeRequest take;
    take.slot = question.slot;
    take.intent = make_uuid(system_clock());
    take.owner = make_uuid(system_clock());
    take.chain = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"old"});
    const auto taken = sqlite_->take(std::span(&take, 1), Deadline::never());
    ASSERT_TRUE(taken);
    CommitRequest commit;
    commit.slot = question.slot;
    commit.fence = taken->front().fence;
    commit.gen = taken->front().gen;
    commit.call.emplace();
    commit.call->intent = take.intent;
    commit.call->provider = "old";
    commit.call->billed = Billed::yes;
    Answer answer = FakeProvider::match(formatted).answer;
    answer.provider = "old";
    commit.answer = std::make_shared<const Answer>(std::move(answer));
    commit.life = {0ms, 1h, 2h};
    ASSERT_TRUE(sqlite_->commit(std::span(&commit, 1), Deadline::never()));
  }

  TempDir dir_;
  std::unique_ptr<Store> sqlite_;
  std::unique_ptr<FaultyStore> store_;
  std::unique_ptr<MemoryTier> memory_ = open_memory_tier(1U << 20U, system_clock());
  MemorySpool spool_;
  std::vector<std::shared_ptr<FakeProvider>> chain_;
  bool places_ = false;
  ResolverOptions options_;
  std::unique_ptr<geonce::Resolver> resolver_;  // last: it uses all of the above
};

TEST_F(Resolver, a_thousand_equal_addresses_cost_one_call) {
  auto& provider = add_provider("alpha");
  const auto answers =
      resolver().resolve(std::vector<Ask>(1'000, ask(street(1))), Deadline::never());
  int calls = 0;
  std::int64_t cost = 0;
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer.answer) << answer.error->message;
    EXPECT_EQ(answer.answer->formatted, street(1));
    calls += answer.calls;
    cost += answer.cost.micro_usd;
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cost, 500);
  EXPECT_EQ(provider.lookups(), 1U);
  EXPECT_EQ(store_->slots_read, 1);
  EXPECT_EQ(resolver().stats().paid, 1);
  EXPECT_EQ(resolver().stats().coalesced, 999);
}

TEST_F(Resolver, what_was_bought_is_remembered_by_this_process_and_the_next) {
  auto& provider = add_provider("alpha");
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::paid);
  const auto again = one(ask(street(1)));
  EXPECT_EQ(again.source, AnswerSource::l1);
  EXPECT_EQ(again.calls, 0);
  restart();
  const auto later = one(ask(street(1)));
  EXPECT_EQ(later.source, AnswerSource::db);
  EXPECT_EQ(later.answer->provider, "alpha");
  EXPECT_GT(later.keep, 24h);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, an_answer_whose_life_is_over_leaves_the_memory_although_nobody_asks_for_it) {
  FakeClock clock;
  memory_ = open_memory_tier(1U << 20U, clock);
  memory_->store_one(ask(street(1)).slot,
                     {std::make_shared<const Answer>(), 1, clock.now() + 1h, 0, 0});
  memory_->store_one(ask(street(2)).slot,
                     {std::make_shared<const Answer>(), 1, clock.now() + 9h, 0, 0});
  clock.advance(2h);
  ASSERT_EQ(memory_->stats().entries, 2U);
  options_.sweep_every = 1ms;
  (void)resolver();
  const Deadline limit = in(60s);
  while (memory_->stats().entries > 1 && system_clock().now() < limit.at) std::this_thread::yield();
  EXPECT_EQ(memory_->stats().entries, 1U);
  EXPECT_TRUE(memory_->find_one(ask(street(2)).slot));
  resolver_.reset();  // it sweeps on until then, by the clock above
}

TEST_F(Resolver, a_no_match_is_an_answer_that_is_remembered) {
  auto& provider = add_provider("alpha");
  provider.know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  EXPECT_EQ(one(ask(street(1))).answer->kind, AnswerKind::no_match);
  const auto again = one(ask(street(1)));
  EXPECT_EQ(again.answer->kind, AnswerKind::no_match);
  EXPECT_EQ(again.source, AnswerSource::negative);
  EXPECT_EQ(provider.lookups(), 1U);
  AskOptions retry;
  retry.retry_no_match = true;
  EXPECT_EQ(one(ask(street(1), retry)).source, AnswerSource::paid);
  EXPECT_EQ(provider.lookups(), 2U);
}

TEST_F(Resolver, what_is_sent_is_the_callers_spelling) {
  auto& provider = add_provider("alpha");
  const std::string spelling = "1 SAMPLE Street, Springfield, IL 62701";
  (void)one(ask(spelling));
  EXPECT_THAT(provider.bill(), ElementsAre(ElementsAre(spelling)));
}

// --- flights
// -----------------------------------------------------------------------------------------

TEST_F(Resolver, twelve_callers_of_a_failing_call_share_its_error_and_the_next_one_asks_again) {
  auto& provider = add_provider("alpha");
  provider.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  provider.hold();
  Answers answers(12);
  start(ask(street(1)), answers, 0);
  provider.wait_for_calls(1);
  for (std::size_t i = 1; i < 12; ++i) start(ask(street(1)), answers, i);
  provider.open();
  for (const auto& answer : answers.wait()) {
    EXPECT_EQ(code(answer), ErrorCode::provider_retry);
    EXPECT_EQ(answer.error->message, "alpha: HTTP 503");
  }
  EXPECT_EQ(provider.lookups(), 1U);
  EXPECT_EQ(resolver().stats().flights, 0);

  provider.respond = [](auto, bool) { return FakeProvider::with_status(200); };
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::paid);
  EXPECT_EQ(provider.lookups(), 2U);
}

TEST_F(Resolver, inside_its_cool_down_a_refused_key_costs_no_second_call) {
  auto& provider = add_provider("alpha");
  options_.cool_down = 1h;
  provider.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::provider_retry);
  const auto again = one(ask(street(1)));
  EXPECT_EQ(code(again), ErrorCode::cooling_down);
  EXPECT_GT(again.error->retry_after, 59min);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, a_leader_that_leaves_at_its_deadline_cancels_nothing) {
  auto& provider = add_provider("alpha");
  provider.hold();
  Answers first(1), others(10);
  start(ask(street(1)), first, 0, in(300ms));
  provider.wait_for_calls(1);
  for (std::size_t i = 0; i < 10; ++i) start(ask(street(1)), others, i);
  EXPECT_EQ(code(first.wait()[0]), ErrorCode::deadline_exceeded);
  provider.open();
  for (const auto& answer : others.wait()) EXPECT_TRUE(answer.answer);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, a_purchase_whose_only_caller_left_is_stored_all_the_same) {
  auto& provider = add_provider("alpha");
  provider.hold();
  EXPECT_EQ(code(one(ask(street(1)), in(300ms))), ErrorCode::deadline_exceeded);
  provider.wait_for_calls(1);
  provider.open();
  resolver().drain(Deadline::never());
  restart();
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::db);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, callers_leave_at_their_own_deadlines_and_not_much_later) {
  auto& provider = add_provider("alpha");
  provider.hold();
  resolver();
  std::vector<std::jthread> callers;
  std::atomic<int> late{0};
  for (int i = 0; i < 20; ++i)
    callers.emplace_back([&, i] {
      const auto deadline = in(milliseconds{10 + 5 * i});
      EXPECT_EQ(code(one(ask(street(1)), deadline)), ErrorCode::deadline_exceeded);
      if (system_clock().now() > deadline.at + 250ms) ++late;
    });
  callers.clear();
  EXPECT_EQ(late, 0);
  provider.open();
  resolver().drain(Deadline::never());
  EXPECT_EQ(resolver().stats().flights, 0);
}

// --- what callers allow
// ------------------------------------------------------------------------------

TEST_F(Resolver, cache_only_never_calls_and_does_not_wait_for_who_does) {
  auto& provider = add_provider("alpha");
  provider.hold();
  Answers answers(1);
  start(ask(street(1)), answers, 0);
  provider.wait_for_calls(1);
  AskOptions options;
  options.cache_only = true;
  EXPECT_EQ(code(one(ask(street(1), options))), ErrorCode::cache_only_miss);
  EXPECT_EQ(code(one(ask(street(2), options))), ErrorCode::cache_only_miss);
  provider.open();
  (void)answers.wait();
  EXPECT_EQ(one(ask(street(1), options)).source, AnswerSource::l1);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, a_refresh_buys_anew_once_however_many_want_it) {
  auto& provider = add_provider("alpha");
  (void)one(ask(street(1)));
  AskOptions options;
  options.refresh_before = kRefreshAll;
  const auto answers =
      resolver().resolve(std::vector<Ask>(20, ask(street(1), options)), Deadline::never());
  for (const auto& answer : answers) EXPECT_EQ(answer.gen, 2);
  EXPECT_EQ(provider.lookups(), 2U);
  EXPECT_EQ(one(ask(street(1))).gen, 2);
}

TEST_F(Resolver, a_stale_answer_is_served_and_marked_when_the_provider_fails) {
  auto& provider = add_provider("alpha");
  provider.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  remember_stale(ask(street(1)), "as it was");
  const auto stale = one(ask(street(1)));
  ASSERT_TRUE(stale.answer);
  EXPECT_EQ(stale.source, AnswerSource::stale);
  EXPECT_EQ(stale.answer->formatted, "as it was");
  EXPECT_EQ(code(stale), ErrorCode::provider_retry);
  AskOptions strict;
  strict.serve_stale = false;
  EXPECT_EQ(code(one(ask(street(1), strict))), ErrorCode::provider_retry);
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::stale) << "not stored as fresh";
}

TEST_F(Resolver, a_stale_answer_is_served_at_the_deadline) {
  auto& provider = add_provider("alpha");
  remember_stale(ask(street(1)), "as it was");
  provider.hold();
  EXPECT_EQ(one(ask(street(1)), in(500ms)).source, AnswerSource::stale);
  provider.open();
}

/// What may come in the way of a fresh answer.
struct InTheWay {
  const char* name;
  void (*put)(FakeProvider& provider, AskOptions& options);
  ErrorCode told;
};

class StaleAnswers : public Resolver, public testing::WithParamInterface<InTheWay> {};

TEST_P(StaleAnswers, stand_in_marked_and_never_become_fresh_by_that) {
  auto& provider = add_provider("alpha");
  AskOptions options;
  GetParam().put(provider, options);
  options_.cool_down = 1h;
  remember_stale(ask(street(1)), "as it was");
  const auto before = *store_->entry(ask(street(1)).slot, Deadline::never());
  if (GetParam().told == ErrorCode::cooling_down) (void)one(ask(street(1)));
  for (int i = 0; i < 3; ++i) {
    const auto told = one(ask(street(1), options), in(700ms));
    ASSERT_TRUE(told.answer);
    EXPECT_EQ(told.answer->formatted, "as it was");
    EXPECT_EQ(told.source, AnswerSource::stale);
    EXPECT_LE(told.expires_at, system_clock().now_utc());
    if (i == 0) {
      EXPECT_EQ(code(told), GetParam().told);
    }
    options.serve_stale = false;
    EXPECT_FALSE(one(ask(street(1), options), in(100ms)).answer);
    options.serve_stale = true;
  }
  EXPECT_FALSE(memory_->find_one(ask(street(1)).slot));
  const auto after = *store_->entry(ask(street(1)).slot, Deadline::never());
  EXPECT_EQ(after->fresh_until, before->fresh_until);
  EXPECT_EQ(after->gen, before->gen);
  provider.open();
}

INSTANTIATE_TEST_SUITE_P(
    in_the_way,
    StaleAnswers,
    testing::Values(InTheWay{"failing",
                             [](FakeProvider& provider, AskOptions&) {
                               provider.respond = [](auto, bool) {
                                 return FakeProvider::with_status(503);
                               };
                             },
                             ErrorCode::provider_retry},
                    InTheWay{"account_refused",
                             [](FakeProvider& provider, AskOptions&) {
                               provider.respond = [](auto, bool) {
                                 return FakeProvider::with_status(401);
                               };
                             },
                             ErrorCode::provider_fatal},
                    InTheWay{"cooling_down",
                             [](FakeProvider& provider, AskOptions&) {
                               provider.respond = [](auto, bool) {
                                 return FakeProvider::with_status(503);
                               };
                             },
                             ErrorCode::cooling_down},
                    InTheWay{"over_budget",
                             [](FakeProvider&, AskOptions& options) {
                               options.cap = std::make_shared<SpendCap>(0, std::nullopt);
                             },
                             ErrorCode::quota_exhausted},
                    InTheWay{"too_slow",
                             [](FakeProvider& provider, AskOptions&) { provider.hold(); },
                             ErrorCode::deadline_exceeded}),
    [](const testing::TestParamInfo<InTheWay>& row) { return std::string(row.param.name); });

TEST_F(Resolver, a_stale_answer_stands_in_while_another_process_holds_the_claim) {
  auto& provider = add_provider("alpha");
  remember_stale(ask(street(1)), "as it was");
  TakeRequest take;
  take.slot = ask(street(1)).slot;
  take.intent = make_uuid(system_clock());
  take.owner = make_uuid(system_clock());
  take.life = 1h;
  take.chain = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"alpha"});
  ASSERT_TRUE(sqlite_->take(std::span(&take, 1), Deadline::never()));
  EXPECT_EQ(one(ask(street(1)), in(200ms)).source, AnswerSource::stale);
  EXPECT_EQ(provider.lookups(), 0U);
}

TEST_F(Resolver, a_stale_answer_stands_in_while_the_breaker_is_open) {
  auto& provider = add_provider("alpha");
  provider.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  options_.patience = 0ms;
  remember_stale(ask(street(1)), "as it was");
  for (std::size_t i = 10; i < 15; ++i) (void)one(ask(street(i)));
  const auto calls = provider.lookups();
  EXPECT_EQ(calls, 5U);
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::stale);
  EXPECT_EQ(provider.lookups(), calls);
}

TEST_F(Resolver, beyond_the_soft_limit_a_stale_answer_is_given_and_the_fresh_one_is_stored) {
  auto& provider = add_provider("alpha");
  options_.soft_limit = 0ms;
  remember_stale(ask(street(1)), "as it was");
  provider.hold();
  const auto first = one(ask(street(1)));
  EXPECT_EQ(first.source, AnswerSource::stale);
  EXPECT_EQ(code(first), ErrorCode::deadline_exceeded);
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::stale) << "who joins is not kept waiting";
  Answers others(2);
  AskOptions batch, strict, refresh;
  batch.cause = Cause::batch;
  strict.serve_stale = false;
  refresh.refresh_before = kRefreshAll;
  start(ask(street(1), batch), others, 0);
  start(ask(street(1), strict), others, 1);
  provider.wait_for_calls(1);
  provider.open();
  for (const auto& other : others.wait()) EXPECT_NE(other.source, AnswerSource::stale);
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::l1);
  EXPECT_EQ(provider.lookups(), 1U);
  remember_stale(ask(street(2)), "as it was");
  EXPECT_EQ(one(ask(street(2), refresh)).source, AnswerSource::paid) << "who insists waits";
}

TEST_F(Resolver, inside_the_soft_limit_and_without_a_stale_answer_callers_wait) {
  auto& provider = add_provider("alpha");
  options_.soft_limit = 1h;
  remember_stale(ask(street(1)), "as it was");
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::paid);
  restart();
  options_.soft_limit = 0ms;
  EXPECT_EQ(one(ask(street(2))).source, AnswerSource::paid);
  EXPECT_EQ(provider.lookups(), 2U);
}

TEST_F(Resolver, sixty_four_callers_cannot_overshoot_a_cap_together) {
  auto& provider = add_provider("alpha");
  provider.traits_.concurrency = 64;
  AskOptions options;
  options.cap = std::make_shared<SpendCap>(10, std::nullopt);
  resolver();
  std::atomic<int> paid{0}, capped{0};
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < 64; ++i)
      callers.emplace_back([&, i] {
        const auto answer = one(ask(street(i), options));
        if (answer.source == AnswerSource::paid && answer.answer) ++paid;
        if (code(answer) == ErrorCode::quota_exhausted) ++capped;
      });
  }
  EXPECT_EQ(paid, 10);
  EXPECT_EQ(capped, 54);
  EXPECT_EQ(provider.lookups(), 10U);
  EXPECT_EQ(options.cap->calls(), 10);
  EXPECT_TRUE(options.cap->was_hit());
}

TEST_F(Resolver, a_call_that_was_refused_or_never_left_frees_its_cost) {
  auto& provider = add_provider("alpha");
  AskOptions options;
  options.cap = std::make_shared<SpendCap>(std::nullopt, Money{500});
  provider.respond = [](auto, bool) { return FakeProvider::unreachable(); };
  EXPECT_EQ(code(one(ask(street(1), options))), ErrorCode::not_sent);
  EXPECT_EQ(options.cap->calls(), 0);
  provider.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  EXPECT_EQ(code(one(ask(street(1), options))), ErrorCode::provider_retry);
  EXPECT_EQ(options.cap->cost(), Money{0});
  provider.respond = [](auto, bool) { return FakeProvider::with_status(200); };
  EXPECT_TRUE(one(ask(street(1), options)).answer);
  EXPECT_EQ(code(one(ask(street(2), options))), ErrorCode::quota_exhausted);
}

TEST_F(Resolver, who_cannot_pay_does_not_keep_from_the_answer_who_can) {
  auto& provider = add_provider("alpha");
  AskOptions poor;
  poor.cap = std::make_shared<SpendCap>(0, std::nullopt);
  const auto answers =
      resolver().resolve({ask(street(1), poor), ask(street(1))}, Deadline::never());
  EXPECT_EQ(code(answers[0]), ErrorCode::quota_exhausted);
  EXPECT_EQ(answers[1].source, AnswerSource::paid);
  EXPECT_EQ(provider.lookups(), 1U);
}

// --- the store fails
// ---------------------------------------------------------------------------------

TEST_F(Resolver, without_the_store_nothing_is_bought) {
  auto& provider = add_provider("alpha");
  for (const std::string_view operation : {"find", "take"}) {
    store_->set_fault([operation](std::string_view now) -> std::optional<Error> {
      if (now != operation) return std::nullopt;
      return Error{ErrorCode::store_busy, "locked", "store", {}, {}};
    });
    EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::store_busy) << operation;
  }
  EXPECT_EQ(provider.lookups(), 0U);
}

TEST_F(Resolver, an_answer_that_the_store_does_not_take_is_given_and_stored_later) {
  auto& provider = add_provider("alpha");
  std::atomic<int> failures{0};
  std::atomic<bool> is_full{true};
  store_->set_fault([&](std::string_view operation) -> std::optional<Error> {
    if (operation != "commit" || !is_full) return std::nullopt;
    ++failures;
    return Error{ErrorCode::disk_full, "no space", "store", {}, {}};
  });
  const auto answer = one(ask(street(1)));
  ASSERT_TRUE(answer.answer);
  EXPECT_FALSE(answer.is_stored);
  EXPECT_EQ(answer.source, AnswerSource::paid);
  const auto joined = one(ask(street(1)));
  EXPECT_TRUE(joined.answer);
  EXPECT_EQ(joined.calls, 0);
  spool_.state.with([](auto& now) {
    EXPECT_EQ(now.responses.size(), 1U);
    EXPECT_TRUE(now.settled.empty());
  });
  is_full = false;
  resolver().drain(Deadline::never());
  EXPECT_GE(failures, 1);
  spool_.state.with([](auto& now) { EXPECT_EQ(now.settled, now.marked); });
  restart();
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::db);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, a_full_disk_under_the_spool_prevents_the_call) {
  auto& provider = add_provider("alpha");
  spool_.state.with([](auto& now) {
    now.fault = Error{ErrorCode::disk_full, "no space", "spool", {}, {}};
  });
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::disk_full);
  EXPECT_EQ(provider.lookups(), 0U);
  EXPECT_THAT(events_of(ask(street(1)).slot), ElementsAre("alpha prepared", "alpha void"));
}

// --- outcomes
// ----------------------------------------------------------------------------------------

TEST_F(Resolver, a_lost_answer_is_bought_once_more_and_both_are_counted) {
  auto& provider = add_provider("alpha");
  std::atomic<int> calls{0};
  provider.respond = [&](auto, bool) {
    return ++calls == 1 ? FakeProvider::lost() : FakeProvider::with_status(200);
  };
  const auto answer = one(ask(street(1)));
  EXPECT_TRUE(answer.answer);
  EXPECT_EQ(answer.calls, 2);
  EXPECT_THAT(events_of(ask(street(1)).slot),
              ElementsAre("alpha prepared", "alpha unknown", "alpha prepared", "alpha answered"));
  EXPECT_EQ(resolver().stats().unknown, 1);
}

TEST_F(Resolver, a_key_whose_answers_are_lost_is_left_alone) {
  auto& provider = add_provider("alpha");
  provider.respond = [](auto, bool) { return FakeProvider::lost(); };
  const auto answer = one(ask(street(1)));
  EXPECT_EQ(code(answer), ErrorCode::in_doubt);
  EXPECT_EQ(answer.error->billed, Billed::unknown);
  EXPECT_EQ(provider.lookups(), 2U);
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::in_doubt);
  EXPECT_EQ(provider.lookups(), 2U);
}

TEST_F(Resolver, with_takeover_never_a_lost_answer_is_not_bought_again) {
  auto& provider = add_provider("alpha");
  options_.max_unknown = -1;
  provider.respond = [](auto, bool) { return FakeProvider::lost(); };
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::in_doubt);
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::in_doubt);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, a_claim_that_grew_too_old_is_void_and_taken_anew) {
  auto& provider = add_provider("alpha");
  options_.send_window = 60ms;
  std::atomic<int> sends{0};
  provider.before_sending = [&] {
    if (++sends == 1) std::this_thread::sleep_for(80ms);  // the thread was paused
  };
  EXPECT_TRUE(one(ask(street(1))).answer);
  EXPECT_EQ(provider.lookups(), 1U);
  EXPECT_THAT(events_of(ask(street(1)).slot),
              ElementsAre("alpha prepared", "alpha void", "alpha prepared", "alpha answered"));
}

TEST_F(Resolver, a_fatal_refusal_stops_the_provider_for_all_keys) {
  auto& provider = add_provider("alpha");
  provider.respond = [](auto, bool) { return FakeProvider::with_status(401); };
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::provider_fatal);
  EXPECT_EQ(code(one(ask(street(2)))), ErrorCode::provider_fatal);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, a_retry_after_pauses_the_whole_provider_and_others_wait_for_its_end) {
  auto& provider = add_provider("alpha");
  std::atomic<int> calls{0};
  provider.respond = [&](auto, bool) {
    return FakeProvider::with_status(++calls == 1 ? 429 : 200);
  };
  const auto begin = system_clock().now();
  const auto refused = one(ask(street(1)));
  EXPECT_EQ(code(refused), ErrorCode::provider_retry_after);
  EXPECT_EQ(refused.error->retry_after, 300ms);
  EXPECT_EQ(one(ask(street(2))).source, AnswerSource::paid);
  EXPECT_GE(system_clock().now() - begin, 300ms);
}

// --- chains
// ------------------------------------------------------------------------------------------

TEST_F(Resolver, the_next_provider_is_asked_when_one_knows_nothing) {
  add_provider("alpha").know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  add_provider("beta");
  const auto answer = one(ask(street(1)));
  ASSERT_TRUE(answer.answer);
  EXPECT_EQ(answer.answer->provider, "beta");
  EXPECT_EQ(answer.calls, 2);
  EXPECT_EQ(answer.cost, Money{1'000});
  EXPECT_THAT(events_of(ask(street(1)).slot),
              ElementsAre("alpha prepared", "alpha answered", "beta prepared", "beta answered"));
}

TEST_F(Resolver, the_best_answer_of_a_chain_is_kept_when_none_is_good) {
  const auto coarse = [](Precision precision) {
    return [precision](const ProviderAsk&) {
      auto outcome = FakeProvider::match("somewhere");
      outcome.answer.precision = precision;
      return outcome;
    };
  };
  add_provider("alpha").know = coarse(Precision::region);
  add_provider("beta").know = coarse(Precision::country);
  const auto answer = one(ask(street(1)));
  ASSERT_TRUE(answer.answer);
  EXPECT_EQ(answer.answer->kind, AnswerKind::rejected);
  EXPECT_EQ(answer.answer->provider, "alpha");
  restart();
  EXPECT_EQ(one(ask(street(1))).answer->provider, "alpha");
}

TEST_F(Resolver, the_spool_keeps_an_answer_until_its_chain_has_ended) {
  add_provider("alpha").know = [](const ProviderAsk&) {
    auto outcome = FakeProvider::match("somewhere");
    outcome.answer.precision = Precision::region;
    return outcome;
  };
  auto& beta = add_provider("beta");
  beta.hold();
  Answers answers(1);
  start(ask(street(1)), answers, 0);
  beta.wait_for_calls(1);
  EXPECT_THAT(events_of(ask(street(1)).slot),
              ElementsAre("alpha prepared", "alpha answered", "beta prepared"));
  spool_.state.with([](const MemorySpool::State& now) { EXPECT_TRUE(now.settled.empty()); });
  beta.open();
  answers.wait();
  resolver().drain(Deadline::never());
  spool_.state.with([](const MemorySpool::State& now) { EXPECT_EQ(now.settled, now.marked); });
}

TEST_F(Resolver, a_key_is_negative_only_when_the_whole_chain_has_said_so) {
  auto& alpha = add_provider("alpha");
  auto& beta = add_provider("beta");
  alpha.know = beta.know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  beta.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::provider_retry);
  beta.respond = [](auto, bool) { return FakeProvider::with_status(200); };
  const auto answer = one(ask(street(1)));
  ASSERT_TRUE(answer.answer);
  EXPECT_EQ(answer.answer->kind, AnswerKind::no_match);
  EXPECT_EQ(alpha.lookups(), 1U) << "its no-match was remembered";
  EXPECT_EQ(beta.lookups(), 2U);
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::negative);
}

TEST_F(Resolver, an_answer_given_while_an_earlier_provider_is_down_lives_shorter) {
  add_provider("alpha").respond = [](auto, bool) { return FakeProvider::with_status(503); };
  add_provider("beta");
  const auto answer = one(ask(street(1)));
  ASSERT_TRUE(answer.answer);
  EXPECT_LE(answer.expires_at - answer.answered_at, milliseconds(24h).count());
  EXPECT_EQ(one(ask(street(1))).source, AnswerSource::l1);
}

TEST_F(Resolver, a_failing_provider_costs_one_call_per_key_and_cool_down_in_a_chain_as_well) {
  options_.cool_down = 1h;
  auto& alpha = add_provider("alpha");
  alpha.respond = [](auto, bool) { return FakeProvider::with_status(503); };
  add_provider("beta").know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::provider_retry);
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::cooling_down);
  EXPECT_EQ(alpha.lookups(), 1U);
  EXPECT_EQ(sum().open, 0);
}

TEST_F(Resolver, a_flaky_providers_no_match_is_asked_again_before_it_counts) {
  auto& alpha = add_provider("alpha");
  alpha.traits_.no_match_rechecks = 1;
  std::atomic<int> calls{0};
  alpha.know = [&](const ProviderAsk& ask) {
    return ++calls == 2 ? FakeProvider::match(ask.query.text) : FakeProvider::no_match();
  };
  EXPECT_EQ(one(ask(street(1))).answer->kind, AnswerKind::match);
  EXPECT_EQ(alpha.lookups(), 2U);
  EXPECT_EQ(one(ask(street(2))).answer->kind, AnswerKind::no_match);
  EXPECT_EQ(alpha.lookups(), 4U);
}

TEST_F(Resolver, a_provider_of_another_country_is_not_asked) {
  auto& alpha = add_provider("alpha");
  alpha.traits_.countries = {Country('F', 'R')};
  add_provider("beta");
  EXPECT_EQ(one(ask(street(1))).answer->provider, "beta");
  EXPECT_EQ(alpha.lookups(), 0U);
}

TEST_F(Resolver, without_a_provider_for_the_country_the_answer_says_so) {
  add_provider("alpha").traits_.countries = {Country('F', 'R')};
  EXPECT_EQ(code(one(ask(street(1)))), ErrorCode::no_provider);
}

// --- bulk
// --------------------------------------------------------------------------------------------

TEST_F(Resolver, a_batch_goes_by_the_bulk_endpoint_and_a_single_ask_does_not) {
  auto& provider = add_provider("alpha");
  provider.traits_.bulk_max = 1'000;
  provider.traits_.concurrency = 2;
  // Longer than it takes to queue all rows: they wait for the two slots together.
  provider.latency = milliseconds{300};
  AskOptions batch;
  batch.cause = Cause::batch;
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < 350; ++i) asks.push_back(ask(street(i), batch));
  const auto answers = resolver().resolve(asks, Deadline::never());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].answer);
    EXPECT_EQ(answers[i].answer->formatted, street(i));
  }
  EXPECT_EQ(provider.lookups(), 350U);
  EXPECT_LE(provider.bill().size(), 8U);
  for (const auto& call : provider.bill()) EXPECT_LE(call.size(), 100U);
  EXPECT_LE(provider.most_at_once(), 2U);
  EXPECT_EQ(resolver().stats().calls, 350);
  EXPECT_EQ(sum().answered, 350);
}

TEST_F(Resolver, one_bad_row_does_not_fail_the_rows_it_travels_with) {
  auto& provider = add_provider("alpha");
  provider.traits_.bulk_max = 1'000;
  provider.respond = [](std::span<const ProviderAsk> asks, bool) {
    for (const auto& ask : asks)
      if (ask.query.text == street(13)) return FakeProvider::with_status(400);
    return FakeProvider::with_status(200);
  };
  AskOptions batch;
  batch.cause = Cause::batch;
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < 64; ++i) asks.push_back(ask(street(i), batch));
  const auto answers = resolver().resolve(asks, Deadline::never());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].answer != nullptr, i != 13) << i;
  }
  EXPECT_EQ(code(answers[13]), ErrorCode::provider_permanent);
  EXPECT_EQ(sum().open, 0);
}

// --- pace
// --------------------------------------------------------------------------------------------

TEST_F(Resolver, the_rate_is_for_paid_calls_and_a_hit_never_waits) {
  auto& provider = add_provider("alpha");
  provider.traits_.rate_per_s = 20;
  provider.traits_.concurrency = 64;
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < 10; ++i) asks.push_back(ask(street(i)));
  auto begin = system_clock().now();
  (void)resolver().resolve(asks, Deadline::never());
  EXPECT_GE(system_clock().now() - begin, 390ms) << "two at once, then eight at 20/s";
  begin = system_clock().now();
  for (int i = 0; i < 100; ++i) (void)resolver().resolve(asks, Deadline::never());
  EXPECT_LT(system_clock().now() - begin, 390ms);
  EXPECT_EQ(provider.lookups(), 10U);
}

TEST_F(Resolver, no_more_calls_are_under_way_than_allowed) {
  auto& provider = add_provider("alpha");
  provider.traits_.concurrency = 4;
  provider.latency = 2ms;
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < 100; ++i) asks.push_back(ask(street(i)));
  for (const auto& answer : resolver().resolve(asks, Deadline::never())) EXPECT_TRUE(answer.answer);
  EXPECT_LE(provider.most_at_once(), 4U);
  EXPECT_EQ(sum().voided, 0);
}

// --- the end
// -----------------------------------------------------------------------------------------

TEST_F(Resolver, a_drain_finishes_what_was_sent_and_sends_nothing_more) {
  auto& provider = add_provider("alpha");
  provider.traits_.concurrency = 4;
  provider.hold();
  Answers answers(20);
  for (std::size_t i = 0; i < 20; ++i) start(ask(street(i)), answers, i);
  provider.wait_for_calls(4);
  std::jthread drain([&] { resolver().drain(Deadline::never()); });
  // Those without a slot are turned away while the four are still out.
  answers.wait_for(16);
  provider.open();
  drain.join();
  std::vector<std::size_t> answered;  // which of them had a slot is not ours to say
  const auto all = answers.wait();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].answer)
      answered.push_back(i);
    else
      EXPECT_EQ(code(all[i]), ErrorCode::interrupted);
  }
  ASSERT_EQ(answered.size(), 4U);
  EXPECT_EQ(provider.lookups(), 4U);
  const auto total = sum();
  EXPECT_EQ(total.prepared, total.answered + total.voided);
  EXPECT_EQ(total.open, 0);
  EXPECT_EQ(code(one(ask(street(50)))), ErrorCode::interrupted);
  EXPECT_TRUE(one(ask(street(answered.front()))).answer) << "what is known is still served";
}

// --- the user's own points
// ---------------------------------------------------------------------------

TEST_F(Resolver, places_answer_first_cost_nothing_and_are_not_stored) {
  places_ = true;
  auto& provider = add_provider("alpha");
  Query query;
  query.house_number = "1";
  query.road = "Sample St";
  query.city = "Springfield";
  query.state = "IL";
  query.country = Country('U', 'S');
  const Ask question = ask(query);
  Normalizer normalizer;
  PlaceRow place;
  place.id = "p1";
  place.at = {39.8, -89.6};
  place.house_number = "1";
  place.street = "Sample St";
  place.keys = place_keys(*normalizer.normalize(question.query.view()));
  ASSERT_TRUE(store_->load_places("mine", true, std::span(&place, 1), Deadline::never()));
  const auto answer = one(question);
  ASSERT_TRUE(answer.answer) << answer.error->message;
  EXPECT_EQ(answer.source, AnswerSource::places);
  EXPECT_EQ(answer.answer->provider, "places");
  EXPECT_EQ(answer.answer->at, (LatLng{39.8, -89.6}));
  EXPECT_EQ(provider.lookups(), 0U);
  EXPECT_FALSE(*store_->entry(question.slot, Deadline::never()));
  EXPECT_EQ(one(ask(street(2))).source, AnswerSource::paid);

  AskOptions options;
  options.cache_only = true;
  const std::vector<Ask> asks{
      ask(query, options), ask(street(2), options), ask(street(3), options)};
  const auto known = resolver().peek(asks, Deadline::never());
  EXPECT_EQ(known[0].source, AnswerSource::places);
  EXPECT_EQ(known[1].source, AnswerSource::l1);
  EXPECT_EQ(code(known[2]), ErrorCode::cache_only_miss);
  EXPECT_EQ(provider.lookups(), 1U);
}

TEST_F(Resolver, with_places_alone_an_unknown_address_is_a_free_no_match) {
  places_ = true;
  const auto answer = one(ask(street(1)));
  ASSERT_TRUE(answer.answer);
  EXPECT_EQ(answer.answer->kind, AnswerKind::no_match);
  EXPECT_EQ(answer.source, AnswerSource::places);
}

TEST_F(Resolver, who_asks_after_a_drop_is_not_given_what_was_under_way) {
  FakeProvider& provider = add_provider("alpha");
  std::promise<void> sent, go_on;
  std::atomic<int> calls{0};
  provider.before_sending = [&] {
    if (calls++ > 0) return;
    sent.set_value();
    go_on.get_future().wait();
  };
  const Ask question = ask(street(1));
  Answers answers(2);
  start(question, answers, 0);
  sent.get_future().wait();
  ASSERT_TRUE(store_->invalidate({&question.slot, 1}, Deadline::never()));
  const Ended ended{question.slot, store_->entry(question.slot, Deadline::never()).value()->gen};
  resolver().have_ended({&ended, 1});
  start(question, answers, 1);
  go_on.set_value();
  const auto& both = answers.wait();
  EXPECT_LE(both[0].gen, ended.gen);
  EXPECT_GT(both[1].gen, ended.gen) << "of the next window";
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace geonce
