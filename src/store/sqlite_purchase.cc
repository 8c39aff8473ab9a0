#include "store/sqlite_purchase.h"

#include <algorithm>
#include <set>

#include "core/answer_bytes.h"
#include "store/sqlite_ended.h"
#include "store/sqlite_rows.h"

namespace geonce {
namespace {

enum class Phase : std::uint8_t { in_flight = 1, cooling = 2, blocked = 3 };

// --- rows
// ---------------------------------------------------------------------------------------------

struct EntryState {
  std::int64_t id = 0, gen = 0;
  int kind = kTombstone;
  UtcMs answered_at = 0, fresh_until = 0, erase_after = 0;
  int no_match_streak = 0;
  bool pinned = false;
  std::optional<IntentId> intent;
  std::optional<Found> found;
};

std::optional<EntryState> read_entry(SqliteWork& work, const Slot& slot) {
  static const std::string kSql =
      fmt::format("SELECT {}, id, no_match_streak, intent FROM entry WHERE pool = ? AND key = ?",
                  kFoundColumns);
  auto row = work.db.prepare(kSql);
  if (!row.bind(slot.pool, blob(slot.key)).step()) return std::nullopt;
  EntryState entry;
  entry.gen = row.integer(0);
  entry.kind = static_cast<int>(row.integer(1));
  entry.answered_at = row.integer(2);
  entry.fresh_until = row.integer(3);
  entry.erase_after = row.integer(5);
  entry.pinned = row.integer(6) != 0;
  entry.id = row.integer(8);
  entry.no_match_streak = static_cast<int>(row.integer(9));
  if (!row.is_null(10)) entry.intent = uuid_from(row.bytes(10));
  entry.found = found_from(row, work.now);
  return entry;
}

struct NewEntry {
  std::int64_t gen = 0;
  const Answer* answer = nullptr;  // null: a tombstone
  UtcMs answered_at = 0;
  UtcMs fresh_until = 0, stale_until = 0, erase_after = 0;
  int no_match_streak = 0;
  bool pinned = false;
  std::optional<IntentId> intent;
  std::string_view query_json, pre_image;
  std::optional<Key> building_key;
};

/// Whether tiers may still hold what `entry` replaces.
bool may_be_held(SqliteWork& work, const std::optional<EntryState>& old, const NewEntry& entry) {
  if (!old || old->kind == kTombstone || old->gen == entry.gen) return false;
  return (entry.answer == nullptr ? old->erase_after : old->fresh_until) > work.now;
}

void note_replaced(SqliteWork& work, const Slot& slot, const NewEntry& entry) {
  note_ended(work, slot, entry.answer == nullptr ? entry.gen : entry.gen - 1);
}

void write_entry(SqliteWork& work,
                 const Slot& slot,
                 const std::optional<EntryState>& old,
                 const NewEntry& entry) {
  const int kind = entry.answer == nullptr ? kTombstone : static_cast<int>(entry.answer->kind);
  const std::string payload = entry.answer == nullptr ? std::string() : encode(*entry.answer);
  const std::string_view provider =
      entry.answer == nullptr ? "" : std::string_view(entry.answer->provider);
  if (may_be_held(work, old, entry)) note_replaced(work, slot, entry);
  std::int64_t id = 0;
  // NULL for what nobody bought.
  const auto intent = entry.intent ? std::optional(blob(*entry.intent)) : std::nullopt;
  const auto building =
      entry.building_key ? std::optional(blob(*entry.building_key)) : std::nullopt;
  const auto fill = [&](std::string_view sql, const auto&... where) {
    work.db.prepare(sql)
        .bind(building,
              entry.gen,
              kind,
              entry.answered_at,
              entry.fresh_until,
              entry.stale_until,
              entry.erase_after,
              entry.no_match_streak,
              entry.pinned,
              provider,
              intent,
              SqliteBlob{payload},
              where...)
        .run();
  };
  if (old) {
    id = old->id;
    fill(
        "UPDATE entry SET building_key = ?, gen = ?, kind = ?, answered_at = ?, fresh_until = ?, "
        "stale_until = ?, "
        "erase_after = ?, no_match_streak = ?, pinned = ?, provider = ?, intent = ?, payload = ? "
        "WHERE id = ?",
        id);
  } else {
    fill(
        "INSERT INTO entry (building_key, gen, kind, answered_at, fresh_until, stale_until, "
        "erase_after, "
        "no_match_streak, "
        "pinned, provider, intent, payload, pool, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, "
        "?)",
        slot.pool,
        blob(slot.key));
    id = work.db.last_insert_rowid();
  }
  if (entry.answer != nullptr)
    work.db.prepare("INSERT OR REPLACE INTO entry_source VALUES (?, ?, ?)")
        .bind(id, entry.query_json, SqliteBlob{entry.pre_image})
        .run();
  else if (old)
    work.db.prepare("DELETE FROM entry_source WHERE entry = ?").bind(id).run();
}

struct Claim {
  std::int64_t gen = 0;
  int attempt = 1;
  IntentId intent;
  OwnerId owner;
  std::int64_t fence = 0;
  Phase phase = Phase::in_flight;
  UtcMs deadline = 0;
  std::string provider, asked;
  bool ignore_no_match = false;
  std::string query_json, pre_image;
};

constexpr std::string_view kClaimColumns =
    "gen, attempt, intent, owner, fence, phase, deadline, provider, asked, ignore_no_match, "
    "query_json, "
    "pre_image";

std::optional<Claim> read_claim(SqliteWork& work, const Slot& slot) {
  static const std::string kSql =
      fmt::format("SELECT {} FROM claim WHERE pool = ? AND key = ?", kClaimColumns);
  auto row = work.db.prepare(kSql);
  if (!row.bind(slot.pool, blob(slot.key)).step()) return std::nullopt;
  Claim claim;
  claim.gen = row.integer(0);
  claim.attempt = static_cast<int>(row.integer(1));
  claim.intent = uuid_from(row.bytes(2));
  claim.owner = uuid_from(row.bytes(3));
  claim.fence = row.integer(4);
  claim.phase = static_cast<Phase>(row.integer(5));
  claim.deadline = row.integer(6);
  claim.provider = row.bytes(7);
  claim.asked = row.bytes(8);
  claim.ignore_no_match = row.integer(9) != 0;
  claim.query_json = row.bytes(10);
  claim.pre_image = row.bytes(11);
  return claim;
}
void write_claim(SqliteWork& work, const Slot& slot, const Claim& claim) {
  static const std::string kSql = fmt::format(
      "INSERT OR REPLACE INTO claim ({}, pool, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?)",
      kClaimColumns);
  work.db.prepare(kSql)
      .bind(claim.gen,
            claim.attempt,
            blob(claim.intent),
            blob(claim.owner),
            claim.fence,
            claim.phase,
            claim.deadline,
            claim.provider,
            claim.asked,
            claim.ignore_no_match,
            claim.query_json,
            SqliteBlob{claim.pre_image},
            slot.pool,
            blob(slot.key))
      .run();
}

void set_phase(SqliteWork& work, const Slot& slot, Phase phase, UtcMs deadline) {
  work.db.prepare("UPDATE claim SET phase = ?, deadline = ? WHERE pool = ? AND key = ?")
      .bind(phase, deadline, slot.pool, blob(slot.key))
      .run();
}

void delete_claim(SqliteWork& work, const Slot& slot) {
  work.db.prepare("DELETE FROM claim WHERE pool = ? AND key = ?")
      .bind(slot.pool, blob(slot.key))
      .run();
}

/// The claim may be taken by anybody at once. One that has something behind it stays as a row: the
/// next attempt of the same window counts on, sends the same bytes and asks nobody twice.
void free_claim(SqliteWork& work, const Slot& slot, const Claim& claim) {
  if (claim.attempt == 1 && claim.asked.empty())
    delete_claim(work, slot);
  else
    set_phase(work, slot, Phase::cooling, work.now);
}

// --- ledger
// -------------------------------------------------------------------------------------------

/// What the ledger knew when the call was prepared; defaults where it does not know the intent.
struct Prepared {
  UtcMs at = INT64_MAX;
  std::int64_t gen = 0;
  int attempt = 1;
  OwnerId owner;
  Cause cause = Cause::miss;
  bool bulk = false;
  Money price;
};

Prepared read_prepared(SqliteWork& work, const IntentId& intent) {
  auto row = work.db.prepare(
      "SELECT at, gen, attempt, owner, cause, bulk, price_micro_usd FROM ledger "
      "WHERE intent = ? AND event = 1");
  if (!row.bind(blob(intent)).step()) return {};
  return {row.integer(0),
          row.integer(1),
          static_cast<int>(row.integer(2)),
          uuid_from(row.bytes(3)),
          static_cast<Cause>(row.integer(4)),
          row.integer(5) != 0,
          Money{row.integer(6)}};
}

/// Whether the row is new; an event that stands already is left as it is.
bool write_ledger(SqliteWork& work, const LedgerRow& entry, const OwnerId& owner) {
  auto row = work.db.prepare(
      "INSERT INTO ledger (intent, event, at, pool, key, gen, attempt, owner, provider, cause, "
      "bulk, "
      "http_status, reason, provider_request_id, billed, units, price_micro_usd, redundant, late) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (intent, "
      "event) DO NOTHING");
  row.bind(blob(entry.intent),
           entry.event,
           work.now,
           entry.slot.pool,
           blob(entry.slot.key),
           entry.gen,
           entry.attempt,
           blob(owner),
           entry.provider,
           entry.cause,
           entry.bulk,
           entry.http_status,
           entry.reason,
           entry.provider_request_id,
           entry.billed,
           entry.units,
           entry.price.micro_usd,
           entry.redundant,
           entry.late)
      .run();
  return work.db.changes() > 0;
}

LedgerRow outcome_row(LedgerEvent event,
                      const Slot& slot,
                      std::int64_t gen,
                      const Prepared& prepared,
                      const CallRecord& call) {
  LedgerRow row;
  row.intent = call.intent;
  row.event = event;
  row.slot = slot;
  row.gen = gen;
  row.attempt = prepared.attempt;
  row.provider = call.provider;
  row.cause = prepared.cause;
  row.bulk = prepared.bulk;
  row.http_status = call.http_status;
  row.reason = call.reason;
  row.provider_request_id = call.provider_request_id;
  row.billed = call.billed;
  row.units = call.units;
  row.price = call.price;
  return row;
}

bool has_event(SqliteWork& work, const IntentId& intent, LedgerEvent event) {
  return work.db.prepare("SELECT 1 FROM ledger WHERE intent = ? AND event = ?")
      .bind(blob(intent), event)
      .step();
}

/// Whether it is known what became of the call. `unknown` is not knowing, and `reconciled` is about
/// the bill alone: the answer may still turn up.
bool is_settled(SqliteWork& work, const IntentId& intent) {
  return work.db.prepare("SELECT 1 FROM ledger WHERE intent = ? AND event IN (2, 3, 5)")
      .bind(blob(intent))
      .step();
}

// --- chains
// -------------------------------------------------------------------------------------------

bool has_line(std::string_view lines, std::string_view line) {
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    if (lines.substr(0, end) == line) return true;
    if (end == std::string_view::npos) return false;
    lines.remove_prefix(end + 1);
  }
  return false;
}

void add_line(std::string& lines, std::string_view line) {
  if (has_line(lines, line)) return;
  if (!lines.empty()) lines += '\n';
  lines += line;
}

struct Next {
  std::optional<std::size_t> step;
  StepMask answered = 0;
};

/// The first provider from `from` on that has neither answered in this window nor said that there
/// is no such address a while ago.
Next next_step(SqliteWork& work,
               const Slot& slot,
               const std::vector<std::string>& chain,
               std::size_t from,
               const Claim& claim) {
  std::set<std::string, std::less<>> knows_nothing;
  if (!claim.ignore_no_match) {
    auto row =
        work.db.prepare("SELECT provider FROM no_match WHERE pool = ? AND key = ? AND until > ?");
    row.bind(slot.pool, blob(slot.key), work.now);
    while (row.step()) knows_nothing.emplace(row.bytes(0));
  }
  Next next;
  for (std::size_t step = from; step < chain.size(); ++step) {
    if (knows_nothing.contains(chain[step])) continue;
    if (!has_line(claim.asked, chain[step])) {
      next.step = step;
      break;
    }
    next.answered |= StepMask{1} << step;
  }
  return next;
}

/// Where in the chain the claim's provider stands, from `from` on: a chain may name one twice.
std::size_t step_of(const std::vector<std::string>& chain,
                    std::string_view provider,
                    std::size_t from = 0) {
  const auto first = chain.begin() + static_cast<std::ptrdiff_t>(std::min(from, chain.size()));
  const auto at = std::find(first, chain.end(), provider);
  return at == chain.end() ? 0 : static_cast<std::size_t>(at - chain.begin());
}

template <class Request>
Money price_of(const Request& request, std::size_t step) {
  GEONCE_EXPECTS(request.prices.empty() || request.prices.size() == request.chain->size());
  return request.prices.empty() ? Money{} : request.prices[step];
}

void remember_no_match(SqliteWork& work,
                       const Slot& slot,
                       const std::string& provider,
                       milliseconds life) {
  work.db.prepare("INSERT OR REPLACE INTO no_match VALUES (?, ?, ?, ?)")
      .bind(slot.pool, blob(slot.key), provider, after(work.now, life))
      .run();
}

/// price  what the call may cost: nobody knows better if its answer is lost
void write_prepared(
    SqliteWork& work, const Slot& slot, const Claim& claim, Cause cause, bool bulk, Money price) {
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
  if (!write_ledger(work, row, claim.owner))
    work.db.give_up({ErrorCode::internal,
                     fmt::format("the intent {} has been used before; each attempt needs its own",
                                 to_string(claim.intent)),
                     "store",
                     Billed::no,
                     {}});
}

}  // namespace

