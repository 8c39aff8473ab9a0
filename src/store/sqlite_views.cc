#include "store/sqlite_views.h"

#include <algorithm>
#include <functional>
#include <map>

#include "store/sqlite_rows.h"

namespace geonce {
namespace {

/// Conditions that are joined by AND, and the values for their question marks, in order.
struct Where {
  std::string sql;
  std::vector<std::function<void(SqliteStatement&, int&)>> values;

  template <class... Values>
  void add(std::string_view condition, Values... bound) {
    sql += sql.empty() ? " WHERE " : " AND ";
    sql += condition;
    (values.push_back([bound](SqliteStatement& row, int& index) { row.bind_at(++index, bound); }),
     ...);
  }
  void bind(SqliteStatement& row) const {
    int index = 0;
    for (const auto& value : values) value(row, index);
  }
};

constexpr std::string_view kEntrySelect =
    "SELECT pool, key, gen, kind, payload, answered_at, fresh_until, stale_until, erase_after, "
    "no_match_streak, pinned, intent, query_json, pre_image, building_key "
    "FROM entry LEFT JOIN entry_source ON entry_source.entry = entry.id";

EntryRow entry_row_from(const SqliteStatement& row) {
  EntryRow entry;
  entry.slot = {static_cast<Pool>(row.integer(0)), key_from(row.bytes(1))};
  entry.gen = row.integer(2);
  if (row.integer(3) != kTombstone) {
    if (auto answer = decode_answer(row.bytes(4)))
      entry.answer = std::make_shared<const Answer>(std::move(*answer));
  }
  entry.answered_at = row.integer(5);
  entry.fresh_until = row.integer(6);
  entry.stale_until = row.integer(7);
  entry.erase_after = row.integer(8);
  entry.no_match_streak = static_cast<int>(row.integer(9));
  entry.pinned = row.integer(10) != 0;
  if (!row.is_null(11)) entry.intent = uuid_from(row.bytes(11));
  entry.query_json = row.bytes(12);
  entry.pre_image = row.bytes(13);
  if (!row.is_null(14)) entry.building_key = key_from(row.bytes(14));
  return entry;
}

constexpr std::string_view kLedgerSelect =
    "SELECT intent, event, at, pool, key, gen, attempt, provider, cause, bulk, http_status, "
    "reason, "
    "provider_request_id, billed, units, price_micro_usd, redundant, late FROM ledger";

LedgerRow ledger_row_from(const SqliteStatement& row) {
  LedgerRow entry;
  entry.intent = uuid_from(row.bytes(0));
  entry.event = static_cast<LedgerEvent>(row.integer(1));
  entry.at = row.integer(2);
  entry.slot = {static_cast<Pool>(row.integer(3)), key_from(row.bytes(4))};
  entry.gen = row.integer(5);
  entry.attempt = static_cast<int>(row.integer(6));
  entry.provider = row.bytes(7);
  entry.cause = static_cast<Cause>(row.integer(8));
  entry.bulk = row.integer(9) != 0;
  entry.http_status = static_cast<int>(row.integer(10));
  entry.reason = row.bytes(11);
  entry.provider_request_id = row.bytes(12);
  entry.billed = static_cast<Billed>(row.integer(13));
  entry.units = static_cast<int>(row.integer(14));
  entry.price = Money{row.integer(15)};
  entry.redundant = row.integer(16) != 0;
  entry.late = row.integer(17) != 0;
  return entry;
}

/// LIMIT takes a signed number.
std::int64_t limit_of(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX));
}

/// What became of one intent: its outcome rows by event, each at most once.
class Fate {
 public:
  struct Outcome {
    Billed billed = Billed::unknown;
    std::int64_t units = 0;
    Money price;
    bool redundant = false;
  };
  std::map<LedgerEvent, Outcome> outcomes;
  Outcome at_first;  // what it may cost as long as there is none

  void add_to(LedgerSum& sum) const {
    using enum LedgerEvent;
    ++sum.prepared;
    if (outcomes.empty()) {
      ++sum.open;
      add_money(at_first, sum);
      return;
    }
    // What is known beats what was not known at first; each intent counts once.
    if (const auto at = outcomes.find(answered); at != outcomes.end()) {
      ++sum.answered;
      if (at->second.redundant) ++sum.redundant;
    } else if (outcomes.contains(refused)) {
      ++sum.refused;
    } else if (outcomes.contains(voided)) {
      ++sum.voided;
    } else {
      ++sum.unknown;
    }
    // The invoice has the last word on the money.
    for (const auto event : {reconciled, answered, refused, voided, unknown}) {
      const auto at = outcomes.find(event);
      if (at == outcomes.end()) continue;
      add_money(at->second, sum);
      return;
    }
  }

 private:
  static void add_money(const Outcome& outcome, LedgerSum& sum) {
    if (outcome.billed == Billed::yes) {
      sum.billed_units += outcome.units;
      sum.billed += outcome.price;
    } else if (outcome.billed == Billed::unknown) {
      sum.in_doubt_units += outcome.units;
      sum.in_doubt += outcome.price;
    }
  }
};

}  // namespace

