#include "store/sqlite_writer.h"

#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "store/sqlite_file.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::chrono_literals;

class SqliteWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    SqliteOptions options;
    options.path = folder_.file("t.db");
    options.busy_timeout = 60s;
    auto file = open_sqlite_file(options, system_clock());
    ASSERT_TRUE(file);
    (*file)->execute("CREATE TABLE t (a)");
    ASSERT_TRUE((*file)->take_error());
    writer_.emplace(std::move(*file), system_clock());
    other_ = std::move(*SqliteDb::open({options.path, 1U << 20U, 10s, false}));
  }
  std::int64_t count() {
    auto row = other_->prepare("SELECT count(*) FROM t");
    return row.step() ? row.integer(0) : -1;
  }
  static void insert(SqliteWork& work, int value) {
    work.db.prepare("INSERT INTO t VALUES (?)").bind(value).run();
  }
  /// Holds the file's lock until `callers` wait for the writer, so that they meet in one
  /// transaction.
  void let_meet(std::size_t callers) {
    while (writer_->waiting() < callers) std::this_thread::yield();
  }

  TempDir folder_;
  std::optional<SqliteWriter> writer_;
  std::unique_ptr<SqliteDb> other_;
};

TEST_F(SqliteWriterTest, returns_when_the_work_is_on_disk) {
  EXPECT_TRUE(writer_->run({}, 1, Deadline::never(), [](SqliteWork& work) { insert(work, 1); }));
  EXPECT_EQ(count(), 1);
}

TEST_F(SqliteWriterTest, callers_that_meet_share_one_transaction_in_the_order_of_their_keys) {
  auto held = SqliteTransaction::begin(*other_, SqliteTransaction::Kind::write);
  ASSERT_TRUE(held);
  std::vector<std::uint8_t> order;
  std::set<UtcMs> instants;
  std::vector<std::jthread> threads;
  for (std::uint8_t n = 0; n < 8; ++n)
    threads.emplace_back([&, n] {
      Slot near;
      near.key.bytes[0] = static_cast<std::uint8_t>(n * 37);
      EXPECT_TRUE(writer_->run(near, 1, Deadline::never(), [&, near](SqliteWork& work) {
        insert(work, n);
        order.push_back(near.key.bytes[0]);  // only ever the writer's thread
        instants.insert(work.now);
      }));
    });
  let_meet(8);
  ASSERT_TRUE(held->commit());
  threads.clear();
  EXPECT_EQ(count(), 8);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(instants.size(), 1U) << "one transaction has one instant";
}

TEST_F(SqliteWriterTest, one_that_fails_does_not_spoil_the_others_it_met) {
  auto held = SqliteTransaction::begin(*other_, SqliteTransaction::Kind::write);
  ASSERT_TRUE(held);
  std::atomic<int> failed{0};
  std::vector<std::jthread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&, n] {
      const auto done = writer_->run({}, 1, Deadline::never(), [&](SqliteWork& work) {
        insert(work, n);
        if (n == 3) work.db.prepare("INSERT INTO nowhere VALUES (1)").run();
        if (n == 5) work.db.give_up({ErrorCode::internal, "no good", "test", Billed::no, {}});
      });
      EXPECT_EQ(done.has_value(), n != 3 && n != 5) << n;
      if (!done) ++failed;
    });
  let_meet(8);
  ASSERT_TRUE(held->commit());
  threads.clear();
  EXPECT_EQ(failed, 2);
  EXPECT_EQ(count(), 6) << "and nothing of the failed ones stays";
}

TEST_F(SqliteWriterTest,
       who_waits_for_a_foreign_lock_leaves_at_his_deadline_and_nothing_of_his_happens) {
  auto held = SqliteTransaction::begin(*other_, SqliteTransaction::Kind::write);
  ASSERT_TRUE(held);
  const auto late = writer_->run(
      {}, 1, Deadline::in(30ms, system_clock()), [](SqliteWork& work) { insert(work, 1); });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::deadline_exceeded);
  ASSERT_TRUE(held->commit());
  EXPECT_TRUE(writer_->run({}, 1, Deadline::never(), [](SqliteWork& work) { insert(work, 2); }));
  EXPECT_EQ(count(), 1);
}

TEST_F(SqliteWriterTest, more_than_fits_into_one_transaction_is_done_in_several) {
  auto held = SqliteTransaction::begin(*other_, SqliteTransaction::Kind::write);
  ASSERT_TRUE(held);
  std::vector<std::jthread> threads;
  for (int n = 0; n < 6; ++n)
    threads.emplace_back([&, n] {
      EXPECT_TRUE(
          writer_->run({}, 1000, Deadline::never(), [n](SqliteWork& work) { insert(work, n); }));
    });
  let_meet(6);
  ASSERT_TRUE(held->commit());
  threads.clear();
  EXPECT_EQ(count(), 6);
}

TEST_F(SqliteWriterTest, the_log_is_moved_into_the_file_in_a_quiet_moment) {
  EXPECT_TRUE(writer_->run({}, 1, Deadline::never(), [](SqliteWork& work) { insert(work, 1); }));
  // The row reaches the file itself: a copy of it alone, opened without the log, has it.
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  std::int64_t rows = 0;
  while (rows == 0 && std::chrono::steady_clock::now() < deadline) {
    std::filesystem::copy_file(folder_.file("t.db"),
                               folder_.file("copy.db"),
                               std::filesystem::copy_options::overwrite_existing);
    auto copy = SqliteDb::open({folder_.file("copy.db"), 1U << 20U, 1s, false});
    if (!copy) continue;
    auto row = (*copy)->prepare("SELECT count(*) FROM t");
    if (row.step()) rows = row.integer(0);
  }
  EXPECT_EQ(rows, 1);
}

}  // namespace
}  // namespace geonce
