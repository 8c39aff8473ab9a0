#include <algorithm>

#include "support/model_store/model_world.h"

// What is done by hand, what is read back, and what is swept away.

namespace geonce {

using model::after;
using model::kNever;

// --- by hand
// -----------------------------------------------------------------------------------------------

/// A gen that no call begun until now can fill.
std::int64_t ModelWorld::gen_beyond(const Slot& slot) const {
  const Entry* entry = look_up(entries_, slot);
  const Claim* claim = look_up(claims_, slot);
  return std::max(entry == nullptr ? 0 : entry->gen, claim == nullptr ? 0 : claim->gen) + 1;
}

bool ModelWorld::invalidate(const Slot& slot, UtcMs now) {
  const bool had_one = find(slot, now).has_value();
  Entry tombstone;
  tombstone.gen = gen_beyond(slot);
  if (defect == ModelDefect::same_window_after_drop) {
    const Entry* old = look_up(entries_, slot);
    tombstone.gen = old == nullptr ? 0 : old->gen;
  }
  tombstone.answered_at = tombstone.fresh_until = tombstone.stale_until = now;
  tombstone.erase_after = after(now, model::kTombstoneLife);
  put(slot, std::move(tombstone), now);
  no_matches_.erase(slot);
  const Claim* claim = look_up(claims_, slot);
  if (claim != nullptr && claim->phase == Phase::blocked) claims_.erase(slot);
  return had_one;
}

Rekeyed ModelWorld::rekey(const Rekey& rekey, UtcMs now) {
  const auto from = entries_.find(rekey.from);
  const Claim* claim = look_up(claims_, rekey.to);
  if (rekey.from == rekey.to || from == entries_.end() || !look(from->second, now) ||
      from->second.query_json != rekey.query_json ||
      (claim != nullptr && claim->phase == Phase::in_flight))
    return Rekeyed::stayed;
  Entry moving = std::move(from->second);
  entries_.erase(from);
  moving.pre_image = rekey.pre_image;
  moving.building_key = rekey.building_key;
  const auto [to, is_free] = entries_.try_emplace(rekey.to, moving);
  if (is_free) return Rekeyed::moved;
  Entry& there = to->second;
  const bool is_over = there.erase_after <= now;
  const bool is_by_hand = there.answer != nullptr && there.pinned != moving.pinned;
  if (is_over || (is_by_hand ? moving.pinned : moving.answered_at > there.answered_at)) {
    note_erased(rekey.to, there, now);
    moving.gen = std::max(moving.gen, there.gen) + 1;
    there = std::move(moving);
  } else {
    note_erased(rekey.from, moving, now);
  }
  return Rekeyed::merged;
}

void ModelWorld::pin(const Slot& slot,
                     const Answer& answer,
                     std::string_view query_json,
                     std::string_view pre_image,
                     const std::optional<Key>& building_key,
                     UtcMs now) {
  Entry pinned;
  pinned.gen = gen_beyond(slot);
  pinned.answer = std::make_shared<const Answer>(answer);
  pinned.answered_at = now;
  pinned.fresh_until = pinned.stale_until = pinned.erase_after = kNever;
  pinned.pinned = true;
  pinned.query_json = query_json;
  pinned.pre_image = pre_image;
  pinned.building_key = building_key;
  put(slot, std::move(pinned), now);
  no_matches_.erase(slot);
  const Claim* claim = look_up(claims_, slot);
  if (claim != nullptr && claim->phase != Phase::in_flight) claims_.erase(slot);
}

Imported ModelWorld::import_entry(const EntryRow& entry, UtcMs now) {
  if (entry.answer == nullptr) return Imported::older;
  if (!entry.pinned && entry.erase_after <= now) return Imported::expired;
  const UtcMs answered_at = std::min(entry.answered_at, now);
  if (const Entry* old = look_up(entries_, entry.slot)) {
    const bool counts = old->answer == nullptr || old->erase_after > now;
    const bool is_as_young = old->answered_at >= answered_at;
    if (counts && (old->pinned == entry.pinned ? is_as_young : old->pinned)) return Imported::older;
  }
  Entry brought;
  brought.gen = gen_beyond(entry.slot);
  brought.answer = entry.answer;
  brought.answered_at = answered_at;
  brought.erase_after = entry.pinned ? kNever : std::min(entry.erase_after, kNever);
  brought.stale_until = entry.pinned ? kNever : std::min(entry.stale_until, brought.erase_after);
  brought.fresh_until = entry.pinned ? kNever : std::min(entry.fresh_until, brought.erase_after);
  brought.no_match_streak = entry.no_match_streak;
  brought.pinned = entry.pinned;
  brought.query_json = entry.query_json;
  brought.pre_image = entry.pre_image;
  brought.building_key = entry.building_key;
  put(entry.slot, std::move(brought), now);
  no_matches_.erase(entry.slot);
  const Claim* claim = look_up(claims_, entry.slot);
  if (claim != nullptr && claim->phase != Phase::in_flight) claims_.erase(entry.slot);
  return Imported::stored;
}

bool ModelWorld::reconcile(const Reconciliation& found, UtcMs now) {
  const LedgerRow* unknown = event_of(found.intent, LedgerEvent::unknown);
  if (unknown == nullptr || is_settled(found.intent) || has(found.intent, LedgerEvent::reconciled))
    return false;
  LedgerRow row = *unknown;
  if (const LedgerRow* prepared = event_of(found.intent, LedgerEvent::prepared)) {
    row.gen = prepared->gen;
    row.attempt = prepared->attempt;
    row.cause = prepared->cause;
    row.bulk = prepared->bulk;
  }
  row.event = LedgerEvent::reconciled;
  row.slot = found.slot;
  row.reason = found.reason;
  row.billed = found.was_billed ? Billed::yes : Billed::no;
  row.late = row.redundant = false;
  if (!found.was_billed) {
    row.units = 0;
    row.price = {};
  }
  note(std::move(row), {}, now);
  const Claim* claim = look_up(claims_, found.slot);
  if (claim != nullptr && claim->intent == found.intent && claim->phase == Phase::blocked)
    claims_.erase(found.slot);
  return true;
}

// --- adoption
// ----------------------------------------------------------------------------------------------

std::vector<OpenIntent> ModelWorld::open_intents(const OwnerId& owner,
                                                 std::span<const IntentId> also) const {
  std::vector<OpenIntent> open;
  std::set<IntentId> seen;
  const auto add = [&](const IntentId& intent) {
    if (!seen.insert(intent).second) return;
    const LedgerRow* prepared = event_of(intent, LedgerEvent::prepared);
    if (prepared == nullptr) return;
    const Entry* entry = look_up(entries_, prepared->slot);
    const Claim* claim = look_up(claims_, prepared->slot);
    OpenIntent one;
    // An answer that `advance` has noted, of a window that is still its owner's to end.
    one.noted = has(intent, LedgerEvent::answered) && claim != nullptr &&
                claim->gen == prepared->gen && claim->owner == fates_.at(intent).owner &&
                (entry == nullptr || entry->gen < prepared->gen);
    if (is_settled(intent) && !one.noted) return;
    one.intent = intent;
    one.slot = prepared->slot;
    one.gen = prepared->gen;
    one.attempt = prepared->attempt;
    one.provider = prepared->provider;
    one.price = prepared->price;
    one.owner = fates_.at(intent).owner;
    if (entry != nullptr) one.no_match_streak = entry->no_match_streak;
    if (claim != nullptr) {
      one.claim_held = claim->intent == intent;
      if (one.claim_held || one.noted) one.fence = claim->fence;
      if (claim->gen == one.gen) {
        one.query_json = claim->query_json;
        one.pre_image = claim->pre_image;
      }
    }
    open.push_back(std::move(one));
  };
  for (const auto& [slot, claim] : claims_)
    if (claim.owner == owner && claim.phase == Phase::in_flight &&
        !has(claim.intent, LedgerEvent::unknown))
      add(claim.intent);
  for (const IntentId& intent : also) add(intent);
  return open;
}

// --- read back
// ---------------------------------------------------------------------------------------------

std::optional<EntryRow> ModelWorld::entry(const Slot& slot, UtcMs now) const {
  const Entry* entry = look_up(entries_, slot);
  if (entry == nullptr || entry->erase_after <= now) return std::nullopt;
  EntryRow row;
  row.slot = slot;
  row.gen = entry->gen;
  row.answer = entry->answer;
  row.answered_at = entry->answered_at;
  row.fresh_until = entry->fresh_until;
  row.stale_until = entry->stale_until;
  row.erase_after = entry->erase_after;
  row.no_match_streak = entry->no_match_streak;
  row.pinned = entry->pinned;
  row.intent = entry->intent;
  row.query_json = entry->query_json;
  row.pre_image = entry->pre_image;
  row.building_key = entry->building_key;
  return row;
}

std::vector<EntryRow> ModelWorld::entries(const EntryFilter& filter, UtcMs now) const {
  std::vector<EntryRow> rows;
  for (const auto& [slot, entry] : entries_) {
    if (rows.size() >= filter.limit) break;
    if (filter.after && slot <= *filter.after) continue;
    if (filter.provider && (!entry.answer || entry.answer->provider != *filter.provider)) continue;
    if (filter.kind && (!entry.answer || entry.answer->kind != *filter.kind)) continue;
    if (filter.pinned && !entry.pinned) continue;
    if (filter.building &&
        (slot.pool != filter.building->pool || entry.building_key != filter.building->key))
      continue;
    if (auto row = this->entry(slot, now)) rows.push_back(std::move(*row));
  }
  return rows;
}

std::vector<LedgerRow> ModelWorld::ledger(const LedgerFilter& filter) const {
  std::vector<const LedgerRow*> chosen;
  for (const LedgerRow& row : ledger_) {
    if (row.at < filter.from || (filter.to < INT64_MAX && row.at >= filter.to)) continue;
    if (filter.slot) {
      const LedgerRow* prepared = event_of(row.intent, LedgerEvent::prepared);
      if (prepared == nullptr || prepared->slot != *filter.slot) continue;
    }
    if (filter.intent && row.intent != *filter.intent) continue;
    if (filter.provider && row.provider != *filter.provider) continue;
    if (filter.event && row.event != *filter.event) continue;
    chosen.push_back(&row);
  }
  const auto is_older = [](const LedgerRow* a, const LedgerRow* b) { return a->at < b->at; };
  std::stable_sort(chosen.begin(), chosen.end(), is_older);
  if (filter.newest_first) std::reverse(chosen.begin(), chosen.end());
  if (chosen.size() > filter.limit) chosen.resize(filter.limit);
  std::vector<LedgerRow> rows;
  rows.reserve(chosen.size());
  for (const LedgerRow* row : chosen) rows.push_back(*row);
  return rows;
}

std::vector<LedgerSum> ModelWorld::ledger_sums(const LedgerFilter& filter) const {
  using enum LedgerEvent;
  LedgerFilter of_prepared = filter;
  of_prepared.event = prepared;
  of_prepared.limit = SIZE_MAX;
  std::map<std::string, LedgerSum> sums;
  for (const LedgerRow& row : ledger(of_prepared)) {
    LedgerSum& sum = sums[row.provider];
    ++sum.prepared;
    // What is known beats what was not known at first; each intent counts once.
    if (const LedgerRow* answer = event_of(row.intent, answered)) {
      ++sum.answered;
      if (answer->redundant) ++sum.redundant;
    } else if (has(row.intent, refused)) {
      ++sum.refused;
    } else if (has(row.intent, voided)) {
      ++sum.voided;
    } else if (has(row.intent, unknown)) {
      ++sum.unknown;
    } else {
      ++sum.open;
    }
    // The invoice has the last word on the money.
    Billed billed = Billed::unknown;
    const LedgerRow* money = &row;
    for (const auto event : {reconciled, answered, refused, voided, unknown}) {
      const LedgerRow* end = event_of(row.intent, event);
      if (end == nullptr) continue;
      money = end;
      billed = end->billed;
      break;
    }
    if (billed == Billed::yes) {
      sum.billed_units += money->units;
      sum.billed += money->price;
    } else if (billed == Billed::unknown) {
      sum.in_doubt_units += money->units;
      sum.in_doubt += money->price;
    }
  }
  std::vector<LedgerSum> out;
  for (auto& [name, sum] : sums) {
    sum.provider = name;
    out.push_back(std::move(sum));
  }
  return out;
}

// --- sweep
// -------------------------------------------------------------------------------------------------

SweepReport ModelWorld::sweep(std::size_t limit, UtcMs now) {
  SweepReport report;
  std::vector<std::pair<UtcMs, Slot>> over;
  for (const auto& [slot, entry] : entries_)
    if (entry.erase_after <= now) over.emplace_back(entry.erase_after, slot);
  std::sort(over.begin(), over.end());
  if (over.size() > limit) over.resize(limit);
  for (const auto& [when, slot] : over) {
    if (!claims_.contains(slot)) {
      entries_.erase(slot);
      continue;
    }
    // The claim's gen counts on from the entry's.
    Entry& entry = entries_.at(slot);
    Entry kept;
    kept.gen = entry.gen;
    kept.answered_at = entry.answered_at;
    kept.fresh_until = kept.stale_until = now;
    kept.erase_after = model::after(now, model::kTombstoneLife);
    entry = kept;
  }
  report.entries = static_cast<std::int64_t>(over.size());

  std::vector<std::tuple<UtcMs, Slot, std::string>> negatives;
  for (const auto& [slot, by_provider] : no_matches_)
    for (const auto& [provider, until] : by_provider)
      if (until <= now) negatives.emplace_back(until, slot, provider);
  std::sort(negatives.begin(), negatives.end());
  if (negatives.size() > limit) negatives.resize(limit);
  for (const auto& [when, slot, provider] : negatives) no_matches_.at(slot).erase(provider);
  report.negatives = static_cast<std::int64_t>(negatives.size());

  // Cool-downs a day over, with neither an unknown call nor an answer behind them.
  constexpr UtcMs kDay = 24LL * 3'600'000;
  for (auto claim = claims_.begin();
       claim != claims_.end() && report.claims < static_cast<std::int64_t>(limit);) {
    const bool is_spent = claim->second.phase == Phase::cooling && claim->second.attempt == 1 &&
                          claim->second.asked.empty() && claim->second.deadline <= now - kDay;
    report.claims += is_spent ? 1 : 0;
    claim = is_spent ? claims_.erase(claim) : std::next(claim);
  }
  sweep_batches(limit, now, report);
  return report;
}

milliseconds ModelWorld::lease(std::string_view name,
                               const OwnerId& owner,
                               milliseconds life,
                               UtcMs now) {
  const auto [lease, is_new] = leases_.try_emplace(std::string(name));
  auto& [holder, until] = lease->second;
  if (!is_new && holder != owner && until > now) return milliseconds{until - now};
  lease->second = {owner, model::after(now, life)};
  return milliseconds{0};
}

StoreStats ModelWorld::stats() const {
  StoreStats stats;
  stats.kind = "model";
  stats.where = "this process";
  stats.version = "1";
  stats.schema = 1;
  stats.bytes = 1;
  stats.entries = static_cast<std::int64_t>(entries_.size());
  for (const auto& [slot, claim] : claims_) {
    stats.open_claims += claim.phase == Phase::in_flight ? 1 : 0;
    stats.blocked_claims += claim.phase == Phase::blocked ? 1 : 0;
  }
  stats.ledger_rows = static_cast<std::int64_t>(ledger_.size());
  stats.places = places_stats().points;
  stats.batches = static_cast<std::int64_t>(batches_.size());
  return stats;
}

}  // namespace geonce
