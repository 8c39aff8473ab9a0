#include "store/sqlite_batches.h"

#include "store/sqlite_rows.h"

namespace geonce {
namespace {

// How long the head of a batch outlives its last chunk: `geonce batch` still shows that it ran.
constexpr milliseconds kHeadLife{std::chrono::hours{24} * 30};

constexpr std::string_view kHeadColumns =
    "id, identity, label, state, rows, created_at, updated_at, refresh_before, summary";

BatchHead head_from(const SqliteStatement& row) {
  BatchHead head;
  head.id = uuid_from(row.bytes(0));
  head.identity = row.bytes(1);
  head.label = row.bytes(2);
  head.state = row.bytes(3);
  head.rows = row.integer(4);
  head.created_at = row.integer(5);
  head.updated_at = row.integer(6);
  head.refresh_before = row.integer(7);
  head.summary_json = row.bytes(8);
  return head;
}

bool is_unfinished_refresh(const BatchHead& head) {
  return head.refresh_before > 0 && head.state != "complete" &&
         head.state != "complete_with_errors";
}

std::optional<std::int64_t> batch_number(SqliteWork& work, const BatchId& id) {
  auto row = work.db.prepare("SELECT number FROM batch WHERE id = ?");
  if (!row.bind(blob(id)).step()) return std::nullopt;
  return row.integer(0);
}

}  // namespace

BatchHead open_batch(SqliteWork& work,
                     std::string_view identity,
                     std::string_view label,
                     BatchStart start,
                     const BatchId& new_id) {
  if (start != BatchStart::restart) {
    static const std::string kSql = fmt::format(
        "SELECT {} FROM batch WHERE identity = ? ORDER BY number DESC LIMIT 1", kHeadColumns);
    auto row = work.db.prepare(kSql);
    if (row.bind(SqliteBlob{identity}).step()) {
      BatchHead head = head_from(row);
      if (start == BatchStart::resume || is_unfinished_refresh(head)) return head;
    }
  }
  BatchHead head;
  head.id = new_id;
  head.identity = identity;
  head.label = label;
  head.state = "running";
  head.created_at = head.updated_at = work.now;
  head.refresh_before = start == BatchStart::refresh ? work.now : 0;
  head.is_new = true;
  static const std::string kSql =
      fmt::format("INSERT INTO batch ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", kHeadColumns);
  work.db.prepare(kSql)
      .bind(blob(head.id),
            SqliteBlob{head.identity},
            head.label,
            head.state,
            head.rows,
            head.created_at,
            head.updated_at,
            head.refresh_before,
            head.summary_json)
      .run();
  return head;
}

std::optional<std::string> batch_chunk(SqliteWork& work, const BatchId& id, std::int64_t number) {
  auto row = work.db.prepare(
      "SELECT bytes FROM chunk JOIN batch ON batch.number = chunk.batch "
      "WHERE batch.id = ? AND chunk.number = ? AND chunk.erase_after > ?");
  if (!row.bind(blob(id), number, work.now).step()) return std::nullopt;
  return std::string(row.bytes(0));
}

bool save_chunks(SqliteWork& work, const BatchId& id, std::span<const BatchChunk> chunks) {
  const auto batch = batch_number(work, id);
  if (!batch) return false;
  for (const auto& chunk : chunks) {
    if (chunk.erase.count() > 0)
      work.db
          .prepare(
              "INSERT OR REPLACE INTO chunk (batch, number, erase_after, bytes) VALUES (?, ?, ?, "
              "?)")
          .bind(*batch, chunk.number, after(work.now, chunk.erase), SqliteBlob{chunk.bytes})
          .run();
    else
      work.db.prepare("DELETE FROM chunk WHERE batch = ? AND number = ?")
          .bind(*batch, chunk.number)
          .run();
    if (work.db.has_failed()) return true;
  }
  work.db.prepare("UPDATE batch SET updated_at = ? WHERE number = ?").bind(work.now, *batch).run();
  return true;
}

std::int64_t forget_in_batches(SqliteWork& work, std::span<const Key> keys) {
  std::int64_t erased = 0;
  work.db.prepare("DELETE FROM forgotten WHERE at < ?")
      .bind(work.now - kTombstoneLife.count())
      .run();
  for (const Key& key : keys) {
    work.db.prepare("INSERT OR REPLACE INTO forgotten VALUES (?, ?)")
        .bind(blob(key), work.now)
        .run();
    work.db.prepare("DELETE FROM chunk WHERE instr(bytes, ?) > 0").bind(blob(key)).run();
    erased += work.db.changes();
  }
  return erased;
}

bool close_batch(SqliteWork& work, const BatchHead& head) {
  const auto batch = batch_number(work, head.id);
  if (!batch) return false;
  work.db
      .prepare(
          "UPDATE batch SET label = ?, state = ?, rows = ?, summary = ?, updated_at = ? WHERE "
          "number = ?")
      .bind(head.label, head.state, head.rows, head.summary_json, work.now, *batch)
      .run();
  return true;
}

std::vector<BatchHead> batches(SqliteWork& work, std::size_t limit) {
  static const std::string kSql =
      fmt::format("SELECT {} FROM batch ORDER BY number DESC LIMIT ?", kHeadColumns);
  auto row = work.db.prepare(kSql);
  row.bind(limit);
  std::vector<BatchHead> heads;
  while (row.step()) heads.push_back(head_from(row));
  return heads;
}

void sweep_batches(SqliteWork& work, std::size_t limit, SweepReport& report) {
  work.db
      .prepare(
          "DELETE FROM chunk WHERE rowid IN "
          "(SELECT rowid FROM chunk WHERE erase_after <= ? ORDER BY erase_after LIMIT ?)")
      .bind(work.now, std::max<std::size_t>(1, limit / 20))  // they are long
      .run();
  report.chunks = work.db.changes();
  work.db
      .prepare(
          "DELETE FROM batch WHERE number IN (SELECT number FROM batch WHERE updated_at <= ? AND "
          "NOT "
          "EXISTS (SELECT 1 FROM chunk WHERE chunk.batch = batch.number) LIMIT ?)")
      .bind(work.now - kHeadLife.count(), limit)
      .run();
  report.batches = work.db.changes();
}

}  // namespace geonce
