#include <algorithm>
#include <utility>

#include "simulation/checker.h"
#include "simulation/process.h"
#include "simulation/world.h"

// What the store does, watched as it does it.

namespace geonce::sim {
namespace {

/// The one result of a call with one request.
template <class T, class R>
Result<T> one(R results) {
  if (!results) return geonce::fail(std::move(results.error()));
  return std::move(results->front());
}

std::string_view verdict_name(Taken::Verdict verdict) {
  switch (verdict) {
    case Taken::Verdict::send:
      return "send";
    case Taken::Verdict::fresh:
      return "somebody has the answer";
    case Taken::Verdict::wait:
      return "wait, somebody calls";
    case Taken::Verdict::cooldown:
      return "the key cools down";
    case Taken::Verdict::blocked:
      return "blocked";
    case Taken::Verdict::exhausted:
      return "nobody knows it";
  }
  return "";
}

}  // namespace

void Checker::promise(const std::shared_ptr<const Answer>& answer,
                      milliseconds fresh,
                      milliseconds stale,
                      milliseconds erase) {
  const std::size_t number = SimProvider::number_of(*answer);
  if (number >= promises_.size()) return;
  Promise& promised = promises_[number];
  promised.fresh = std::max(promised.fresh, world_.now + fresh);
  promised.stale = std::max(promised.stale, world_.now + std::max(fresh, stale));
  promised.erase = std::max(promised.erase, world_.now + erase);
}

Result<std::optional<Found>> Checker::find(const Slot& slot) {
  auto found = one<std::optional<Found>>(world_.store->find({&slot, 1}, Deadline::never()));
  if (found && *found) {
    check_lives(**found);
    promise((*found)->answer, (*found)->fresh_left, (*found)->stale_left, (*found)->erase_left);
    world_.say("   the store has answer {} for key {}, gen {}, fresh for {} ms",
               (*found)->answer->formatted,
               key_of(slot),
               (*found)->gen,
               (*found)->fresh_left.count());
  }
  return found;
}

void Checker::prepared(const IntentId& id,
                       const Slot& slot,
                       std::int64_t gen,
                       const std::string& provider,
                       milliseconds life,
                       bool is_extra,
                       const OwnerId& owner) {
  Intent& now = intent(id);
  if (now.is_prepared) return;  // said again, after a doubt
  now.is_prepared = true;
  now.key = key_of(slot);
  now.gen = gen;
  now.step = step_of(provider);
  now.prepared_at = world_.now;
  now.claim_until = world_.now + life;
  now.epoch = epoch_;
  now.is_extra = is_extra;
  for (const auto& process : world_.processes)
    if (process->owner == owner) now.owner = process.get();
  Key& key = keys_[now.key];
  key.claim_until = world_.store_clock.now_utc() + life.count();
  key.claim_intent = id;
  if (const auto known = key.no_match.find(now.step); known != key.no_match.end()) {
    auto& [until, round] = known->second;
    if (until <= world_.store_clock.now_utc()) {
      ++round;
      until = INT64_MAX;
    }
    now.round = round;
  }
  if (world_.now < key.cool_until)
    fail("G10",
         fmt::format(
             "key {} is bought while it cools down until {} ms", now.key, key.cool_until.count()));
}

Result<Taken> Checker::take(const TakeRequest& request) {
  auto taken = one<Taken>(world_.store->take({&request, 1}, Deadline::never()));
  if (!taken) {
    fail("store", taken.error().message);
    return taken;
  }
  world_.say("   the store is asked for the claim of key {}: {}{}",
             key_of(request.slot),
             verdict_name(taken->verdict),
             taken->verdict == Taken::Verdict::send ? fmt::format(", gen {}, attempt {}, intent {}",
                                                                  taken->gen,
                                                                  taken->attempt,
                                                                  World::number_of(request.intent))
                                                    : "");
  if (taken->verdict == Taken::Verdict::send) {
    check_claim(request, *taken);
    prepared(request.intent,
             request.slot,
             taken->gen,
             request.chain->at(taken->step),
             request.life,
             request.refresh_before > 0 || request.retry_no_match,
             request.owner);
    intent(request.intent).opens_claim = true;
    if (taken->attempt > 1) ++sums.takeovers;
  }
  if (taken->verdict == Taken::Verdict::fresh && taken->found) check_lives(*taken->found);
  if (taken->verdict == Taken::Verdict::fresh && taken->found)
    promise(taken->found->answer,
            taken->found->fresh_left,
            taken->found->stale_left,
            taken->found->erase_left);
  if (taken->verdict == Taken::Verdict::exhausted) keys_[key_of(request.slot)].forget_asked();
  if (taken->verdict == Taken::Verdict::blocked) {
    ++sums.blocked;
    keys_[key_of(request.slot)].claim_until = 0;
  }
  if (taken->verdict == Taken::Verdict::cooldown) ++sums.cooling;
  check_life_unmoved(request.slot, "a claim");
  return taken;
}

/// The store may only give what it was given.
void Checker::check_lives(const Found& found) {
  const std::size_t number = SimProvider::number_of(*found.answer);
  if (number >= promises_.size()) return;
  const Promise& kept = promises_[number];
  const UtcMs now = world_.store_clock.now_utc();
  if (now + found.fresh_left.count() > kept.fresh_until ||
      now + found.stale_left.count() > kept.stale_until || now >= kept.erase_after)
    fail("I7", fmt::format("the store lets answer {} live longer than it was given", number));
}

/// G19: a call that brings no answer leaves the life of the one there is alone.
void Checker::check_life_unmoved(const Slot& slot, std::string_view after) {
  const Key& key = keys_[key_of(slot)];
  if (key.answer == SIZE_MAX) return;
  const auto entry = world_.store->entry(slot, Deadline::never());
  if (!entry || !*entry || !(*entry)->answer ||
      SimProvider::number_of(*(*entry)->answer) != key.answer)
    return;
  const Promise& kept = promises_[key.answer];
  if ((*entry)->fresh_until != kept.fresh_until || (*entry)->stale_until != kept.stale_until)
    fail("G19",
         fmt::format("the life of answer {} is moved by {} ms by {}",
                     key.answer,
                     (*entry)->fresh_until - kept.fresh_until,
                     after));
}

/// Whether there was something to buy, and nobody else buying it.
void Checker::check_claim(const TakeRequest& request, const Taken& taken) {
  Key& key = keys_[key_of(request.slot)];
  const UtcMs now = world_.store_clock.now_utc();
  if (now < key.claim_until)
    fail("I1",
         fmt::format("key {} is taken over while its call has {} ms left",
                     key_of(request.slot),
                     key.claim_until - now));
  const bool is_wanted_anew = request.refresh_before > 0 || request.retry_no_match;
  if (key.answer != SIZE_MAX && now < promises_[key.answer].fresh_until && !is_wanted_anew)
    fail("I1", fmt::format("key {} is bought while its answer is fresh", key_of(request.slot)));
  if (key.asked_gen != taken.gen) key.forget_asked();
  key.asked_gen = taken.gen;
  if (!key.is_asked_known || !key.asked.contains(step_of(request.chain->at(taken.step)))) return;
  // Nobody is asked twice in a window, unless there is nobody else to ask.
  for (const std::string& provider : *request.chain) {
    const std::size_t step = step_of(provider);
    const auto known = key.no_match.find(step);
    const bool knows_nothing =
        !is_wanted_anew && known != key.no_match.end() && known->second.first > now;
    if (!key.asked.contains(step) && !knows_nothing)
      fail("I1",
           fmt::format("key {} is asked of {} again, and {} was not asked",
                       key_of(request.slot),
                       request.chain->at(taken.step),
                       provider));
  }
  key.forget_asked();
}

void Checker::remember_no_match(const Slot& slot, const CallRecord& call, milliseconds life) {
  auto& [until, round] = keys_[key_of(slot)].no_match[step_of(call.provider)];
  until = world_.store_clock.now_utc() + life.count();
}

Result<Advanced> Checker::advance(const AdvanceRequest& request) {
  auto advanced = one<Advanced>(world_.store->advance({&request, 1}, Deadline::never()));
  if (!advanced) {
    fail("store", advanced.error().message);
    return advanced;
  }
  world_.say("   the store notes intent {} as {} and goes on: {}",
             World::number_of(request.call.intent),
             request.refused ? "refused" : "answered",
             advanced->verdict == Advanced::Verdict::send
                 ? fmt::format("intent {} for {}",
                               World::number_of(request.next_intent),
                               request.chain->at(advanced->step))
             : advanced->verdict == Advanced::Verdict::exhausted ? "to nobody"
                                                                 : "the claim is lost");
  check_life_unmoved(request.slot, "a call whose answer is not the last");
  if (request.no_match_for) remember_no_match(request.slot, request.call, *request.no_match_for);
  if (advanced->verdict != Advanced::Verdict::lost) {
    Key& key = keys_[key_of(request.slot)];
    key.claim_until = world_.store_clock.now_utc() + request.life.count();
    const bool again = request.step + 1 < request.chain->size() &&
                       request.chain->at(request.step + 1) == request.call.provider;
    if (!request.refused && !again) key.asked.insert(step_of(request.call.provider));
  } else if (Key& key = keys_[key_of(request.slot)]; key.claim_intent == request.call.intent) {
    key.claim_until = 0;  // its window was closed
  }
  if (advanced->verdict == Advanced::Verdict::send) {
    const Intent before = intent(request.call.intent);
    prepared(request.next_intent,
             request.slot,
             request.gen,
             request.chain->at(advanced->step),
             request.life,
             before.is_extra,
             before.owner != nullptr ? before.owner->owner : OwnerId{});
  }
  return advanced;
}

/// Whether this no-match is known without an entry, because each provider's own is remembered: so
/// it is when an heir who did not know all of it ended the call, and the dead one's commit comes
/// late.
bool Checker::is_remembered_of_each(const CommitRequest& request) {
  if (request.answer->kind != AnswerKind::no_match) return false;
  const auto& known = keys_[key_of(request.slot)].no_match;
  for (std::size_t step = 0; step < world_.providers.size(); ++step) {
    const auto at = known.find(step);
    if (at == known.end() || at->second.first <= world_.store_clock.now_utc()) return false;
  }
  return true;
}

Result<Committed> Checker::commit(const CommitRequest& request) {
  auto committed = one<Committed>(world_.store->commit({&request, 1}, Deadline::never()));
  if (!committed) {
    fail("store", committed.error().message);
    return committed;
  }
  const std::size_t number = SimProvider::number_of(*request.answer);
  world_.say("   the store commits intent {}: answer {} of gen {} is {}",
             request.call ? fmt::format("{}", World::number_of(request.call->intent)) : "-",
             request.answer->formatted,
             request.gen,
             committed->stored ? "kept" : "not kept");
  Key& key = keys_[key_of(request.slot)];
  if (!committed->held) key.cool_until = milliseconds{0};  // a late answer opens the key
  if (committed->held) key.claim_until = 0;
  key.forget_asked();
  const bool is_storable = request.life.erase > milliseconds{0};
  if (!committed->stored && is_storable && request.gen > key.gen && epoch_ == 0 && may_keep_all() &&
      !is_remembered_of_each(request))
    fail("I4", fmt::format("an answer for window {} is not kept, and it has none", request.gen));
  // A commit that is repeated leaves the life as it is.
  if (committed->stored && is_storable && key.answer != number && number < promises_.size()) {
    const UtcMs now = world_.store_clock.now_utc();
    Promise& kept = promises_[number];
    kept.erase_after = now + request.life.erase.count();
    kept.stale_until =
        std::min(now + std::max(request.life.stale, request.life.fresh).count(), kept.erase_after);
    kept.fresh_until = std::min(now + request.life.fresh.count(), kept.erase_after);
    key.answer = number;
    key.gen = request.gen;
  }
  if (committed->stored) {
    key.most_gen = std::max(key.most_gen, request.gen);
    promise(request.answer, committed->fresh_left, committed->stale_left, committed->erase_left);
    // I5: whatever is kept was said, of this key, and in this way.
    const bool is_no_match = request.answer->kind == AnswerKind::no_match;
    if (number >= given_.size() || given_[number].key != key_of(request.slot) ||
        is_no_match != (given_[number].word == Word::no_match))
      fail("I5",
           fmt::format("key {} keeps '{}' ({}), which no provider said",
                       key_of(request.slot),
                       request.answer->formatted,
                       to_string(request.answer->kind)));
    for (std::size_t step = 0; is_no_match && step < world_.providers.size(); ++step)
      if (!key.said_no.contains(step))
        fail("I5",
             fmt::format("key {} is a no-match, and {} was never asked or knows it",
                         key_of(request.slot),
                         world_.providers[step]->traits_.name));
    // G19: an answer is kept in the window it was bought for, and comes into no other.
    if (number < given_.size() && intents_[given_[number].intent].gen != request.gen)
      fail("G19",
           fmt::format("answer {} of window {} is kept as that of window {}",
                       number,
                       intents_[given_[number].intent].gen,
                       request.gen));
  } else {
    check_life_unmoved(request.slot, "an answer that is not kept");
  }
  if (request.call) {
    // A repeated commit does not renew what the first has noted.
    const bool is_repeated = std::exchange(intent(request.call->intent).is_committed, true);
    if (request.no_match_for && !is_repeated)
      remember_no_match(request.slot, *request.call, *request.no_match_for);
  }
  return committed;
}

Result<Released> Checker::release(const ReleaseRequest& request) {
  auto released = one<Released>(world_.store->release({&request, 1}, Deadline::never()));
  if (!released) {
    fail("store", released.error().message);
    return released;
  }
  const bool is_refused = request.kind == ReleaseRequest::Kind::refused;
  world_.say("   the store ends intent {} as {}{}{}",
             World::number_of(request.call.intent),
             is_refused                                      ? "refused"
             : request.kind == ReleaseRequest::Kind::unknown ? "unknown"
                                                             : "void",
             released->held ? "" : ", the claim was another's",
             released->blocked ? ", the key is blocked" : "");
  check_life_unmoved(request.slot, "a call without an answer");
  if (released->held) keys_[key_of(request.slot)].claim_until = 0;
  if (is_refused && released->held && request.cool_down > milliseconds{0})
    keys_[key_of(request.slot)].cool_until = world_.now + request.cool_down;
  return released;
}

void Checker::drop(const Slot& slot) {
  if (!world_.store->invalidate({&slot, 1}, Deadline::never())) fail("store", "no invalidation");
  world_.say("   key {} is dropped", key_of(slot));
  Key& key = keys_[key_of(slot)];
  key.drops.push_back({world_.now, world_.now});
  key.answer = SIZE_MAX;
  if (const auto entry = world_.store->entry(slot, Deadline::never()); entry && *entry)
    key.gen = (*entry)->gen;
  ++sums.drops;
}

void Checker::drop_was_shared(const Slot& slot, milliseconds when) {
  keys_[key_of(slot)].shared_drops.push_back({when, world_.now});
  world_.say("   the shared tier hears that key {} is dropped", key_of(slot));
}

/// What it had heard of drops is gone, and who reads the store just before one may bring it back.
void Checker::shared_was_flushed() {
  for (auto& [number, key] : keys_) key.shared_drops.clear();
  world_.say("   the shared tier is flushed");
}

void Checker::reconcile_all() {
  LedgerFilter filter;
  filter.event = LedgerEvent::unknown;
  filter.limit = SIZE_MAX;
  const auto rows = world_.store->ledger(filter, Deadline::never());
  if (!rows) return fail("store", rows.error().message);
  std::vector<Reconciliation> learnt;
  for (const LedgerRow& row : *rows)
    learnt.push_back({row.slot, row.intent, intent(row.intent).bills > 0, "invoice"});
  const auto done = world_.store->reconcile(learnt, Deadline::never());
  if (!done) return fail("store", done.error().message);
  if (*done == 0) return;
  world_.say("   {} lost calls are reconciled", *done);
  // Claims that were blocked may be gone now.
  for (auto& [number, key] : keys_) key.is_asked_known = false;
}

void Checker::sweep() {
  if (!world_.store->sweep(100, Deadline::never())) fail("store", "no sweep");
  world_.say("   the store is swept");
  ++epoch_;
  // What is erased does not come back when the clock goes back.
  for (auto& [number, key] : keys_)
    if (key.answer != SIZE_MAX && promises_[key.answer].erase_after <= world_.store_clock.now_utc())
      key.answer = SIZE_MAX;
}

void Checker::jump(milliseconds by) {
  world_.store_clock.jump(by);
  world_.say("   the store's clock jumps by {} ms", by.count());
  ++epoch_;
  ++sums.jumps;
  // What cools down does so by that clock.
  for (auto& [number, key] : keys_) key.cool_until = milliseconds{0};
}

}  // namespace geonce::sim
