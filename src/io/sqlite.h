#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/result.h"

struct sqlite3_stmt;

namespace geonce {

class SqliteDb;

/// Bytes to be bound as a BLOB; a plain string_view is bound as TEXT.
struct SqliteBlob {
  std::string_view bytes;
};

/// A prepared statement, borrowed from its connection's cache for one use and reset when it goes.
/// Bound bytes are not copied: they have to live until then (or until `rewind`).
class SqliteStatement {
 public:
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  SqliteStatement& operator=(SqliteStatement&&) = delete;
  ~SqliteStatement();

  /// All parameters in order: integers, enumerators, bool, double, text, SqliteBlob, nullptr for
  /// NULL.
  template <class... Values>
  SqliteStatement& bind(const Values&... values) {
    int index = 0;
    (set(++index, values), ...);
    return *this;
  }

  /// One parameter, counted from 1.
  template <class Value>
  void bind_at(int index, const Value& value) {
    set(index, value);
  }

  /// Moves to the next row. false: there is none, or the connection has failed (see SqliteDb).
  bool step();
  /// For statements that give no row.
  void run() { step(); }
  /// Ready to be bound and stepped again.
  void rewind();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  /// TEXT or BLOB; empty for NULL. Valid until the next `step`.
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  friend class SqliteDb;
  SqliteStatement(SqliteDb* db, sqlite3_stmt* handle, bool* in_use);

  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void set(int index, T value) { set_integer(index, static_cast<std::int64_t>(value)); }
  void set(int index, double value);
  void set(int index, std::string_view text);
  void set(int index, const std::string& text) { set(index, std::string_view(text)); }
  void set(int index, const char* text) { set(index, std::string_view(text)); }
  void set(int index, SqliteBlob blob);
  void set(int index, const std::optional<SqliteBlob>& blob);
  void set_integer(int index, std::int64_t value);

  SqliteDb* db_;
  sqlite3_stmt* handle_;
  bool* in_use_;
};

struct SqliteDbOptions {
  std::string path;
  std::size_t cache_bytes = 16U << 20U;
  std::chrono::milliseconds busy_timeout{10'000};
  bool query_only = false;
};

/// One connection; for one thread at a time.
///
/// The first failure of a statement stays with the connection until the transaction ends, and every
/// statement after it does nothing: the code of a transaction reads straight and its end tells.
class SqliteDb {
 public:
  /// Opens an existing file, which may be empty.
  static Result<std::unique_ptr<SqliteDb>> open(const SqliteDbOptions& options);
  SqliteDb(const SqliteDb&) = delete;
  SqliteDb& operator=(const SqliteDb&) = delete;
  ~SqliteDb();

  /// From the cache, else prepared now. One borrower at a time.
  [[nodiscard]] SqliteStatement prepare(std::string_view sql);
  /// Runs a script of any number of statements; their rows are dropped.
  void execute(const std::string& script);

  /// Fails from here on as if a statement had failed.
  void give_up(Error error);
  [[nodiscard]] bool has_failed() const { return error_.has_value(); }
  /// What `execute` and statements outside a transaction came to; forgets it.
  Result<void> take_error();

  [[nodiscard]] std::int64_t last_insert_rowid() const;
  /// Rows changed by the last INSERT, UPDATE or DELETE.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] const std::string& path() const;

  /// Frames in the write-ahead log after this connection's last commit. Commits do not checkpoint
  /// by themselves: whoever writes calls `checkpoint` when nobody waits for it.
  [[nodiscard]] int wal_frames() const;
  /// Moves the log into the file as far as readers allow. With patience: waits so long for them to
  /// let go, and then cuts the log.
  Result<void> checkpoint(std::chrono::milliseconds patience);

  /// Called now and then while a statement runs; once it says true the statement ends with
  /// deadline_exceeded. Empty: never.
  void interrupt_when(std::function<bool()> ask);

 private:
  friend class SqliteStatement;
  friend class SqliteTransaction;
  struct State;
  explicit SqliteDb(std::unique_ptr<State> state);
  void fail_with(int code);

  std::unique_ptr<State> state_;
  std::optional<Error> error_;
};

/// Rolls back unless `commit` has been called.
class SqliteTransaction {
 public:
  enum class Kind { read, write };

  /// read: one snapshot from the first statement on. write: BEGIN IMMEDIATE, so nothing can fail
  /// for a lock later on.
  /// errors    store_busy, and what statements come to
  static Result<SqliteTransaction> begin(SqliteDb& db, Kind kind);
  SqliteTransaction(SqliteTransaction&& other) noexcept : db_(other.db_), kind_(other.kind_) {
    other.db_ = nullptr;
  }
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();

  /// The first failure of its statements, or of the commit itself; then nothing of it has happened.
  Result<void> commit();

 private:
  SqliteTransaction(SqliteDb* db, Kind kind) : db_(db), kind_(kind) {}
  void roll_back();
  SqliteDb* db_;
  Kind kind_;
};

/// The SQLite library's own version.
std::string sqlite_version();

}  // namespace geonce
