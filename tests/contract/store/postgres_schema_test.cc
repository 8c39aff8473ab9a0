#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>

#include "contract/store/store_contract.h"
#include "store/sql_steps.h"
#include "support/child_process.h"
#include "support/postgres_server.h"

// What is of Postgres alone: the schema and who may do what with it.

namespace geonce::contract {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class PostgresSchemas : public testing::Test {
 protected:
  ~PostgresSchemas() override { server_.drop_database(database_); }

  [[nodiscard]] PostgresOptions options(const std::string& role = "postgres") const {
    PostgresOptions options;
    options.uri = server_.uri(database_, role);
    return options;
  }
  void run(const std::string& sql) { server_.run(database_, sql); }
  /// How many steps it has added.
  static std::size_t migrate(const PostgresOptions& how) {
    const auto added = migrate_postgres_store(how);
    EXPECT_TRUE(added) << added.error().message;
    return added ? added->size() : 0;
  }
  /// The message with which opening it fails; empty: it does not.
  [[nodiscard]] std::string complaint(const PostgresOptions& how) const {
    const auto store = open_postgres_store(how);
    return store ? "" : fmt::format("{}: {}", to_string(store.error().code), store.error().message);
  }

  PostgresServer& server_ = PostgresServer::the();
  const std::string database_ = server_.make_database();
};

TEST_F(PostgresSchemas, a_store_is_made_once_and_brought_up_by_whoever_comes_first) {
  std::vector<ChildProcess> children;
  for (int i = 0; i < 4; ++i)
    children.emplace_back([&] { EXPECT_TRUE(migrate_postgres_store(options())); });
  for (auto& child : children) EXPECT_TRUE(child.join());
  EXPECT_EQ(migrate(options()), 0U);
  EXPECT_EQ(complaint(options()), "");
}

TEST_F(PostgresSchemas, where_there_is_no_store_and_none_is_to_be_made_this_is_said) {
  auto how = options();
  how.create = false;
  EXPECT_THAT(complaint(how), HasSubstr("not_found: there is no store"));
}

TEST_F(PostgresSchemas, a_schema_of_a_newer_program_is_refused_unless_this_one_can_live_with_it) {
  ASSERT_TRUE(migrate_postgres_store(options()));
  const auto newest = postgres_steps().back().number;
  const auto add = [&](int number, int needs) {
    run(fmt::format(
        "INSERT INTO geonce.schema_step (number, needs, name, checksum) VALUES ({}, {}, 'x', 'x')",
        number,
        needs));
  };
  add(newest + 1, newest);
  EXPECT_EQ(complaint(options()), "");
  EXPECT_EQ(migrate(options()), 0U);
  add(newest + 2, newest + 1);
  EXPECT_THAT(complaint(options()), HasSubstr("store_newer: "));
  const auto migrated = migrate_postgres_store(options());
  ASSERT_FALSE(migrated);
  EXPECT_EQ(migrated.error().code, ErrorCode::store_newer);
}

TEST_F(PostgresSchemas, a_schema_made_of_other_steps_of_the_same_number_is_refused) {
  ASSERT_TRUE(migrate_postgres_store(options()));
  run("UPDATE geonce.schema_step SET checksum = 'x' WHERE number = 2");
  EXPECT_THAT(complaint(options()), HasSubstr("store_newer: "));
}

TEST_F(PostgresSchemas, an_older_schema_is_left_alone_until_somebody_migrates_it) {
  run("CREATE SCHEMA geonce; CREATE TABLE geonce.schema_step (number bigint PRIMARY KEY, needs "
      "bigint NOT NULL, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz DEFAULT "
      "now())");
  EXPECT_THAT(complaint(options()), HasSubstr("run `geonce migrate` first"));
  EXPECT_EQ(migrate(options()), postgres_steps().size());
  EXPECT_EQ(complaint(options()), "");
}

TEST_F(PostgresSchemas, a_migration_that_fails_leaves_nothing_behind) {
  run("CREATE SCHEMA geonce; CREATE TABLE geonce.chunk (x int)");
  ASSERT_FALSE(migrate_postgres_store(options()));
  run("DROP TABLE geonce.chunk");
  EXPECT_EQ(migrate(options()), postgres_steps().size());
}

TEST_F(PostgresSchemas, a_database_that_is_not_in_utf8_is_refused) {
  run(fmt::format("CREATE DATABASE {}_latin TEMPLATE template0 ENCODING 'LATIN1'", database_));
  PostgresOptions how;
  how.uri = server_.uri(database_ + "_latin");
  EXPECT_THAT(complaint(how), HasSubstr("UTF8"));
  server_.drop_database(database_ + "_latin");
}

TEST_F(PostgresSchemas,
       the_role_of_the_program_can_buy_and_can_neither_migrate_nor_touch_the_ledger) {
  std::ifstream script(GEONCE_SOURCE_DIR "/sql/roles/postgres.sql");
  std::stringstream sql;
  sql << script.rdbuf();
  run(sql.str());
  EXPECT_THAT(complaint(options("geonce_app")),
              HasSubstr("run `geonce migrate` as the role that owns it"));
  ASSERT_EQ(migrate(options("geonce_owner")), postgres_steps().size());
  run(sql.str());  // may be run again

  auto opened = open_postgres_store(options("geonce_app"));
  ASSERT_TRUE(opened) << opened.error().message;
  auto& store = **opened;
  TakeRequest ask;
  ask.slot = slot(1);
  ask.intent = new_intent();
  ask.owner = new_intent();
  ask.chain = std::make_shared<const std::vector<std::string>>(1, "alpha");
  const auto taken = store.take({&ask, 1}, Deadline::never());
  ASSERT_TRUE(taken) << taken.error().message;
  CommitRequest end;
  end.slot = ask.slot;
  end.fence = taken->front().fence;
  end.gen = taken->front().gen;
  end.call = CallRecord{ask.intent, "alpha", 200, "", "", Billed::yes, 1, Money{5'000}};
  end.answer = std::make_shared<const Answer>(match());
  end.life = {kFresh, kStale, kErase};
  const auto committed = store.commit({&end, 1}, Deadline::never());
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_TRUE((*store.find({&ask.slot, 1}, Deadline::never()))[0]);
  EXPECT_TRUE(store.pin(slot(2), match(), "{}", "", {}, Deadline::never()));
  EXPECT_TRUE(store.invalidate({&ask.slot, 1}, Deadline::never()));
  const Rekey rekey{slot(2), slot(3), "{}", {}, {}};
  EXPECT_TRUE(store.rekey({&rekey, 1}, Deadline::never()));
  EXPECT_TRUE(store.load_places("own", true, {}, Deadline::never()));
  const auto batch =
      store.open_batch(std::string(32, 'i'), "x", BatchStart::resume, Deadline::never());
  ASSERT_TRUE(batch) << batch.error().message;
  const BatchChunk chunk{0, "x", kErase};
  EXPECT_TRUE(store.save_chunks(batch->id, {&chunk, 1}, Deadline::never()));
  EXPECT_TRUE(store.close_batch(*batch, Deadline::never()));
  EXPECT_TRUE(store.sweep(10, Deadline::never()));
  const auto stats = store.stats(Deadline::never());
  EXPECT_TRUE(stats) << stats.error().message;
  EXPECT_TRUE(store.ledger({}, Deadline::never()));
  EXPECT_TRUE(store.check(Deadline::never()));

  for (const auto* forbidden : {"DELETE FROM geonce.ledger",
                                "UPDATE geonce.ledger SET billed = 0",
                                "INSERT INTO geonce.entry SELECT * FROM geonce.entry",
                                "TRUNCATE geonce.claim",
                                "CREATE TABLE geonce.mine ()"}) {
    auto connection = PgConnection::open({server_.uri(database_, "geonce_app"), {}});
    ASSERT_TRUE(connection);
    EXPECT_FALSE((*connection)->script(forbidden, Deadline::never(), system_clock())) << forbidden;
    EXPECT_EQ((*connection)->sqlstate(), "42501") << forbidden;
  }
}

// --- the months of the ledger --------------------------------------------------------------------

TEST_F(PostgresSchemas, a_purchase_without_a_month_of_its_own_still_has_its_row) {
  ASSERT_TRUE(migrate_postgres_store(options()));
  const auto store = *open_postgres_store(options());
  TakeRequest ask;
  ask.slot = slot(1);
  ask.intent.bytes.fill(0xEE);  // a time far away
  ask.owner = new_intent();
  ask.chain = std::make_shared<const std::vector<std::string>>(1, "alpha");
  ASSERT_TRUE(store->take({&ask, 1}, Deadline::never()));
  LedgerFilter filter;
  filter.intent = ask.intent;
  EXPECT_THAT(*store->ledger(filter, Deadline::never()), SizeIs(1));
}

TEST_F(PostgresSchemas, a_sweep_makes_the_months_to_come) {
  ASSERT_TRUE(migrate_postgres_store(options()));
  const auto store = *open_postgres_store(options());
  const auto months = [&] {
    auto connection = *PgConnection::open({server_.uri(database_), {}});
    const auto rows = connection->query(
        "SELECT count(*) FROM pg_inherits WHERE inhparent = 'geonce.ledger'::regclass",
        {},
        Deadline::never(),
        system_clock());
    return rows->integer(0, 0);
  };
  EXPECT_EQ(months(), 5) << "this month, three more, and the one for all others";
  run("CREATE OR REPLACE FUNCTION geonce.now() RETURNS bigint LANGUAGE sql VOLATILE AS "
      "'SELECT (extract(epoch FROM clock_timestamp() + interval ''62 days'') * 1000)::bigint'");
  ASSERT_TRUE(store->sweep(10, Deadline::never()));
  EXPECT_GE(months(), 6);
  ASSERT_TRUE(store->check(Deadline::never()));
}

TEST_F(PostgresSchemas, a_sweep_says_when_the_database_is_behind_with_cleaning_up) {
  ASSERT_TRUE(migrate_postgres_store(options()));
  const auto store = *open_postgres_store(options());
  run("ALTER TABLE geonce.entry SET (autovacuum_enabled = false);"
      "INSERT INTO geonce.entry (pool, key, gen, kind, pinned, no_match_streak, answered_at, "
      "fresh_until, stale_until, "
      "erase_after, provider, payload, query_json, pre_image) SELECT 1, sha256(int4send(n)), 1, 1, "
      "false, 0, n, n, n, "
      "n, 'alpha', 'x', '', '' FROM generate_series(1, 22000) AS n");
  const auto portion = [&] {
    const auto swept = store->sweep(1'000, Deadline::never());
    EXPECT_TRUE(swept) << swept.error().message;
    return *swept;
  };
  for (int n = 0; n < 22; ++n) EXPECT_EQ(portion().entries, 1'000);
  // Counted with some delay.
  while (!portion().is_behind) std::this_thread::yield();
  run("VACUUM geonce.entry");
  while (portion().is_behind) std::this_thread::yield();
}

}  // namespace
}  // namespace geonce::contract
