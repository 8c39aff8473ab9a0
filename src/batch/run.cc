#include "batch/run.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <queue>
#include <thread>

#include <boost/json.hpp>
#include <openssl/evp.h>

#include "batch/distinct.h"
#include "batch/kept_input.h"
#include "batch/line_out.h"
#include "batch/row_work.h"
#include "core/json_text.h"
#include "io/failpoint.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{std::chrono::minutes{5}};  // with the store
constexpr std::int64_t kCallsOfAnOutage = 7;
constexpr milliseconds kPatiencePerRetry{15'000};
// An address that has to wait longer is left for the next run.
constexpr milliseconds kLongestPause{std::chrono::minutes{2}};

constexpr std::size_t kKnownBytes = std::size_t{32} << 20U;  // of rows that repeat

/// Everything that is known before the first row is asked about.
struct Prepared {
  KeptInput kept;
  FileFacts facts;
  RowInput input;
  Mapping mapping;
  std::optional<PreviousRows> previous;
};

Result<Prepared> prepare(const BatchOptions& options, const std::stop_token& stop) {
  auto kept = KeptInput::of(options.input.path, options.temp_folder, stop);
  if (!kept) return fail(kept.error());
  InputOptions how = options.input;
  how.path = kept->path();
  if (!how.format && options.input.path != "-") how.format = format_of_name(options.input.path);
  auto facts = inspect_file(how.path, how.encoding);
  if (!facts) {
    Error error = facts.error();
    if (options.input.path == "-")
      if (const auto at = error.message.find(how.path); at != std::string::npos)
        error.message.replace(at, how.path.size(), "standard input");
    return fail(std::move(error));
  }
  auto input = RowInput::open(how, &*facts);
  if (!input) return fail(input.error());
  auto mapping = Mapping::make(options.mapping, input->shape().columns);
  if (!mapping) return fail(mapping.error());
  std::optional<PreviousRows> previous;
  if (options.only_missing) {
    auto found = PreviousRows::find(input->shape().columns, options.output.prefix);
    if (!found) return fail(found.error());
    previous = *found;
  }
  return Prepared{std::move(*kept), *facts, std::move(*input), std::move(*mapping), previous};
}

/// Digest of everything that decides the answers. Output formats and pace are left out: the same
/// rows may be written again in another form for free.
std::string identity_of(const Prepared& prepared, const BatchOptions& options) {
  const InputShape& shape = prepared.input.shape();
  std::string text = "geonce batch 1\n";
  text.append(reinterpret_cast<const char*>(prepared.facts.sha256.data()),
              prepared.facts.sha256.size());
  text += fmt::format("\n{}\n{}\n{}\n{}\n{}{}{}\n{}\n{}\n{}\n{}\n{}\n{}\n",
                      options.pool,
                      to_string(shape.format),
                      to_string(shape.encoding),
                      shape.has_header,
                      shape.dialect.delimiter,
                      shape.dialect.quote,
                      text_of(shape.dialect.line_end),
                      prepared.mapping.describe(),
                      options.mapping.default_country.code(),
                      options.mapping.default_state,
                      options.mapping.default_city,
                      options.only_missing ? options.output.prefix : "",
                      options.context);
  std::string digest(32, '\0');
  unsigned size = 0;
  GEONCE_EXPECTS(EVP_Digest(text.data(),
                            text.size(),
                            reinterpret_cast<unsigned char*>(digest.data()),
                            &size,
                            EVP_sha256(),
                            nullptr) == 1);
  return digest;
}

/// An error that asking again may mend.
bool is_transient(ErrorCode code) {
  switch (code) {
    case ErrorCode::provider_retry:
    case ErrorCode::provider_retry_after:
    case ErrorCode::cooling_down:
    case ErrorCode::not_sent:
    case ErrorCode::store_busy:
    case ErrorCode::store_unavailable:
    case ErrorCode::deadline_exceeded:
      return true;
    default:
      return false;
  }
}

/// The store, or the disk under it: the next row would fare no better.
bool is_of_the_store(ErrorCode code) {
  switch (code) {
    case ErrorCode::store_busy:
    case ErrorCode::store_unavailable:
    case ErrorCode::store_corrupt:
    case ErrorCode::store_newer:
    case ErrorCode::disk_full:
    case ErrorCode::io_failed:
    case ErrorCode::internal:
      return true;
    default:
      return false;
  }
}

/// Errors that say nothing about the row: the run that meets them is not at its end.
bool is_of_the_run(ErrorCode code) {
  return is_transient(code) || is_of_the_store(code) || code == ErrorCode::provider_fatal ||
         code == ErrorCode::no_provider || code == ErrorCode::quota_exhausted ||
         code == ErrorCode::cache_only_miss || code == ErrorCode::interrupted;
}

Ask ask_of(const Mapping& mapping, const RowWork& work, const Asked& asked) {
  return {asked.slot, asked.pre_image, query_of(mapping, work, asked), asked.quality, {}};
}

/// A row that was not read may be read by the next run.
bool is_of_the_reader(const RowRef& row) {
  return row.refusal == ErrorCode::reader_unavailable || row.refusal == ErrorCode::interrupted;
}

/// Reading was given up in the middle of it, because the run is stopping.
bool is_interrupted(const RowWork& work) {
  return std::ranges::find(work.rows, ErrorCode::interrupted, &RowRef::refusal) != work.rows.end();
}

/// Who has an answer already when his row comes has it from the row before.
AnswerSource source_of(const RowRef& row, const Asked& asked) {
  if (asked.known) return asked.known->source;
  const AnswerSource source = asked.resolved.source;
  return source == AnswerSource::paid && !row.is_first ? AnswerSource::coalesced : source;
}

/// 0: what has no such time, as an answer of `places`.
void set_times(UtcMs answered_at, UtcMs expires_at, RowResult& result) {
  if (answered_at > 0) result.fetched_at = answered_at;
  if (expires_at > 0) result.expires_at = expires_at;
}

RowResult result_of(const RowRef& row, const RowWork& work, const KeyRing& ring) {
  RowResult result;
  if (row.is_empty) {
    result.status = RowStatus::empty;
    return result;
  }
  if (row.asked == RowRef::kNone) {
    result.status = row.refusal ? RowStatus::error : RowStatus::bad_row;
    result.error = work.problems[row.problem];
    return result;
  }
  const Asked& asked = work.asked[row.asked];
  const Resolved& resolved = asked.resolved;
  if (asked.known) {
    result = row_result(*asked.known->answer);
    result.cache = to_string(asked.known->source);
    set_times(asked.known->answered_at, asked.known->expires_at, result);
    result.cost = Money{};
    result.attempts = 0;
  } else if (resolved.answer) {
    result = row_result(*resolved.answer);
    result.cache = to_string(source_of(row, asked));
    set_times(resolved.answered_at, resolved.expires_at, result);
    result.cost = row.is_first ? resolved.cost : Money{};
    result.attempts = static_cast<std::uint32_t>(resolved.calls);
  } else {
    result.status = RowStatus::error;
    result.error = resolved.error->message;
  }
  result.key = asked.slot.key;
  result.key_prefix = ring.prefix();
  result.building_key = asked.building_key;
  return result;
}

/// Where a row that says the same later has it from, without a call: nullopt when what is known is
/// not good enough for that.
std::optional<AnswerSource> source_of_a_repeat(const Resolved& resolved) {
  if (!resolved.answer || resolved.source == AnswerSource::stale) return std::nullopt;
  if (resolved.source == AnswerSource::places) return AnswerSource::places;
  return resolved.answer->kind == AnswerKind::no_match ? AnswerSource::negative : AnswerSource::l1;
}

/// Keeps the first `rows` rows. Returns whether any were dropped.
bool cut(Chunk& chunk, std::uint64_t rows, const RowInput& input) {
  if (chunk.row_count <= rows) return false;
  input.parse(chunk);
  chunk.bytes.resize(chunk.records[rows - 1].end);
  chunk.row_count = rows;
  chunk.records.clear();
  chunk.fields.clear();
  chunk.unescaped.clear();
  return true;
}

/// Hands work to threads and is closed once.
template <class T>
class Queue {
 public:
  void push(T item) {
    // Under the lock: whoever takes the item may be the last to need this queue, and then it goes.
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    filled_.notify_one();
  }
  /// nullopt: closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> items_;
  bool closed_ = false;
};

class Run {
 public:
  Run(Store& store,
      Resolver& resolver,
      Clock& clock,
      const BatchOptions& options,
      Prepared prepared)
      : store_(store),
        resolver_(resolver),
        clock_(clock),
        options_(options),
        prepared_(std::move(prepared)),
        cap_(std::make_shared<SpendCap>(options.max_calls, options.max_cost)) {}

  Result<BatchReport> operator()(const std::stop_token& stop,
                                 const std::function<void(const BatchCounts&)>& notice);

 private:
  using WorkPtr = std::unique_ptr<RowWork>;
  struct Retry {
    Mono at;
    RowWork* work;
    std::uint32_t index;
    friend bool operator<(const Retry& a, const Retry& b) { return a.at > b.at; }
  };
  /// What a worker is to do next with a chunk.
  struct Task {
    enum class Deed : std::uint8_t { ask, format } deed;
    RowWork* work;
  };

  void work_on_tasks();
  void ask(RowWork& work, RowReader& reader);
  void send(RowWork& work, const std::vector<std::uint32_t>& which);
  void answered(RowWork& work, std::uint32_t index, Resolved resolved);
  void note_end(const Error& error);
  void note_health(const Silence& silence);
  void count_down(RowWork& work);
  void retry_when_due();
  void format(RowWork& work, RowReader& reader);
  void remember(const RowRef& row, RowResult result, RowWork& work);
  void remember_spelling(const RowRef& row, RowWork& work);
  [[nodiscard]] bool is_exception(RowStatus status) const {
    return exceptions_ && status != RowStatus::match && status != RowStatus::empty;
  }
  void stop_for(BatchEnd end, std::string reason);

  WorkPtr new_work();
  Result<void> feed();
  Result<void> write(RowWork& work);
  Result<void> save(RowWork& work);
  Result<void> flush_saved();
  void count_spending(const ResolverStats& now);
  void wait_for_chunks();
  Result<void> write_all(const std::stop_token& stop,
                         const std::function<void(const BatchCounts&)>& notice);
  [[nodiscard]] bool is_stopped() const { return end_.load() != BatchEnd::complete; }

  Store& store_;
  Resolver& resolver_;
  Clock& clock_;
  const BatchOptions& options_;
  Prepared prepared_;
  std::shared_ptr<SpendCap> cap_;

  BatchHead head_;
  bool was_known_ = false;
  UtcMs refresh_before_ = 0;
  std::optional<RowWriter> writer_;
  std::optional<LineOut> out_, exceptions_;
  std::unique_ptr<DistinctKeys> distinct_;
  KnownRows known_rows_{kKnownBytes};
  BatchCounts counts_;
  ResolverStats before_;
  std::vector<BatchChunk> to_save_;
  std::size_t to_save_bytes_ = 0;

  Queue<Task> tasks_;
  std::map<std::int64_t, WorkPtr> window_;  // by number; the calling thread's alone
  std::vector<WorkPtr> spare_;  // written, for the next chunks: their memory is used again
  std::int64_t next_number_ = 0;
  std::int64_t rows_fed_ = 0;
  bool has_ended_ = false;  // no more chunks to feed

  std::mutex mutex_;
  std::condition_variable ready_cv_, retry_cv_;
  std::vector<std::int64_t> ready_;  // formatted chunks
  std::int64_t formatted_ = 0;       // how many ever were
  std::priority_queue<Retry> retries_;
  bool retries_closed_ = false;

  std::atomic<BatchEnd> end_{BatchEnd::complete};
  std::string stop_reason_;
  std::atomic<bool> has_old_answers_{false};  // that stand in for what was not to be had …
  std::atomic<bool> lacks_answers_{false};    // … and not for all
  std::atomic<std::int64_t> errors_{0};
};

void Run::stop_for(BatchEnd end, std::string reason) {
  const std::lock_guard lock(mutex_);
  // Beyond a cap a run goes on without paying, and may still be told to stop.
  const bool is_beyond_cap = end_.load() == BatchEnd::capped && end == BatchEnd::interrupted;
  if (is_stopped() && !is_beyond_cap) return;
  stop_reason_ = std::move(reason);
  end_ = end;
  retry_cv_.notify_all();
  ready_cv_.notify_all();
}

void Run::work_on_tasks() {
  RowReader reader(prepared_.input,
                   prepared_.mapping,
                   prepared_.previous ? &*prepared_.previous : nullptr,
                   options_.retry_negative,
                   known_rows_,
                   *options_.ring,
                   options_.second);
  while (const auto task = tasks_.pop()) {
    if (task->deed == Task::Deed::ask)
      ask(*task->work, reader);
    else
      format(*task->work, reader);
  }
}

void Run::ask(RowWork& work, RowReader& reader) {
  reader.read(work, options_.pool, clock_.now_utc());
  if (is_interrupted(work)) stop_for(BatchEnd::interrupted, "interrupted");
  if (was_known_) {
    const auto copy = store_.batch_chunk(head_.id, work.number, Deadline::in(kPatience, clock_));
    if (copy && *copy) decode_chunk(**copy, work);
  }
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < work.asked.size(); ++i) {
    Asked& asked = work.asked[i];
    if (asked.known) continue;
    const bool failed = asked.resolved.error.has_value();
    const bool negative =
        asked.resolved.answer && asked.resolved.answer->kind == AnswerKind::no_match;
    if (asked.is_final &&
        ((failed && options_.retry_failed) || (negative && options_.retry_negative)))
      asked.is_final = asked.is_replayed = false;
    if (!asked.is_final) open.push_back(i);
  }
  work.pending = open.size() + 1;
  if (!open.empty()) send(work, open);
  count_down(work);
}

