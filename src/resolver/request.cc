#include "resolver/request.h"

#include <algorithm>
#include <utility>

#include "resolver/places.h"

namespace geonce {
namespace {

constexpr milliseconds kFirstWait{25};
constexpr milliseconds kLongestWait{400};
constexpr milliseconds kLongestStoreWait{5'000};

std::uint64_t mixed(std::uint64_t bits) {  // splitmix64's finaliser
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

ErrorCode code_of(FailureClass failure) {
  switch (failure) {
    case FailureClass::retry_after:
      return ErrorCode::provider_retry_after;
    case FailureClass::permanent:
      return ErrorCode::provider_permanent;
    case FailureClass::fatal:
      return ErrorCode::provider_fatal;
    case FailureClass::retry:
    case FailureClass::none:
      break;
  }
  return ErrorCode::provider_retry;
}

Error provider_error(ErrorCode code, const std::string& provider, const std::string& reason) {
  Error error;
  error.code = code;
  error.message = reason.empty() ? provider : fmt::format("{}: {}", provider, reason);
  error.source = provider;
  return error;
}

const ChainOrder& order_for(const RequestRules& rules, Country country) {
  const auto own = rules.countries.find(country);
  return own == rules.countries.end() ? rules.standard : own->second;
}

/// Nothing for what a program of another version has prepared: `rekey` knows.
std::optional<Key> building_key_of(std::string_view pre_image, const KeyRing& ring) {
  const auto canonical = parse_pre_image(pre_image);
  if (!canonical) return std::nullopt;
  return ring.key(building_pre_image(*canonical));
}

Error late_error() {
  return {ErrorCode::deadline_exceeded,
          "no answer before the deadline; it may be there next time",
          {},
          {},
          {}};
}

}  // namespace

Resolved as_found(const Found& found) {
  Resolved resolved;
  resolved.answer = found.answer;
  resolved.source =
      found.answer->kind == AnswerKind::no_match ? AnswerSource::negative : AnswerSource::db;
  resolved.gen = found.gen;
  resolved.answered_at = found.answered_at;
  resolved.expires_at = found.fresh_until;
  resolved.keep = std::max(found.erase_left, milliseconds{0});
  return resolved;
}

Resolved as_stale(const Found& found, std::optional<Error> why) {
  Resolved resolved = as_found(found);
  resolved.source = AnswerSource::stale;
  resolved.error = std::move(why);
  return resolved;
}

Request::Request(const RequestRules& rules, Subject subject)
    : rules_(rules),
      subject_(std::move(subject)),
      order_(order_for(rules, subject_.query.country)) {
  GEONCE_EXPECTS(rules.chain.size() <= 32);
  for (const std::size_t step : order_.steps) {
    const auto& countries = rules_.chain[step].countries;
    // Without a country the operator's choice of chain says where the addresses are.
    if (countries.empty() || !subject_.query.country.is_known() ||
        std::find(countries.begin(), countries.end(), subject_.query.country) != countries.end())
      applicable_ |= bit(step);
  }
}

// --- before the claim
// ------------------------------------------------------------------------------

bool Request::serves(const Found& found) const {
  if (found.pinned) return true;
  if (!is_fresh(found)) return false;
  if (has_begun_ && found.gen > first_gen_) return true;  // bought since, maybe by somebody else
  if (found.answered_at < subject_.refresh_before) return false;
  return !(subject_.retry_no_match && found.answer->kind == AnswerKind::no_match);
}

Action Request::begin(std::optional<Found> found, Mono asked) {
  if (found) {
    if (serves(*found)) return end_found(*found, asked);
    first_gen_ = found->gen;
    const bool unwanted = subject_.retry_no_match && found->answer->kind == AnswerKind::no_match;
    if ((is_fresh(*found) || found->stale_left > milliseconds{0}) && !unwanted) {
      ending_.stale_until = asked + std::max(found->fresh_left, found->stale_left);
      ending_.stale = std::make_shared<const Found>(std::move(*found));
    }
  }
  has_begun_ = true;
  if (order_.places) return act::Places{};
  return places_said(std::optional<PlaceHit>{});
}

void Request::resume(const OpenIntent& open, std::size_t step, bool bulk) {
  has_begun_ = true;
  holds_claim_ = true;  // or not any more: the store looks at the fence
  chain_ = chain_of({step});
  position_ = 0;
  bulk_ = bulk;
  intent_ = open.intent;
  fence_ = open.fence;
  gen_ = open.gen;
  no_match_streak_ = open.no_match_streak;
  query_json_ = open.query_json;
  pre_image_ = open.pre_image;
}

void Request::heard(const IntentId& intent, std::size_t step, Outcome outcome) {
  has_advanced_ = true;
  Answer answer = answer_of_call(std::move(outcome), step);
  if (answer.kind == AnswerKind::no_match && rechecks_ < rules_.chain[step].no_match_rechecks) {
    ++rechecks_;
    return;
  }
  hear(std::move(answer), intent, step);
}

Action Request::finish() { return has_answer() ? commit(true) : Action(act::Done{}); }

Action Request::places_said(Result<std::optional<PlaceHit>> hit) {
  if (!hit) return end(std::move(hit.error()));
  const bool is_last = applicable_ == 0;
  if (order_.places && (*hit || order_.steps.empty())) {
    Answer answer = judge(answer_of(*hit), subject_.query.country, rules_.accept);
    if (answer.kind == AnswerKind::match || is_last) {
      ending_.resolved.answer = std::make_shared<const Answer>(std::move(answer));
      ending_.resolved.source = AnswerSource::places;
      ending_.resolved.keep = kOwnDataKeep;
      ended_ = true;
      return act::Done{};
    }
  }
  if (subject_.cache_only)
    return end(
        {ErrorCode::cache_only_miss, "not remembered, and asking was forbidden", {}, {}, {}});
  if (is_last)
    return end(
        {ErrorCode::no_provider, "no provider of the chain serves this country", {}, {}, {}});
  return ask_admission(false, 0);
}

Action Request::was_read(Result<std::optional<Found>> found, Mono asked) {
  if (!found) return end(std::move(found.error()));
  if (*found && serves(**found)) return end_found(**found, asked);
  return ask_admission(false, 0);
}

Action Request::end_found(const Found& found, Mono asked) {
  const int calls = ending_.resolved.calls;
  const Money cost = ending_.resolved.cost;
  ending_.resolved = as_found(found);
  ending_.resolved.calls = calls;
  ending_.resolved.cost = cost;
  ending_.as_of = asked;
  ending_.fresh_left = found.fresh_left;
  ended_ = true;
  return act::Done{};
}

Action Request::end(Error error) {
  if (!ended_) ending_.resolved.error = std::move(error);
  ended_ = true;
  return act::Done{};
}

/// Who can still be asked, from that place in the order on.
std::vector<std::size_t> Request::open_steps(std::size_t from) const {
  const Mask open = applicable_ & ~(answered_ | down_ | hopeless_);
  std::vector<std::size_t> steps;
  for (std::size_t i = from; i < order_.steps.size(); ++i)
    if ((open & bit(order_.steps[i])) != 0) steps.push_back(order_.steps[i]);
  return steps;
}

std::size_t Request::place_in_order() const {
  const auto at = std::find(order_.steps.begin(), order_.steps.end(), step());
  return static_cast<std::size_t>(at - order_.steps.begin());
}

Action Request::ask_admission(bool holding, std::size_t from) {
  auto steps = open_steps(from);
  if (steps.empty()) return conclude();
  for (const std::size_t step : steps) passed_over_ |= bit(step);
  return act::Admit{std::move(steps), holding};
}

Action Request::admitted(Admission admission) {
  GEONCE_EXPECTS(!admission.steps.empty());
  for (const std::size_t step : admission.steps) passed_over_ &= ~bit(step);
  if (admission.passed_over) note_failure(std::move(*admission.passed_over));
  bulk_ = admission.bulk;
  if (holds_claim_) return advance(admission.steps, admission.intent);

  intent_ = admission.intent;
  pre_image_ = std::move(admission.pre_image);
  chain_ = chain_of(admission.steps);
  TakeRequest take;
  take.slot = subject_.slot;
  take.intent = intent_;
  take.owner = rules_.owner;
  take.cause = cause();
  take.bulk = bulk_;
  take.refresh_before = subject_.refresh_before;
  take.retry_no_match = subject_.retry_no_match;
  take.life = claim_life(chain_.steps);
  take.max_unknown = rules_.max_unknown;
  take.chain = chain_.names;
  take.prices = prices();
  take.query_json = to_json(subject_.query);
  take.pre_image = pre_image_;
  return act::Take{std::move(take)};
}

Action Request::denied(Error error) {
  note_failure(std::move(error));
  return conclude();
}

Cause Request::cause() const {
  if (subject_.refresh_before > 0) return Cause::forced;
  return subject_.cause == Cause::miss && ending_.stale ? Cause::stale : subject_.cause;
}

/// Long enough for whichever of `steps` the store chooses.
milliseconds Request::claim_life(const std::vector<std::size_t>& steps) const {
  milliseconds longest{0};
  for (const std::size_t step : steps) {
    const ChainStep& provider = rules_.chain[step];
    longest = std::max(
        longest,
        bulk_ ? std::max(provider.bulk_timeout, provider.single_timeout) : provider.single_timeout);
  }
  return rules_.send_window + longest + rules_.margin;
}

Request::Chain Request::chain_of(std::vector<std::size_t> steps) const {
  std::vector<std::string> names;
  names.reserve(steps.size());
  for (const std::size_t step : steps) names.push_back(rules_.chain[step].name);
  return {std::move(steps), std::make_shared<const std::vector<std::string>>(std::move(names))};
}

/// What a call to each of the chain may cost. One that waits for company and gets none goes alone.
std::vector<Money> Request::prices() const {
  std::vector<Money> prices;
  prices.reserve(chain_.steps.size());
  for (const std::size_t step : chain_.steps) {
    const ChainStep& provider = rules_.chain[step];
    prices.push_back(bulk_ ? std::max(provider.price_bulk, provider.price_single)
                           : provider.price_single);
  }
  return prices;
}

Action Request::was_taken(Result<Taken> taken, Mono asked, const Moment& at) {
  if (!taken) {
    note_failure(std::move(taken.error()));
    return conclude();
  }
  const bool is_closed = leaves_window(*taken);
  switch (taken->verdict) {
    case Taken::Verdict::send:
      holds_claim_ = true;
      has_advanced_ = false;
      fence_ = taken->fence;
      gen_ = taken->gen;
      no_match_streak_ = taken->no_match_streak;
      query_json_ = std::move(taken->query_json);
      position_ = taken->step;
      // Whoever had answered was not among those this claim is for: it is taken anew, for all.
      if (is_closed) return release(ReleaseRequest::Kind::voided, unsent("the window was closed"));
      pass_over(0, taken->step, taken->answered);
      return call(taken->step, asked);
    case Taken::Verdict::fresh: {
      // It may have taken so long to hear of it that it is no longer so.
      const auto since = std::chrono::ceil<milliseconds>(at.now - asked);
      const auto found = taken->found ? aged(*taken->found, since) : std::nullopt;
      if (found && is_fresh(*found)) return end_found(*found, at.now);
      return act::Read{};
    }
    case Taken::Verdict::wait:
      return wait_for_turn(at);
    case Taken::Verdict::cooldown: {
      Error error{
          ErrorCode::cooling_down, "a provider refused this address a moment ago", {}, {}, {}};
      error.retry_after = taken->wait_for;
      note_failure(std::move(error));
      return conclude();
    }
    case Taken::Verdict::blocked: {
      Error error{
          ErrorCode::in_doubt,
          "the answers of earlier calls for this address are lost, and they may have been billed",
          {},
          Billed::unknown,
          {}};
      note_failure(std::move(error));
      return conclude();
    }
    case Taken::Verdict::exhausted:
      if (is_closed) return ask_admission(false, 0);
      break;
  }
  pass_over(0, chain_.steps.size(), taken->answered);
  if ((applicable_ & ~said_no_) != 0) return conclude();
  Answer answer;
  answer.kind = AnswerKind::no_match;
  answer.provider = chain_.names->back();
  ending_.resolved.answer = std::make_shared<const Answer>(std::move(answer));
  ending_.resolved.source = AnswerSource::negative;
  ended_ = true;
  return act::Done{};
}

/// Whether the window in which this request has heard answers was closed by an invalidation. They
/// are forgotten then: what comes into the new window has to be asked for in it.
bool Request::leaves_window(const Taken& taken) {
  const bool says_gen =
      taken.verdict == Taken::Verdict::send || taken.verdict == Taken::Verdict::exhausted;
  if (!says_gen || answered_ == 0 || taken.gen == gen_) return false;
  answered_ = said_no_ = 0;
  rechecks_ = 0;
  best_.reset();
  return true;
}

/// The store passes over providers whose own no-match is still fresh, and those that have answered
/// somebody else in this window: who that was has what they said.
void Request::pass_over(std::size_t from, std::size_t to, StepMask answered) {
  for (std::size_t i = from; i < to; ++i) {
    answered_ |= bit(chain_.steps[i]);
    if (((answered >> i) & 1U) == 0) said_no_ |= bit(chain_.steps[i]);
  }
}

Action Request::wait_for_turn(const Moment& at) {
  if (at.now >= at.wanted_until) {
    note_failure(late_error());
    return conclude();
  }
  const milliseconds span =
      jittered(std::min(kLongestWait, kFirstWait * (1 << std::min(waits_, 4))));
  const auto left = std::chrono::ceil<milliseconds>(at.wanted_until - at.now);
  return act::Wait{std::min(span, left), false};
}

milliseconds Request::jittered(milliseconds span) {
  // Half to whole: enough that the waiters of one key in several processes do not march in step.
  const std::uint64_t bits =
      mixed(SlotHash{}(subject_.slot) ^ rules_.jitter_seed ^ static_cast<std::uint64_t>(waits_++));
  const auto half = static_cast<std::uint64_t>(span.count()) / 2;
  return milliseconds{static_cast<std::int64_t>(half + bits % (half + 1))};
}

Action Request::woken() {
  if (releasing_) return act::Release{*releasing_};
  if (store_failures_ > 0) return conclude();
  return act::Read{};
}

// --- the call
// ---------------------------------------------------------------------------------------

Action Request::call(std::size_t position, Mono asked) {
  position_ = position;
  return act::Call{step(), intent_, query_json_, asked + rules_.send_window, bulk_};
}

CallRecord Request::unsent(std::string reason) const {
  CallRecord record;
  record.intent = intent_;
  record.provider = provider().name;
  record.reason = std::move(reason);
  record.billed = Billed::no;
  record.units = 0;
  return record;
}

CallRecord Request::record_of(const Outcome& outcome) const {
  CallRecord record;
  record.intent = intent_;
  record.provider = provider().name;
  record.http_status = outcome.http_status;
  record.reason = outcome.reason;
  record.provider_request_id = outcome.provider_request_id;
  record.billed = outcome.billed;
  record.price = outcome.price;
  return record;
}

Action Request::was_answered(Outcome outcome, bool ask_again) {
  if (outcome.kind == OutcomeKind::not_sent)
    return was_unsent(Unsent::network,
                      provider_error(ErrorCode::not_sent, provider().name, outcome.reason));
  ++ending_.resolved.calls;
  if (outcome.billed == Billed::yes) ending_.resolved.cost += outcome.price;
  switch (outcome.kind) {
    case OutcomeKind::match:
    case OutcomeKind::ambiguous:
    case OutcomeKind::no_match:
      return took_answer(std::move(outcome));
    case OutcomeKind::refused:
      return took_refusal(outcome, ask_again);
    case OutcomeKind::pending:  // no asynchronous endpoint is ever asked: its answer is lost to us
    case OutcomeKind::not_sent:
    case OutcomeKind::unknown:
      break;
  }
  Error error = provider_error(ErrorCode::in_doubt, provider().name, outcome.reason);
  error.message += " (the call may have been billed, its answer is lost)";
  error.billed = Billed::unknown;
  failure_ = std::move(error);  // whatever failed before: this one may cost money
  CallRecord record = record_of(outcome);
  record.billed = Billed::unknown;
  return release(ReleaseRequest::Kind::unknown, std::move(record));
}

Answer Request::answer_of_call(Outcome outcome, std::size_t step) const {
  Answer answer = std::move(outcome.answer);
  answer.kind = outcome.kind == OutcomeKind::match      ? AnswerKind::match
                : outcome.kind == OutcomeKind::no_match ? AnswerKind::no_match
                                                        : AnswerKind::ambiguous;
  answer.provider = rules_.chain[step].name;
  return answer;
}

/// Whether it is all that was wanted.
bool Request::hear(Answer answer, const IntentId& intent, std::size_t step) {
  answered_ |= bit(step);
  if (answer.kind == AnswerKind::no_match) said_no_ |= bit(step);
  answer = judge(std::move(answer), subject_.query.country, rules_.accept);
  const bool is_good = answer.kind == AnswerKind::match;
  if (!best_ || is_better(answer, best_->answer)) best_ = Best{std::move(answer), intent, step};
  return is_good;
}

Action Request::took_answer(Outcome outcome) {
  last_ = record_of(outcome);
  last_refused_ = false;
  last_no_match_for_.reset();

  Answer answer = answer_of_call(std::move(outcome), step());
  if (answer.kind == AnswerKind::no_match) {
    if (rechecks_ < provider().no_match_rechecks) {
      ++rechecks_;
      return go_on(true);
    }
    // With one provider the key's own entry says it.
    const Life life = life_of_answer(answer, step());
    if (order_.steps.size() > 1 && life.erase > milliseconds{0}) last_no_match_for_ = life.fresh;
  }
  return hear(std::move(answer), intent_, step()) ? conclude() : go_on(false);
}

Action Request::took_refusal(const Outcome& outcome, bool ask_again) {
  last_ = record_of(outcome);
  last_refused_ = true;
  last_no_match_for_.reset();
  if (ask_again) return go_on(true);

  milliseconds cool_down = rules_.cool_down;
  if (outcome.failure == FailureClass::permanent) {
    hopeless_ |= bit(step());
    cool_down = rules_.permanent_cool_down;
  } else {
    down_ |= bit(step());
    // A broken account is no fault of the address: the key stays free, the provider is stopped.
    if (outcome.failure == FailureClass::fatal) cool_down = milliseconds{0};
    if (outcome.failure == FailureClass::retry_after)
      cool_down = std::max(outcome.delay, milliseconds{1});
  }
  Error error = provider_error(code_of(outcome.failure), provider().name, outcome.reason);
  error.billed = outcome.billed;
  if (outcome.failure != FailureClass::permanent) error.retry_after = cool_down;
  note_failure(std::move(error));
  if (!refusal_ || cool_down > cool_down_) {
    refusal_ = last_;
    cool_down_ = cool_down;
  }
  return go_on(false);
}

Action Request::was_unsent(Unsent why, Error error) {
  const bool is_late = why == Unsent::late;
  CallRecord record = unsent(is_late ? "the send window had passed" : error.message);
  if (why == Unsent::network) down_ |= bit(step());
  if (why == Unsent::local) down_ |= applicable_ & ~answered_;
  if (!is_late) note_failure(std::move(error));
  // `void` frees the claim. Once an earlier provider's answer hangs on it, it has to stay ours.
  if (!has_advanced_) return release(ReleaseRequest::Kind::voided, std::move(record));
  record.reason = "not sent: " + record.reason;
  last_ = std::move(record);
  last_refused_ = true;
  last_no_match_for_.reset();
  return go_on(is_late);
}

/// The next provider under the same claim, or the same one once more; else the end of the chain.
Action Request::go_on(bool ask_again) {
  if (!ask_again) rechecks_ = 0;
  return ask_admission(true, ask_again ? place_in_order() : place_in_order() + 1);
}

/// Notes the last call. `steps` may be asked next; none: the claim only stays open for its end.
Action Request::advance(const std::vector<std::size_t>& steps, IntentId next) {
  std::vector<std::size_t> with_last{step()};
  with_last.insert(with_last.end(), steps.begin(), steps.end());
  chain_ = chain_of(std::move(with_last));
  position_ = 0;
  AdvanceRequest request;
  request.slot = subject_.slot;
  request.fence = fence_;
  request.gen = gen_;
  request.call = *last_;
  request.refused = last_refused_;
  request.no_match_for = last_no_match_for_;
  request.step = 0;
  request.next_intent = next;
  request.life = claim_life(chain_.steps);
  request.chain = chain_.names;
  request.prices = prices();
  intent_ = next;
  return act::Advance{std::move(request)};
}

Action Request::was_advanced(Result<Advanced> advanced, Mono asked, const Moment& at) {
  if (!advanced) {
    // Without the store no call. What is known is told, and noted as soon as the store is back.
    down_ |= applicable_ & ~answered_;
    return wait_for_store(std::move(advanced.error()), at);
  }
  store_failures_ = 0;
  last_.reset();
  has_advanced_ = true;
  switch (advanced->verdict) {
    case Advanced::Verdict::send:
      pass_over(1, advanced->step, advanced->answered);
      return call(advanced->step, asked);
    case Advanced::Verdict::exhausted:
      pass_over(1, chain_.steps.size(), advanced->answered);
      return conclude();
    case Advanced::Verdict::lost:
      break;
  }
  holds_claim_ = false;
  if (ended_) return bring_told();
  return act::Read{};
}

// --- the end
// ----------------------------------------------------------------------------------------

bool Request::has_answer() const {
  return best_ && (best_->answer.kind != AnswerKind::no_match || (applicable_ & ~said_no_) == 0);
}

/// Nobody is left to be asked: what is known is noted and told. Begins anew when the store failed.
Action Request::conclude() {
  const bool must_note = last_.has_value();
  if (has_answer()) return must_note && last_refused_ ? advance({}, {}) : commit(true);
  if (must_note) {
    if (last_refused_) return release(ReleaseRequest::Kind::refused, *last_);
    // An answer that settles nothing, because another provider is to be asked when it is back.
    return cool_down_ > milliseconds{0} ? advance({}, {}) : commit(false);
  }
  if (holds_claim_)
    return refusal_ ? release(ReleaseRequest::Kind::refused, *refusal_) : commit(false);
  return end(failure());
}

Life Request::life_of_answer(const Answer& answer, std::size_t step) const {
  return life_of({answer,
                  subject_.slot.key,
                  subject_.quality,
                  no_match_streak_,
                  (down_ | passed_over_) != 0,
                  rules_.chain[step].terms},
                 rules_.life);
}

/// Everybody is told what is stored, so that the first caller gets no more than the next one; the
/// whole answer only where nothing is (docs/decisions/0010-told-is-what-is-kept.md).
void Request::choose_best() {
  if (chosen_) return;
  committing_ = life_of_answer(best_->answer, best_->step);
  const bool is_kept = committing_.erase > milliseconds{0};
  chosen_ = std::make_shared<const Answer>(
      is_kept ? keep_allowed(best_->answer, rules_.chain[best_->step].terms) : best_->answer);
}

/// Without an answer only the ledger is written and the claim closed.
Action Request::commit(bool with_answer) {
  CommitRequest request;
  request.slot = subject_.slot;
  request.fence = fence_;
  request.gen = gen_;
  request.call = last_;
  request.no_match_for = last_no_match_for_;
  request.query_json = query_json_;
  request.pre_image = pre_image_;
  if (with_answer) {
    choose_best();
    request.building_key = building_key_of(pre_image_, *rules_.ring);
    request.answer = chosen_;
    request.life = committing_;
    if (!last_ || last_->intent != best_->intent) request.answered_by = best_->intent;
  } else {
    Answer nothing;
    nothing.provider = provider().name;
    request.answer = std::make_shared<const Answer>(std::move(nothing));
  }
  return act::Commit{std::move(request)};
}

Action Request::was_committed(Result<Committed> committed, Mono asked, const Moment& at) {
  if (!committed) return wait_for_store(std::move(committed.error()), at);
  last_.reset();
  holds_claim_ = false;
  if (!chosen_) return end(failure());
  tell_best(at);
  ending_.resolved.is_stored = true;
  if (committed->stored) {
    ending_.as_of = asked;
    ending_.fresh_left = committed->fresh_left;
    // Who is answered by this call and who is answered by the entry are told the same.
    ending_.resolved.answered_at = committed->answered_at;
    ending_.resolved.expires_at = committed->fresh_until;
  } else {
    redundant_ = committing_.erase > milliseconds{0};
  }
  return act::Done{};
}

void Request::tell_best(const Moment& at) {
  if (ended_) return;
  Resolved& resolved = ending_.resolved;
  resolved.answer = chosen_;
  resolved.source = AnswerSource::paid;
  resolved.gen = gen_;
  resolved.intent = best_->intent;
  resolved.answered_at = at.utc;
  resolved.keep = committing_.erase;
  resolved.expires_at = at.utc + std::min(committing_.fresh, committing_.erase).count();
  resolved.is_stored = false;
  ended_ = true;
}

Action Request::release(ReleaseRequest::Kind kind, CallRecord call) {
  ReleaseRequest request;
  request.kind = kind;
  request.slot = subject_.slot;
  request.fence = fence_;
  request.call = std::move(call);
  request.max_unknown = rules_.max_unknown;
  if (kind == ReleaseRequest::Kind::refused) request.cool_down = cool_down_;
  releasing_ = std::move(request);
  return act::Release{*releasing_};
}

Action Request::was_released(Result<Released> released, const Moment& at) {
  if (!released) return wait_for_store(std::move(released.error()), at);
  store_failures_ = 0;
  const auto kind = releasing_->kind;
  releasing_.reset();
  last_.reset();
  holds_claim_ = false;
  if (ended_) return bring_told();
  if (kind == ReleaseRequest::Kind::refused) return end(failure());
  if (at.now >= at.wanted_until) note_failure(late_error());
  if (released->blocked || at.now >= at.wanted_until) return conclude();
  return ask_admission(false, 0);
}

/// The callers have been told. Was it an answer, then the store has to have it, whoever holds the
/// claim by now.
Action Request::bring_told() { return chosen_ ? commit(true) : Action(act::Done{}); }

/// The outcome stays in the spool and is brought to the store until it takes it; the callers do not
/// wait.
Action Request::wait_for_store(Error error, const Moment& at) {
  note_failure(std::move(error));
  if (chosen_ || has_answer()) {
    choose_best();
    tell_best(at);
  } else if (!ended_) {
    ending_.resolved.error = failure();
    ended_ = true;
  }
  const milliseconds span =
      std::min(kLongestStoreWait, kFirstWait * (1 << std::min(store_failures_, 8)));
  ++store_failures_;
  return act::Wait{jittered(span), true};
}

void Request::note_failure(Error error) {
  if (!failure_) failure_ = std::move(error);
}

Error Request::failure() const {
  return failure_.value_or(Error{ErrorCode::no_provider, "no provider could be asked", {}, {}, {}});
}

}  // namespace geonce
