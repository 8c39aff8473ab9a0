#include "store/sqlite_ended.h"

#include <charconv>

#include "store/sqlite_rows.h"

namespace geonce {
namespace {

constexpr milliseconds kLife{std::chrono::hours{24} * 7};
constexpr std::int64_t kMost = 1'000'000;
constexpr std::int64_t kTrimEvery = 1'000;

std::int64_t whole(std::string_view text) {
  std::int64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The number of the last that was ever noted, whether it is still there or not.
std::int64_t last_number(SqliteWork& work) {
  auto row = work.db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'ended'");
  return row.step() ? row.integer(0) : 0;
}

std::int64_t first_number(SqliteWork& work, std::int64_t otherwise) {
  auto row = work.db.prepare("SELECT min(number) FROM ended");
  return row.step() && !row.is_null(0) ? row.integer(0) : otherwise;
}

std::vector<EndedWindow> read(SqliteStatement row) {
  std::vector<EndedWindow> windows;
  while (row.step())
    windows.push_back({row.integer(0),
                       {static_cast<Pool>(row.integer(1)), key_from(row.bytes(2))},
                       row.integer(3)});
  return windows;
}

}  // namespace

void note_ended(SqliteWork& work, const Slot& slot, std::int64_t gen) {
  work.db.prepare("INSERT INTO ended (at, pool, key, gen, told) VALUES (?, ?, ?, ?, 0)")
      .bind(work.now, slot.pool, blob(slot.key), gen)
      .run();
  const std::int64_t number = work.db.last_insert_rowid();
  if (number % kTrimEvery != 0) return;
  work.db.prepare("DELETE FROM ended WHERE number <= ?").bind(number - kMost).run();
  // From the oldest on, so that what is left has no gaps even where the clock was set back.
  work.db
      .prepare(
          "DELETE FROM ended WHERE number < "
          "(SELECT coalesce(min(number), 0) FROM ended WHERE at >= ?)")
      .bind(work.now - kLife.count())
      .run();
}

EndedSince ended_since(SqliteWork& work, std::string_view cursor, std::size_t limit) {
  EndedSince since;
  const std::int64_t last = last_number(work);
  since.cursor = std::to_string(last);
  since.has_untold = work.db.prepare("SELECT 1 FROM ended WHERE told = 0 LIMIT 1").step();
  if (cursor.empty()) return since;
  const std::int64_t seen = whole(cursor);
  if (seen == last) return since;
  // Behind the last: the file was put back from a copy.
  since.has_gap = seen > last || last - seen > static_cast<std::int64_t>(limit) ||
                  first_number(work, last + 1) > seen + 1;
  if (since.has_gap) return since;
  auto rows =
      work.db.prepare("SELECT number, pool, key, gen FROM ended WHERE number > ? ORDER BY number");
  rows.bind(seen);
  since.windows = read(std::move(rows));
  return since;
}

std::vector<EndedWindow> untold(SqliteWork& work, std::size_t limit) {
  auto rows = work.db.prepare(
      "SELECT number, pool, key, gen FROM ended WHERE told = 0 ORDER BY number LIMIT ?");
  rows.bind(limit);
  return read(std::move(rows));
}

void told(SqliteWork& work, std::span<const std::int64_t> numbers) {
  for (const std::int64_t number : numbers)
    work.db.prepare("UPDATE ended SET told = 1 WHERE number = ? AND told = 0").bind(number).run();
}

}  // namespace geonce