void Run::send(RowWork& work, const std::vector<std::uint32_t>& which) {
  std::vector<Ask> asks;
  asks.reserve(which.size());
  for (const std::uint32_t index : which) {
    const Asked& asked = work.asked[index];
    Ask& ask = asks.emplace_back(ask_of(prepared_.mapping, work, asked));
    ask.options.cause = Cause::batch;
    ask.options.cache_only = options_.cache_only || end_.load() == BatchEnd::capped;
    ask.options.refresh_before = refresh_before_;
    ask.options.retry_no_match = options_.retry_negative;
    ask.options.cap = cap_;
  }
  // No deadline: how long an address waits for its turn says nothing about it. A call has its own.
  resolver_.start(
      std::move(asks), Deadline::never(), [this, &work, which](std::size_t i, Resolved resolved) {
        answered(work, which[i], std::move(resolved));
      });
}

/// Ends the run, or its spending, for an error that every other address would meet as well.
void Run::note_end(const Error& error) {
  if (error.code == ErrorCode::provider_fatal || error.code == ErrorCode::no_provider) {
    stop_for(BatchEnd::provider_stopped, error.message);
  } else if (error.code == ErrorCode::quota_exhausted) {
    const std::lock_guard lock(mutex_);
    if (is_stopped()) return;
    stop_reason_ = "the cap on calls or cost is reached";
    end_ = BatchEnd::capped;
  }
}