std::optional<Found> found_from(const SqliteStatement& row, UtcMs now) {
  if (row.integer(1) == kTombstone || row.integer(5) <= now) return std::nullopt;
  auto answer = decode_shared_answer(row.bytes(7));
  if (!answer) return std::nullopt;
  Found found;
  found.gen = row.integer(0);
  found.answer = std::move(answer);
  found.answered_at = row.integer(2);
  found.fresh_until = row.integer(3);
  found.fresh_left = left(found.fresh_until, now);
  found.stale_left = left(row.integer(4), now);
  found.erase_left = left(row.integer(5), now);
  found.pinned = row.integer(6) != 0;
  return found;
}

// --- take
// ---------------------------------------------------------------------------------------------

Taken take(SqliteWork& work, const TakeRequest& request) {
  GEONCE_EXPECTS(request.chain != nullptr && !request.chain->empty());
  const auto& chain = *request.chain;
  const auto& slot = request.slot;
  const bool forced = request.refresh_before > 0;
  Taken taken;
  const auto entry = read_entry(work, slot);
  if (entry) taken.no_match_streak = entry->no_match_streak;
  if (entry && entry->found) {
    const bool is_fresh =
        entry->found->fresh_left.count() > 0 &&
        entry->found->answered_at >= request.refresh_before &&
        !(request.retry_no_match && entry->found->answer->kind == AnswerKind::no_match);
    // A pin cannot be replaced by an answer, so there is nothing to buy even when forced.
    if (is_fresh || entry->pinned) {
      taken.verdict = Taken::Verdict::fresh;
      taken.gen = entry->gen;
      taken.found = entry->found;
      return taken;
    }
  }

  const auto old = read_claim(work, slot);
  if (old && old->phase == Phase::in_flight &&
      old->intent == request.intent) {  // asked again, after a doubt
    taken.verdict = Taken::Verdict::send;
    taken.step = step_of(chain, old->provider);
    taken.fence = old->fence;
    taken.gen = old->gen;
    taken.attempt = old->attempt;
    taken.query_json = old->query_json;
    return taken;
  }

  Claim claim;
  claim.gen = entry ? entry->gen + 1 : 1;
  // An invalidation has closed the window of a claim that is not ahead of the entry.
  const bool same_window = old && old->gen >= claim.gen;
  if (same_window) claim.gen = old->gen;
  const auto keep_out = [&](Taken::Verdict verdict) {
    taken.verdict = verdict;
    taken.gen = claim.gen;
    // A blocked key waits for no point in time.
    if (verdict != Taken::Verdict::blocked) taken.wait_for = left(old->deadline, work.now);
    return taken;
  };
  if (old && old->deadline > work.now) {
    if (old->phase == Phase::in_flight) return keep_out(Taken::Verdict::wait);
    if (old->phase == Phase::cooling) return keep_out(Taken::Verdict::cooldown);
    if (same_window && !forced) return keep_out(Taken::Verdict::blocked);
  }

  bool new_window = !same_window;
  if (same_window) claim.attempt = old->attempt;
  if (old && old->phase == Phase::in_flight && !is_settled(work, old->intent)) {
    // Overdue: whoever called is gone or late, and may have been billed.
    const auto prepared = read_prepared(work, old->intent);
    CallRecord lost;
    lost.intent = old->intent;
    lost.provider = old->provider;
    lost.reason = "takeover";
    lost.price = prepared.price;
    write_ledger(
        work, outcome_row(LedgerEvent::unknown, slot, old->gen, prepared, lost), old->owner);
    if (same_window && claim.attempt > request.max_unknown) {
      if (!forced) {
        set_phase(work, slot, Phase::blocked, kNever);
        return keep_out(Taken::Verdict::blocked);
      }
      new_window = true;
    }
    ++claim.attempt;
  } else if (old && old->phase == Phase::blocked) {
    new_window = true;
  }

  claim.intent = request.intent;
  claim.owner = request.owner;
  claim.ignore_no_match = forced || request.retry_no_match;
  claim.query_json = request.query_json;
  claim.pre_image = request.pre_image;
  if (new_window) {
    // Forced beyond a claim of its own window: a gen further, so that only the new call can fill
    // it.
    if (same_window) ++claim.gen;
    claim.attempt = 1;
  } else {
    claim.asked = old->asked;
    claim.query_json = old->query_json;
    claim.pre_image = old->pre_image;
  }
  auto next = next_step(work, slot, chain, 0, claim);
  if (!next.step && !claim.asked.empty()) {
    // Everybody has been asked and the best answer died with who held it: begin the chain again.
    claim.asked.clear();
    next = next_step(work, slot, chain, 0, claim);
  }
  const auto step = next.step;
  taken.gen = claim.gen;
  taken.attempt = claim.attempt;
  taken.answered = next.answered;
  if (!step) {
    if (old) delete_claim(work, slot);
    taken.verdict = Taken::Verdict::exhausted;
    return taken;
  }
  claim.provider = chain[*step];
  claim.deadline = after(work.now, request.life);
  write_prepared(work,
                 slot,
                 claim,
                 claim.attempt > 1 ? Cause::takeover : request.cause,
                 request.bulk,
                 price_of(request, *step));
  claim.fence = work.db.last_insert_rowid();
  write_claim(work, slot, claim);
  taken.verdict = Taken::Verdict::send;
  taken.step = *step;
  taken.fence = claim.fence;
  taken.query_json = claim.query_json;
  return taken;
}

