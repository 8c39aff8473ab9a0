#include "store/postgres_upkeep.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/failpoint.h"
#include "store/postgres_rows.h"

namespace geonce {
namespace {

constexpr int kPage = 5'000;
constexpr std::size_t kMaxFindings = 10;

/// Answers that cannot be read, page by page in slot order.
Result<void> check_answers(PostgresWorkers& workers,
                           std::vector<std::string>& findings,
                           Deadline deadline) {
  Slot after;
  after.pool = 0;
  while (findings.size() < kMaxFindings) {
    const std::vector<PgParam> params{PgParam::integer(after.pool),
                                      PgParam::bytes(bytes_of(after.key))};
    const auto rows = workers.query(
        fmt::format("SELECT pool, key, payload, kind FROM geonce.entry WHERE (pool, key) > ($1, "
                    "$2) ORDER BY pool, key LIMIT {}",
                    kPage),
        params,
        deadline);
    if (!rows) return fail(rows.error());
    for (int row = 0; row < rows->size(); ++row) {
      after = {static_cast<Pool>(rows->integer(row, 0)), digest_from<Key>(rows->bytes(row, 1))};
      if (rows->integer(row, 3) != 0 && !decode_answer(rows->bytes(row, 2)) &&
          findings.size() < kMaxFindings)
        findings.push_back(
            fmt::format("the answer of entry {} cannot be read", to_text(after.key)));
    }
    if (rows->size() < kPage) break;
  }
  return {};
}

Result<void> check_claims(PostgresWorkers& workers,
                          std::vector<std::string>& findings,
                          Deadline deadline) {
  const auto rows = workers.query(
      "SELECT key, phase FROM geonce.claim c WHERE phase = 0 OR NOT EXISTS (SELECT FROM "
      "geonce.ledger l WHERE l.intent = c.intent AND l.event = 1) LIMIT 10",
      {},
      deadline);
  if (!rows) return fail(rows.error());
  for (int row = 0; row < rows->size(); ++row)
    findings.push_back(fmt::format("the claim of {} is not in the ledger",
                                   to_text(digest_from<Key>(rows->bytes(row, 0)))));
  return {};
}

}  // namespace

Result<SweepReport> sweep(PostgresWorkers& workers, std::size_t limit, Deadline deadline) {
  failpoint(FailPoint::sweep_open);
  const std::vector<PgParam> params{PgParam::integer(std::min<std::size_t>(limit, INT64_MAX))};
  const auto rows = workers.query(
      "SELECT entries, chunks, batches, negatives, claims, is_behind FROM geonce.sweep($1)",
      params,
      deadline);
  if (!rows) return fail(rows.error());
  return SweepReport{rows->integer(0, 0),
                     rows->integer(0, 1),
                     rows->integer(0, 2),
                     rows->integer(0, 3),
                     rows->integer(0, 4),
                     rows->integer(0, 5) != 0};
}

Result<milliseconds> lease(PostgresWorkers& workers,
                           std::string_view name,
                           const OwnerId& owner,
                           milliseconds life,
                           Deadline deadline) {
  const std::vector<PgParam> params{PgParam::text(name),
                                    PgParam::bytes(bytes_of(owner), PgType::uuid),
                                    PgParam::integer(span_of(life))};
  const auto rows = workers.query("SELECT geonce.lease($1, $2, $3)", params, deadline);
  if (!rows) return fail(rows.error());
  return milliseconds{rows->integer(0, 0)};
}

Result<void> refresh_counts(PostgresWorkers& workers, Deadline deadline) {
  return workers.alone(
      PgRepeat::when_in_doubt,
      deadline,
      [&workers](PgConnection& connection, Deadline until) -> Result<void> {
        // It reads all rows: the limit of the program's role is for what others wait for.
        auto done = connection.script(
            "BEGIN; SET LOCAL statement_timeout = 0; SELECT geonce.refresh_counts(); COMMIT",
            until,
            workers.clock());
        if (!done && connection.is_alive())
          ignore(connection.script("ROLLBACK", until, workers.clock()), "the first error is told");
        return done;
      });
}

Result<void> count_rows(PostgresWorkers& workers, StoreStats& stats, Deadline deadline) {
  const auto rows = workers.query(
      "SELECT (SELECT count(*) FROM geonce.entry), "
      "(SELECT count(*) FROM geonce.claim WHERE phase = 1), "
      "(SELECT count(*) FROM geonce.claim WHERE phase = 3), "
      "(SELECT count(*) FROM geonce.ledger), "
      "(SELECT coalesce(sum(points), 0)::bigint FROM geonce.place_source), "
      "(SELECT count(*) FROM geonce.batch), "
      "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN "
      "pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'geonce' AND c.relkind = 'r'), "
      "(SELECT max(number) FROM geonce.schema_step), "
      "current_setting('server_version')",
      {},
      deadline);
  if (!rows) return fail(rows.error());
  std::int64_t* const fields[]{&stats.entries,
                               &stats.open_claims,
                               &stats.blocked_claims,
                               &stats.ledger_rows,
                               &stats.places,
                               &stats.batches,
                               &stats.bytes,
                               &stats.schema};
  int column = 0;
  for (auto* field : fields) *field = rows->integer(0, column++);
  stats.version = rows->bytes(0, column);
  return {};
}

Result<void> check(PostgresWorkers& workers, const std::string& where, Deadline deadline) {
  std::vector<std::string> findings;
  if (auto done = check_answers(workers, findings, deadline); !done) return done;
  if (auto done = check_claims(workers, findings, deadline); !done) return done;
  if (findings.empty()) return {};
  return fail(ErrorCode::store_corrupt,
              "the store {} has {} finding(s), the first: {}; put back a copy",
              where,
              findings.size(),
              findings.front());
}

}  // namespace geonce
