#include "app/store_health.h"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "app/engine.h"
#include "io/postgres.h"

namespace geonce {
namespace {

constexpr std::int64_t kMostApartMs = 1'000;
constexpr double kMostLagS = 60;

// What a role without further rights may not see is NULL, and passes.
constexpr const char* kSql =
    "SELECT current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('synchronous_commit'), current_setting('autovacuum'), "
    "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_backend_pid()::bigint, "
    "current_setting('max_connections')::bigint - "
    "current_setting('superuser_reserved_connections')::bigint, "
    "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
    "pg_backend_pid()), "
    "pg_size_bytes(current_setting('shared_buffers')), "
    "(SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0)::bigint FROM pg_stat_user_indexes i "
    "WHERE i.schemaname = 'geonce' AND i.indexrelname IN ('entry_pkey', 'claim_pkey')), "
    "(SELECT coalesce(string_agg(relname, ', ' ORDER BY relname), '') FROM pg_stat_user_tables "
    "WHERE schemaname = 'geonce' AND n_dead_tup > 20000 + n_live_tup * 0.05), "
    "current_setting('synchronous_standby_names'), "
    "(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')), "
    "(SELECT coalesce(extract(epoch FROM max(replay_lag)), 0)::double precision FROM "
    "pg_stat_replication), "
    "(SELECT coalesce(string_agg(c.relname, ', ' ORDER BY c.relname), '') FROM pg_class c JOIN "
    "pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'geonce' AND "
    "'autovacuum_enabled=false' = ANY (c.reloptions))";

void look_at_durability(const PgRows& row, std::vector<std::string>& out) {
  for (int column = 0; column < 2; ++column)
    if (row.bytes(0, column) != "on")
      out.push_back(fmt::format(
          "{} is off: a crash of the server may lose or damage what was bought; switch it on",
          column == 0 ? "fsync" : "full_page_writes"));
  if (row.bytes(0, 2) == "off")
    out.emplace_back(
        "synchronous_commit is off: a crash of the server forgets purchases it has acknowledged, "
        "and "
        "they are bought again; switch it on");
  const auto names = row.bytes(0, 11);
  if (!names.empty() && row.integer(0, 12) == 0)
    out.push_back(fmt::format(
        "synchronous_standby_names is {} and no such standby is connected: commits wait for it",
        names));
  if (row.real(0, 13) > kMostLagS)
    out.push_back(fmt::format(
        "a standby is {:.0f} s behind: a failover to it forgets the purchases of that time",
        row.real(0, 13)));
}

void look_at_upkeep(const PgRows& row, std::vector<std::string>& out) {
  if (row.bytes(0, 3) != "on")
    out.emplace_back("autovacuum is off: tables and indexes grow with every change; switch it on");
  if (!row.bytes(0, 14).empty())
    out.push_back(
        fmt::format("autovacuum is switched off for {}: ALTER TABLE … RESET (autovacuum_enabled)",
                    row.bytes(0, 14)));
  if (!row.bytes(0, 10).empty())
    out.push_back(fmt::format(
        "autovacuum is behind on {}: look for old transactions (pg_stat_activity), raise "
        "autovacuum_vacuum_cost_limit",
        row.bytes(0, 10)));
  if (row.integer(0, 9) > row.integer(0, 8))
    out.push_back(
        fmt::format("the indexes that look-ups go by have {} MiB and shared_buffers {} MiB: each "
                    "look-up may read "
                    "from the disk; raise shared_buffers, where the machine has the memory",
                    row.integer(0, 9) >> 20U,
                    row.integer(0, 8) >> 20U));
}

}  // namespace

Result<std::vector<std::string>> store_complaints(const Config& config, Deadline deadline) {
  std::vector<std::string> out;
  if (!config.has_postgres_store()) return out;
  const auto options = postgres_options_of(config);
  if (!options) return fail(options.error());
  const auto connection = PgConnection::open({options->uri, options->password});
  if (!connection) return fail(connection.error());
  const auto asked = system_clock().now_utc();
  const auto row = (*connection)->query(kSql, {}, deadline, system_clock());
  if (!row) return fail(row.error());
  const auto own = asked + (system_clock().now_utc() - asked) / 2;
  look_at_durability(*row, out);
  look_at_upkeep(*row, out);
  if (const auto apart = row->integer(0, 4) - own; std::abs(apart) > kMostApartMs)
    out.push_back(
        fmt::format("the clock of the server is {} ms {} this machine's; let both keep time (NTP)",
                    std::abs(apart),
                    apart > 0 ? "ahead of" : "behind"));
  const bool has_pooler = row->integer(0, 5) != (*connection)->backend_pid();
  const auto free = row->integer(0, 6) - row->integer(0, 7);
  if (!has_pooler && free < config.postgres.connections)
    out.push_back(
        fmt::format("the server has {} connections left and each process takes {}: raise "
                    "max_connections, lower "
                    "postgres.connections, or put a pooler in between",
                    free,
                    config.postgres.connections));
  if (has_pooler && !(*connection)->script("BEGIN; COMMIT", deadline, system_clock()))
    out.emplace_back(
        "the pooler deals out statements, not transactions: set pool_mode to transaction");
  for (auto& line : out) line = fmt::format("{}: {}", (*connection)->where(), line);
  return out;
}

}  // namespace geonce
