#include "store/postgres_batches.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/postgres_rows.h"

namespace geonce {
namespace {

using enum PgType;

constexpr std::string_view kHeadColumns =
    "id, identity, label, state, rows, created_at, updated_at, refresh_before, summary";

BatchHead head_from(const PgRows& rows, int row) {
  BatchHead head;
  head.id = digest_from<BatchId>(rows.bytes(row, 0));
  head.identity = rows.bytes(row, 1);
  head.label = rows.bytes(row, 2);
  head.state = rows.bytes(row, 3);
  head.rows = rows.integer(row, 4);
  head.created_at = rows.integer(row, 5);
  head.updated_at = rows.integer(row, 6);
  head.refresh_before = rows.integer(row, 7);
  head.summary_json = rows.bytes(row, 8);
  return head;
}

/// Of a statement that says whether it knows the batch.
Result<void> expect_known(const Result<PgRows>& rows, const BatchId& id) {
  if (!rows) return fail(rows.error());
  if (rows->integer(0, 0) != 0) return {};
  return fail(ErrorCode::not_found, "the store has no batch {}", to_string(id));
}

}  // namespace

Result<BatchHead> open_batch(PostgresWorkers& workers,
                             std::string_view identity,
                             std::string_view label,
                             BatchStart start,
                             const BatchId& new_id,
                             Deadline deadline) {
  const std::vector<PgParam> params{PgParam::bytes({identity}),
                                    PgParam::text(label),
                                    PgParam::integer(start),
                                    PgParam::bytes(bytes_of(new_id), uuid)};
  const auto rows =
      workers.query(fmt::format("SELECT {} FROM geonce.open_batch($1, $2, $3, $4)", kHeadColumns),
                    params,
                    deadline);
  if (!rows) return fail(rows.error());
  auto head = head_from(*rows, 0);
  head.is_new = head.id == new_id;
  return head;
}

Result<std::optional<std::string>> batch_chunk(PostgresWorkers& workers,
                                               const BatchId& id,
                                               std::int64_t number,
                                               Deadline deadline) {
  const std::vector<PgParam> params{PgParam::bytes(bytes_of(id), uuid), PgParam::integer(number)};
  const auto rows = workers.query(
      "SELECT c.bytes FROM geonce.chunk c JOIN geonce.batch b ON b.number = c.batch "
      "WHERE b.id = $1 AND c.number = $2 AND c.erase_after > geonce.now()",
      params,
      deadline);
  if (!rows) return fail(rows.error());
  if (rows->size() == 0) return std::nullopt;
  return std::string(rows->bytes(0, 0));
}

Result<void> save_chunks(PostgresWorkers& workers,
                         const BatchId& id,
                         std::span<const BatchChunk> chunks,
                         Deadline deadline) {
  PgLists lists{bigint, bigint, bytea};
  for (const auto& chunk : chunks)
    lists.row(chunk.number, span_of(chunk.erase), PgBytes{chunk.bytes});
  auto params = lists.params();
  params.insert(params.begin(), PgParam::bytes(bytes_of(id), uuid));
  return expect_known(workers.query("SELECT geonce.save_chunks($1, $2, $3, $4)", params, deadline),
                      id);
}

Result<void> close_batch(PostgresWorkers& workers, const BatchHead& head, Deadline deadline) {
  const std::vector<PgParam> params{PgParam::bytes(bytes_of(head.id), uuid),
                                    PgParam::text(head.label),
                                    PgParam::text(head.state),
                                    PgParam::integer(head.rows),
                                    PgParam::text(head.summary_json)};
  return expect_known(
      workers.query("SELECT geonce.close_batch($1, $2, $3, $4, $5)", params, deadline), head.id);
}

Result<std::vector<BatchHead>> batches(PostgresWorkers& workers,
                                       std::size_t limit,
                                       Deadline deadline) {
  const std::vector<PgParam> params{PgParam::integer(std::min<std::size_t>(limit, INT64_MAX))};
  const auto rows = workers.query(
      fmt::format("SELECT {} FROM geonce.batch ORDER BY number DESC LIMIT $1", kHeadColumns),
      params,
      deadline);
  if (!rows) return fail(rows.error());
  std::vector<BatchHead> heads;
  for (int row = 0; row < rows->size(); ++row) heads.push_back(head_from(*rows, row));
  return heads;
}

}  // namespace geonce
