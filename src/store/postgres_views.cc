#include "store/postgres_views.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/postgres_rows.h"

namespace geonce {
namespace {

constexpr int kTombstone = 0;  // entry.kind beside the values of AnswerKind

/// Conditions that are joined by AND, each with `{}` where its value goes.
class Where {
 public:
  template <class... Values>
  void add(fmt::string_view condition, Values... values) {
    sql_ += sql_.empty() ? " WHERE " : " AND ";
    const auto first = params_.size() + 1;
    (params_.push_back(std::move(values)), ...);
    sql_ += place(condition, first, std::index_sequence_for<Values...>{});
  }
  [[nodiscard]] const std::string& sql() const { return sql_; }
  [[nodiscard]] const std::vector<PgParam>& params() const { return params_; }

 private:
  template <std::size_t... I>
  static std::string place(fmt::string_view condition,
                           std::size_t first,
                           std::index_sequence<I...> /*order*/) {
    return fmt::format(fmt::runtime(condition), fmt::format("${}", first + I)...);
  }
  std::string sql_;
  std::vector<PgParam> params_;
};

constexpr std::string_view kEntrySelect =
    "SELECT pool, key, gen, kind, payload, answered_at, fresh_until, stale_until, erase_after, "
    "no_match_streak, pinned, intent, query_json, pre_image, building_key FROM geonce.entry";

EntryRow entry_row_from(const PgRows& rows, int row) {
  EntryRow entry;
  entry.slot = {static_cast<Pool>(rows.integer(row, 0)), digest_from<Key>(rows.bytes(row, 1))};
  entry.gen = rows.integer(row, 2);
  if (rows.integer(row, 3) != kTombstone) {
    if (auto answer = decode_answer(rows.bytes(row, 4)))
      entry.answer = std::make_shared<const Answer>(std::move(*answer));
  }
  entry.answered_at = rows.integer(row, 5);
  entry.fresh_until = rows.integer(row, 6);
  entry.stale_until = rows.integer(row, 7);
  entry.erase_after = rows.integer(row, 8);
  entry.no_match_streak = static_cast<int>(rows.integer(row, 9));
  entry.pinned = rows.integer(row, 10) != 0;
  if (!rows.is_null(row, 11)) entry.intent = digest_from<IntentId>(rows.bytes(row, 11));
  entry.query_json = rows.bytes(row, 12);
  entry.pre_image = rows.bytes(row, 13);
  if (!rows.is_null(row, 14)) entry.building_key = digest_from<Key>(rows.bytes(row, 14));
  return entry;
}

constexpr std::string_view kLedgerSelect =
    "SELECT intent, event, at, pool, key, gen, attempt, provider, cause, bulk, http_status, "
    "reason, provider_request_id, billed, units, price_micro_usd, redundant, late FROM "
    "geonce.ledger";

LedgerRow ledger_row_from(const PgRows& rows, int row) {
  LedgerRow entry;
  entry.intent = digest_from<IntentId>(rows.bytes(row, 0));
  entry.event = static_cast<LedgerEvent>(rows.integer(row, 1));
  entry.at = rows.integer(row, 2);
  entry.slot = {static_cast<Pool>(rows.integer(row, 3)), digest_from<Key>(rows.bytes(row, 4))};
  entry.gen = rows.integer(row, 5);
  entry.attempt = static_cast<int>(rows.integer(row, 6));
  entry.provider = rows.bytes(row, 7);
  entry.cause = static_cast<Cause>(rows.integer(row, 8));
  entry.bulk = rows.integer(row, 9) != 0;
  entry.http_status = static_cast<int>(rows.integer(row, 10));
  entry.reason = rows.bytes(row, 11);
  entry.provider_request_id = rows.bytes(row, 12);
  entry.billed = static_cast<Billed>(rows.integer(row, 13));
  entry.units = static_cast<int>(rows.integer(row, 14));
  entry.price = Money{rows.integer(row, 15)};
  entry.redundant = rows.integer(row, 16) != 0;
  entry.late = rows.integer(row, 17) != 0;
  return entry;
}

/// LIMIT takes a signed number.
std::int64_t limit_of(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX));
}

