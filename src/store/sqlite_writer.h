#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "io/sqlite.h"

namespace geonce {

/// What a piece of work sees of the transaction it is a part of.
struct SqliteWork {
  SqliteDb& db;
  UtcMs now;  // one instant for the whole transaction, by the store's clock
};

/// The one thread that writes to the file. It takes everything that waits, does it in one
/// transaction and commits once: load makes transactions larger, not queues longer.
class SqliteWriter {
 public:
  SqliteWriter(std::unique_ptr<SqliteDb> db, const Clock& clock);
  SqliteWriter(const SqliteWriter&) = delete;
  SqliteWriter& operator=(const SqliteWriter&) = delete;
  ~SqliteWriter();

  /// Returns when what `work` wrote is on disk. Where one part of a shared transaction fails, the
  /// whole is rolled back and each part runs once more alone: so `work` may run twice and must
  /// assign its results.
  ///
  /// near      where in the file `work` writes; parts of one transaction run in this order
  /// weight    how many rows, roughly
  /// errors    deadline_exceeded  it has not begun and never will
  ///           store_busy, store_newer, disk_full, …
  Result<void> run(const Slot& near,
                   std::size_t weight,
                   Deadline deadline,
                   const std::function<void(SqliteWork&)>& work);

  /// Callers whose work has not begun.
  [[nodiscard]] std::size_t waiting();

 private:
  struct Job {
    Slot near;
    std::size_t weight;
    const std::function<void(SqliteWork&)>* work;
    Result<void> result;
    bool is_taken = false;
    bool is_done = false;
    std::condition_variable done;
  };

  void loop(const std::stop_token& stop);
  void write_what_waits();
  std::vector<Job*> take_waiting();
  void run_together(std::span<Job* const> jobs, SqliteTransaction transaction);
  void run_alone(Job& job);
  void finish(std::span<Job* const> jobs);
  void keep_log_short(std::unique_lock<std::mutex>& lock);

  std::unique_ptr<SqliteDb> db_;
  const Clock& clock_;
  int checkpoint_at_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job*> waiting_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace geonce