// --- advance
// ------------------------------------------------------------------------------------------

Advanced advance(SqliteWork& work, const AdvanceRequest& request) {
  GEONCE_EXPECTS(request.chain != nullptr && !request.chain->empty());
  const auto& slot = request.slot;
  auto claim = read_claim(work, slot);
  const bool is_ours = claim && claim->fence == request.fence;
  if (is_ours && claim->intent == request.next_intent)  // asked again, after a doubt
    return {Advanced::Verdict::send, step_of(*request.chain, claim->provider, request.step + 1), 0};

  // One that comes when its claim has ended does not begin it again.
  const bool is_held =
      is_ours && claim->phase == Phase::in_flight && claim->intent == request.call.intent;
  const auto entry = read_entry(work, slot);
  const bool is_current = !entry || entry->gen < request.gen;
  const auto prepared = read_prepared(work, request.call.intent);
  auto row = outcome_row(request.refused ? LedgerEvent::refused : LedgerEvent::answered,
                         slot,
                         request.gen,
                         prepared,
                         request.call);
  row.late = !is_held;
  row.redundant = !request.refused && !(is_held && is_current);
  if (!request.refused || !is_settled(work, request.call.intent))
    write_ledger(work, row, prepared.owner);
  if (request.no_match_for && is_current)
    remember_no_match(work, slot, request.call.provider, *request.no_match_for);
  if (!is_held) return {Advanced::Verdict::lost, 0, 0};
  if (!is_current) {
    // Invalidated meanwhile: what the next provider says could not be stored. Whoever still wants
    // an answer opens the new window.
    delete_claim(work, slot);
    return {Advanced::Verdict::lost, 0, 0};
  }

  // A chain that names the same provider next wants its no-match confirmed: it may be asked again.
  const bool is_asked_again = request.step + 1 < request.chain->size() &&
                              (*request.chain)[request.step + 1] == request.call.provider;
  if (!request.refused && !is_asked_again) add_line(claim->asked, request.call.provider);
  claim->phase = Phase::in_flight;
  claim->deadline = after(work.now, request.life);
  const auto [step, answered] = next_step(work, slot, *request.chain, request.step + 1, *claim);
  if (!step) {
    write_claim(work, slot, *claim);
    return {Advanced::Verdict::exhausted, 0, answered};
  }
  claim->intent = request.next_intent;
  claim->provider = (*request.chain)[*step];
  write_prepared(work, slot, *claim, prepared.cause, prepared.bulk, price_of(request, *step));
  write_claim(work, slot, *claim);
  return {Advanced::Verdict::send, *step, answered};
}

