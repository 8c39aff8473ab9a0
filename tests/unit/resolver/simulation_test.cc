#include <cstdlib>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "resolver/adopt.h"
#include "resolver/request.h"
#include "support/model_store/model_store.h"
#include "support/temp_dir.h"

// Several processes, one store, two providers and a clock, with everything that takes time taking a
// random time, and kills, pauses, lost answers and failing stores wherever they like. A seed is a
// schedule: the same seed is the same run. The bill is the provider's own; the sum that matters is
// calls ≤ 1 + unknown.

namespace geonce {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKeys = 2;

/// Knows what its spooled answers meant: the body is the outcome's number.
class SpokenProvider : public Provider {
 public:
  explicit SpokenProvider(std::string name) {
    traits_.name = std::move(name);
    traits_.terms.keep = Terms::Keep::unlimited;
  }
  [[nodiscard]] const ProviderTraits& traits() const override { return traits_; }
  Result<void> call(std::span<const ProviderAsk>,
                    bool,
                    Deadline,
                    std::function<bool()>,
                    std::function<void(Transfer)>) override {
    return fail(ErrorCode::internal, "the simulation calls by itself");
  }
  [[nodiscard]] std::vector<Outcome> decode(const Transfer& transfer,
                                            std::span<const ProviderAsk> asks,
                                            bool) const override {
    return std::vector<Outcome>(asks.size(), outcome_of(std::stoi(transfer.response.body)));
  }
  /// 0 … 9
  [[nodiscard]] Outcome outcome_of(int roll) const {
    Outcome outcome;
    outcome.http_status = 200;
    outcome.billed = Billed::yes;
    if (roll < 5) {
      outcome.kind = OutcomeKind::match;
      outcome.answer.at = LatLng{1, 2};
      outcome.answer.precision = Precision::rooftop;
      outcome.answer.formatted = traits_.name;
    } else if (roll == 5) {
      outcome.kind = OutcomeKind::no_match;
    } else if (roll == 6) {
      outcome.kind = OutcomeKind::ambiguous;
    } else {
      outcome.kind = OutcomeKind::refused;
      outcome.billed = Billed::no;
      outcome.failure = roll == 7   ? FailureClass::retry
                        : roll == 8 ? FailureClass::permanent
                                    : FailureClass::fatal;
    }
    return outcome;
  }

 private:
  ProviderTraits traits_;
};

struct Sums {
  std::size_t calls = 0, unknown = 0, refused = 0, kills = 0, late = 0, answers = 0, adopted = 0;
  std::size_t blocked = 0, takeovers = 0, store_faults = 0;
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, FakeClock& clock, Store& store, int max_unknown)
      : clock_(clock), store_(store), random_(seed) {
    options_.max_unknown = max_unknown;
    options_.permanent_cool_down = 20s;
    for (const char* name : {"alpha", "beta"})
      providers_.push_back(std::make_shared<SpokenProvider>(name));
    if (roll(2) == 0) providers_.pop_back();
  }

