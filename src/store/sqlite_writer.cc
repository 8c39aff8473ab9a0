#include "store/sqlite_writer.h"

#include <algorithm>

#include "store/sqlite_file.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

// Rows in one transaction, roughly: enough to make the commit cheap, few enough for a commit in
// some 50 ms.
constexpr std::size_t kMaxWeight = 2048;
// The log in frames of 8 KiB. From the first on it is moved into the file between two transactions,
// at the second readers are made to let go, so that it cannot grow without end under steady
// writing.
constexpr int kCheckpointFrames = 4096;
constexpr int kMaxFrames = 32768;
constexpr milliseconds kPatienceWithReaders{1000};
constexpr milliseconds kQuiet{200};

}  // namespace

SqliteWriter::SqliteWriter(std::unique_ptr<SqliteDb> db, const Clock& clock)
    : db_(std::move(db)),
      clock_(clock),
      checkpoint_at_(kCheckpointFrames),
      thread_([this](const std::stop_token& stop) { loop(stop); }) {}

SqliteWriter::~SqliteWriter() = default;  // the thread does what still waits, then ends

Result<void> SqliteWriter::run(const Slot& near,
                               std::size_t weight,
                               Deadline deadline,
                               const std::function<void(SqliteWork&)>& work) {
  Job job{near, weight, &work, {}, false, false, {}};
  std::unique_lock lock(mutex_);
  if (!deadline.has_passed(clock_)) {
    waiting_.push_back(&job);
    if (waiting_.size() == 1) wake_.notify_one();
    job.done.wait_for(lock, deadline.left(clock_), [&] { return job.is_done || job.is_taken; });
    // Once begun it is short and cannot be taken back.
    if (job.is_taken) job.done.wait(lock, [&] { return job.is_done; });
    if (job.is_done) return std::move(job.result);
    std::erase(waiting_, &job);
  }
  return fail(ErrorCode::deadline_exceeded,
              "the store {} could not begin to write before the deadline; nothing was changed",
              db_->path());
}

std::size_t SqliteWriter::waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void SqliteWriter::loop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_work = [&] { return !waiting_.empty(); };
    if (!has_work()) {
      if (db_->wal_frames() > 0) {
        if (!wake_.wait_for(lock, stop, kQuiet, has_work) && !stop.stop_requested())
          keep_log_short(lock);
      } else {
        wake_.wait(lock, stop, has_work);
      }
      if (!has_work()) {
        if (stop.stop_requested()) return;
        continue;
      }
    }
    lock.unlock();
    write_what_waits();
    lock.lock();
    if (db_->wal_frames() >= checkpoint_at_) keep_log_short(lock);
  }
}

void SqliteWriter::write_what_waits() {
  // Another process may hold the file's lock. Who waits for it here can still leave at his
  // deadline.
  auto transaction = SqliteTransaction::begin(*db_, SqliteTransaction::Kind::write);
  const auto jobs = take_waiting();
  if (!transaction) {
    for (auto* job : jobs) job->result = fail(transaction.error());
  } else if (auto known = expect_known_schema(*db_); !known) {
    for (auto* job : jobs) job->result = fail(known.error());
  } else if (!jobs.empty()) {
    run_together(jobs, std::move(*transaction));
  }
  finish(jobs);
}

std::vector<SqliteWriter::Job*> SqliteWriter::take_waiting() {
  const std::lock_guard lock(mutex_);
  std::vector<Job*> jobs;
  std::size_t weight = 0;
  while (!waiting_.empty() && (jobs.empty() || weight + waiting_.front()->weight <= kMaxWeight)) {
    jobs.push_back(waiting_.front());
    weight += jobs.back()->weight;
    jobs.back()->is_taken = true;
    waiting_.pop_front();
  }
  // None of them has been answered, so any order is as good: the file's is the fastest.
  std::stable_sort(
      jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->near < b->near; });
  return jobs;
}

void SqliteWriter::run_together(std::span<Job* const> jobs, SqliteTransaction transaction) {
  SqliteWork work{*db_, clock_.now_utc()};
  for (auto* job : jobs) {
    (*job->work)(work);
    if (db_->has_failed()) break;
  }
  auto committed = transaction.commit();
  if (jobs.size() == 1 || committed) {
    for (auto* job : jobs) job->result = committed;
    return;
  }
  for (auto* job : jobs) run_alone(*job);
}

void SqliteWriter::run_alone(Job& job) {
  auto transaction = SqliteTransaction::begin(*db_, SqliteTransaction::Kind::write);
  if (!transaction) {
    job.result = fail(transaction.error());
    return;
  }
  SqliteWork work{*db_, clock_.now_utc()};
  (*job.work)(work);
  job.result = transaction->commit();
}

void SqliteWriter::finish(std::span<Job* const> jobs) {
  const std::lock_guard lock(mutex_);
  for (auto* job : jobs) {
    job->is_done = true;
    job->done.notify_one();  // under the lock: the job lives on the stack of who waits
  }
}

void SqliteWriter::keep_log_short(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const bool is_too_long = db_->wal_frames() >= kMaxFrames;
  ignore(db_->checkpoint(is_too_long ? kPatienceWithReaders : milliseconds{0}),
         "the log stays as long as it is and nothing is lost; the next commit reports a full disk");
  // Where a reader held it back, try again only after as much again has been written.
  checkpoint_at_ = db_->wal_frames() + kCheckpointFrames;
  lock.lock();
}

}  // namespace geonce