// --- commit
// -------------------------------------------------------------------------------------------

Committed commit(SqliteWork& work, const CommitRequest& request) {
  GEONCE_EXPECTS(request.answer != nullptr);
  const auto& slot = request.slot;
  const auto entry = read_entry(work, slot);
  const auto claim = read_claim(work, slot);
  auto answered_by = request.answered_by;
  if (!answered_by && request.call) answered_by = request.call->intent;

  Committed committed;
  committed.held = claim && claim->fence == request.fence;
  const auto tell_what_is_left = [&](const std::optional<Found>& found) {
    if (!found) return;
    committed.fresh_left = found->fresh_left;
    committed.stale_left = found->stale_left;
    committed.erase_left = found->erase_left;
    committed.answered_at = found->answered_at;
    committed.fresh_until = found->fresh_until;
  };
  // A commit that ended in doubt and is repeated. Its claim went with the first.
  const bool holds_it = entry && entry->gen == request.gen && entry->kind != kTombstone &&
                        entry->intent == answered_by;
  if (!committed.held &&
      (request.call ? has_event(work, request.call->intent, LedgerEvent::answered) : holds_it)) {
    committed.stored = holds_it;
    if (entry) tell_what_is_left(entry->found);
    return committed;
  }

  const auto prepared = answered_by ? read_prepared(work, *answered_by) : Prepared{};
  const bool is_too_old = prepared.at < work.now - kTombstoneLife.count();
  const bool is_current = !(entry && (entry->gen >= request.gen || entry->pinned)) && !is_too_old;
  if (is_current && request.life.erase.count() > 0) {
    NewEntry fresh;
    fresh.gen = request.gen;
    fresh.answer = request.answer.get();
    fresh.answered_at = work.now;
    fresh.erase_after = after(work.now, request.life.erase);
    fresh.stale_until = std::min(after(work.now, std::max(request.life.stale, request.life.fresh)),
                                 fresh.erase_after);
    fresh.fresh_until = std::min(after(work.now, request.life.fresh), fresh.erase_after);
    fresh.no_match_streak =
        request.answer->kind == AnswerKind::no_match ? (entry ? entry->no_match_streak : 0) + 1 : 0;
    fresh.intent = answered_by;
    fresh.query_json = request.query_json;
    fresh.pre_image = request.pre_image;
    fresh.building_key = request.building_key;
    write_entry(work, slot, entry, fresh);
    committed.stored = true;
    committed.fresh_left = left(fresh.fresh_until, work.now);
    committed.stale_left = left(fresh.stale_until, work.now);
    committed.erase_left = left(fresh.erase_after, work.now);
    committed.answered_at = fresh.answered_at;
    committed.fresh_until = fresh.fresh_until;
  } else if (entry) {
    tell_what_is_left(entry->found);
  }

  // Who ends a claim while its newest call has no outcome did not send that one.
  if (committed.held && !(request.call && request.call->intent == claim->intent) &&
      !is_settled(work, claim->intent) && !has_event(work, claim->intent, LedgerEvent::unknown)) {
    CallRecord unsent;
    unsent.intent = claim->intent;
    unsent.provider = claim->provider;
    unsent.reason = "not sent";
    unsent.billed = Billed::no;
    unsent.units = 0;
    write_ledger(
        work,
        outcome_row(
            LedgerEvent::voided, slot, claim->gen, read_prepared(work, claim->intent), unsent),
        claim->owner);
  }
  // A late answer opens a key that waits for nothing else, but leaves another's call in flight
  // alone.
  if (committed.held ||
      (claim && is_current && claim->gen <= request.gen && claim->phase != Phase::in_flight))
    delete_claim(work, slot);

  if (request.call) {
    const auto of_call =
        request.call->intent == answered_by ? prepared : read_prepared(work, request.call->intent);
    auto row = outcome_row(LedgerEvent::answered, slot, request.gen, of_call, *request.call);
    row.redundant = !is_current;
    row.late = !committed.held;
    write_ledger(work, row, of_call.owner);
    if (request.no_match_for && is_current)
      remember_no_match(work, slot, request.call->provider, *request.no_match_for);
  }
  return committed;
}

