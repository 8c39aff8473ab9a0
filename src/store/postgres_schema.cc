#include "store/postgres_schema.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "store/sql_steps.h"

namespace geonce {
namespace {

constexpr int kOldestServer = 150'000;
// The lock that those who change the schema take in turn: "gnce" and a number of its own.
constexpr std::int64_t kMigrationLock = 0x676E636500000001;

// A step that programs without it can live with says so in its first line. All others have to be
// known.
constexpr std::string_view kNeeds = "-- needs step ";

std::int64_t needed_by(const SqlStep& step) {
  std::int64_t number = step.number;
  if (step.text.starts_with(kNeeds)) {
    const auto rest = step.text.substr(kNeeds.size());
    (void)std::from_chars(rest.data(), rest.data() + rest.size(), number);
  }
  return number;
}

struct Applied {
  std::int64_t number = 0, needs = 0;
  std::string name, checksum;
};

tl::unexpected<Error> unusable(const PgConnection& connection, std::string_view why) {
  return fail(ErrorCode::store_unavailable, "the store {} {}", connection.where(), why);
}

/// nullopt: there is no store.
Result<std::optional<std::vector<Applied>>> read_steps(PgConnection& connection,
                                                       Deadline deadline,
                                                       const Clock& clock) {
  auto exists = connection.query(
      "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "
      "n.nspname = 'geonce' AND c.relname = 'schema_step')",
      {},
      deadline,
      clock);
  if (!exists) return fail(exists.error());
  if (exists->integer(0, 0) == 0) return std::nullopt;
  auto rows = connection.query(
      "SELECT number, needs, name, checksum FROM geonce.schema_step ORDER BY number",
      {},
      deadline,
      clock);
  if (!rows && connection.sqlstate() == "42501")
    return unusable(connection,
                    "may not be read by this role: give it what sql/roles/postgres.sql gives to "
                    "geonce_app");
  if (!rows) return fail(rows.error());
  std::vector<Applied> steps;
  for (int row = 0; row < rows->size(); ++row)
    steps.push_back({rows->integer(row, 0),
                     rows->integer(row, 1),
                     std::string(rows->bytes(row, 2)),
                     std::string(rows->bytes(row, 3))});
  return steps;
}

Result<PostgresSchema> judge(const PgConnection& connection, const std::vector<Applied>& applied) {
  const auto known = postgres_steps();
  const std::int64_t newest = known.back().number;
  PostgresSchema schema;
  for (const auto& step : applied) {
    schema.last_step = std::max(schema.last_step, step.number);
    if (step.needs > newest)
      return fail(ErrorCode::store_newer,
                  "the store {} was made by a newer geonce (schema step {}, this program knows "
                  "{}); update geonce, or use another store",
                  connection.where(),
                  step.number,
                  newest);
    if (step.number > newest) continue;
    const auto& own = known[static_cast<std::size_t>(step.number - 1)];
    if (step.checksum != own.checksum)
      return fail(ErrorCode::store_newer,
                  "the store {} was made by another build of geonce (its schema step {} differs); "
                  "use that build, or another store",
                  connection.where(),
                  own.name);
  }
  schema.state =
      schema.last_step < newest ? PostgresSchema::State::older : PostgresSchema::State::ready;
  return schema;
}

Result<std::vector<std::string>> add_steps(PgConnection& connection,
                                           Deadline deadline,
                                           const Clock& clock) {
  auto applied = read_steps(connection, deadline, clock);
  if (!applied) return fail(applied.error());
  if (!*applied) {
    // Not CREATE SCHEMA IF NOT EXISTS: that takes a right on the whole database even where the
    // schema is there.
    auto made = connection.script(
        "DO $$ BEGIN IF to_regnamespace('geonce') IS NULL THEN CREATE SCHEMA geonce; END IF; END "
        "$$;"
        "CREATE TABLE geonce.schema_step (number bigint PRIMARY KEY, needs bigint NOT NULL, name "
        "text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
        deadline,
        clock);
    if (!made) return fail(made.error());
    *applied = std::vector<Applied>{};
  } else if (auto judged = judge(connection, **applied); !judged) {
    return fail(judged.error());
  }
  std::vector<std::string> added;
  for (const auto& step : postgres_steps()) {
    const auto has_it = [&](const Applied& had) { return had.number == step.number; };
    if (std::any_of((*applied)->begin(), (*applied)->end(), has_it)) continue;
    if (auto done = connection.script(std::string(step.text), deadline, clock); !done)
      return fail(done.error());
    const std::vector<PgParam> values{PgParam::integer(step.number),
                                      PgParam::integer(needed_by(step)),
                                      PgParam::text(step.name),
                                      PgParam::text(step.checksum)};
    auto noted = connection.query(
        "INSERT INTO geonce.schema_step (number, needs, name, checksum) VALUES ($1, $2, $3, $4)",
        values,
        deadline,
        clock);
    if (!noted) return fail(noted.error());
    added.emplace_back(step.name);
  }
  // PostGIS may have come since.
  auto made = connection.query("SELECT geonce.add_geography()", {}, deadline, clock);
  if (!made) return fail(made.error());
  if (made->integer(0, 0) != 0) added.emplace_back("geocode_points, for PostGIS");
  return added;
}

}  // namespace

Result<PostgresSchema> examine_schema(PgConnection& connection,
                                      Deadline deadline,
                                      const Clock& clock) {
  if (connection.server_version() < kOldestServer)
    return unusable(connection, "is older than PostgreSQL 15, which is the oldest that will do");
  auto encoding =
      connection.query("SELECT current_setting('server_encoding')", {}, deadline, clock);
  if (!encoding) return fail(encoding.error());
  if (encoding->bytes(0, 0) != "UTF8")
    return unusable(connection, "is a database that is not in UTF8: make one that is");
  auto applied = read_steps(connection, deadline, clock);
  if (!applied) return fail(applied.error());
  if (!*applied) return PostgresSchema{};
  return judge(connection, **applied);
}

Result<std::vector<std::string>> bring_up_schema(PgConnection& connection,
                                                 Deadline deadline,
                                                 const Clock& clock) {
  // Who changes the schema waits for whoever does so already, and never stands in front of the
  // purchases for long: a table lock that is not had within some seconds ends it.
  auto begun = connection.script(
      fmt::format("BEGIN; SELECT pg_advisory_xact_lock({}); SET LOCAL lock_timeout = '5s'",
                  kMigrationLock),
      deadline,
      clock);
  if (!begun) return fail(begun.error());
  auto added = add_steps(connection, deadline, clock);
  if (!added) {
    const bool is_forbidden = connection.sqlstate() == "42501";
    if (connection.is_alive())
      ignore(connection.script("ROLLBACK", deadline, clock), "its end rolls it back as well");
    if (is_forbidden)
      return unusable(connection,
                      "has to be made or brought up, which this role may not do: run `geonce "
                      "migrate` as the role that owns it");
    return fail(added.error());
  }
  if (auto done = connection.script("COMMIT", deadline, clock); !done) return fail(done.error());
  return added;
}

}  // namespace geonce