PgParam param_of(const Key& key) { return PgParam::bytes(bytes_of(key)); }
PgParam param_of(const Uuid& uuid) { return PgParam::bytes(bytes_of(uuid), PgType::uuid); }

void add_span(Where& where, const LedgerFilter& filter) {
  if (filter.from > 0) where.add("p.at >= {}", PgParam::integer(filter.from));
  if (filter.to < INT64_MAX) where.add("p.at < {}", PgParam::integer(filter.to));
  if (filter.intent) where.add("p.intent = {}", param_of(*filter.intent));
  if (filter.provider) where.add("p.provider = {}", PgParam::text(*filter.provider));
}

// An intent counts once, and what is known beats what was not known at first; on the money the
// invoice has the last word. `o`: its outcome rows; `f`: what became of it; `m`: the row that says
// what it cost.
constexpr std::string_view kSums = R"(
SELECT provider, count(*), count(*) FILTER (WHERE is_answered), count(*) FILTER (WHERE is_refused),
  count(*) FILTER (WHERE is_unknown), count(*) FILTER (WHERE is_void),
  count(*) FILTER (WHERE is_redundant), count(*) FILTER (WHERE event IS NULL),
  coalesce(sum(units) FILTER (WHERE billed = 1), 0)::bigint,
  coalesce(sum(units) FILTER (WHERE billed = 2), 0)::bigint,
  coalesce(sum(price) FILTER (WHERE billed = 1), 0)::bigint,
  coalesce(sum(price) FILTER (WHERE billed = 2), 0)::bigint
FROM (
  SELECT p.provider, f.is_answered, f.is_redundant, f.is_refused AND NOT f.is_answered AS is_refused,
    f.is_void AND NOT f.is_answered AND NOT f.is_refused AS is_void,
    f.is_any AND NOT f.is_answered AND NOT f.is_refused AND NOT f.is_void AS is_unknown, m.event,
    coalesce(m.billed, 2) AS billed, coalesce(m.units, p.units) AS units,
    coalesce(m.price_micro_usd, p.price_micro_usd) AS price
  FROM geonce.ledger p
  CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(o.event = 2), false) AS is_answered,
      coalesce(bool_or(o.event = 3), false) AS is_refused, coalesce(bool_or(o.event = 5), false) AS is_void,
      coalesce(bool_or(o.event = 2 AND o.redundant), false) AS is_redundant, count(*) > 0 AS is_any
    FROM geonce.ledger o WHERE o.intent = p.intent AND o.event > 1) f
  LEFT JOIN LATERAL (
    SELECT o.event, o.billed, o.units, o.price_micro_usd FROM geonce.ledger o
    WHERE o.intent = p.intent AND o.event > 1
    ORDER BY array_position('{{6,2,3,5,4}}'::smallint[], o.event) LIMIT 1) m ON true{}) s
GROUP BY provider ORDER BY provider COLLATE "C")";

}  // namespace

Result<std::optional<EntryRow>> read_entry_row(PostgresWorkers& workers,
                                               const Slot& slot,
                                               Deadline deadline) {
  Where where;
  where.add("erase_after > geonce.now()");
  where.add("pool = {} AND key = {}", PgParam::integer(slot.pool), param_of(slot.key));
  const auto rows =
      workers.query(fmt::format("{}{}", kEntrySelect, where.sql()), where.params(), deadline);
  if (!rows) return fail(rows.error());
  if (rows->size() == 0) return std::nullopt;
  return entry_row_from(*rows, 0);
}