std::optional<EntryRow> read_entry_row(SqliteWork& work, const Slot& slot) {
  static const std::string kSql =
      fmt::format("{} WHERE pool = ? AND key = ? AND erase_after > ?", kEntrySelect);
  auto row = work.db.prepare(kSql);
  if (!row.bind(slot.pool, blob(slot.key), work.now).step()) return std::nullopt;
  return entry_row_from(row);
}

std::vector<EntryRow> read_entry_rows(SqliteWork& work, const EntryFilter& filter) {
  Where where;
  where.add("erase_after > ?", work.now);
  if (filter.after) where.add("(pool, key) > (?, ?)", filter.after->pool, blob(filter.after->key));
  if (filter.provider) where.add("provider = ?", std::string_view(*filter.provider));
  if (filter.kind) where.add("kind = ?", *filter.kind);
  if (filter.pinned) where.add("pinned = ?", true);
  if (filter.building) {
    const auto building = blob(filter.building->key);
    const Pool pool = filter.building->pool;
    // Two ways in, as the index leaves out what its own key leads to.
    where.add(
        "entry.id IN (SELECT id FROM entry WHERE pool = ? AND key = ? AND building_key = key UNION "
        "ALL SELECT id FROM entry WHERE pool = ? AND building_key = ? AND building_key <> key)",
        pool,
        building,
        pool,
        building);
  }
  auto row = work.db.prepare(fmt::format(
      "{}{} ORDER BY pool, key LIMIT {}", kEntrySelect, where.sql, limit_of(filter.limit)));
  where.bind(row);
  std::vector<EntryRow> entries;
  while (row.step()) entries.push_back(entry_row_from(row));
  return entries;
}

std::vector<LedgerRow> read_ledger(SqliteWork& work, const LedgerFilter& filter) {
  Where where;
  if (filter.from > 0) where.add("at >= ?", filter.from);
  if (filter.to < INT64_MAX) where.add("at < ?", filter.to);
  if (filter.slot)
    where.add("intent IN (SELECT intent FROM ledger WHERE pool = ? AND key = ? AND event = 1)",
              filter.slot->pool,
              blob(filter.slot->key));
  if (filter.intent) where.add("intent = ?", blob(*filter.intent));
  if (filter.provider) where.add("provider = ?", std::string_view(*filter.provider));
  if (filter.event) where.add("event = ?", *filter.event);
  auto row = work.db.prepare(fmt::format("{0}{1} ORDER BY at {2}, seq {2} LIMIT {3}",
                                         kLedgerSelect,
                                         where.sql,
                                         filter.newest_first ? "DESC" : "ASC",
                                         limit_of(filter.limit)));
  where.bind(row);
  std::vector<LedgerRow> rows;
  while (row.step()) rows.push_back(ledger_row_from(row));
  return rows;
}

std::vector<LedgerSum> sum_ledger(SqliteWork& work, const LedgerFilter& filter) {
  Where where;
  where.add("p.event = 1");
  if (filter.from > 0) where.add("p.at >= ?", filter.from);
  if (filter.to < INT64_MAX) where.add("p.at < ?", filter.to);
  if (filter.slot) where.add("p.pool = ? AND p.key = ?", filter.slot->pool, blob(filter.slot->key));
  if (filter.intent) where.add("p.intent = ?", blob(*filter.intent));
  if (filter.provider) where.add("p.provider = ?", std::string_view(*filter.provider));
  auto row = work.db.prepare(fmt::format(
      "SELECT p.seq, p.provider, o.event, o.billed, o.units, o.price_micro_usd, o.redundant, "
      "p.units, p.price_micro_usd "
      "FROM ledger p LEFT JOIN ledger o ON o.intent = p.intent AND o.event > 1{} ORDER BY p.at, "
      "p.seq",
      where.sql));
  where.bind(row);
  std::map<std::string, LedgerSum, std::less<>> sums;
  std::optional<std::int64_t> seq;
  std::string provider;
  Fate fate;
  const auto close = [&] {
    if (seq) fate.add_to(sums[provider]);
    fate = {};
  };
  while (row.step()) {
    if (seq != row.integer(0)) {
      close();
      seq = row.integer(0);
      provider = row.bytes(1);
    }
    fate.at_first = {Billed::unknown, row.integer(7), Money{row.integer(8)}};
    if (row.is_null(2)) continue;
    fate.outcomes[static_cast<LedgerEvent>(row.integer(2))] = {static_cast<Billed>(row.integer(3)),
                                                               row.integer(4),
                                                               Money{row.integer(5)},
                                                               row.integer(6) != 0};
  }
  close();
  std::vector<LedgerSum> out;
  for (auto& [name, sum] : sums) {
    sum.provider = name;
    out.push_back(std::move(sum));
  }
  return out;
}

}  // namespace geonce