// --- release
// ------------------------------------------------------------------------------------------

Released release(SqliteWork& work, const ReleaseRequest& request) {
  const auto& slot = request.slot;
  const auto claim = read_claim(work, slot);
  Released released;
  const bool is_refused = request.kind == ReleaseRequest::Kind::refused;
  // A chain may end with a refusal that `advance` has noted already: the key cools down for that
  // one.
  released.held =
      claim && claim->fence == request.fence &&
      (claim->intent == request.call.intent || (is_refused && is_settled(work, claim->intent)));
  released.blocked = released.held && claim->phase == Phase::blocked;
  const bool is_unknown = request.kind == ReleaseRequest::Kind::unknown;
  if (is_unknown && is_settled(work, request.call.intent)) return released;

  const auto event = is_unknown   ? LedgerEvent::unknown
                     : is_refused ? LedgerEvent::refused
                                  : LedgerEvent::voided;
  const auto prepared = read_prepared(work, request.call.intent);
  auto row = outcome_row(event, slot, prepared.gen, prepared, request.call);
  row.late = !released.held;
  // A call ends in one way; what is known of it already stands.
  const bool is_new =
      !is_settled(work, request.call.intent) && write_ledger(work, row, prepared.owner);
  if (!released.held || (!is_new && !is_refused)) return released;  // another's now, or repeated

  released.blocked = false;
  if (!is_unknown) {
    if (is_refused && request.cool_down.count() > 0)
      set_phase(work, slot, Phase::cooling, after(work.now, request.cool_down));
    else
      free_claim(work, slot, *claim);
    return released;
  }
  const auto entry = read_entry(work, slot);
  const bool is_current = !entry || entry->gen < claim->gen;
  released.blocked = is_current && claim->attempt > request.max_unknown;
  set_phase(work,
            slot,
            released.blocked ? Phase::blocked : Phase::in_flight,
            released.blocked ? kNever : work.now);
  return released;
}

