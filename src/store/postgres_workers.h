#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "io/postgres.h"

namespace geonce {

/// The rows that belong to one caller's list, out of what a shared statement gave.
class PgSlice {
 public:
  PgSlice() = default;
  /// The row that answers the i-th of the list; -1: none does.
  [[nodiscard]] int row_of(std::size_t i) const { return shared_->row_of[first_ + i]; }
  [[nodiscard]] const PgRows& rows() const { return shared_->rows; }

 private:
  friend class PostgresWorkers;
  struct Shared {
    PgRows rows;
    std::vector<int> row_of;
  };
  std::shared_ptr<const Shared> shared_;
  std::size_t first_ = 0;
};

/// Whether a transaction whose end nobody saw may be run again: the second run finds the first and
/// does nothing.
enum class PgRepeat : std::uint8_t { never, when_in_doubt };

/// Some connections with a thread each. A thread that is free takes everything that waits for the
/// same statement and makes one of it, which is one round trip and one commit: load makes the
/// statements larger, not the queue longer.
class PostgresWorkers {
 public:
  struct Options {
    PgTarget target;
    std::size_t connections = 4;
    /// How long a caller waits for a server that is away (restart, failover), his deadline
    /// allowing.
    std::chrono::milliseconds patience{30'000};
  };
  PostgresWorkers(Options options, std::unique_ptr<PgConnection> first, const Clock& clock);
  PostgresWorkers(const PostgresWorkers&) = delete;
  PostgresWorkers& operator=(const PostgresWorkers&) = delete;
  ~PostgresWorkers();

  /// Runs `sql`, whose parameters are the columns of `lists` and whose rows begin with the place in
  /// the list, counted from 1. Lists of several callers may go in one statement. May be run again
  /// after a doubt.
  ///
  /// sent      as in PgConnection::query
  /// errors    deadline_exceeded  it may have happened, unless the message says otherwise
  ///           store_busy, store_unavailable, …
  Result<PgSlice> list(const char* sql,
                       PgLists lists,
                       Deadline deadline,
                       std::optional<FailPoint> sent = {});

  /// One statement, alone.
  Result<PgRows> query(const std::string& sql,
                       std::span<const PgParam> params,
                       Deadline deadline,
                       PgRepeat repeat = PgRepeat::when_in_doubt);

  /// Runs `work` on a connection of its own for that time.
  Result<void> alone(PgRepeat repeat,
                     Deadline deadline,
                     const std::function<Result<void>(PgConnection&, Deadline)>& work);

  [[nodiscard]] const Clock& clock() const { return clock_; }

 private:
  struct Job {
    const char* sql = nullptr;  // null: `work`
    std::optional<PgLists> lists;
    std::optional<FailPoint> sent;
    const std::function<Result<void>(PgConnection&, Deadline)>* work = nullptr;
    PgRepeat repeat = PgRepeat::when_in_doubt;
    Deadline deadline;
    std::chrono::steady_clock::time_point since;
    Result<PgSlice> result;
    int runs = 0;
    bool is_taken = false;
    bool is_done = false;
    std::condition_variable changed;
  };
  using JobPtr = std::shared_ptr<Job>;

  Result<PgSlice> wait_for(const JobPtr& job);
  void loop(const std::stop_token& stop, std::unique_ptr<PgConnection> connection);
  std::vector<JobPtr> take_waiting();
  void fail_impatient(const Error& error);
  void run(PgConnection& connection, std::span<const JobPtr> jobs);
  Result<void> run_once(PgConnection& connection, std::span<const JobPtr> jobs);
  void finish(std::span<const JobPtr> jobs, const Result<void>& result);
  void ask_again(std::span<const JobPtr> jobs);

  const Options options_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any wake_, pause_;
  std::deque<JobPtr> waiting_;
  std::vector<std::jthread> threads_;  // last: they use everything above
};

}  // namespace geonce