Result<std::vector<EntryRow>> read_entry_rows(PostgresWorkers& workers,
                                              const EntryFilter& filter,
                                              Deadline deadline) {
  Where where;
  where.add("erase_after > geonce.now()");
  if (filter.after)
    where.add("(pool, key) > ({}, {})",
              PgParam::integer(filter.after->pool),
              param_of(filter.after->key));
  if (filter.provider) where.add("provider = {}", PgParam::text(*filter.provider));
  if (filter.kind) where.add("kind = {}", PgParam::integer(*filter.kind));
  if (filter.pinned) where.add("pinned = {}", PgParam::boolean(true));
  if (filter.building) {
    const auto pool = PgParam::integer(filter.building->pool);
    const auto building = param_of(filter.building->key);
    // Two ways in, as the index leaves out what its own key leads to.
    where.add(
        "(pool, key) IN (SELECT pool, key FROM geonce.entry WHERE pool = {} AND key = {} AND "
        "building_key = key UNION ALL SELECT pool, key FROM geonce.entry WHERE pool = {} AND "
        "building_key = {} AND building_key <> key)",
        pool,
        building,
        pool,
        building);
  }
  const auto rows = workers.query(
      fmt::format(
          "{}{} ORDER BY pool, key LIMIT {}", kEntrySelect, where.sql(), limit_of(filter.limit)),
      where.params(),
      deadline);
  if (!rows) return fail(rows.error());
  std::vector<EntryRow> entries;
  for (int row = 0; row < rows->size(); ++row) entries.push_back(entry_row_from(*rows, row));
  return entries;
}

Result<std::vector<LedgerRow>> read_ledger(PostgresWorkers& workers,
                                           const LedgerFilter& filter,
                                           Deadline deadline) {
  Where where;
  add_span(where, filter);
  if (filter.slot)
    where.add(
        "p.intent IN (SELECT intent FROM geonce.ledger WHERE pool = {} AND key = {} AND event = 1)",
        PgParam::integer(filter.slot->pool),
        param_of(filter.slot->key));
  if (filter.event) where.add("p.event = {}", PgParam::integer(*filter.event));
  const auto rows = workers.query(fmt::format("{0} p{1} ORDER BY at {2}, seq {2} LIMIT {3}",
                                              kLedgerSelect,
                                              where.sql(),
                                              filter.newest_first ? "DESC" : "ASC",
                                              limit_of(filter.limit)),
                                  where.params(),
                                  deadline);
  if (!rows) return fail(rows.error());
  std::vector<LedgerRow> out;
  for (int row = 0; row < rows->size(); ++row) out.push_back(ledger_row_from(*rows, row));
  return out;
}

Result<std::vector<LedgerSum>> sum_ledger(PostgresWorkers& workers,
                                          const LedgerFilter& filter,
                                          Deadline deadline) {
  Where where;
  where.add("p.event = 1");
  add_span(where, filter);
  if (filter.slot)
    where.add("p.pool = {} AND p.key = {}",
              PgParam::integer(filter.slot->pool),
              param_of(filter.slot->key));
  const auto rows =
      workers.query(fmt::format(fmt::runtime(kSums), where.sql()), where.params(), deadline);
  if (!rows) return fail(rows.error());
  std::vector<LedgerSum> sums;
  for (int row = 0; row < rows->size(); ++row) {
    LedgerSum sum;
    sum.provider = rows->bytes(row, 0);
    std::int64_t* const fields[]{&sum.prepared,
                                 &sum.answered,
                                 &sum.refused,
                                 &sum.unknown,
                                 &sum.voided,
                                 &sum.redundant,
                                 &sum.open,
                                 &sum.billed_units,
                                 &sum.in_doubt_units,
                                 &sum.billed.micro_usd,
                                 &sum.in_doubt.micro_usd};
    int column = 0;
    for (auto* field : fields) *field = rows->integer(row, ++column);
    sums.push_back(std::move(sum));
  }
  return sums;
}

}  // namespace geonce