// --- by hand
// ------------------------------------------------------------------------------------------

namespace {

/// A gen that no call begun until now can fill.
std::int64_t gen_beyond(const std::optional<EntryState>& entry, const std::optional<Claim>& claim) {
  return std::max(entry ? entry->gen : 0, claim ? claim->gen : 0) + 1;
}

/// Whether this is what its answer was bought for.
bool is_for(SqliteWork& work, const EntryState& entry, std::string_view query_json) {
  return work.db.prepare("SELECT 1 FROM entry_source WHERE entry = ? AND query_json = ?")
      .bind(entry.id, query_json)
      .step();
}

Standing standing_of(const EntryState& entry) {
  return {entry.kind != kTombstone, entry.pinned, entry.answered_at};
}

void delete_entry(SqliteWork& work, const Slot& slot, const EntryState& entry) {
  if (entry.kind != kTombstone && entry.fresh_until > work.now) note_ended(work, slot, entry.gen);
  work.db.prepare("DELETE FROM entry WHERE id = ?").bind(entry.id).run();
  work.db.prepare("DELETE FROM entry_source WHERE entry = ?").bind(entry.id).run();
}

void forget_no_matches(SqliteWork& work, const Slot& slot) {
  work.db.prepare("DELETE FROM no_match WHERE pool = ? AND key = ?")
      .bind(slot.pool, blob(slot.key))
      .run();
}

/// By a person's word. Who asks from now on must not be given what a call on its way brings,
/// either.
void write_by_hand(SqliteWork& work,
                   const Slot& slot,
                   const std::optional<EntryState>& old,
                   const std::optional<Claim>& claim,
                   const NewEntry& entry) {
  write_entry(work, slot, old, entry);
  if (claim && claim->phase == Phase::in_flight && !may_be_held(work, old, entry))
    note_replaced(work, slot, entry);
  forget_no_matches(work, slot);
}

}  // namespace