void Run::answered(RowWork& work, std::uint32_t index, Resolved resolved) {
  Asked& asked = work.asked[index];
  ++asked.attempts;
  // Whether or not an old answer stands in for the one that was not to be had.
  if (resolved.error) note_end(*resolved.error);
  if (resolved.answer) {
    asked.is_final = resolved.source != AnswerSource::stale;
    if (!asked.is_final) has_old_answers_ = true;
    // Places are free and may be loaded anew at any time: they are asked again, not kept.
    if (resolved.keep.count() > 0 && resolved.source != AnswerSource::places)
      asked.erase_at = clock_.now_utc() + resolved.keep.count();
  } else {
    lacks_answers_ = true;
    const ErrorCode code = resolved.error->code;
    const bool wants_retry = is_transient(code) && code != ErrorCode::deadline_exceeded &&
                             resolved.error->retry_after <= kLongestPause &&
                             asked.attempts <= options_.max_retries && !options_.cache_only;
    if (wants_retry) {
      const milliseconds pause =
          std::max(resolved.error->retry_after, milliseconds{500 << asked.attempts});
      const std::lock_guard lock(mutex_);
      if (!retries_closed_ && !is_stopped()) {
        retries_.push({clock_.now() + pause, &work, index});
        retry_cv_.notify_all();
        return;
      }
    }
    if (is_of_the_store(code)) stop_for(BatchEnd::store_failed, resolved.error->message);
    asked.is_final = !is_of_the_run(code);
    if (code != ErrorCode::cache_only_miss && code != ErrorCode::quota_exhausted &&
        code != ErrorCode::interrupted && ++errors_ == options_.max_errors)
      stop_for(
          BatchEnd::too_many_errors,
          fmt::format("{} addresses in error, the limit of --max-errors", options_.max_errors));
  }
  asked.resolved = std::move(resolved);
  count_down(work);
}

