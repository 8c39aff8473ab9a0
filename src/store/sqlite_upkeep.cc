#include "store/sqlite_upkeep.h"

#include "store/sqlite_rows.h"

namespace geonce {
namespace {

// How long a claim that stands for nothing any more may lie around.
constexpr milliseconds kSpentClaimLife{std::chrono::hours{24}};
constexpr std::size_t kMaxFindings = 10;

std::int64_t count(SqliteWork& work, std::string_view sql) {
  auto row = work.db.prepare(sql);
  return row.step() ? row.integer(0) : 0;
}

// Chosen first and deleted one by one: as one statement SQLite would go through the whole table for
// it.

/// Where a claim stands its gen counts on from the entry's, so that much of the entry stays.
std::int64_t erase_entries(SqliteWork& work, std::size_t limit) {
  struct Due {
    std::int64_t id;
    bool has_claim;
  };
  std::vector<Due> over;
  {
    auto row = work.db.prepare(
        "SELECT id, EXISTS (SELECT 1 FROM claim WHERE claim.pool = entry.pool AND claim.key = "
        "entry.key) FROM entry WHERE erase_after <= ? ORDER BY erase_after, id LIMIT ?");
    row.bind(work.now, limit);
    while (row.step()) over.push_back({row.integer(0), row.integer(1) != 0});
  }
  for (const auto& [id, has_claim] : over) {
    work.db.prepare("DELETE FROM entry_source WHERE entry = ?").bind(id).run();
    if (has_claim)
      work.db
          .prepare(
              "UPDATE entry SET building_key = NULL, kind = 0, fresh_until = ?, stale_until = ?, "
              "erase_after = ?, no_match_streak = 0, pinned = 0, provider = '', intent = NULL, "
              "payload = x'' WHERE id = ?")
          .bind(work.now, work.now, after(work.now, kTombstoneLife), id)
          .run();
    else
      work.db.prepare("DELETE FROM entry WHERE id = ?").bind(id).run();
  }
  return static_cast<std::int64_t>(over.size());
}

std::int64_t erase_no_matches(SqliteWork& work, std::size_t limit) {
  std::vector<std::pair<Slot, std::string>> over;
  {
    auto row = work.db.prepare(
        "SELECT pool, key, provider FROM no_match WHERE until <= ? ORDER BY until LIMIT ?");
    row.bind(work.now, limit);
    while (row.step())
      over.emplace_back(Slot{static_cast<Pool>(row.integer(0)), key_from(row.bytes(1))},
                        row.bytes(2));
  }
  for (const auto& [slot, provider] : over)
    work.db.prepare("DELETE FROM no_match WHERE pool = ? AND key = ? AND provider = ?")
        .bind(slot.pool, blob(slot.key), provider)
        .run();
  return static_cast<std::int64_t>(over.size());
}

/// Cool-downs that are over. Claims with an unknown call or an answer behind them stay.
std::int64_t erase_spent_claims(SqliteWork& work, std::size_t limit) {
  std::vector<Slot> spent;
  {
    auto row = work.db.prepare(
        "SELECT pool, key FROM claim WHERE phase = 2 AND deadline <= ? AND attempt = 1 AND asked = "
        "'' LIMIT ?");
    row.bind(work.now - kSpentClaimLife.count(), limit);
    while (row.step()) spent.push_back({static_cast<Pool>(row.integer(0)), key_from(row.bytes(1))});
  }
  for (const auto& slot : spent)
    work.db.prepare("DELETE FROM claim WHERE pool = ? AND key = ?")
        .bind(slot.pool, blob(slot.key))
        .run();
  return static_cast<std::int64_t>(spent.size());
}

}  // namespace

void sweep_entries(SqliteWork& work, std::size_t limit, SweepReport& report) {
  report.entries = erase_entries(work, limit);
  report.negatives = erase_no_matches(work, limit);
  report.claims = erase_spent_claims(work, limit);
}

milliseconds lease(SqliteWork& work,
                   std::string_view name,
                   const OwnerId& owner,
                   milliseconds life) {
  work.db
      .prepare(
          "INSERT INTO lease VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET owner = "
          "excluded.owner, until = excluded.until WHERE owner = excluded.owner OR until <= ?")
      .bind(name, blob(owner), after(work.now, life), work.now)
      .run();
  if (work.db.changes() > 0) return milliseconds{0};
  auto row = work.db.prepare("SELECT until FROM lease WHERE name = ?");
  return row.bind(name).step() ? milliseconds{row.integer(0) - work.now} : milliseconds{1};
}

void count_rows(SqliteWork& work, StoreStats& stats) {
  stats.entries = count(work, "SELECT count(*) FROM entry");
  stats.open_claims = count(work, "SELECT count(*) FROM claim WHERE phase = 1");
  stats.blocked_claims = count(work, "SELECT count(*) FROM claim WHERE phase = 3");
  stats.ledger_rows = count(work, "SELECT count(*) FROM ledger");
  stats.places = count(work, "SELECT coalesce(sum(points), 0) FROM place_source");
  stats.batches = count(work, "SELECT count(*) FROM batch");
}

std::vector<std::string> check(SqliteWork& work) {
  std::vector<std::string> findings;
  {
    auto row = work.db.prepare(fmt::format("PRAGMA integrity_check({})", kMaxFindings));
    while (row.step())
      if (row.bytes(0) != "ok") findings.emplace_back(row.bytes(0));
  }
  {
    auto row = work.db.prepare("SELECT key, payload FROM entry WHERE kind <> 0");
    while (findings.size() < kMaxFindings && row.step())
      if (!decode_answer(row.bytes(1)))
        findings.push_back(
            fmt::format("the answer of entry {} cannot be read", to_text(key_from(row.bytes(0)))));
  }
  {
    auto row = work.db.prepare(
        "SELECT key FROM claim WHERE NOT EXISTS "
        "(SELECT 1 FROM ledger WHERE ledger.intent = claim.intent AND ledger.event = 1)");
    while (findings.size() < kMaxFindings && row.step())
      findings.push_back(
          fmt::format("the claim of {} is not in the ledger", to_text(key_from(row.bytes(0)))));
  }
  return findings;
}

}  // namespace geonce
