#include "store/postgres_workers.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;

// Rows in one statement of several callers: enough to make the commit cheap, few enough that nobody
// waits long for another's.
constexpr std::size_t kMostRows = 1000;
constexpr std::size_t kMostWaiting = 20'000;
constexpr int kMostRuns = 4;
constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{3'000};

/// Between the half of it and all of it, so that many processes do not come back at one moment.
milliseconds jittered(milliseconds span) {
  thread_local std::minstd_rand chance{std::random_device{}()};
  return milliseconds{
      std::uniform_int_distribution<milliseconds::rep>(span.count() / 2, span.count())(chance)};
}

Error in_doubt(Error error) {
  error.message += "; whether it was done is not known";
  return error;
}

Error too_late() {
  return in_doubt({ErrorCode::deadline_exceeded,
                   "the store did not answer before the deadline",
                   "store",
                   Billed::no,
                   {}});
}

}  // namespace

PostgresWorkers::PostgresWorkers(Options options,
                                 std::unique_ptr<PgConnection> first,
                                 const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  GEONCE_EXPECTS(options_.connections > 0);
  for (std::size_t i = 0; i < options_.connections; ++i)
    threads_.emplace_back(
        [this, mine = i == 0 ? std::move(first) : nullptr](const std::stop_token& stop) mutable {
          loop(stop, std::move(mine));
        });
}

PostgresWorkers::~PostgresWorkers() = default;

Result<PgSlice> PostgresWorkers::list(const char* sql,
                                      PgLists lists,
                                      Deadline deadline,
                                      std::optional<FailPoint> sent) {
  auto job = std::make_shared<Job>();
  job->sql = sql;
  job->lists = std::move(lists);
  job->sent = sent;
  job->deadline = deadline;
  return wait_for(job);
}

Result<PgRows> PostgresWorkers::query(const std::string& sql,
                                      std::span<const PgParam> params,
                                      Deadline deadline,
                                      PgRepeat repeat) {
  PgRows rows;
  auto done =
      alone(repeat, deadline, [&](PgConnection& connection, Deadline until) -> Result<void> {
        auto got = connection.query(sql, params, until, clock_);
        if (!got) return fail(got.error());
        rows = std::move(*got);
        return {};
      });
  if (!done) return fail(done.error());
  return rows;
}

Result<void> PostgresWorkers::alone(
    PgRepeat repeat,
    Deadline deadline,
    const std::function<Result<void>(PgConnection&, Deadline)>& work) {
  auto job = std::make_shared<Job>();
  job->work = &work;
  job->repeat = repeat;
  job->deadline = deadline;
  auto done = wait_for(job);
  if (!done) return fail(done.error());
  return {};
}

Result<PgSlice> PostgresWorkers::wait_for(const JobPtr& job) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= kMostWaiting)
    return fail(ErrorCode::store_busy, "{} callers wait for the store already", waiting_.size());
  job->since = std::chrono::steady_clock::now();
  if (!job->deadline.has_passed(clock_)) {
    waiting_.push_back(job);
    wake_.notify_one();
  }
  while (!job->is_done) {
    const bool is_late = job->deadline.has_passed(clock_);
    if (is_late && !job->is_taken) {
      std::erase(waiting_, job);
      if (job->runs > 0) return fail(too_late());
      return fail(ErrorCode::deadline_exceeded,
                  "the store could not begin before the deadline; nothing was changed");
    }
    // What goes alone uses the caller's own memory, and ends at the deadline by itself.
    if (is_late && job->sql != nullptr) return fail(too_late());
    if (is_late)
      job->changed.wait(lock);
    else
      job->changed.wait_for(lock, job->deadline.left(clock_) + milliseconds{1});
  }
  return std::move(job->result);
}