/// Providers that have answered none of many calls in a row, over as long as an address would have
/// been tried again, are down: then the rest of the file is better left for another time, unless
/// old answers stand in for all that was asked.
void Run::note_health(const Silence& silence) {
  const milliseconds lasted =
      std::chrono::duration_cast<milliseconds>(silence.last - silence.first);
  const bool is_stood_in_for = has_old_answers_ && !lacks_answers_;
  if (is_stood_in_for || silence.requests < kCallsOfAnOutage ||
      lasted < options_.max_retries * kPatiencePerRetry)
    return;
  stop_for(BatchEnd::provider_down,
           fmt::format("{} (none of {} calls answered in {} s)",
                       silence.why,
                       silence.requests,
                       std::chrono::ceil<std::chrono::seconds>(lasted).count()));
}

void Run::count_down(RowWork& work) {
  if (work.pending.fetch_sub(1) == 1) tasks_.push({Task::Deed::format, &work});
}

void Run::retry_when_due() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (retries_.empty()) {
      if (retries_closed_) return;
      retry_cv_.wait(lock);
      continue;
    }
    const bool now = is_stopped() || retries_closed_ || retries_.top().at <= clock_.now();
    if (!now) {
      retry_cv_.wait_until(lock, retries_.top().at);
      continue;
    }
    const Retry due = retries_.top();
    retries_.pop();
    lock.unlock();
    if (end_.load() != BatchEnd::complete && end_.load() != BatchEnd::capped) {
      Resolved resolved;
      resolved.error = Error{ErrorCode::interrupted,
                             "the run was stopped before this address was answered",
                             {},
                             {},
                             {}};
      answered(*due.work, due.index, std::move(resolved));
    } else {
      send(*due.work, {due.index});
    }
    lock.lock();
  }
}

void count(const RowRef& row, RowStatus status, RowWork& work) {
  ++work.counts.by_status.at(static_cast<std::size_t>(status));
  if (row.asked == RowRef::kNone) return;
  const Asked& asked = work.asked[row.asked];
  if (asked.is_replayed)
    ++work.counts.replayed;
  else if (asked.known || asked.resolved.answer)
    ++work.counts.by_source.at(static_cast<std::size_t>(source_of(row, asked)));
}

