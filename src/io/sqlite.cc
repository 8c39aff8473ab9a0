#include "io/sqlite.h"

#include <cerrno>
#include <thread>
#include <unordered_map>

#include <sqlite3.h>

#include "io/failpoint.h"

namespace geonce {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

struct Cached {
  sqlite3_stmt* handle = nullptr;
  bool in_use = false;
};

template <class... Args>
Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return {code, fmt::format(format, std::forward<Args>(args)...), "sqlite", Billed::no, {}};
}

/// What an SQLite result code means to the user of the file at `path`, and what to do about it.
Error explain(int code, int system_errno, std::string_view detail, const std::string& path) {
  using enum ErrorCode;
  const bool no_space = system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG;
  const std::string cause =
      system_errno != 0 ? std::generic_category().message(system_errno) : std::string(detail);
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(
          store_busy,
          "the store {0} is locked by another process; try again, or find who holds it (fuser {0})",
          path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(
          store_corrupt,
          "the store {} is damaged or is no geonce store ({}); put back a copy, or move it away "
          "together with its -wal and -shm files to begin a new one",
          path,
          detail);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return error(
          store_unavailable,
          "the store {} may not be written ({}); give this user write permission on the file and "
          "its folder",
          path,
          detail);
    case SQLITE_INTERRUPT:
      return error(deadline_exceeded, "the store {} did not answer within the deadline", path);
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      if (no_space || code == SQLITE_FULL)
        return error(
            disk_full,
            "no space left for the store {}; nothing was changed: free space on its disk and try "
            "again",
            path);
      if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS)
        return error(store_corrupt, "the store {} is cut off ({}); put back a copy", path, detail);
      return error(
          store_unavailable,
          "the store {} cannot be opened, read or written ({}); check its disk, and that this "
          "user may write the file and its folder",
          path,
          cause);
    default:
      return error(internal, "the store {} failed: {} (SQLite code {})", path, detail, code);
  }
}

}  // namespace

struct SqliteDb::State {
  sqlite3* handle = nullptr;
  std::string path;
  std::chrono::milliseconds busy_timeout{0};
  std::chrono::steady_clock::time_point busy_since;
  std::unordered_map<std::string, std::unique_ptr<Cached>, TextHash, std::equal_to<>> statements;
  std::function<bool()> interrupt;
  int wal_frames = 0;

  // A file lock cannot be waited for, only tried again. SQLite's own handler backs off to 100 ms,
  // which starves one of two processes that write without pause.
  static int on_busy(void* self, int count) {
    auto& state = *static_cast<State*>(self);
    const auto now = std::chrono::steady_clock::now();
    if (count == 0) state.busy_since = now;
    if (now - state.busy_since >= state.busy_timeout) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(count < 50 ? 1 : 5));
    return 1;
  }
  static int on_commit(void* self, sqlite3* /*db*/, const char* /*name*/, int frames) {
    static_cast<State*>(self)->wal_frames = frames;
    return SQLITE_OK;
  }
  static int on_progress(void* self) { return static_cast<State*>(self)->interrupt() ? 1 : 0; }

  [[nodiscard]] Error failure(int code) const {
    const int extended = sqlite3_extended_errcode(handle);
    return explain((extended & 0xFF) == (code & 0xFF) ? extended : code,
                   sqlite3_system_errno(handle),
                   sqlite3_errmsg(handle),
                   path);
  }
};

// --- statements
// ---------------------------------------------------------------------------------------

SqliteStatement::SqliteStatement(SqliteDb* db, sqlite3_stmt* handle, bool* in_use)
    : db_(db), handle_(handle), in_use_(in_use) {
  if (in_use_ != nullptr) *in_use_ = true;
}

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : db_(other.db_), handle_(other.handle_), in_use_(other.in_use_) {
  other.handle_ = nullptr;
  other.in_use_ = nullptr;
}

SqliteStatement::~SqliteStatement() {
  if (handle_ == nullptr) return;
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  *in_use_ = false;
}

bool SqliteStatement::step() {
  if (db_->error_ || handle_ == nullptr) return false;
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) db_->fail_with(code);
  return false;
}

void SqliteStatement::rewind() {
  if (handle_ != nullptr) sqlite3_reset(handle_);
}

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

double SqliteStatement::real(int column) const { return sqlite3_column_double(handle_, column); }

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::string_view SqliteStatement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  const int size = sqlite3_column_bytes(handle_, column);
  return data == nullptr ? std::string_view{}
                         : std::string_view(data, static_cast<std::size_t>(size));
}

void SqliteStatement::set_integer(int index, std::int64_t value) {
  if (handle_ == nullptr) return;
  if (const int code = sqlite3_bind_int64(handle_, index, value); code != SQLITE_OK)
    db_->fail_with(code);
}

void SqliteStatement::set(int index, double value) {
  if (handle_ == nullptr) return;
  if (const int code = sqlite3_bind_double(handle_, index, value); code != SQLITE_OK)
    db_->fail_with(code);
}

void SqliteStatement::set(int index, std::string_view text) {
  if (handle_ == nullptr) return;
  // A null pointer would bind NULL; an empty view may carry one.
  const char* data = text.data() == nullptr ? "" : text.data();
  if (const int code =
          sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
      code != SQLITE_OK)
    db_->fail_with(code);
}

void SqliteStatement::set(int index, SqliteBlob blob) {
  if (handle_ == nullptr) return;
  const char* data = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  if (const int code = sqlite3_bind_blob64(handle_, index, data, blob.bytes.size(), SQLITE_STATIC);
      code != SQLITE_OK)
    db_->fail_with(code);
}

