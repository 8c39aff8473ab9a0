#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace geonce {

/// The purchase half of a store as plain maps: what the contract says, written as shortly as can
/// be, for many thousand simulated schedules. One thread.
class ModelStore : public Store {
 public:
  explicit ModelStore(const Clock& clock) : clock_(clock) {}

  Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots, Deadline) override {
    std::vector<std::optional<Found>> found;
    for (const Slot& slot : slots) {
      const auto it = entries_.find(slot);
      found.push_back(it == entries_.end() ? std::nullopt : look(it->second));
    }
    return found;
  }

  Result<std::vector<Taken>> take(std::span<const TakeRequest> requests, Deadline) override {
    std::vector<Taken> taken;
    for (const auto& request : requests) taken.push_back(take_one(request));
    return taken;
  }
  Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest> requests,
                                        Deadline) override {
    std::vector<Advanced> advanced;
    for (const auto& request : requests) advanced.push_back(advance_one(request));
    return advanced;
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> requests,
                                        Deadline) override {
    std::vector<Committed> committed;
    for (const auto& request : requests) committed.push_back(commit_one(request));
    return committed;
  }
  Result<std::vector<Released>> release(std::span<const ReleaseRequest> requests,
                                        Deadline) override {
    std::vector<Released> released;
    for (const auto& request : requests) released.push_back(release_one(request));
    return released;
  }

  Result<std::vector<std::optional<Found>>> rekey(std::span<const Rekey> rekeys,
                                                  Deadline) override {
    std::vector<std::optional<Found>> moved;
    for (const auto& [from, to, pre_image] : rekeys) {
      auto& found = moved.emplace_back();
      const auto entry = entries_.find(from);
      if (entry == entries_.end() || entries_.contains(to) || claims_.contains(to)) continue;
      found = look(entry->second);
      (void)pre_image;  // the model keeps none
      if (found) entries_.insert(std::pair{to, entries_.extract(entry).mapped()});
    }
    return moved;
  }
  Result<std::size_t> invalidate(std::span<const Slot> slots, Deadline) override {
    for (const Slot& slot : slots) {
      Entry& entry = entries_[slot];
      const auto claim = claims_.find(slot);
      entry.gen = std::max(entry.gen, claim == claims_.end() ? 0 : claim->second.gen) + 1;
      entry.answer = nullptr;
      if (claim != claims_.end() && claim->second.phase == Phase::blocked) claims_.erase(claim);
      no_matches_.erase(slot);
    }
    return slots.size();
  }

  Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                               std::span<const IntentId> also,
                                               Deadline) override {
    std::set<IntentId> wanted(also.begin(), also.end());
    for (const auto& [slot, claim] : claims_)
      if (claim.owner == owner && claim.phase == Phase::in_flight &&
          !has(claim.intent, LedgerEvent::unknown))
        wanted.insert(claim.intent);
    std::vector<OpenIntent> open;
    for (const IntentId& intent : wanted) {
      const auto it = prepared_.find(intent);
      if (it == prepared_.end() || is_settled(intent)) continue;
      const auto claim = claims_.find(it->second.slot);
      OpenIntent one = it->second;
      one.claim_held = claim != claims_.end() && claim->second.intent == intent;
      if (one.claim_held) one.fence = claim->second.fence;
      open.push_back(std::move(one));
    }
    return open;
  }

  Result<std::vector<LedgerRow>> ledger(const LedgerFilter&, Deadline) override { return ledger_; }

  // The rest is not about purchases.
  Result<void> pin(
      const Slot&, const Answer&, std::string_view, std::string_view, Deadline) override {
    return not_here();
  }
  Result<std::size_t> reconcile(std::span<const Reconciliation>, Deadline) override {
    return not_here();
  }
  Result<std::optional<EntryRow>> entry(const Slot&, Deadline) override { return not_here(); }
  Result<std::vector<EntryRow>> entries(const EntryFilter&, Deadline) override {
    return not_here();
  }
  Result<std::vector<LedgerSum>> ledger_sums(const LedgerFilter&, Deadline) override {
    return not_here();
  }
  Result<void> load_places(std::string_view, bool, std::span<const PlaceRow>, Deadline) override {
    return not_here();
  }
  Result<std::vector<std::optional<PlaceHit>>> find_places(std::span<const std::vector<Key>>,
                                                           Deadline) override {
    return not_here();
  }
  Result<PlacesStats> places_stats(Deadline) override { return not_here(); }
  Result<BatchHead> open_batch(std::string_view, std::string_view, BatchStart, Deadline) override {
    return not_here();
  }
  Result<std::optional<std::string>> batch_chunk(const BatchId&, std::int64_t, Deadline) override {
    return not_here();
  }
  Result<void> save_chunks(const BatchId&, std::span<const BatchChunk>, Deadline) override {
    return not_here();
  }
  Result<void> close_batch(const BatchHead&, Deadline) override { return not_here(); }
  Result<std::vector<BatchHead>> batches(std::size_t, Deadline) override { return not_here(); }
  Result<SweepReport> sweep(std::size_t, Deadline) override { return not_here(); }
  Result<StoreStats> stats(Deadline) override { return not_here(); }
  Result<void> check(Deadline) override { return not_here(); }

 private:
  enum class Phase { in_flight, cooling, blocked };
  struct Entry {
    std::int64_t gen = 0;
    std::shared_ptr<const Answer> answer;
    UtcMs fresh_until = 0, stale_until = 0, erase_after = 0;
    int streak = 0;
  };
  struct Claim {
    std::int64_t gen = 0;
    int attempt = 1;
    IntentId intent;
    OwnerId owner;
    std::int64_t fence = 0;
    Phase phase = Phase::in_flight;
    UtcMs deadline = 0;
    std::string provider, query_json, pre_image;
    std::set<std::string> asked;
    bool ignores_no_match = false;
  };

  static tl::unexpected<Error> not_here() {
    return fail(ErrorCode::internal, "the model knows purchases only");
  }

  std::optional<Found> look(const Entry& entry) const {
    const UtcMs now = clock_.now_utc();
    if (!entry.answer || entry.erase_after <= now) return std::nullopt;
    Found found;
    found.gen = entry.gen;
    found.answer = entry.answer;
    found.fresh_left = milliseconds{entry.fresh_until - now};
    found.stale_left = milliseconds{entry.stale_until - now};
    found.erase_left = milliseconds{entry.erase_after - now};
    found.fresh_until = entry.fresh_until;
    return found;
  }

  bool has(const IntentId& intent, LedgerEvent event) const {
    return events_.contains({intent, event});
  }
  bool is_settled(const IntentId& intent) const {
    return has(intent, LedgerEvent::answered) || has(intent, LedgerEvent::refused) ||
           has(intent, LedgerEvent::voided);
  }
  bool note(const IntentId& intent, LedgerEvent event) {
    if (!events_.insert({intent, event}).second) return false;
    const OpenIntent& of = prepared_.at(intent);
    LedgerRow row;
    row.intent = intent;
    row.event = event;
    row.slot = of.slot;
    row.gen = of.gen;
    row.attempt = of.attempt;
    row.provider = of.provider;
    ledger_.push_back(std::move(row));
    return true;
  }
  void prepare(const Slot& slot, const Claim& claim, int streak) {
    OpenIntent intent;
    intent.intent = claim.intent;
    intent.slot = slot;
    intent.gen = claim.gen;
    intent.attempt = claim.attempt;
    intent.provider = claim.provider;
    intent.owner = claim.owner;
    intent.query_json = claim.query_json;
    intent.pre_image = claim.pre_image;
    intent.no_match_streak = streak;
    const bool is_new = prepared_.emplace(claim.intent, std::move(intent)).second;
    GEONCE_EXPECTS(is_new);
    note(claim.intent, LedgerEvent::prepared);
  }

  std::optional<std::size_t> next_step(const Slot& slot,
                                       const std::vector<std::string>& chain,
                                       std::size_t from,
                                       const Claim& claim) const {
    const auto known = no_matches_.find(slot);
    for (std::size_t i = from; i < chain.size(); ++i) {
      if (claim.asked.contains(chain[i])) continue;
      if (!claim.ignores_no_match && known != no_matches_.end()) {
        const auto until = known->second.find(chain[i]);
        if (until != known->second.end() && until->second > clock_.now_utc()) continue;
      }
      return i;
    }
    return std::nullopt;
  }

  Taken take_one(const TakeRequest& request) {
    const UtcMs now = clock_.now_utc();
    Taken taken;
    const auto entry = entries_.find(request.slot);
    const auto found = entry == entries_.end() ? std::nullopt : look(entry->second);
    if (entry != entries_.end()) taken.no_match_streak = entry->second.streak;
    if (found && found->fresh_left > milliseconds{0} &&
        found->answered_at >= request.refresh_before &&
        !(request.retry_no_match && found->answer->kind == AnswerKind::no_match)) {
      taken.verdict = Taken::Verdict::fresh;
      taken.found = found;
      return taken;
    }
    const auto held = claims_.find(request.slot);
    std::optional<Claim> old;
    if (held != claims_.end()) old = held->second;
    Claim claim;
    claim.gen = entry == entries_.end() ? 1 : entry->second.gen + 1;
    bool same_window = old && old->gen >= claim.gen;
    if (same_window) claim.gen = old->gen;
    if (old && old->deadline > now) {
      taken.wait_for = milliseconds{old->deadline - now};
      taken.verdict = old->phase == Phase::in_flight ? Taken::Verdict::wait
                      : old->phase == Phase::cooling ? Taken::Verdict::cooldown
                                                     : Taken::Verdict::blocked;
      if (old->phase != Phase::blocked || (same_window && request.refresh_before == 0))
        return taken;
    }
    if (same_window) claim.attempt = old->attempt;
    if (old && old->phase == Phase::in_flight && !is_settled(old->intent)) {
      note(old->intent, LedgerEvent::unknown);
      if (same_window && old->attempt > request.max_unknown) {
        if (request.refresh_before == 0) {
          held->second.phase = Phase::blocked;
          held->second.deadline = INT64_MAX;
          taken.verdict = Taken::Verdict::blocked;
          return taken;
        }
        ++claim.gen;
        same_window = false;
      } else {
        ++claim.attempt;
      }
    } else if (old && old->phase == Phase::blocked) {
      if (same_window) ++claim.gen;
      same_window = false;
    }
    claim.intent = request.intent;
    claim.owner = request.owner;
    claim.query_json = same_window ? old->query_json : request.query_json;
    claim.pre_image = same_window ? old->pre_image : request.pre_image;
    claim.ignores_no_match = request.refresh_before > 0 || request.retry_no_match;
    if (same_window)
      claim.asked = old->asked;
    else
      claim.attempt = 1;
    auto step = next_step(request.slot, *request.chain, 0, claim);
    if (!step && !claim.asked.empty()) {
      claim.asked.clear();
      step = next_step(request.slot, *request.chain, 0, claim);
    }
    if (!step) {
      claims_.erase(request.slot);
      taken.verdict = Taken::Verdict::exhausted;
      return taken;
    }
    claim.fence = ++fences_;
    claim.deadline = now + request.life.count();
    claim.provider = (*request.chain)[*step];
    prepare(request.slot, claim, taken.no_match_streak);
    taken.verdict = Taken::Verdict::send;
    taken.step = *step;
    taken.fence = claim.fence;
    taken.gen = claim.gen;
    taken.attempt = claim.attempt;
    taken.query_json = claim.query_json;
    claims_[request.slot] = std::move(claim);
    return taken;
  }

  bool is_current(const Slot& slot, std::int64_t gen) const {
    const auto entry = entries_.find(slot);
    return entry == entries_.end() || entry->second.gen < gen;
  }

  Advanced advance_one(const AdvanceRequest& request) {
    const auto it = claims_.find(request.slot);
    const bool is_held = it != claims_.end() && it->second.fence == request.fence &&
                         it->second.intent == request.call.intent;
    note(request.call.intent, request.refused ? LedgerEvent::refused : LedgerEvent::answered);
    const bool current = is_current(request.slot, request.gen);
    if (request.no_match_for && current)
      no_matches_[request.slot][request.call.provider] =
          clock_.now_utc() + request.no_match_for->count();
    if (is_held && !current) claims_.erase(it);
    if (!is_held || !current) return {Advanced::Verdict::lost, 0};
    Claim& claim = it->second;
    const auto& chain = *request.chain;
    const bool again =
        request.step + 1 < chain.size() && chain[request.step + 1] == request.call.provider;
    if (!request.refused && !again) claim.asked.insert(request.call.provider);
    claim.deadline = clock_.now_utc() + request.life.count();
    const auto step = next_step(request.slot, chain, request.step + 1, claim);
    if (!step) return {Advanced::Verdict::exhausted, 0};
    claim.intent = request.next_intent;
    claim.provider = chain[*step];
    prepare(request.slot, claim, 0);
    return {Advanced::Verdict::send, *step};
  }

  Committed commit_one(const CommitRequest& request) {
    const UtcMs now = clock_.now_utc();
    const auto it = claims_.find(request.slot);
    Committed committed;
    committed.held = it != claims_.end() && it->second.fence == request.fence;
    if (request.call && !committed.held && has(request.call->intent, LedgerEvent::answered))
      return committed;
    const bool current = is_current(request.slot, request.gen);
    if (current && request.life.erase > milliseconds{0}) {
      Entry& entry = entries_[request.slot];
      entry.gen = request.gen;
      entry.answer = request.answer;
      entry.fresh_until = now + request.life.fresh.count();
      entry.stale_until = now + request.life.stale.count();
      entry.erase_after = now + request.life.erase.count();
      entry.streak = request.answer->kind == AnswerKind::no_match ? entry.streak + 1 : 0;
      committed.stored = true;
      committed.fresh_left = request.life.fresh;
      committed.erase_left = request.life.erase;
    }
    if (committed.held && !(request.call && request.call->intent == it->second.intent) &&
        !is_settled(it->second.intent) && !has(it->second.intent, LedgerEvent::unknown))
      note(it->second.intent, LedgerEvent::voided);
    if (it != claims_.end() && (committed.held || (current && it->second.gen <= request.gen &&
                                                   it->second.phase != Phase::in_flight)))
      claims_.erase(it);
    if (request.call) {
      note(request.call->intent, LedgerEvent::answered);
      if (request.no_match_for && current)
        no_matches_[request.slot][request.call->provider] = now + request.no_match_for->count();
    }
    return committed;
  }

  Released release_one(const ReleaseRequest& request) {
    const auto it = claims_.find(request.slot);
    const bool is_refused = request.kind == ReleaseRequest::Kind::refused;
    const bool is_unknown = request.kind == ReleaseRequest::Kind::unknown;
    Released released;
    released.held =
        it != claims_.end() && it->second.fence == request.fence &&
        (it->second.intent == request.call.intent || (is_refused && is_settled(it->second.intent)));
    released.blocked = released.held && it->second.phase == Phase::blocked;
    if (is_unknown && is_settled(request.call.intent)) return released;
    const bool is_new = note(request.call.intent,
                             is_unknown   ? LedgerEvent::unknown
                             : is_refused ? LedgerEvent::refused
                                          : LedgerEvent::voided);
    if (!released.held || (!is_new && !is_refused)) return released;
    Claim& claim = it->second;
    if (is_unknown) {
      released.blocked = is_current(request.slot, claim.gen) && claim.attempt > request.max_unknown;
      claim.phase = released.blocked ? Phase::blocked : Phase::in_flight;
      claim.deadline = released.blocked ? INT64_MAX : clock_.now_utc();
    } else if (is_refused && request.cool_down > milliseconds{0}) {
      claim.phase = Phase::cooling;
      claim.deadline = clock_.now_utc() + request.cool_down.count();
    } else if (claim.attempt == 1 && claim.asked.empty()) {
      claims_.erase(it);
    } else {
      claim.phase = Phase::cooling;
      claim.deadline = clock_.now_utc();
    }
    return released;
  }

  const Clock& clock_;
  std::map<Slot, Entry> entries_;
  std::map<Slot, Claim> claims_;
  std::map<Slot, std::map<std::string, UtcMs>> no_matches_;
  std::map<IntentId, OpenIntent> prepared_;
  std::set<std::pair<IntentId, LedgerEvent>> events_;
  std::vector<LedgerRow> ledger_;
  std::int64_t fences_ = 0;
};

}  // namespace geonce