/// Keeps what a spelling that has come twice was answered, for the third time.
void Run::remember(const RowRef& row, RowResult result, RowWork& work) {
  const Asked& asked = work.asked[row.asked];
  KnownRow known = std::move(work.repeated[row.repeated]);
  // Rows of an earlier run are counted apart, so here their keys alone are known.
  const auto source = asked.is_replayed ? std::nullopt : source_of_a_repeat(asked.resolved);
  if (source) {
    known.has_answer = true;
    known.status = result.status;
    known.source = *source;
    known.answered_at = asked.resolved.answered_at;
    known.expires_at = asked.resolved.expires_at;
    known.erase_at = asked.erase_at;
    result.cache = to_string(*source);
    result.cost = Money{};
    result.attempts = 0;
    if (writer_->has_cells())
      writer_->append_cells(result, known.bytes);
    else
      known.answer = asked.resolved.answer;
    known.cells_size = static_cast<std::uint32_t>(known.bytes.size()) - known.spelling_size;
    Resolved repeat;
    repeat.answer = asked.resolved.answer;
    repeat.source = *source;
    repeat.answered_at = known.answered_at;
    repeat.expires_at = known.expires_at;
    append_copy(repeat, asked.erase_at, known.bytes);
  }
  known_rows_.put(std::move(known));
}

/// The same where another spelling of the address is known already.
void Run::remember_spelling(const RowRef& row, RowWork& work) {
  const KnownRow& spelling = work.repeated[row.repeated];
  KnownRow known = *work.asked[row.asked].known;
  known.bytes.replace(0, known.spelling_size, spelling.bytes);
  known.spelling_size = spelling.spelling_size;
  known.took_defaults = spelling.took_defaults;
  known_rows_.put(std::move(known));
}

void Run::format(RowWork& work, RowReader& reader) {
  if (options_.output.columns == ColumnSet::full) reader.add_building_keys(work);
  work.output.reserve(work.chunk.bytes.size() + work.rows.size() * 160);
  work.counts.rows = static_cast<std::int64_t>(work.rows.size());
  for (std::size_t i = 0; i < work.rows.size(); ++i) {
    const RowRef& row = work.rows[i];
    const Record& record = work.chunk.records[i];
    const KnownRow* known =
        row.asked == RowRef::kNone ? nullptr : work.asked[row.asked].known.get();
    Result<void> written;
    if (row.is_kept) {
      ++work.counts.kept;
      written = writer_->keep(work.chunk, record, work.output);
    } else if (known != nullptr && known->cells_size > 0) {
      count(row, known->status, work);
      writer_->append_with_cells(work.chunk, record, known->cells(), work.output);
      if (is_exception(known->status))
        writer_->append_with_cells(work.chunk, record, known->cells(), work.exceptions);
    } else {
      const RowResult result = result_of(row, work, *options_.ring);
      count(row, result.status, work);
      written = writer_->append(work.chunk, record, result, work.output);
      if (written && is_exception(result.status))
        written = writer_->append(work.chunk, record, result, work.exceptions);
      if (known == nullptr && row.repeated != RowRef::kNone) remember(row, result, work);
    }
    if (known != nullptr && row.repeated != RowRef::kNone) remember_spelling(row, work);
    if (!written) {
      work.failure = written.error();
      break;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(work.number);
    ++formatted_;
  }
  ready_cv_.notify_all();
}

Run::WorkPtr Run::new_work() {
  if (spare_.empty()) return std::make_unique<RowWork>();
  WorkPtr work = std::move(spare_.back());
  spare_.pop_back();
  work->output.clear();
  work->exceptions.clear();
  work->counts = {};
  return work;
}

Result<void> Run::feed() {
  while (!has_ended_ && window_.size() < options_.window &&
         (!is_stopped() || end_.load() == BatchEnd::capped)) {
    WorkPtr work = new_work();
    work->number = next_number_;
    auto more = prepared_.input.next(work->chunk);
    if (!more) return fail(more.error());
    if (!*more) {
      has_ended_ = true;
      return {};
    }
    if (options_.limit) {
      const auto left =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, *options_.limit - rows_fed_));
      if (work->chunk.row_count >= left) has_ended_ = true;
      if (left == 0) return {};
      // A part of a chunk is no chunk of the batch: it is answered and written, not kept.
      if (cut(work->chunk, left, prepared_.input)) work->number = -1 - work->number;
    }
    rows_fed_ += static_cast<std::int64_t>(work->chunk.row_count);
    ++next_number_;
    RowWork* raw = work.get();
    window_.emplace(next_number_ - 1, std::move(work));
    tasks_.push({Task::Deed::ask, raw});
  }
  return {};
}