void SqliteStatement::set(int index, const std::optional<SqliteBlob>& blob) {
  if (blob) return set(index, *blob);
  if (handle_ == nullptr) return;
  if (const int code = sqlite3_bind_null(handle_, index); code != SQLITE_OK) db_->fail_with(code);
}

// --- connection
// ---------------------------------------------------------------------------------------

SqliteDb::SqliteDb(std::unique_ptr<State> state) : state_(std::move(state)) {}

SqliteDb::~SqliteDb() {
  for (auto& [sql, cached] : state_->statements) sqlite3_finalize(cached->handle);
  sqlite3_close(state_->handle);
}

Result<std::unique_ptr<SqliteDb>> SqliteDb::open(const SqliteDbOptions& options) {
  auto state = std::make_unique<State>();
  state->path = options.path;
  state->busy_timeout = options.busy_timeout;
  const int code = sqlite3_open_v2(
      options.path.c_str(), &state->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SqliteDb> db(new SqliteDb(std::move(state)));
  State& opened = *db->state_;
  if (code != SQLITE_OK) return fail(opened.failure(code));
  sqlite3_extended_result_codes(opened.handle, 1);
  sqlite3_busy_handler(opened.handle, State::on_busy, &opened);
  sqlite3_wal_hook(opened.handle, State::on_commit, &opened);
  if (sqlite3_db_readonly(opened.handle, "main") == 1)
    return fail(explain(SQLITE_READONLY, 0, "it is read-only", opened.path));
  db->execute(
      fmt::format("PRAGMA cache_size = -{}; "
                  "PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF; PRAGMA query_only = {};",
                  options.cache_bytes / 1024,
                  options.query_only ? 1 : 0));
  if (auto done = db->take_error(); !done) return fail(done.error());
  return db;
}

SqliteStatement SqliteDb::prepare(std::string_view sql) {
  if (error_) return {this, nullptr, nullptr};
  auto at = state_->statements.find(sql);
  if (at == state_->statements.end()) {
    auto cached = std::make_unique<Cached>();
    const int code = sqlite3_prepare_v3(state_->handle,
                                        sql.data(),
                                        static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT,
                                        &cached->handle,
                                        nullptr);
    if (code != SQLITE_OK) {
      fail_with(code);
      return {this, nullptr, nullptr};
    }
    at = state_->statements.emplace(std::string(sql), std::move(cached)).first;
  }
  GEONCE_EXPECTS(!at->second->in_use);
  return {this, at->second->handle, &at->second->in_use};
}

void SqliteDb::execute(const std::string& script) {
  if (error_) return;
  if (const int code = sqlite3_exec(state_->handle, script.c_str(), nullptr, nullptr, nullptr);
      code != SQLITE_OK)
    fail_with(code);
}

void SqliteDb::fail_with(int code) { give_up(state_->failure(code)); }

void SqliteDb::give_up(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<void> SqliteDb::take_error() {
  if (!error_) return {};
  auto error = std::move(*error_);
  error_.reset();
  return fail(std::move(error));
}

std::int64_t SqliteDb::last_insert_rowid() const {
  return sqlite3_last_insert_rowid(state_->handle);
}

std::int64_t SqliteDb::changes() const { return sqlite3_changes64(state_->handle); }

const std::string& SqliteDb::path() const { return state_->path; }

int SqliteDb::wal_frames() const { return state_->wal_frames; }

Result<void> SqliteDb::checkpoint(std::chrono::milliseconds patience) {
  int frames = 0;
  int moved = 0;
  const bool waits = patience.count() > 0;
  const auto usual = std::exchange(state_->busy_timeout, patience);
  const int code =
      sqlite3_wal_checkpoint_v2(state_->handle,
                                "main",
                                waits ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
                                &frames,
                                &moved);
  state_->busy_timeout = usual;
  if (code != SQLITE_OK) return fail(state_->failure(code));
  state_->wal_frames = frames > moved ? frames : 0;
  return {};
}

void SqliteDb::interrupt_when(std::function<bool()> ask) {
  state_->interrupt = std::move(ask);
  if (state_->interrupt)
    sqlite3_progress_handler(state_->handle, 10'000, State::on_progress, state_.get());
  else
    sqlite3_progress_handler(state_->handle, 0, nullptr, nullptr);
}

// --- transactions
// -------------------------------------------------------------------------------------

Result<SqliteTransaction> SqliteTransaction::begin(SqliteDb& db, Kind kind) {
  GEONCE_EXPECTS(!db.has_failed());
  db.prepare(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN").run();
  if (auto begun = db.take_error(); !begun) return fail(begun.error());
  return SqliteTransaction(&db, kind);
}

SqliteTransaction::~SqliteTransaction() {
  if (db_ != nullptr) roll_back();
}

void SqliteTransaction::roll_back() {
  db_->error_.reset();
  // Some failures (no space, damage) have rolled back already; then there is nothing to do.
  if (sqlite3_get_autocommit(db_->state_->handle) == 0) db_->prepare("ROLLBACK").run();
  db_->error_.reset();
  db_ = nullptr;
}

Result<void> SqliteTransaction::commit() {
  if (kind_ == Kind::write && !db_->has_failed()) {
    if (const Fault fault = failpoint(FailPoint::sqlite_commit); fault.error != 0) {
      const Error error = explain(SQLITE_IOERR, fault.error, "", db_->path());
      roll_back();
      return fail(error);
    }
  }
  db_->prepare("COMMIT").run();
  if (auto done = db_->take_error(); !done) {
    roll_back();
    return fail(done.error());
  }
  db_ = nullptr;
  return {};
}

std::string sqlite_version() { return sqlite3_libversion(); }

}  // namespace geonce