void PostgresWorkers::loop(const std::stop_token& stop, std::unique_ptr<PgConnection> connection) {
  milliseconds pause = kFirstPause;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!wake_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
    if (!connection || !connection->is_alive()) {
      lock.unlock();
      connection.reset();
      auto opened = PgConnection::open(options_.target);
      lock.lock();
      if (opened) {
        connection = std::move(*opened);
        pause = kFirstPause;
        continue;  // somebody may have done meanwhile what was waiting
      }
      fail_impatient(opened.error());
      pause_.wait_for(lock, stop, jittered(pause), [] { return false; });
      if (stop.stop_requested()) return;
      pause = std::min(2 * pause, kLongestPause);
      continue;
    }
    const auto jobs = take_waiting();
    lock.unlock();
    run(*connection, jobs);
    lock.lock();
  }
}

std::vector<PostgresWorkers::JobPtr> PostgresWorkers::take_waiting() {
  std::vector<JobPtr> jobs{waiting_.front()};
  waiting_.pop_front();
  const auto* sql = jobs.front()->sql;
  if (sql != nullptr) {
    std::size_t rows = jobs.front()->lists->size();
    std::erase_if(waiting_, [&](const JobPtr& job) {
      if (job->sql != sql || rows + job->lists->size() > kMostRows) return false;
      rows += job->lists->size();
      jobs.push_back(job);
      return true;
    });
  }
  for (const auto& job : jobs) job->is_taken = true;
  return jobs;
}

void PostgresWorkers::fail_impatient(const Error& error) {
  const auto before = std::chrono::steady_clock::now() - options_.patience;
  std::erase_if(waiting_, [&](const JobPtr& job) {
    if (job->since > before) return false;
    job->result = fail(error);
    job->is_done = true;
    job->changed.notify_one();
    return true;
  });
}

void PostgresWorkers::run(PgConnection& connection, std::span<const JobPtr> jobs) {
  auto result = run_once(connection, jobs);
  if (result) return finish(jobs, result);
  const auto end = connection.end();
  const bool may_run_again =
      jobs.front()->repeat == PgRepeat::when_in_doubt || end == PgEnd::conflict;
  const bool is_tired = jobs.front()->runs >= kMostRuns;
  if (end == PgEnd::lost || end == PgEnd::conflict) {
    // A deadline has passed: who waits has gone, or is told by his own.
    if (may_run_again && !is_tired && result.error().code != ErrorCode::deadline_exceeded)
      return ask_again(jobs);
    return finish(jobs, end == PgEnd::lost ? fail(in_doubt(result.error())) : result);
  }
  // Refused, which may be one caller's fault alone.
  if (jobs.size() == 1) return finish(jobs, result);
  for (const auto& job : jobs) run(connection, std::span(&job, 1));
}

Result<void> PostgresWorkers::run_once(PgConnection& connection, std::span<const JobPtr> jobs) {
  for (const auto& job : jobs) ++job->runs;
  auto& first = *jobs.front();
  if (first.sql == nullptr) return (*first.work)(connection, first.deadline);
  Deadline deadline = first.deadline;
  PgLists lists = *first.lists;
  for (const auto& job : jobs.subspan(1)) {
    lists.append(*job->lists);
    deadline.at = std::max(deadline.at, job->deadline.at);
  }
  auto shared = std::make_shared<PgSlice::Shared>();
  auto rows = connection.query(first.sql, lists.params(), deadline, clock_, first.sent);
  if (!rows) return fail(rows.error());
  shared->rows = std::move(*rows);
  shared->row_of.assign(lists.size(), -1);
  for (int row = 0; row < shared->rows.size(); ++row)
    shared->row_of.at(static_cast<std::size_t>(shared->rows.integer(row, 0) - 1)) = row;
  std::size_t at = 0;
  for (const auto& job : jobs) {
    PgSlice slice;
    slice.shared_ = shared;
    slice.first_ = at;
    at += job->lists->size();
    job->result = std::move(slice);
  }
  return {};
}

void PostgresWorkers::finish(std::span<const JobPtr> jobs, const Result<void>& result) {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs) {
    if (!result) job->result = fail(result.error());
    job->is_done = true;
    job->changed.notify_one();
  }
}

void PostgresWorkers::ask_again(std::span<const JobPtr> jobs) {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs) {
    job->is_taken = false;
    job->changed.notify_one();
  }
  waiting_.insert(waiting_.begin(), jobs.begin(), jobs.end());
  wake_.notify_all();
}

}  // namespace geonce