Result<void> Run::save(RowWork& work) {
  bool all_final = true, is_new = false;
  for (const Asked& asked : work.asked) {
    all_final = all_final && asked.is_final;
    is_new = is_new || (!asked.is_replayed && (asked.erase_at > 0 || asked.resolved.error));
  }
  const bool all_read = std::ranges::none_of(work.rows, is_of_the_reader);
  if (work.number < 0 || !all_final || !all_read || !is_new) return {};
  UtcMs erase_at = INT64_MAX;
  for (const Asked& asked : work.asked)
    if (asked.erase_at > 0) erase_at = std::min(erase_at, asked.erase_at);
  const UtcMs now = clock_.now_utc();
  to_save_.push_back(
      {work.number, encode_chunk(work), milliseconds{erase_at == INT64_MAX ? 0 : erase_at - now}});
  to_save_bytes_ += to_save_.back().bytes.size();
  return to_save_bytes_ > (std::size_t{2} << 20U) ? flush_saved() : Result<void>{};
}

Result<void> Run::flush_saved() {
  if (to_save_.empty()) return {};
  auto saved = store_.save_chunks(head_.id, to_save_, Deadline::in(kPatience, clock_));
  failpoint(FailPoint::batch_saved);
  to_save_.clear();
  to_save_bytes_ = 0;
  return saved;
}

Result<void> Run::write(RowWork& work) {
  if (work.failure) return fail(*work.failure);
  failpoint(FailPoint::row_answered);
  if (auto put = out_->write(work.output); !put) return put;
  if (exceptions_)
    if (auto put = exceptions_->write(work.exceptions); !put) return put;
  counts_.add(work.counts);
  for (const Asked& asked : work.asked)
    if (auto added = distinct_->add(asked.slot.key, 0); !added) return added;
  counts_.bytes_read = std::max(counts_.bytes_read, work.chunk.raw_offset);
  return save(work);
}

/// Calls are counted where they are made: one that had to be repeated, or whose answer was lost,
/// costs too.
void Run::count_spending(const ResolverStats& now) {
  counts_.calls = now.calls - before_.calls;
  counts_.cost = now.cost - before_.cost;
}

/// Calls on their way refer to the chunks and to this run; the memory must not go before them. Each
/// has a deadline of its own.
void Run::wait_for_chunks() {
  std::unique_lock lock(mutex_);
  ready_cv_.wait(lock, [&] { return formatted_ == next_number_; });
}

Result<void> Run::write_all(const std::stop_token& stop,
                            const std::function<void(const BatchCounts&)>& notice) {
  const std::stop_callback on_stop(stop,
                                   [this] { stop_for(BatchEnd::interrupted, "interrupted"); });
  std::vector<std::int64_t> ready;
  std::int64_t next = 0;
  bool drained = false;
  for (;;) {
    if (auto fed = feed(); !fed) return fed;
    if (window_.empty()) return {};
    const bool stopping = is_stopped() && end_.load() != BatchEnd::capped;
    if (stopping && !drained) {
      drained = true;
      // Answers that find no room in the store are in the spool: a long wait adds nothing.
      const milliseconds patience{end_.load() == BatchEnd::store_failed ? 3'000 : 30'000};
      resolver_.drain(Deadline::in(patience, clock_));
    }
    {
      std::unique_lock lock(mutex_);
      ready_cv_.wait_for(lock, milliseconds{250}, [&] {
        return !ready_.empty() || (!drained && is_stopped() && end_.load() != BatchEnd::capped);
      });
      for (const auto number : ready_) ready.push_back(number < 0 ? -1 - number : number);
      ready_.clear();
    }
    const ResolverStats stats = resolver_.stats();
    count_spending(stats);
    note_health(stats.silence);
    notice(counts_);
    for (auto first = window_.begin(); first != window_.end() && first->first == next &&
                                       std::find(ready.begin(), ready.end(), next) != ready.end();
         first = window_.begin()) {
      RowWork& work = *first->second;
      if (!stopping && is_interrupted(work)) break;  // the next round stops
      std::erase(ready, next);
      // A run that is stopped ends with its last whole chunk: a row that was not reached is not a
      // row in error.
      const bool unreached =
          stopping && (std::ranges::any_of(work.rows, is_of_the_reader) ||
                       std::ranges::any_of(work.asked, [](const Asked& asked) {
                         return asked.resolved.error && is_of_the_run(asked.resolved.error->code);
                       }));
      if (unreached && !has_ended_) has_ended_ = true;
      if (unreached) {
        wait_for_chunks();
        window_.clear();
        return {};
      }
      if (auto written = write(work); !written) return written;
      spare_.push_back(std::move(first->second));
      window_.erase(first);
      ++next;
    }
  }
}

