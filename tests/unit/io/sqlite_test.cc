#include "io/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace geonce {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using Kind = SqliteTransaction::Kind;

class Sqlite : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("t.db", "");
    db_ = open();
    db_->execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)");
    ASSERT_TRUE(db_->take_error());
  }
  std::unique_ptr<SqliteDb> open(bool query_only = false) {
    SqliteDbOptions options;
    options.path = folder_.file("t.db");
    options.busy_timeout = 20ms;
    options.query_only = query_only;
    return std::move(*SqliteDb::open(options));
  }
  static std::int64_t count(SqliteDb& db) {
    auto row = db.prepare("SELECT count(*) FROM t");
    return row.step() ? row.integer(0) : -1;
  }

  TempDir folder_;
  std::unique_ptr<SqliteDb> db_;
};

enum class Colour : std::uint8_t { blue = 7 };

TEST_F(Sqlite, gives_back_what_was_bound) {
  const std::string bytes("a\0b", 3);
  db_->prepare("INSERT INTO t VALUES (?, ?, ?)").bind(1, SqliteBlob{bytes}, "text").run();
  db_->prepare("INSERT INTO t VALUES (?, ?, ?)")
      .bind(Colour::blue, 2.5, std::optional<SqliteBlob>())
      .run();
  db_->prepare("INSERT INTO t VALUES (?, ?, ?)")
      .bind(INT64_MIN, std::string_view(), SqliteBlob{})
      .run();
  auto row = db_->prepare("SELECT a, b, c, typeof(b), typeof(c) FROM t ORDER BY a");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), INT64_MIN);
  EXPECT_EQ(row.bytes(1), "");
  EXPECT_EQ(row.bytes(3), "text") << "an empty text is not NULL";
  EXPECT_EQ(row.bytes(4), "blob");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.bytes(1), bytes);
  EXPECT_EQ(row.bytes(2), "text");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 7);
  EXPECT_EQ(row.real(1), 2.5);
  EXPECT_TRUE(row.is_null(2));
  EXPECT_EQ(row.bytes(2), "");
  EXPECT_FALSE(row.step());
  EXPECT_TRUE(db_->take_error());
}

TEST_F(Sqlite, prepares_a_statement_once_and_lends_it_again) {
  for (int i = 0; i < 3; ++i) {
    auto row = db_->prepare("INSERT INTO t (b) VALUES (?)");
    row.bind(i).run();
    EXPECT_EQ(db_->changes(), 1);
    EXPECT_EQ(db_->last_insert_rowid(), i + 1);
  }
  EXPECT_EQ(count(*db_), 3);
}

TEST_F(Sqlite, lending_a_statement_twice_at_once_is_a_bug_that_stops_the_process) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        auto one = db_->prepare("SELECT 1");
        auto two = db_->prepare("SELECT 1");
      },
      "broken invariant");
}

TEST_F(Sqlite, the_first_failure_of_a_transaction_stays_and_nothing_of_it_happens) {
  auto transaction = SqliteTransaction::begin(*db_, Kind::write);
  ASSERT_TRUE(transaction);
  db_->prepare("INSERT INTO t (b) VALUES (1)").run();
  db_->prepare("INSERT INTO nowhere VALUES (1)").run();
  EXPECT_TRUE(db_->has_failed());
  db_->prepare("INSERT INTO t (b) VALUES (2)").run();
  const auto committed = transaction->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::internal);
  EXPECT_THAT(committed.error().message, HasSubstr("nowhere"));
  EXPECT_THAT(committed.error().message, HasSubstr(db_->path()));
  EXPECT_FALSE(db_->has_failed());
  EXPECT_EQ(count(*db_), 0);
}

TEST_F(Sqlite, a_transaction_that_is_not_committed_is_rolled_back) {
  {
    auto transaction = SqliteTransaction::begin(*db_, Kind::write);
    db_->prepare("INSERT INTO t (b) VALUES (1)").run();
  }
  EXPECT_EQ(count(*db_), 0);
  auto transaction = SqliteTransaction::begin(*db_, Kind::write);
  db_->prepare("INSERT INTO t (b) VALUES (1)").run();
  EXPECT_TRUE(transaction->commit());
  EXPECT_EQ(count(*db_), 1);
}

TEST_F(Sqlite, work_that_gives_up_fails_its_transaction_with_its_own_words) {
  auto transaction = SqliteTransaction::begin(*db_, Kind::write);
  db_->prepare("INSERT INTO t (b) VALUES (1)").run();
  db_->give_up({ErrorCode::internal, "no good", "test", Billed::no, {}});
  EXPECT_EQ(transaction->commit().error().message, "no good");
  EXPECT_EQ(count(*db_), 0);
}

TEST_F(Sqlite, a_reader_keeps_its_snapshot_while_others_commit) {
  const auto reader = open(true);
  auto transaction = SqliteTransaction::begin(*reader, Kind::read);
  EXPECT_EQ(count(*reader), 0);
  db_->prepare("INSERT INTO t (b) VALUES (1)").run();
  EXPECT_EQ(count(*reader), 0);
  EXPECT_TRUE(transaction->commit());
  EXPECT_EQ(count(*reader), 1);
}

TEST_F(Sqlite, a_connection_that_only_reads_refuses_to_write) {
  const auto reader = open(true);
  reader->prepare("INSERT INTO t (b) VALUES (1)").run();
  EXPECT_EQ(reader->take_error().error().code, ErrorCode::store_unavailable);
}

TEST_F(Sqlite, a_lock_held_by_another_is_busy_after_the_timeout_and_free_after_its_end) {
  const auto other = open();
  {
    auto held = SqliteTransaction::begin(*db_, Kind::write);
    ASSERT_TRUE(held);
    const auto refused = SqliteTransaction::begin(*other, Kind::write);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::store_busy);
    EXPECT_THAT(refused.error().message, HasSubstr("fuser"));
  }
  EXPECT_TRUE(SqliteTransaction::begin(*other, Kind::write));
}

TEST_F(Sqlite, a_statement_ends_when_asked_to) {
  db_->interrupt_when([] { return true; });
  db_->prepare(
         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n")
      .run();
  EXPECT_EQ(db_->take_error().error().code, ErrorCode::deadline_exceeded);
  db_->interrupt_when({});
  EXPECT_EQ(count(*db_), 0);
}

TEST_F(Sqlite, a_checkpoint_moves_the_log_into_the_file_unless_a_reader_needs_it) {
  const auto reader = open(true);
  db_->prepare("INSERT INTO t (b) VALUES (1)").run();
  {
    auto transaction = SqliteTransaction::begin(*reader, Kind::read);
    EXPECT_EQ(count(*reader), 1);
    db_->prepare("INSERT INTO t (b) VALUES (2)").run();
    EXPECT_GT(db_->wal_frames(), 0);
    EXPECT_TRUE(db_->checkpoint(0ms));
    EXPECT_GT(db_->wal_frames(), 0);
    EXPECT_EQ(db_->checkpoint(5ms).error().code, ErrorCode::store_busy);
  }
  EXPECT_TRUE(db_->checkpoint(0ms));
  EXPECT_EQ(db_->wal_frames(), 0);
  EXPECT_TRUE(db_->checkpoint(20ms));
  EXPECT_EQ(std::filesystem::file_size(folder_.file("t.db-wal")), 0U);
}

TEST_F(Sqlite, a_file_that_is_not_there_is_not_made) {
  const auto missing = SqliteDb::open({folder_.file("none.db"), 1U << 20U, 20ms, false});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::store_unavailable);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none.db")));
}

}  // namespace
}  // namespace geonce
