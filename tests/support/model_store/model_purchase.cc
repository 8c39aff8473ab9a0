#include <algorithm>

#include "support/model_store/model_world.h"

// The rules of buying (docs/formats/store.md, `claim`).

namespace geonce {

using model::after;
using model::kNever;
using model::left;

std::optional<Found> ModelWorld::look(const Entry& entry, UtcMs now) const {
  const bool is_over = entry.erase_after <= now && defect != ModelDefect::served_beyond_erasure;
  if (!entry.answer || is_over) return std::nullopt;
  Found found;
  found.gen = entry.gen;
  found.answer = entry.answer;
  found.answered_at = entry.answered_at;
  found.fresh_until = entry.fresh_until;
  found.fresh_left = left(entry.fresh_until, now);
  found.stale_left = left(entry.stale_until, now);
  found.erase_left = left(entry.erase_after, now);
  found.pinned = entry.pinned;
  if (defect == ModelDefect::served_beyond_erasure && entry.erase_after <= now)
    found.fresh_left = found.stale_left = found.erase_left = milliseconds{60'000};
  return found;
}

std::optional<Found> ModelWorld::find(const Slot& slot, UtcMs now) const {
  const Entry* entry = look_up(entries_, slot);
  return entry == nullptr ? std::nullopt : look(*entry, now);
}

// --- the ledger
// -------------------------------------------------------------------------------------------

const LedgerRow* ModelWorld::event_of(const IntentId& intent, LedgerEvent event) const {
  const auto fate = fates_.find(intent);
  if (fate == fates_.end()) return nullptr;
  const std::uint32_t row = fate->second.rows[static_cast<std::size_t>(event)];
  return row == Fate::kNowhere ? nullptr : &ledger_[row];
}

bool ModelWorld::is_settled(const IntentId& intent) const {
  return has(intent, LedgerEvent::answered) || has(intent, LedgerEvent::refused) ||
         has(intent, LedgerEvent::voided);
}

/// Whether the row is new; an event that stands already is left as it is.
bool ModelWorld::note(LedgerRow row, const OwnerId& owner, UtcMs now) {
  Fate& fate = fates_[row.intent];
  std::uint32_t& where = fate.rows[static_cast<std::size_t>(row.event)];
  if (where != Fate::kNowhere) return false;
  if (row.event == LedgerEvent::prepared) {
    fate.owner = owner;
    if (defect == ModelDefect::intent_not_written) return true;
  }
  where = static_cast<std::uint32_t>(ledger_.size());
  row.at = now;
  ledger_.push_back(std::move(row));
  return true;
}

bool ModelWorld::note_outcome(LedgerEvent event,
                              const Slot& slot,
                              std::int64_t gen,
                              const CallRecord& call,
                              bool is_late,
                              bool is_redundant,
                              UtcMs now) {
  LedgerRow row;
  if (const LedgerRow* prepared = event_of(call.intent, LedgerEvent::prepared)) {
    row.attempt = prepared->attempt;
    row.cause = prepared->cause;
    row.bulk = prepared->bulk;
  }
  row.intent = call.intent;
  row.event = event;
  row.slot = slot;
  row.gen = gen;
  row.provider = call.provider;
  row.http_status = call.http_status;
  row.reason = call.reason;
  row.provider_request_id = call.provider_request_id;
  row.billed = call.billed;
  row.units = call.units;
  row.price = call.price;
  row.late = is_late;
  row.redundant = is_redundant;
  return note(std::move(row), {}, now);
}

/// The claim's call is about to be made.
void ModelWorld::prepare(
    const Slot& slot, Claim& claim, Cause cause, bool bulk, Money price, UtcMs now) {
  LedgerRow row;
  row.intent = claim.intent;
  row.event = LedgerEvent::prepared;
  row.slot = slot;
  row.gen = claim.gen;
  row.attempt = claim.attempt;
  row.provider = claim.provider;
  row.cause = cause;
  row.bulk = bulk;
  row.units = 1;
  row.price = price;
  note(std::move(row), claim.owner, now);
}

// --- chains
// -----------------------------------------------------------------------------------------------

/// The first provider from `from` on that has neither answered in this window nor said that there
/// is no such address a while ago.
ModelWorld::Next ModelWorld::next_step(const Slot& slot,
                                       const std::vector<std::string>& chain,
                                       std::size_t from,
                                       const Claim& claim,
                                       UtcMs now) const {
  Next next;
  const auto* known = claim.ignores_no_match ? nullptr : look_up(no_matches_, slot);
  for (std::size_t step = from; step < chain.size(); ++step) {
    if (known != nullptr) {
      const auto until = known->find(chain[step]);
      if (until != known->end() && until->second > now) continue;
    }
    if (!claim.asked.contains(chain[step])) {
      next.step = step;
      break;
    }
    next.answered |= StepMask{1} << step;
  }
  return next;
}

namespace {

std::size_t step_of(const std::vector<std::string>& chain,
                    const std::string& provider,
                    std::size_t from) {
  for (std::size_t step = from; step < chain.size(); ++step)
    if (chain[step] == provider) return step;
  return 0;
}

template <class Request>
Money price_of(const Request& request, std::size_t step) {
  return request.prices.empty() ? Money{} : request.prices.at(step);
}

}  // namespace

// --- take
// -------------------------------------------------------------------------------------------------

std::optional<Taken> ModelWorld::take(const TakeRequest& request, UtcMs now) {
  const auto& chain = *request.chain;
  const bool is_forced = request.refresh_before > 0;
  Taken taken;
  const Entry* entry = look_up(entries_, request.slot);
  if (entry != nullptr) {
    taken.no_match_streak = entry->no_match_streak;
    const auto found = look(*entry, now);
    const bool is_fresh = found && found->fresh_left.count() > 0 &&
                          found->answered_at >= request.refresh_before &&
                          !(request.retry_no_match && found->answer->kind == AnswerKind::no_match);
    if ((is_fresh && defect != ModelDefect::no_second_look) || (found && entry->pinned)) {
      taken.verdict = Taken::Verdict::fresh;
      taken.gen = entry->gen;
      taken.found = found;
      return taken;
    }
  }

  Claim* const old = look_up(claims_, request.slot);
  if (old != nullptr && old->phase == Phase::in_flight && old->intent == request.intent) {
    taken.verdict = Taken::Verdict::send;  // asked again, after a doubt
    taken.step = step_of(chain, old->provider, 0);
    taken.fence = old->fence;
    taken.gen = old->gen;
    taken.attempt = old->attempt;
    taken.query_json = old->query_json;
    return taken;
  }

  Claim claim;
  claim.gen = entry == nullptr ? 1 : entry->gen + 1;
  // An invalidation has closed the window of a claim that is not ahead of the entry.
  bool is_same_window = old != nullptr && old->gen >= claim.gen;
  const bool is_behind = is_same_window;  // … though a refresh may go beyond it
  if (is_same_window) claim.gen = old->gen;
  taken.gen = claim.gen;
  const UtcMs patience = defect == ModelDefect::takeover_too_early ? 7'000 : 0;
  if (old != nullptr && old->deadline > now + (old->phase == Phase::in_flight ? patience : 0)) {
    taken.verdict = old->phase == Phase::in_flight ? Taken::Verdict::wait
                    : old->phase == Phase::cooling ? Taken::Verdict::cooldown
                                                   : Taken::Verdict::blocked;
    if (old->phase != Phase::blocked) {
      taken.wait_for = left(old->deadline, now);
      return taken;
    }
    if (is_same_window && !is_forced) return taken;
  }

  if (is_same_window) claim.attempt = old->attempt;
  std::optional<CallRecord> lost;
  if (old != nullptr && old->phase == Phase::in_flight && !is_settled(old->intent)) {
    // Overdue: whoever called is gone or late, and may have been billed.
    if (defect != ModelDefect::unknown_not_counted) {
      lost = CallRecord{};
      lost->intent = old->intent;
      lost->provider = old->provider;
      lost->reason = "takeover";
      if (const LedgerRow* prepared = event_of(old->intent, LedgerEvent::prepared))
        lost->price = prepared->price;
      if (is_same_window && claim.attempt > request.max_unknown) {
        if (!is_forced) {
          note_outcome(LedgerEvent::unknown, request.slot, old->gen, *lost, false, false, now);
          old->phase = Phase::blocked;
          old->deadline = kNever;
          taken.verdict = Taken::Verdict::blocked;
          return taken;
        }
        is_same_window = false;
      }
      ++claim.attempt;
    }
  } else if (old != nullptr && old->phase == Phase::blocked) {
    is_same_window = false;
  }

  claim.intent = request.intent;
  claim.owner = request.owner;
  claim.ignores_no_match = is_forced || request.retry_no_match;
  claim.query_json = request.query_json;
  claim.pre_image = request.pre_image;
  if (is_same_window) {
    claim.asked = old->asked;
    claim.query_json = old->query_json;
    claim.pre_image = old->pre_image;
  } else {
    // A gen further, so that only the new call can fill it.
    if (is_behind) ++claim.gen;
    claim.attempt = 1;
  }
  auto next = next_step(request.slot, chain, 0, claim, now);
  if (!next.step && !claim.asked.empty()) {
    // The best answer died with who held it: the chain begins again.
    claim.asked.clear();
    next = next_step(request.slot, chain, 0, claim, now);
  }
  const auto step = next.step;
  taken.answered = defect == ModelDefect::answers_taken_for_no ? 0 : next.answered;
  taken.gen = claim.gen;
  taken.attempt = claim.attempt;
  if (step && has(claim.intent, LedgerEvent::prepared)) return std::nullopt;
  if (lost) note_outcome(LedgerEvent::unknown, request.slot, old->gen, *lost, false, false, now);
  if (!step) {
    claims_.erase(request.slot);
    taken.verdict = Taken::Verdict::exhausted;
    return taken;
  }
  claim.provider = chain[*step];
  claim.deadline = after(now, request.life);
  const Cause cause = claim.attempt > 1 ? Cause::takeover : request.cause;
  claim.fence = static_cast<std::int64_t>(ledger_.size()) + 1;
  prepare(request.slot, claim, cause, request.bulk, price_of(request, *step), now);
  taken.verdict = Taken::Verdict::send;
  taken.step = *step;
  taken.fence = claim.fence;
  taken.query_json = claim.query_json;
  claims_[request.slot] = std::move(claim);
  return taken;
}

// --- the ends of a call
// -----------------------------------------------------------------------------------

bool ModelWorld::is_ours(const Claim* claim, std::int64_t fence) const {
  return claim != nullptr && (claim->fence == fence || defect == ModelDefect::no_fence);
}

Advanced ModelWorld::advance(const AdvanceRequest& request, UtcMs now) {
  const auto& chain = *request.chain;
  Claim* const claim = look_up(claims_, request.slot);
  if (is_ours(claim, request.fence) && claim->intent == request.next_intent)  // after a doubt
    return {Advanced::Verdict::send, step_of(chain, claim->provider, request.step + 1), 0};

  const bool is_held = is_ours(claim, request.fence) && claim->phase == Phase::in_flight &&
                       claim->intent == request.call.intent;
  const Entry* entry = look_up(entries_, request.slot);
  const bool is_current = entry == nullptr || entry->gen < request.gen;
  const bool is_known = request.refused && is_settled(request.call.intent);
  if (defect != ModelDefect::step_not_noted && !is_known)
    note_outcome(request.refused ? LedgerEvent::refused : LedgerEvent::answered,
                 request.slot,
                 request.gen,
                 request.call,
                 !is_held,
                 !request.refused && !(is_held && is_current),
                 now);
  if (request.no_match_for && is_current)
    no_matches_[request.slot][request.call.provider] = after(now, *request.no_match_for);
  if (!is_held) return {Advanced::Verdict::lost, 0, 0};
  if (!is_current) {
    claims_.erase(request.slot);
    return {Advanced::Verdict::lost, 0, 0};
  }
  // A chain that names the same provider next wants its no-match confirmed.
  const bool is_asked_again =
      request.step + 1 < chain.size() && chain[request.step + 1] == request.call.provider;
  if (!request.refused && !is_asked_again && defect != ModelDefect::step_asked_again)
    claim->asked.insert(request.call.provider);
  claim->phase = Phase::in_flight;
  claim->deadline = after(now, request.life);
  const auto [step, answered] = next_step(request.slot, chain, request.step + 1, *claim, now);
  if (!step) return {Advanced::Verdict::exhausted, 0, answered};
  claim->intent = request.next_intent;
  claim->provider = chain[*step];
  const LedgerRow* first = event_of(request.call.intent, LedgerEvent::prepared);
  prepare(request.slot,
          *claim,
          first == nullptr ? Cause::miss : first->cause,
          first != nullptr && first->bulk,
          price_of(request, *step),
          now);
  return {Advanced::Verdict::send, *step, answered};
}

Committed ModelWorld::commit(const CommitRequest& request, UtcMs now) {
  const auto answered_by = request.answered_by ? request.answered_by
                           : request.call      ? std::optional(request.call->intent)
                                               : std::nullopt;
  const auto known = entries_.find(request.slot);
  const Entry* const old = known == entries_.end() ? nullptr : &known->second;
  Claim* const claim = look_up(claims_, request.slot);
  Committed committed;
  committed.held = is_ours(claim, request.fence);
  const auto tell_what_is_left = [&](const Entry& entry) {
    const auto found = look(entry, now);
    if (!found) return;
    committed.fresh_left = found->fresh_left;
    committed.stale_left = found->stale_left;
    committed.erase_left = found->erase_left;
    committed.answered_at = found->answered_at;
    committed.fresh_until = found->fresh_until;
  };
  // A commit that ended in doubt and is repeated. Its claim went with the first.
  const bool holds_it =
      old != nullptr && old->gen == request.gen && old->answer && old->intent == answered_by;
  if (!committed.held && defect != ModelDefect::commit_not_repeatable &&
      (request.call ? has(request.call->intent, LedgerEvent::answered) : holds_it)) {
    committed.stored = holds_it;
    if (old != nullptr) tell_what_is_left(*old);
    return committed;
  }

  const LedgerRow* prepared = answered_by ? event_of(*answered_by, LedgerEvent::prepared) : nullptr;
  const bool is_too_old = prepared != nullptr && prepared->at < now - model::kTombstoneLife.count();
  bool is_current = !(old != nullptr && (old->gen >= request.gen || old->pinned)) && !is_too_old;
  if (defect == ModelDefect::older_window_stored) is_current = true;
  if (defect == ModelDefect::late_answer_dropped && !committed.held) is_current = false;
  if (is_current && request.life.erase.count() > 0) {
    Entry fresh;
    fresh.gen = request.gen;
    fresh.answer = request.answer;
    fresh.answered_at = now;
    fresh.erase_after = after(now, request.life.erase);
    fresh.stale_until =
        std::min(after(now, std::max(request.life.stale, request.life.fresh)), fresh.erase_after);
    fresh.fresh_until = std::min(after(now, request.life.fresh), fresh.erase_after);
    if (request.answer->kind == AnswerKind::no_match)
      fresh.no_match_streak = (old == nullptr ? 0 : old->no_match_streak) + 1;
    fresh.intent = answered_by;
    fresh.query_json = request.query_json;
    fresh.pre_image = request.pre_image;
    fresh.building_key = request.building_key;
    tell_what_is_left(fresh);
    put(request.slot, std::move(fresh), now);
    committed.stored = true;
  } else if (old != nullptr) {
    tell_what_is_left(*old);
  }

  // Who ends a claim while its newest call has no outcome did not send that one.
  if (committed.held && !(request.call && request.call->intent == claim->intent) &&
      !is_settled(claim->intent) && !has(claim->intent, LedgerEvent::unknown)) {
    CallRecord unsent;
    unsent.intent = claim->intent;
    unsent.provider = claim->provider;
    unsent.reason = "not sent";
    unsent.billed = Billed::no;
    unsent.units = 0;
    note_outcome(LedgerEvent::voided, request.slot, claim->gen, unsent, false, false, now);
  }
  // A late answer opens a key that waits for nothing else, but leaves another's call in flight
  // alone.
  if (committed.held || (claim != nullptr && is_current && claim->gen <= request.gen &&
                         claim->phase != Phase::in_flight))
    claims_.erase(request.slot);

  if (request.call) {
    note_outcome(LedgerEvent::answered,
                 request.slot,
                 request.gen,
                 *request.call,
                 !committed.held,
                 !is_current,
                 now);
    if (request.no_match_for && is_current)
      no_matches_[request.slot][request.call->provider] = after(now, *request.no_match_for);
  }
  return committed;
}

/// The claim may be taken by anybody at once. One that has something behind it stays: the next
/// attempt of the same window counts on, sends the same bytes and asks nobody twice.
void ModelWorld::end_claim(const Slot& slot, Claim& claim, UtcMs now) {
  if (claim.attempt == 1 && claim.asked.empty()) {
    claims_.erase(slot);
    return;
  }
  claim.phase = Phase::cooling;
  claim.deadline = now;
}

Released ModelWorld::release(const ReleaseRequest& request, UtcMs now) {
  const bool is_refused = request.kind == ReleaseRequest::Kind::refused;
  const bool is_unknown = request.kind == ReleaseRequest::Kind::unknown;
  Claim* const claim = look_up(claims_, request.slot);
  Released released;
  // A chain may end with a refusal that `advance` has noted already.
  released.held = is_ours(claim, request.fence) && (claim->intent == request.call.intent ||
                                                    (is_refused && is_settled(claim->intent)));
  if (defect == ModelDefect::no_fence && claim != nullptr) released.held = true;
  released.blocked = released.held && claim->phase == Phase::blocked;
  if (is_unknown && is_settled(request.call.intent)) return released;
  const LedgerRow* prepared = event_of(request.call.intent, LedgerEvent::prepared);
  // A call ends in one way; what is known of it already stands.
  const bool is_new =
      !is_settled(request.call.intent) && note_outcome(is_unknown   ? LedgerEvent::unknown
                                                       : is_refused ? LedgerEvent::refused
                                                                    : LedgerEvent::voided,
                                                       request.slot,
                                                       prepared == nullptr ? 0 : prepared->gen,
                                                       request.call,
                                                       !released.held,
                                                       false,
                                                       now);
  if (!released.held || (!is_new && !is_refused)) return released;  // another's now, or repeated

  released.blocked = false;
  if (is_unknown) {
    const Entry* entry = look_up(entries_, request.slot);
    const bool is_current = entry == nullptr || entry->gen < claim->gen;
    released.blocked = is_current && claim->attempt > request.max_unknown;
    claim->phase = released.blocked ? Phase::blocked : Phase::in_flight;
    claim->deadline = released.blocked ? kNever : now;
  } else if (is_refused && request.cool_down.count() > 0 && defect != ModelDefect::no_cool_down) {
    claim->phase = Phase::cooling;
    claim->deadline = after(now, request.cool_down);
    Entry* entry = look_up(entries_, request.slot);
    if (defect == ModelDefect::failure_lengthens_life && entry != nullptr && entry->answer)
      entry->fresh_until = std::max(entry->fresh_until, claim->deadline);
  } else {
    end_claim(request.slot, *claim, now);
  }
  return released;
}

}  // namespace geonce