Result<BatchReport> Run::operator()(const std::stop_token& stop,
                                    const std::function<void(const BatchCounts&)>& notice) {
  const Mono began = clock_.now();
  before_ = resolver_.stats();
  auto writer = RowWriter::make(prepared_.input.shape(), options_.output);
  if (!writer) return fail(writer.error());
  writer_ = std::move(*writer);
  const Deadline deadline = Deadline::in(kPatience, clock_);
  auto head = store_.open_batch(identity_of(prepared_, options_),
                                options_.input.path,
                                options_.restart   ? BatchStart::restart
                                : options_.refresh ? BatchStart::refresh
                                                   : BatchStart::resume,
                                deadline);
  if (!head) return fail(head.error());
  head_ = std::move(*head);
  failpoint(FailPoint::batch_begins);
  was_known_ = !head_.is_new;
  // By the store's clock, as the age of its answers is.
  if (options_.refresh)
    refresh_before_ = head_.refresh_before > 0 ? head_.refresh_before : head_.created_at;
  auto distinct = DistinctKeys::open(options_.temp_folder);
  if (!distinct) return fail(distinct.error());
  distinct_ = std::move(*distinct);
  auto out = LineOut::create(options_.output.path);
  if (!out) return fail(out.error());
  out_ = std::move(*out);
  if (!options_.exceptions.empty()) {
    auto exceptions = LineOut::create(options_.exceptions);
    if (!exceptions) return fail(exceptions.error());
    exceptions_ = std::move(*exceptions);
  }
  auto prologue = writer_->prologue();
  if (!prologue) return fail(prologue.error());
  for (auto* sink : {&out_, &exceptions_})
    if (*sink)
      if (auto put = (*sink)->write(*prologue); !put) return fail(put.error());
  counts_.bytes_total = prepared_.facts.size;

  Result<void> done;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < options_.workers; ++i)
      threads.emplace_back([this] { work_on_tasks(); });
    std::jthread retrier([this] { retry_when_due(); });
    done = write_all(stop, notice);
    if (!done) {
      stop_for(BatchEnd::interrupted, done.error().message);
      resolver_.drain(Deadline::in(milliseconds{30'000}, clock_));
      wait_for_chunks();
    }
    {
      const std::lock_guard lock(mutex_);
      retries_closed_ = true;
    }
    retry_cv_.notify_all();
    retrier.join();
    tasks_.close();
  }
  if (!done) return fail(done.error());
  BatchReport report;
  report.end = end_;
  const bool has_store = report.end != BatchEnd::store_failed;
  if (auto saved = flush_saved(); !saved && has_store) return fail(saved.error());
  report.stop_reason = stop_reason_;
  const bool whole = report.end == BatchEnd::complete || report.end == BatchEnd::capped;
  const bool has_row_errors = counts_.of(RowStatus::error) + counts_.of(RowStatus::bad_row) > 0;
  if (report.end == BatchEnd::complete && has_row_errors)
    report.end = BatchEnd::complete_with_errors;
  report.output = whole ? options_.output.path : LineOut::part_name(options_.output.path);
  for (auto* sink : {&out_, &exceptions_}) {
    if (!*sink || !whole) continue;
    if (auto put = (*sink)->write(writer_->epilogue()); !put) return fail(put.error());
    if (auto finished = (*sink)->finish(); !finished) return fail(finished.error());
  }
  auto distinct_count = distinct_->count();
  if (!distinct_count) return fail(distinct_count.error());
  counts_.distinct = distinct_count->at(0);
  count_spending(resolver_.stats());
  report.counts = counts_;
  report.id = head_.id;
  report.resumed = was_known_;
  report.input_note = prepared_.input.describe();
  report.mapping_note = prepared_.mapping.describe();
  report.took = std::chrono::duration_cast<milliseconds>(clock_.now() - began);
  notice(counts_);

  head_.state = to_string(report.end);
  head_.rows = counts_.rows;
  head_.summary_json = to_json(report);
  if (has_store)
    if (auto closed = store_.close_batch(head_, Deadline::in(kPatience, clock_)); !closed)
      return fail(closed.error());
  failpoint(FailPoint::batch_closed);
  return report;
}

}  // namespace

std::string_view to_string(BatchEnd end) {
  switch (end) {
    case BatchEnd::complete:
      return "complete";
    case BatchEnd::complete_with_errors:
      return "complete_with_errors";
    case BatchEnd::capped:
      return "capped";
    case BatchEnd::interrupted:
      return "interrupted";
    case BatchEnd::provider_stopped:
      return "provider_stopped";
    case BatchEnd::provider_down:
      return "provider_down";
    case BatchEnd::store_failed:
      return "store_failed";
    case BatchEnd::too_many_errors:
      return "too_many_errors";
  }
  return "interrupted";
}

int exit_code_of(BatchEnd end) {
  switch (end) {
    case BatchEnd::complete:
      return 0;
    case BatchEnd::complete_with_errors:
      return 6;
    case BatchEnd::capped:
      return 7;
    case BatchEnd::interrupted:
      return 130;
    case BatchEnd::provider_stopped:
      return 8;
    case BatchEnd::provider_down:
      return 3;
    case BatchEnd::store_failed:
    case BatchEnd::too_many_errors:
      return 1;
  }
  return 1;
}

