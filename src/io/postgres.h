#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "io/failpoint.h"

struct pg_conn;
struct pg_result;

namespace geonce {

/// A type of the server, by its number in pg_type.
enum class PgType : std::uint32_t {
  boolean = 16,
  bytea = 17,
  bigint = 20,
  text = 25,
  real8 = 701,
  uuid = 2950,
};

/// Bytes to be sent as `bytea` or `uuid`; a plain string_view is sent as `text`.
struct PgBytes {
  std::string_view bytes;
};

/// One parameter of a statement, in the server's binary form.
class PgParam {
 public:
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  static PgParam integer(T value) { return of_integer(static_cast<std::int64_t>(value)); }
  static PgParam boolean(bool value);
  static PgParam text(std::string_view value);
  static PgParam bytes(PgBytes value, PgType type = PgType::bytea);

  std::uint32_t type = 0;
  std::string value;

 private:
  friend class PgArray;
  static PgParam of_integer(std::int64_t value);
};

/// A parameter that is an array, filled one by one. Text that is not UTF-8 is sent with `?` for
/// what is not, because the server would refuse the whole statement for it.
class PgArray {
 public:
  explicit PgArray(PgType type) : type_(type) {}

  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void add(T value) { add_integer(static_cast<std::int64_t>(value)); }
  void add(double value);
  void add(std::string_view text);
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(PgBytes value);
  void add_null();
  template <class T>
  void add(const std::optional<T>& value) {
    if (value)
      add(*value);
    else
      add_null();
  }
  /// All of another of the same type.
  void append(const PgArray& other);

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] PgParam param() const;

 private:
  void add_integer(std::int64_t value);

  PgType type_;
  std::size_t count_ = 0;
  bool has_null_ = false;
  std::string body_;
};

/// Rows to be sent as one array a column, for `unnest`.
class PgLists {
 public:
  PgLists(std::initializer_list<PgType> types) : columns_(types.begin(), types.end()) {}

  template <class... Values>
  void row(const Values&... values) {
    GEONCE_EXPECTS(sizeof...(values) == columns_.size());
    std::size_t at = 0;
    (columns_[at++].add(values), ...);
  }
  void append(const PgLists& other);
  [[nodiscard]] std::size_t size() const { return columns_.front().size(); }
  [[nodiscard]] std::vector<PgParam> params() const;

 private:
  std::vector<PgArray> columns_;
};

/// What a statement gave.
class PgRows {
 public:
  PgRows() = default;
  explicit PgRows(pg_result* result) : result_(result) {}

  [[nodiscard]] int size() const;
  /// Of rows that a statement without a result has changed.
  [[nodiscard]] std::int64_t changed() const;
  [[nodiscard]] bool is_null(int row, int column) const;
  /// boolean, smallint, integer, bigint; 0 for NULL.
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] double real(int row, int column) const;
  /// text, bytea, uuid; empty for NULL. Lives as long as this.
  [[nodiscard]] std::string_view bytes(int row, int column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

/// How a statement ended, beyond the error that the caller sees.
enum class PgEnd : std::uint8_t {
  done,
  refused,   // the server said no, and nothing of it has happened
  conflict,  // the same, because of somebody else at the same time: it may be run again at once
  lost,      // the connection is gone: it may have happened or not
};

struct PgTarget {
  /// `postgres://user@host1,host2/database?sslmode=verify-full&…`; what it leaves out libpq takes
  /// from its environment (PGPASSFILE, …) and its own defaults.
  std::string uri;
  std::string password;  // empty: libpq's ways
};

/// What is wrong with a URI; empty: nothing.
std::string pg_uri_complaint(const std::string& uri);
bool pg_uri_has_password(const std::string& uri);
/// A URI without what is secret in it.
std::string pg_uri_masked(const std::string& uri);

/// One connection; for one thread at a time. Every statement goes with its parameters apart and
/// leaves nothing at the server, so a pooler that deals out transactions may stand between.
class PgConnection {
 public:
  /// Connects to the first host that accepts writes (unless the URI wants it otherwise), within
  /// some seconds a host.
  /// errors    store_unavailable  nobody listens, password or certificate refused, no such database
  static Result<std::unique_ptr<PgConnection>> open(const PgTarget& target);
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;
  ~PgConnection();

  /// One statement. Without `begin` it is a transaction of its own.
  /// errors    deadline_exceeded  then the connection is closed, and it may have happened or not
  ///           store_unavailable, store_busy, store_corrupt, disk_full, internal
  ///
  /// sent      is passed when the server has the statement and its reply is not read
  Result<PgRows> query(const char* sql,
                       std::span<const PgParam> params,
                       Deadline deadline,
                       const Clock& clock,
                       std::optional<FailPoint> sent = {});
  Result<PgRows> query(const std::string& sql,
                       std::span<const PgParam> params,
                       Deadline deadline,
                       const Clock& clock) {
    return query(sql.c_str(), params, deadline, clock);
  }
  /// Any number of statements without parameters; their rows are dropped.
  Result<void> script(const std::string& sql, Deadline deadline, const Clock& clock);

  /// How the last statement ended.
  [[nodiscard]] PgEnd end() const { return end_; }
  /// The server's code for the last failure, five characters; empty: it was none of the server's.
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }
  /// Whether it can still be used. Looks at the socket: a server that went away while nothing was
  /// asked is noticed here.
  [[nodiscard]] bool is_alive();

  /// `host:port/database`, for a person.
  [[nodiscard]] const std::string& where() const { return where_; }
  /// 150018 for 15.18.
  [[nodiscard]] int server_version() const;
  /// Of the process that serves this connection, as whoever we are connected to says.
  [[nodiscard]] int backend_pid() const;
  /// The value of a parameter that the server reports, as `server_encoding`; empty: none.
  [[nodiscard]] std::string reported(const char* name) const;

 private:
  explicit PgConnection(pg_conn* handle);
  Result<PgRows> finish(Deadline deadline, const Clock& clock, std::optional<FailPoint> sent = {});
  /// false: the deadline has passed, or the connection is gone.
  bool wait_for_socket(bool writable, Deadline deadline, const Clock& clock);
  Error failure(const pg_result* result);
  Error lost(Deadline deadline, const Clock& clock);

  pg_conn* handle_;
  std::string where_;
  PgEnd end_ = PgEnd::done;
  std::string sqlstate_;
  bool is_broken_ = false;
};

}  // namespace geonce