bool invalidate(SqliteWork& work, const Slot& slot) {
  const auto entry = read_entry(work, slot);
  const auto claim = read_claim(work, slot);
  NewEntry tombstone;
  tombstone.gen = gen_beyond(entry, claim);
  tombstone.answered_at = tombstone.fresh_until = tombstone.stale_until = work.now;
  tombstone.erase_after = after(work.now, kTombstoneLife);
  write_by_hand(work, slot, entry, claim, tombstone);
  if (claim && claim->phase == Phase::blocked) delete_claim(work, slot);
  return entry && entry->found;
}

Forgotten forget(SqliteWork& work, const Slot& slot) {
  Forgotten forgotten;
  {
    auto row = work.db.prepare("SELECT count(*) FROM no_match WHERE pool = ? AND key = ?");
    if (row.bind(slot.pool, blob(slot.key)).step()) forgotten.negatives = row.integer(0);
  }
  forgotten.entries = invalidate(work, slot) ? 1 : 0;
  const auto claim = read_claim(work, slot);
  if (!claim) return forgotten;
  // A call on its way needs its claim to end, but not what it asks.
  if (claim->phase != Phase::in_flight)
    delete_claim(work, slot);
  else
    work.db.prepare("UPDATE claim SET query_json = '', pre_image = x'' WHERE pool = ? AND key = ?")
        .bind(slot.pool, blob(slot.key))
        .run();
  forgotten.claims = claim->phase == Phase::in_flight && claim->query_json.empty() ? 0 : 1;
  return forgotten;
}

Rekeyed rekey(SqliteWork& work, const Rekey& rekey) {
  if (rekey.from == rekey.to) return Rekeyed::stayed;
  const auto entry = read_entry(work, rekey.from);
  const auto claim = read_claim(work, rekey.to);
  if (!entry || !entry->found || !is_for(work, *entry, rekey.query_json) ||
      (claim && claim->phase == Phase::in_flight))
    return Rekeyed::stayed;
  const auto there = read_entry(work, rekey.to);
  const bool is_alive = there && there->erase_after > work.now;
  if (is_alive && outlasts(standing_of(*there), standing_of(*entry))) {
    delete_entry(work, rekey.from, *entry);
    return Rekeyed::merged;
  }
  if (there) delete_entry(work, rekey.to, *there);
  work.db.prepare("UPDATE entry SET pool = ?, key = ?, gen = ?, building_key = ? WHERE id = ?")
      .bind(rekey.to.pool,
            blob(rekey.to.key),
            there ? std::max(there->gen, entry->gen) + 1 : entry->gen,
            rekey.building_key ? std::optional(blob(*rekey.building_key)) : std::nullopt,
            entry->id)
      .run();
  work.db.prepare("UPDATE entry_source SET pre_image = ? WHERE entry = ?")
      .bind(SqliteBlob{rekey.pre_image}, entry->id)
      .run();
  return there ? Rekeyed::merged : Rekeyed::moved;
}

void pin(SqliteWork& work,
         const Slot& slot,
         const Answer& answer,
         std::string_view query_json,
         std::string_view pre_image,
         const std::optional<Key>& building_key) {
  const auto entry = read_entry(work, slot);
  const auto claim = read_claim(work, slot);
  NewEntry pinned;
  pinned.gen = gen_beyond(entry, claim);
  pinned.answer = &answer;
  pinned.answered_at = work.now;
  pinned.fresh_until = pinned.stale_until = pinned.erase_after = kNever;
  pinned.pinned = true;
  pinned.query_json = query_json;
  pinned.pre_image = pre_image;
  pinned.building_key = building_key;
  write_by_hand(work, slot, entry, claim, pinned);
  if (claim && claim->phase != Phase::in_flight) delete_claim(work, slot);
}