std::string to_json(const BatchReport& report) {
  const BatchCounts& counts = report.counts;
  boost::json::object statuses, sources;
  for (std::size_t i = 0; i < kRowStatuses; ++i)
    statuses[to_string(static_cast<RowStatus>(i))] = counts.by_status.at(i);
  for (std::size_t i = 0; i < kSources; ++i)
    sources[to_string(static_cast<AnswerSource>(i))] = counts.by_source.at(i);
  boost::json::object object{{"end", to_string(report.end)},
                             {"batch", to_string(report.id)},
                             {"resumed", report.resumed},
                             {"rows", counts.rows},
                             {"distinct", counts.distinct},
                             {"replayed", counts.replayed},
                             {"kept", counts.kept},
                             {"status", statuses},
                             {"cache", sources},
                             {"hit_share", counts.hit_share()},
                             {"calls", counts.calls},
                             {"cost_microusd", counts.cost.micro_usd},
                             {"took_ms", report.took.count()},
                             {"output", report.output},
                             {"input", report.input_note},
                             {"mapping", report.mapping_note}};
  if (!report.stop_reason.empty()) object["stop_reason"] = report.stop_reason;
  return json_text(object);
}

Result<BatchReport> run_batch(Store& store,
                              Resolver& resolver,
                              Clock& clock,
                              const BatchOptions& options,
                              const std::stop_token& stop,
                              const std::function<void(const BatchCounts&)>& notice) {
  auto prepared = prepare(options, stop);
  if (!prepared) return fail(prepared.error());
  return Run(store, resolver, clock, options, std::move(*prepared))(stop, notice);
}

Result<BatchPlan> plan_batch(Resolver& resolver,
                             Clock& clock,
                             const BatchOptions& options,
                             const std::stop_token& stop,
                             const std::function<void(const BatchCounts&)>& notice) {
  auto prepared = prepare(options, stop);
  if (!prepared) return fail(prepared.error());
  // Collisions and encodings are found now, not after the money is spent.
  if (auto writer = RowWriter::make(prepared->input.shape(), options.output); !writer)
    return fail(writer.error());
  auto distinct = DistinctKeys::open(options.temp_folder);
  if (!distinct) return fail(distinct.error());
  enum Class : std::uint8_t { kKnown, kNoMatch, kOpen };
  BatchPlan plan;
  BatchCounts counts;
  counts.bytes_total = prepared->facts.size;
  KnownRows known_rows(kKnownBytes);
  RowReader reader(prepared->input,
                   prepared->mapping,
                   prepared->previous ? &*prepared->previous : nullptr,
                   options.retry_negative,
                   known_rows,
                   *options.ring,
                   options.second);
  RowWork work;
  while (!stop.stop_requested() && (!options.limit || plan.rows < *options.limit)) {
    auto more = prepared->input.next(work.chunk);
    if (!more) return fail(more.error());
    if (!*more) break;
    if (options.limit)
      cut(work.chunk, static_cast<std::uint64_t>(*options.limit - plan.rows), prepared->input);
    reader.read(work, options.pool, clock.now_utc());
    for (const RowRef& row : work.rows) {
      ++plan.rows;
      if (row.is_empty) ++plan.empty;
      if (row.problem != RowRef::kNone) ++(row.refusal ? plan.invalid : plan.bad);
    }
    std::vector<Ask> asks;
    asks.reserve(work.asked.size());
    for (const Asked& asked : work.asked) {
      Ask& ask = asks.emplace_back(ask_of(prepared->mapping, work, asked));
      ask.options.retry_no_match = options.retry_negative;
      ask.options.refresh_before = options.refresh ? kRefreshAll : 0;
    }
    const auto known = resolver.peek(asks, Deadline::in(kPatience, clock));
    for (std::size_t i = 0; i < known.size(); ++i) {
      const bool is_known = known[i].answer != nullptr && !options.refresh;
      const bool negative = is_known && known[i].answer->kind == AnswerKind::no_match;
      const std::uint8_t kind = negative ? kNoMatch : is_known ? kKnown : kOpen;
      if (auto added = (*distinct)->add(asks[i].slot.key, kind); !added) return fail(added.error());
    }
    counts.rows = plan.rows;
    counts.bytes_read = work.chunk.raw_offset;
    notice(counts);
    work.chunk.clear();
  }
  if (stop.stop_requested())
    return fail(ErrorCode::interrupted, "interrupted; nothing was asked or paid");
  const auto sums = (*distinct)->count();
  if (!sums) return fail(sums.error());
  plan.known = sums->at(kKnown);
  plan.known_no_match = sums->at(kNoMatch);
  plan.would_ask = sums->at(kOpen);
  plan.distinct = plan.known + plan.known_no_match + plan.would_ask;
  plan.input_note = prepared->input.describe();
  plan.mapping_note = prepared->mapping.describe();
  return plan;
}

}  // namespace geonce
