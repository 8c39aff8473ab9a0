#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/answer.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/key_ring.h"
#include "core/money.h"
#include "core/normalize.h"
#include "core/outcome.h"
#include "core/query.h"
#include "core/result.h"
#include "core/terms.h"
#include "core/uuid.h"
#include "policy/acceptance.h"
#include "policy/life_policy.h"
#include "resolver/resolver.h"
#include "store/store.h"

namespace geonce {

/// What a request has to know of one paid provider.
struct ChainStep {
  std::string name;
  Terms terms;
  std::vector<Country> countries;  // empty: all
  int no_match_rechecks = 0;
  milliseconds single_timeout{8'000}, bulk_timeout{60'000};  // a call is cut there
  Money price_single, price_bulk;
};

/// Who is asked, in order.
struct ChainOrder {
  std::vector<std::size_t> steps;  // indices of paid providers
  bool places = false;             // the user's own points first: they are free
};

/// What all requests of a process have in common. Outlives them.
struct RequestRules {
  std::vector<ChainStep> chain;  // every paid provider, at most 32
  ChainOrder standard;           // for addresses of a country that has no order of its own
  std::map<Country, ChainOrder> countries;  // … and for those that have
  LifeConfig life;
  AcceptConfig accept;
  OwnerId owner;
  milliseconds send_window{2'000};  // from before `take` to the first byte (R2)
  milliseconds margin{4'000};       // a claim lives for both and the call between them
  int max_unknown = 1;
  milliseconds cool_down{2'000};  // of a key after a transient refusal that named no delay
  milliseconds permanent_cool_down{600'000};  // of a key that can never succeed as sent
  std::uint64_t jitter_seed = 0;              // differs between processes
  const KeyRing* ring = &KeyRing::plain();    // what keys are made with; outlives this
};

/// What is asked, and how. The callers of one flight agree on all of it.
struct Subject {
  Slot slot;
  std::string pre_image;  // as in Ask
  Query query;
  Quality quality = Quality::none;
  bool cache_only = false;
  UtcMs refresh_before = 0;
  bool retry_no_match = false;
  Cause cause = Cause::miss;
};

/// How a request ended. One of `resolved.answer` and `resolved.error` is set; callers who take it
/// get `stale` in the place of an error.
struct Ending {
  Resolved resolved;
  std::shared_ptr<const Found> stale;
  Mono stale_until;            // nobody may be given `stale` later than this
  Mono as_of;                  // the lives below count from here: before the store was asked
  milliseconds fresh_left{0};  // what a tier may remember; 0: nothing
};

/// What a stale entry looks like to a caller; `why` says what came in the way of a fresh one.
Resolved as_stale(const Found& found, std::optional<Error> why);
/// What a remembered answer looks like to a caller.
Resolved as_found(const Found& found);
inline bool is_fresh(const Found& found) {
  return found.pinned || found.fresh_left > milliseconds{0};
}

/// The moment an event arrives at.
struct Moment {
  Mono now;
  UtcMs utc = 0;
  Mono wanted_until = Mono::max();  // the last caller leaves then
};

/// What the machine wants done next. Exactly one thing is under way at any time, and the event that
/// answers it stands beside it.
namespace act {
struct Read {};    // find the slot in the store → was_read
struct Places {};  // ask the user's points → places_said
/// Which of `steps` may be asked now, and who pays? → admitted or denied. With `holding` the claim
/// is ours already, so nobody may queue: who cannot be asked now is passed over.
struct Admit {
  std::vector<std::size_t> steps;  // indices into RequestRules::chain, in order
  bool holding = false;
};
struct Take {  // Store::take → was_taken
  TakeRequest request;
};
struct Call {  // first byte before `send_before`, or not at all → was_answered or was_unsent
  std::size_t step = 0;
  IntentId intent;
  std::string query_json;  // D5: this is sent, whatever the caller spelt
  Mono send_before;
  bool bulk = false;  // the claim lives long enough for a bulk call
};
struct Advance {  // Store::advance → was_advanced
  AdvanceRequest request;
};
struct Commit {  // Store::commit → was_committed
  CommitRequest request;
};
struct Release {  // Store::release → was_released
  ReleaseRequest request;
};
/// For another process that calls, or (`for_store`) to bring an outcome to a store that failed →
/// woken
struct Wait {
  milliseconds span{0};
  bool for_store = false;
};
struct Done {};
}  // namespace act

using Action = std::variant<act::Read,
                            act::Places,
                            act::Admit,
                            act::Take,
                            act::Call,
                            act::Advance,
                            act::Commit,
                            act::Release,
                            act::Wait,
                            act::Done>;

/// The answer to act::Admit.
struct Admission {
  std::vector<std::size_t> steps;    // those of the asked ones that may be asked now, not empty
  std::optional<Error> passed_over;  // why one of the others was left out
  IntentId intent;                   // new
  bool bulk = false;                 // the first of `steps` will be asked through its bulk endpoint
  std::string pre_image;             // of the query
};

/// Why a call did not leave.
enum class Unsent {
  network,  // the provider could not be reached
  late,     // the send window had passed
  local,    // the spool could not be written, or nobody pays: `error` says which
};

/// The life of one key's question, from the store's first look-up to a durable outcome, as code
/// without I/O, threads or a clock: events in, one action out. `correctness.md` calls these states
/// RECEIVED to REPLY; docs/decisions/0007-single-flight.md has the picture. The running resolver
/// and the simulation drive the same code.
class Request {
 public:
  Request(const RequestRules& rules, Subject subject);

  /// The first event: what the store (read at `asked`) remembers of the slot.
  Action begin(std::optional<Found> found, Mono asked);

  /// Instead of `begin`: goes on where a dead process stopped, whose call to `step` was out. The
  /// next event is `was_answered`.
  void resume(const OpenIntent& open, std::size_t step, bool bulk);
  /// After `resume`: what another provider had answered under the same claim, noted already.
  void heard(const IntentId& intent, std::size_t step, Outcome outcome);
  /// After `heard`, when no call was out: ends the claim with the best of it, if that will do.
  Action finish();

  Action was_read(Result<std::optional<Found>> found, Mono asked);
  Action places_said(Result<std::optional<PlaceHit>> hit);
  Action admitted(Admission admission);
  Action denied(Error error);
  /// asked: when the store was asked, taken before; the send window starts there (R2).
  Action was_taken(Result<Taken> taken, Mono asked, const Moment& at);
  /// A call that left. ask_again: this outcome was about the company the ask was in (a bulk call
  /// that was refused as a whole), so the same provider is asked once more.
  Action was_answered(Outcome outcome, bool ask_again);
  Action was_unsent(Unsent why, Error error);
  Action was_advanced(Result<Advanced> advanced, Mono asked, const Moment& at);
  Action was_committed(Result<Committed> committed, Mono asked, const Moment& at);
  Action was_released(Result<Released> released, const Moment& at);
  Action woken();

  /// Callers may be told `ending()`. True at act::Done, and before when only the store is behind.
  [[nodiscard]] bool has_ended() const { return ended_; }
  [[nodiscard]] const Ending& ending() const { return ending_; }
  [[nodiscard]] const Subject& subject() const { return subject_; }
  /// A stored answer that somebody else's newer one had made useless.
  [[nodiscard]] bool was_redundant() const { return redundant_; }

 private:
  /// The providers as this request last handed them to the store.
  struct Chain {
    std::vector<std::size_t> steps;
    std::shared_ptr<const std::vector<std::string>> names;
  };
  /// The best answer of the chain so far, whole.
  struct Best {
    Answer answer;
    IntentId intent;
    std::size_t step = 0;
  };
  using Mask = std::uint32_t;
  static Mask bit(std::size_t step) { return Mask{1} << step; }

  [[nodiscard]] bool serves(const Found& found) const;
  [[nodiscard]] bool has_answer() const;
  [[nodiscard]] std::vector<std::size_t> open_steps(std::size_t from) const;
  [[nodiscard]] std::size_t place_in_order() const;
  [[nodiscard]] std::size_t step() const { return chain_.steps[position_]; }
  [[nodiscard]] const ChainStep& provider() const { return rules_.chain[step()]; }
  [[nodiscard]] Chain chain_of(std::vector<std::size_t> steps) const;
  [[nodiscard]] std::vector<Money> prices() const;
  [[nodiscard]] Life life_of_answer(const Answer& answer, std::size_t step) const;
  [[nodiscard]] milliseconds claim_life(const std::vector<std::size_t>& steps) const;
  [[nodiscard]] CallRecord record_of(const Outcome& outcome) const;
  [[nodiscard]] CallRecord unsent(std::string reason) const;
  [[nodiscard]] Cause cause() const;
  [[nodiscard]] Error failure() const;
  milliseconds jittered(milliseconds span);

  Action ask_admission(bool holding, std::size_t from);
  Action end_found(const Found& found, Mono asked);
  Action end(Error error);
  void tell_best(const Moment& at);
  Action wait_for_turn(const Moment& at);
  Action wait_for_store(Error error, const Moment& at);
  Action bring_told();
  Action call(std::size_t position, Mono asked);
  Answer answer_of_call(Outcome outcome, std::size_t step) const;
  bool hear(Answer answer, const IntentId& intent, std::size_t step);
  Action took_answer(Outcome outcome);
  Action took_refusal(const Outcome& outcome, bool ask_again);
  Action go_on(bool ask_again);
  Action conclude();
  Action advance(const std::vector<std::size_t>& steps, IntentId next);
  void choose_best();
  Action commit(bool with_answer);
  Action release(ReleaseRequest::Kind kind, CallRecord call);
  void pass_over(std::size_t from, std::size_t to, StepMask answered);
  bool leaves_window(const Taken& taken);
  void note_failure(Error error);

  const RequestRules& rules_;
  Subject subject_;
  const ChainOrder& order_;
  Ending ending_;
  bool ended_ = false;
  bool redundant_ = false;

  // What has been learnt of the providers; bits are indices into the chain of the rules.
  bool has_begun_ = false;
  std::int64_t first_gen_ = 0;
  Mask applicable_ = 0;   // serve the country
  Mask answered_ = 0;     // have given their answer, whatever it was
  Mask said_no_ = 0;      // … and it was an explicit no-match
  Mask down_ = 0;         // could not be asked, or did not work
  Mask hopeless_ = 0;     // refused this address for good
  Mask passed_over_ = 0;  // were not available at the last admission
  int rechecks_ = 0;      // no-matches of the present provider that were asked again
  std::optional<Best> best_;
  std::optional<Error>
      failure_;  // what callers hear when there is no answer: the first thing that went wrong
  std::optional<CallRecord> refusal_;  // why the key has to cool down …
  milliseconds cool_down_{0};          // … and for how long

  // The claim.
  Chain chain_;
  std::size_t position_ = 0;  // in chain_
  bool holds_claim_ = false;
  bool has_advanced_ = false;  // the claim has an answered or refused call in the ledger already
  bool bulk_ = false;
  IntentId intent_;
  std::int64_t fence_ = 0, gen_ = 0;
  int no_match_streak_ = 0;
  std::string query_json_, pre_image_;

  // The last call, until the store knows its outcome.
  std::optional<CallRecord> last_;
  bool last_refused_ = false;
  std::optional<milliseconds> last_no_match_for_;
  std::shared_ptr<const Answer> chosen_;  // what is being committed and told …
  Life committing_;                       // … and for how long
  std::optional<ReleaseRequest> releasing_;

  int waits_ = 0;
  int store_failures_ = 0;
};

}  // namespace geonce