Imported import_entry(SqliteWork& work, const EntryRow& entry) {
  if (entry.answer == nullptr) return Imported::older;
  if (!entry.pinned && entry.erase_after <= work.now) return Imported::expired;
  const auto old = read_entry(work, entry.slot);
  const UtcMs answered_at = std::min(entry.answered_at, work.now);
  const bool is_over = old && old->kind != kTombstone && !old->found;
  if (old && !is_over && (old->pinned && !entry.pinned)) return Imported::older;
  if (old && !is_over && old->pinned == entry.pinned && old->answered_at >= answered_at)
    return Imported::older;
  const auto claim = read_claim(work, entry.slot);
  NewEntry brought;
  brought.gen = gen_beyond(old, claim);
  brought.answer = entry.answer.get();
  brought.answered_at = answered_at;
  const auto until = [&entry](UtcMs instant) { return entry.pinned ? kNever : instant; };
  brought.erase_after = until(std::min(entry.erase_after, kNever));
  brought.stale_until = until(std::min(entry.stale_until, brought.erase_after));
  brought.fresh_until = until(std::min(entry.fresh_until, brought.erase_after));
  brought.no_match_streak = entry.no_match_streak;
  brought.pinned = entry.pinned;
  brought.query_json = entry.query_json;
  brought.pre_image = entry.pre_image;
  brought.building_key = entry.building_key;
  if (brought.pinned) {
    write_by_hand(work, entry.slot, old, claim, brought);
  } else {
    write_entry(work, entry.slot, old, brought);
    forget_no_matches(work, entry.slot);
  }
  if (claim && claim->phase != Phase::in_flight) delete_claim(work, entry.slot);
  return Imported::stored;
}

bool reconcile(SqliteWork& work, const Reconciliation& found) {
  if (is_settled(work, found.intent) || has_event(work, found.intent, LedgerEvent::reconciled))
    return false;
  LedgerRow row;
  {
    auto unknown = work.db.prepare(
        "SELECT provider, units, price_micro_usd, http_status, provider_request_id FROM ledger "
        "WHERE intent = ? AND event = 4");
    if (!unknown.bind(blob(found.intent)).step()) return false;
    row.provider = unknown.bytes(0);
    if (found.was_billed) {
      row.units = static_cast<int>(unknown.integer(1));
      row.price = Money{unknown.integer(2)};
    }
    row.http_status = static_cast<int>(unknown.integer(3));
    row.provider_request_id = unknown.bytes(4);
  }
  const auto prepared = read_prepared(work, found.intent);
  row.intent = found.intent;
  row.event = LedgerEvent::reconciled;
  row.slot = found.slot;
  row.gen = prepared.gen;
  row.attempt = prepared.attempt;
  row.cause = prepared.cause;
  row.bulk = prepared.bulk;
  row.reason = found.reason;
  row.billed = found.was_billed ? Billed::yes : Billed::no;
  write_ledger(work, row, prepared.owner);
  const auto claim = read_claim(work, found.slot);
  if (claim && claim->intent == found.intent && claim->phase == Phase::blocked)
    delete_claim(work, found.slot);
  return true;
}

// --- adoption
// -----------------------------------------------------------------------------------------

std::vector<OpenIntent> open_intents(SqliteWork& work,
                                     const OwnerId& owner,
                                     std::span<const IntentId> also) {
  std::vector<OpenIntent> open;
  std::set<IntentId> seen;
  const auto add = [&](const IntentId& intent) {
    if (!seen.insert(intent).second) return;
    OpenIntent found;
    found.intent = intent;
    {
      auto row = work.db.prepare(
          "SELECT pool, key, gen, attempt, provider, owner, price_micro_usd FROM ledger "
          "WHERE intent = ? AND event = 1");
      if (!row.bind(blob(intent)).step()) return;
      found.slot = {static_cast<Pool>(row.integer(0)), key_from(row.bytes(1))};
      found.gen = row.integer(2);
      found.attempt = static_cast<int>(row.integer(3));
      found.provider = row.bytes(4);
      found.owner = uuid_from(row.bytes(5));
      found.price = Money{row.integer(6)};
    }
    const auto entry = read_entry(work, found.slot);
    const auto claim = read_claim(work, found.slot);
    if (is_settled(work, intent)) {
      // An answer that `advance` has noted, of a window that is still its owner's to end.
      found.noted = has_event(work, intent, LedgerEvent::answered) && claim &&
                    claim->gen == found.gen && claim->owner == found.owner &&
                    (!entry || entry->gen < found.gen);
      if (!found.noted) return;
    }
    if (entry) found.no_match_streak = entry->no_match_streak;
    if (claim) {
      found.claim_held = claim->intent == intent;
      if (found.claim_held || found.noted) found.fence = claim->fence;
      // Taken over in the same window the claim still says what was asked.
      if (claim->gen == found.gen) {
        found.query_json = claim->query_json;
        found.pre_image = claim->pre_image;
      }
    }
    open.push_back(std::move(found));
  };
  // A call without an outcome always has its claim: nothing takes a claim without writing one.
  std::vector<IntentId> owned;
  {
    auto row = work.db.prepare("SELECT intent FROM claim WHERE owner = ? AND phase = 1");
    row.bind(blob(owner));
    while (row.step()) owned.push_back(uuid_from(row.bytes(0)));
  }
  for (const auto& intent : owned)
    if (!has_event(work, intent, LedgerEvent::unknown)) add(intent);
  for (const auto& intent : also) add(intent);
  return open;
}

}  // namespace geonce
