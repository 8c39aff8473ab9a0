#include "store/postgres_ended.h"

#include "store/postgres_rows.h"

namespace geonce {
namespace {

EndedWindow window_from(const PgRows& rows, int row) {
  return {rows.integer(row, 0),
          {static_cast<Pool>(rows.integer(row, 1)), digest_from<Key>(rows.bytes(row, 2))},
          rows.integer(row, 3)};
}

}  // namespace

Result<EndedSince> ended_since(PostgresWorkers& workers,
                               std::string_view cursor,
                               std::size_t limit,
                               Deadline deadline) {
  const std::vector<PgParam> params{PgParam::text(cursor),
                                    PgParam::integer(static_cast<std::int64_t>(limit))};
  const auto rows = workers.query("SELECT * FROM geonce.ended_since($1, $2)", params, deadline);
  if (!rows) return fail(rows.error());
  EndedSince since;
  since.cursor = rows->bytes(0, 4);
  since.has_gap = rows->integer(0, 5) != 0;
  since.has_untold = rows->integer(0, 6) != 0;
  for (int row = 1; row < rows->size(); ++row) since.windows.push_back(window_from(*rows, row));
  return since;
}

Result<std::vector<EndedWindow>> untold(PostgresWorkers& workers,
                                        std::size_t limit,
                                        Deadline deadline) {
  const std::vector<PgParam> params{PgParam::integer(static_cast<std::int64_t>(limit))};
  const auto rows = workers.query("SELECT * FROM geonce.untold($1)", params, deadline);
  if (!rows) return fail(rows.error());
  std::vector<EndedWindow> windows;
  for (int row = 0; row < rows->size(); ++row) windows.push_back(window_from(*rows, row));
  return windows;
}

Result<void> told(PostgresWorkers& workers,
                  std::span<const std::int64_t> numbers,
                  Deadline deadline) {
  PgLists lists{PgType::bigint};
  for (const std::int64_t number : numbers) lists.row(number);
  const auto done = workers.query("SELECT geonce.told($1)", lists.params(), deadline);
  if (!done) return fail(done.error());
  return {};
}

}  // namespace geonce