  Sums run() {
    const std::size_t processes = 2 + roll(2);
    for (std::size_t i = 0; i < processes; ++i) start_process();
    const std::size_t asks = 4 + roll(8);
    for (std::size_t i = 0; i < asks; ++i)
      at(milliseconds{roll(30'000)}, [this] { ask_somebody(); });
    for (std::size_t i = roll(4); i > 0; --i)
      at(milliseconds{roll(40'000)}, [this] { kill_somebody(); });
    if (roll(4) == 0) at(milliseconds{roll(40'000)}, [this] { invalidate(); });
    std::size_t events = 0;
    while (!events_.empty()) {
      GEONCE_EXPECTS(++events < 100'000);
      const Event event = events_.top();
      events_.pop();
      clock_.advance(std::chrono::duration_cast<milliseconds>(event.when - clock_.now()));
      event.deed();
    }
    check();
    return sums_;
  }

 private:
  struct Event {
    Mono when;
    std::uint64_t number = 0;
    std::function<void()> deed;
    friend bool operator<(const Event& a, const Event& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };
  struct Process {
    RequestRules rules;
    bool is_alive = true;
    DeadSpool spool;  // what would be left if it died now
  };
  struct Run {
    Run(std::shared_ptr<Process> in, Subject subject, Mono until)
        : process(std::move(in)),
          request(process->rules, std::move(subject)),
          wanted_until(until) {}
    std::shared_ptr<Process> process;
    Request request;
    Mono wanted_until;
  };
  using RunPtr = std::shared_ptr<Run>;
  struct BillLine {
    std::size_t key = 0;
    std::string provider;
    IntentId intent;
    bool is_extra = false;  // a caller asked for it although there may be an answer
  };

  std::size_t roll(std::size_t sides) {
    return std::uniform_int_distribution<std::size_t>(0, sides - 1)(random_);
  }
  bool chance(std::size_t in_a_thousand) { return roll(1'000) < in_a_thousand; }
  /// Mostly short; sometimes a process is paused for longer than any window.
  milliseconds a_while() {
    if (chance(20)) return milliseconds{roll(25'000)};
    return milliseconds{chance(50) ? roll(3'000) : roll(20)};
  }
  Uuid next_id() {
    Uuid id;
    const std::uint64_t number = ++ids_;
    std::memcpy(id.bytes.data(), &number, sizeof number);
    return id;
  }
  static Slot slot(std::size_t key) {
    Slot slot;
    slot.key.bytes.fill(static_cast<std::uint8_t>(key + 1));
    return slot;
  }

  void at(milliseconds span, std::function<void()> deed) {
    events_.push({clock_.now() + span, ++numbers_, std::move(deed)});
  }
  /// In the life of a process.
  void after(milliseconds span, const RunPtr& run, std::function<void()> deed) {
    at(span, [run, deed = std::move(deed)] {
      if (run->process->is_alive) deed();
    });
  }
  Moment moment(const Run& run) const { return {clock_.now(), clock_.now_utc(), run.wanted_until}; }

  void start_process() {
    auto process = std::make_shared<Process>();
    process->spool.owner = next_id();
    process->rules = rules_of({providers_.begin(), providers_.end()},
                              {},
                              {},
                              options_,
                              process->spool.owner,
                              {},
                              KeyRing::plain());
    processes_.push_back(std::move(process));
  }

  void ask_somebody() {
    auto process = processes_[roll(processes_.size())];
    if (!process->is_alive) return;
    Subject subject;
    const std::size_t key = roll(kKeys);
    subject.slot = slot(key);
    subject.query.text = std::to_string(key);
    subject.refresh_before = chance(100) ? kRefreshAll : 0;
    subject.retry_no_match = chance(100);
    const Mono asked = clock_.now();
    auto run = std::make_shared<Run>(
        process, std::move(subject), asked + milliseconds{1'000 + roll(40'000)});
    runs_.push_back(run);
    after(a_while(), run, [this, run, asked] {
      auto found = store_.find(std::span(&run->request.subject().slot, 1), Deadline::never());
      drive(run, run->request.begin(std::move((*found)[0]), asked));
    });
  }

  void kill(std::shared_ptr<Process> process) {  // a copy: a new process moves the list
    if (!process->is_alive) return;
    process->is_alive = false;
    ++sums_.kills;
    start_process();
    if (roll(4) == 0) return;  // its machine is gone, spool and all
    at(milliseconds{roll(20'000)}, [this, process] {
      AdoptReport report;
      const AdoptParts parts{
          store_, clock_, {providers_.begin(), providers_.end()}, {}, {}, options_};
      const auto adopted = adopt_spool(process->spool, parts, report);
      EXPECT_TRUE(adopted) << adopted.error().message;
      sums_.adopted += report.answered;
    });
  }
  void kill_somebody() { kill(processes_[roll(processes_.size())]); }
  void invalidate() {
    const Slot which = slot(roll(kKeys));
    ASSERT_TRUE(store_.invalidate(std::span(&which, 1), Deadline::never()));
  }

  void drive(const RunPtr& run, Action action) {
    std::visit([&](auto& what) { carry_out(run, what); }, action);
  }
  void carry_out(const RunPtr& run, act::Read&) {
    const Mono asked = clock_.now();
    after(a_while(), run, [this, run, asked] {
      auto found = store_.find(std::span(&run->request.subject().slot, 1), Deadline::never());
      drive(run, run->request.was_read(std::move((*found)[0]), asked));
    });
  }
  void carry_out(const RunPtr&, act::Places&) { FAIL() << "no places in this chain"; }
  void carry_out(const RunPtr& run, act::Admit& admit) {
    after(a_while(), run, [this, run, steps = admit.steps] {
      Admission admission;
      for (const std::size_t step : steps)
        if (!chance(50)) admission.steps.push_back(step);
      if (admission.steps.empty() || clock_.now() >= run->wanted_until) {
        drive(run, run->request.denied({ErrorCode::cooling_down, "not now", {}, {}, {}}));
        return;
      }
      admission.intent = next_id();
      drive(run, run->request.admitted(std::move(admission)));
    });
  }

  /// A transaction takes a while to arrive, and its result a while to come back. Either may fail,
  /// and the transaction of a process that is killed meanwhile may be carried out or not.
  template <class Req, class T, class Call, class GoOn>
  void write(const RunPtr& run, Req request, Call call, GoOn go_on) {
    const Mono asked = clock_.now();
    const bool fails_before = chance(20);
    const bool fails_after = chance(20);
    sums_.store_faults += fails_before || fails_after ? 1 : 0;
    at(a_while(), [=, this, request = std::move(request)] {
      if (!run->process->is_alive && roll(2) == 0) return;
      std::optional<T> result;
      if (!fails_before) {
        auto results = call(std::span(&request, 1));
        ASSERT_TRUE(results) << results.error().message;
        result = std::move((*results)[0]);
      }
      after(a_while(), run, [=, this] {
        Result<T> told = fail(ErrorCode::store_busy, "busy");
        if (result && !fails_after) told = *result;
        drive(run, go_on(std::move(told), asked));
      });
    });
  }
  void carry_out(const RunPtr& run, act::Take& take) {
    if (run->request.subject().refresh_before > 0) extra_.push_back(take.request.intent);
    write<TakeRequest, Taken>(
        run,
        std::move(take.request),
        [this](auto requests) { return store_.take(requests, Deadline::never()); },
        [this, run](Result<Taken> taken, Mono asked) {
          sums_.blocked += taken && taken->verdict == Taken::Verdict::blocked ? 1 : 0;
          sums_.takeovers += taken && taken->attempt > 1 ? 1 : 0;
          return run->request.was_taken(std::move(taken), asked, moment(*run));
        });
  }
  void carry_out(const RunPtr& run, act::Advance& advance) {
    write<AdvanceRequest, Advanced>(
        run,
        std::move(advance.request),
        [this](auto requests) { return store_.advance(requests, Deadline::never()); },
        [this, run](Result<Advanced> advanced, Mono asked) {
          return run->request.was_advanced(std::move(advanced), asked, moment(*run));
        });
  }
  void carry_out(const RunPtr& run, act::Commit& commit) {
    write<CommitRequest, Committed>(
        run,
        std::move(commit.request),
        [this](auto requests) { return store_.commit(requests, Deadline::never()); },
        [this, run](Result<Committed> committed, Mono asked) {
          return run->request.was_committed(std::move(committed), asked, moment(*run));
        });
  }
  void carry_out(const RunPtr& run, act::Release& release) {
    write<ReleaseRequest, Released>(
        run,
        std::move(release.request),
        [this](auto requests) { return store_.release(requests, Deadline::never()); },
        [this, run](Result<Released> released, Mono /*asked*/) {
          return run->request.was_released(std::move(released), moment(*run));
        });
  }
  void carry_out(const RunPtr& run, act::Wait& wait) {
    after(wait.span, run, [this, run] { drive(run, run->request.woken()); });
  }
  void carry_out(const RunPtr& run, act::Done&) {
    ASSERT_TRUE(run->request.has_ended());
    const Resolved& resolved = run->request.ending().resolved;
    ASSERT_TRUE((resolved.answer != nullptr) != resolved.error.has_value());
    if (!resolved.answer) return;
    ++sums_.answers;
    if (resolved.answer->kind == AnswerKind::match) {
      EXPECT_EQ(resolved.answer->formatted, resolved.answer->provider);
    }
  }

  void carry_out(const RunPtr& run, act::Call& call) {
    after(a_while(), run, [this, run, call] {
      if (clock_.now() >= call.send_before) {
        ++sums_.late;
        drive(run, run->request.was_unsent(Unsent::late, {}));
        return;
      }
      if (chance(50)) {
        drive(
            run,
            run->request.was_unsent(Unsent::network, {ErrorCode::not_sent, "refused", {}, {}, {}}));
        return;
      }
      // Mark and first byte: the margin is for what a machine may put between them.
      auto& spool = run->process->spool;
      spool.marked.push_back(call.intent);
      if (chance(10)) return kill(run->process);
      EXPECT_EQ(call.query_json, to_json(run->request.subject().query));
      const Subject& subject = run->request.subject();
      bill_.push_back({subject.slot.key.bytes[0],
                       providers_[call.step]->traits().name,
                       call.intent,
                       subject.refresh_before > 0 || subject.retry_no_match});
      ++sums_.calls;
      if (chance(30)) return kill(run->process);
      const int answer = static_cast<int>(roll(12));
      if (answer >= 10) {  // lost
        after(milliseconds{roll(8'000)}, run, [this, run] {
          Outcome outcome;
          outcome.kind = OutcomeKind::unknown;
          drive(run, run->request.was_answered(std::move(outcome), false));
        });
        return;
      }
      after(milliseconds{roll(8'000)}, run, [this, run, call, answer] {
        if (chance(20)) return kill(run->process);
        auto& left = run->process->spool;
        std::erase(left.marked, call.intent);
        SpooledResponse response;
        response.intents = {call.intent};
        response.provider = providers_[call.step]->traits().name;
        response.body = std::to_string(answer);
        left.responses.push_back(std::move(response));
        if (chance(20)) return kill(run->process);
        drive(run, run->request.was_answered(providers_[call.step]->outcome_of(answer), false));
      });
    });
  }

  void check() {
    LedgerFilter all;
    all.limit = 10'000;
    const auto rows = store_.ledger(all, Deadline::never());
    ASSERT_TRUE(rows);
    std::map<IntentId, std::set<LedgerEvent>> events;
    std::map<IntentId, LedgerRow> prepared;
    struct Window {
      std::size_t calls = 0, unknown = 0;
    };
    std::map<std::pair<Slot, std::int64_t>, std::map<std::string, Window>> windows;
    for (const LedgerRow& row : *rows) {
      events[row.intent].insert(row.event);
      if (row.event == LedgerEvent::prepared) prepared[row.intent] = row;
    }
    for (const auto& [intent, what] : events) {
      ASSERT_TRUE(what.contains(LedgerEvent::prepared));
      const std::size_t ends = (what.contains(LedgerEvent::answered) ? 1U : 0U) +
                               (what.contains(LedgerEvent::refused) ? 1U : 0U) +
                               (what.contains(LedgerEvent::voided) ? 1U : 0U);
      EXPECT_LE(ends, 1U) << "a call ends in one way";
      if (!what.contains(LedgerEvent::unknown)) continue;
      ++sums_.unknown;
      const LedgerRow& row = prepared.at(intent);
      ++windows[{row.slot, row.gen}][row.provider].unknown;
    }
    std::map<Slot, std::size_t> unused;
    for (const IntentId& intent : extra_) {
      const auto what = events.find(intent);
      if (what == events.end() || !what->second.contains(LedgerEvent::voided)) continue;
      ++unused[prepared.at(intent).slot];
    }
    std::set<IntentId> billed;
    for (const auto& line : bill_) {
      ASSERT_TRUE(prepared.contains(line.intent)) << "a call without a record before it";
      EXPECT_TRUE(billed.insert(line.intent).second) << "one intent, two calls";
      const auto& what = events.at(line.intent);
      EXPECT_FALSE(what.contains(LedgerEvent::voided)) << "a call that was made is called unsent";
      const LedgerRow& row = prepared.at(line.intent);
      EXPECT_EQ(row.provider, line.provider);
      if (what.contains(LedgerEvent::refused)) {
        ++sums_.refused;
        continue;
      }
      // Every caller who insists is a purchase of its own, and may share a gen with the one before.
      if (!line.is_extra) ++windows[{row.slot, row.gen}][row.provider].calls;
    }
    if (std::getenv("GEONCE_SEED") != nullptr) {
      for (const LedgerRow& row : *rows)
        std::printf("key %d gen %lld intent %d %s attempt %d %s\n",
                    row.slot.key.bytes[0],
                    static_cast<long long>(row.gen),
                    row.intent.bytes[0],
                    row.provider.c_str(),
                    row.attempt,
                    std::string(to_string(row.event)).c_str());
    }
    for (const auto& [window, by_provider] : windows) {
      std::size_t unknown = 0;
      for (const auto& [provider, sum] : by_provider) unknown += sum.unknown;
      for (const auto& [provider, sum] : by_provider) {
        // Who died between the last provider's answer and the commit took the best answer along:
        // the chain begins anew for the window, which takes an unknown of that window.
        EXPECT_LE(sum.calls, 1 + (by_provider.size() == 1 ? sum.unknown : unknown))
            << provider << " in window " << window.second;
        if (options_.max_unknown < 0 && providers_.size() == 1) {
          // A refresh that was authorised and never sent leaves its permission to the next call.
          EXPECT_LE(sum.calls, 1U + unused[window.first]);
        }
      }
    }
  }

  FakeClock& clock_;
  Store& store_;
  std::mt19937_64 random_;
  ResolverOptions options_;
  std::vector<std::shared_ptr<SpokenProvider>> providers_;
  std::vector<std::shared_ptr<Process>> processes_;
  std::vector<RunPtr> runs_;
  std::priority_queue<Event> events_;
  std::vector<BillLine> bill_;
  std::vector<IntentId> extra_;  // of refreshes
  std::uint64_t ids_ = 0, numbers_ = 0;
  Sums sums_;
};

void add(Sums& total, const Sums& one) {
  total.calls += one.calls;
  total.unknown += one.unknown;
  total.refused += one.refused;
  total.kills += one.kills;
  total.late += one.late;
  total.answers += one.answers;
  total.adopted += one.adopted;
  total.blocked += one.blocked;
  total.takeovers += one.takeovers;
  total.store_faults += one.store_faults;
}

/// GEONCE_SEED runs that one schedule; GEONCE_SCHEDULES as many as that.
std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void simulate(std::uint64_t schedules,
              int max_unknown,
              const std::function<void(std::uint64_t, Sums&)>& one) {
  const std::uint64_t first = number_from("GEONCE_SEED", 1);
  const std::uint64_t count = std::getenv("GEONCE_SEED") != nullptr ? 1 : schedules;
  Sums total;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("GEONCE_SEED=" + std::to_string(seed));
    one(seed, total);
  }
  std::printf(
      "%llu schedules, max_unknown %d: %zu calls, %zu refused, %zu unknown, %zu kills, %zu late, "
      "%zu answers, "
      "%zu adopted, %zu takeovers, %zu blocked, %zu store faults\n",
      static_cast<unsigned long long>(count),
      max_unknown,
      total.calls,
      total.refused,
      total.unknown,
      total.kills,
      total.late,
      total.answers,
      total.adopted,
      total.takeovers,
      total.blocked,
      total.store_faults);
  if (count > 100) {  // the schedules reach what they are for
    EXPECT_GT(total.kills, count / 4);
    EXPECT_GT(total.unknown, count / 10);
    EXPECT_GT(total.late, 0U);
    EXPECT_GT(total.adopted, 0U);
    EXPECT_GT(total.answers, count);
  }
}

void simulate_on_the_model(std::uint64_t schedules, int max_unknown) {
  simulate(schedules, max_unknown, [max_unknown](std::uint64_t seed, Sums& total) {
    FakeClock clock;
    const auto store = open_model_store(make_model_world(), clock);
    add(total, Simulation(seed, clock, *store, max_unknown).run());
  });
}

TEST(Simulation, no_window_costs_more_calls_than_one_and_its_unknowns) {
  simulate_on_the_model(number_from("GEONCE_SCHEDULES", 10'000), 1);
}

TEST(Simulation, with_takeover_never_no_window_costs_two_calls) {
  simulate_on_the_model(number_from("GEONCE_SCHEDULES", 2'000), -1);
}

TEST(Simulation, the_embedded_store_keeps_the_promise_as_the_model_does) {
  simulate(number_from("GEONCE_SCHEDULES", 40), 1, [](std::uint64_t seed, Sums& total) {
    const TempDir dir;
    FakeClock clock;
    SqliteOptions options;
    options.path = dir.file("store.db");
    options.clock = &clock;
    auto store = open_sqlite_store(options);
    ASSERT_TRUE(store) << store.error().message;
    add(total, Simulation(seed, clock, **store, 1).run());
  });
}

}  // namespace
}  // namespace geonce
