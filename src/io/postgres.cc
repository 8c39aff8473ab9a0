#include "io/postgres.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include "core/letters.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

// How long the wait for one host may take, unless the URI says otherwise. A peer that is gone is
// noticed after some 30 s, also in the middle of a statement.
constexpr std::array kDefaults{
    std::pair{"connect_timeout", "5"},
    std::pair{"target_session_attrs", "read-write"},
    std::pair{"keepalives_idle", "15"},
    std::pair{"keepalives_interval", "5"},
    std::pair{"keepalives_count", "3"},
    std::pair{"tcp_user_timeout", "30000"},
    std::pair{"fallback_application_name", "geonce"},
};

template <class T>
void put(std::string& out, T value) {
  if constexpr (std::endian::native == std::endian::little)
    for (std::size_t i = sizeof value; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
  else
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint64_t big_endian(const char* bytes, int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint32_t array_type(PgType type) {
  switch (type) {
    case PgType::boolean:
      return 1000;
    case PgType::bytea:
      return 1001;
    case PgType::bigint:
      return 1016;
    case PgType::text:
      return 1009;
    case PgType::real8:
      return 1022;
    case PgType::uuid:
      return 2951;
  }
  return 0;
}

/// What the server takes as text: UTF-8 without NUL.
std::string sendable(std::string_view text) {
  std::string out(text);
  const bool is_good = is_utf8(text);
  for (char& c : out)
    if (c == '\0' || (!is_good && static_cast<unsigned char>(c) >= 0x80)) c = '?';
  return out;
}

std::string one_line(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

Options parse(const std::string& uri, std::string* complaint) {
  char* error = nullptr;
  Options options(PQconninfoParse(uri.c_str(), &error));
  if (error != nullptr) {
    if (complaint != nullptr) *complaint = one_line(error);
    PQfreemem(error);
  }
  return options;
}

bool has(const PQconninfoOption* options, std::string_view keyword) {
  for (; options->keyword != nullptr; ++options)
    if (keyword == options->keyword) return options->val != nullptr;
  return false;
}

bool starts_with_any(std::string_view state, std::initializer_list<std::string_view> heads) {
  return std::any_of(
      heads.begin(), heads.end(), [&](auto head) { return state.starts_with(head); });
}

ErrorCode code_of(std::string_view state) {
  if (state == "57014") return ErrorCode::deadline_exceeded;
  if (starts_with_any(state, {"53100"})) return ErrorCode::disk_full;
  if (starts_with_any(state, {"40", "53", "55P03"})) return ErrorCode::store_busy;
  if (starts_with_any(state, {"XX001", "XX002", "58P01"})) return ErrorCode::store_corrupt;
  // Gone or going, not a primary, not allowed, or not (or not yet) a store.
  if (starts_with_any(state, {"08", "57P", "25006", "28", "42501", "3D", "3F", "42P01", "42883"}))
    return ErrorCode::store_unavailable;
  return ErrorCode::internal;
}

}  // namespace

// --- values --------------------------------------------------------------------------------------

PgParam PgParam::of_integer(std::int64_t value) {
  PgParam param;
  param.type = static_cast<std::uint32_t>(PgType::bigint);
  put(param.value, static_cast<std::uint64_t>(value));
  return param;
}
PgParam PgParam::boolean(bool value) {
  PgParam param;
  param.type = static_cast<std::uint32_t>(PgType::boolean);
  param.value.assign(1, value ? '\1' : '\0');
  return param;
}
PgParam PgParam::text(std::string_view value) {
  PgParam param;
  param.type = static_cast<std::uint32_t>(PgType::text);
  param.value = sendable(value);
  return param;
}
PgParam PgParam::bytes(PgBytes value, PgType type) {
  PgParam param;
  param.type = static_cast<std::uint32_t>(type);
  param.value = value.bytes;
  return param;
}

void PgArray::add_integer(std::int64_t value) {
  ++count_;
  if (type_ == PgType::boolean) {
    put(body_, std::uint32_t{1});
    body_.push_back(value != 0 ? '\1' : '\0');
    return;
  }
  GEONCE_EXPECTS(type_ == PgType::bigint);
  put(body_, std::uint32_t{8});
  put(body_, static_cast<std::uint64_t>(value));
}
void PgArray::add(double value) {
  GEONCE_EXPECTS(type_ == PgType::real8);
  ++count_;
  put(body_, std::uint32_t{8});
  put(body_, std::bit_cast<std::uint64_t>(value));
}
void PgArray::add(std::string_view text) {
  GEONCE_EXPECTS(type_ == PgType::text);
  ++count_;
  put(body_, static_cast<std::uint32_t>(text.size()));
  body_ += sendable(text);
}
void PgArray::add(PgBytes value) {
  GEONCE_EXPECTS(type_ == PgType::bytea || type_ == PgType::uuid);
  ++count_;
  put(body_, static_cast<std::uint32_t>(value.bytes.size()));
  body_ += value.bytes;
}
void PgArray::add_null() {
  ++count_;
  has_null_ = true;
  put(body_, UINT32_MAX);
}
void PgArray::append(const PgArray& other) {
  GEONCE_EXPECTS(type_ == other.type_);
  count_ += other.count_;
  has_null_ |= other.has_null_;
  body_ += other.body_;
}

PgParam PgArray::param() const {
  PgParam param;
  param.type = array_type(type_);
  param.value.reserve(body_.size() + 20);
  put(param.value, std::uint32_t{count_ == 0 ? 0U : 1U});  // dimensions
  put(param.value, std::uint32_t{has_null_ ? 1U : 0U});
  put(param.value, static_cast<std::uint32_t>(type_));
  if (count_ > 0) {
    put(param.value, static_cast<std::uint32_t>(count_));
    put(param.value, std::uint32_t{1});  // counted from
    param.value += body_;
  }
  return param;
}

void PgLists::append(const PgLists& other) {
  GEONCE_EXPECTS(columns_.size() == other.columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].append(other.columns_[i]);
}
std::vector<PgParam> PgLists::params() const {
  std::vector<PgParam> params;
  params.reserve(columns_.size());
  for (const auto& column : columns_) params.push_back(column.param());
  return params;
}

// --- rows ----------------------------------------------------------------------------------------

void PgRows::Clear::operator()(pg_result* result) const { PQclear(result); }

int PgRows::size() const { return result_ ? PQntuples(result_.get()) : 0; }
std::int64_t PgRows::changed() const {
  return result_ ? std::strtoll(PQcmdTuples(result_.get()), nullptr, 10) : 0;
}
bool PgRows::is_null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}
std::int64_t PgRows::integer(int row, int column) const {
  const char* bytes = PQgetvalue(result_.get(), row, column);
  const int size = PQgetlength(result_.get(), row, column);
  const auto value = big_endian(bytes, size);
  switch (size) {
    case 2:
      return static_cast<std::int16_t>(value);
    case 4:
      return static_cast<std::int32_t>(value);
    default:
      return static_cast<std::int64_t>(value);
  }
}
double PgRows::real(int row, int column) const {
  return std::bit_cast<double>(big_endian(PQgetvalue(result_.get(), row, column), 8));
}
std::string_view PgRows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

// --- URIs ----------------------------------------------------------------------------------------

std::string pg_uri_complaint(const std::string& uri) {
  std::string complaint;
  (void)parse(uri, &complaint);
  // libpq repeats what it could not read, which may be the password.
  return complaint.empty() ? complaint : "it is not of the form postgres://user@host:port/database";
}

bool pg_uri_has_password(const std::string& uri) {
  const auto options = parse(uri, nullptr);
  return options && has(options.get(), "password");
}

std::string pg_uri_masked(const std::string& uri) {
  const auto options = parse(uri, nullptr);
  if (!options) return "postgres://…";
  std::string out = "postgres://";
  const auto value = [&](std::string_view keyword) -> std::string {
    for (const auto* option = options.get(); option->keyword != nullptr; ++option)
      if (keyword == option->keyword && option->val != nullptr) return option->val;
    return {};
  };
  const auto user = value("user");
  const auto host = value("host");
  const auto port = value("port");
  if (!user.empty()) out += user + "@";
  out += host;
  if (!port.empty()) out += ":" + port;
  out += "/" + value("dbname");
  return out;
}

// --- the connection ------------------------------------------------------------------------------

Result<std::unique_ptr<PgConnection>> PgConnection::open(const PgTarget& target) {
  std::string complaint;
  const auto options = parse(target.uri, &complaint);
  if (!options)
    return fail(ErrorCode::invalid_config,
                "the store's address cannot be read: {}",
                pg_uri_complaint(target.uri));
  std::vector<const char*> keywords{"dbname", "client_encoding"};
  std::vector<const char*> values{target.uri.c_str(), "UTF8"};
  const auto add = [&](const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  for (const auto& [keyword, value] : kDefaults)
    if (!has(options.get(), keyword)) add(keyword, value);
  if (!target.password.empty()) add("password", target.password.c_str());
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* handle = PQconnectdbParams(keywords.data(), values.data(), 1);
  if (handle == nullptr)
    return fail(ErrorCode::internal, "no memory for a connection to the store");
  std::unique_ptr<PgConnection> connection(new PgConnection(handle));
  if (PQstatus(handle) != CONNECTION_OK)
    return fail(ErrorCode::store_unavailable,
                "the store {} cannot be reached: {}",
                pg_uri_masked(target.uri),
                one_line(PQerrorMessage(handle)));
  PQsetnonblocking(handle, 1);
  PQsetNoticeReceiver(
      handle, [](void*, const PGresult*) {}, nullptr);
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  connection->where_ =
      fmt::format("{}:{}/{}", text(PQhost(handle)), text(PQport(handle)), text(PQdb(handle)));
  return connection;
}

PgConnection::PgConnection(pg_conn* handle) : handle_(handle) {}
PgConnection::~PgConnection() { PQfinish(handle_); }

int PgConnection::server_version() const { return PQserverVersion(handle_); }
int PgConnection::backend_pid() const { return PQbackendPID(handle_); }
std::string PgConnection::reported(const char* name) const {
  const char* value = PQparameterStatus(handle_, name);
  return value == nullptr ? std::string() : std::string(value);
}

bool PgConnection::is_alive() {
  if (is_broken_ || PQstatus(handle_) != CONNECTION_OK) return false;
  pollfd socket{PQsocket(handle_), POLLIN, 0};
  if (::poll(&socket, 1, 0) <= 0) return true;
  // A goodbye, or the end of the stream; a pooler may also report a parameter.
  return PQconsumeInput(handle_) == 1 && PQstatus(handle_) == CONNECTION_OK;
}

bool PgConnection::wait_for_socket(bool writable, Deadline deadline, const Clock& clock) {
  for (;;) {
    if (deadline.has_passed(clock)) return false;
    pollfd socket{PQsocket(handle_), static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), 0};
    if (socket.fd < 0) return false;
    const auto left = std::min<std::int64_t>(deadline.left(clock).count() + 1, 60'000);
    const int ready = ::poll(&socket, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) return (socket.revents & POLLIN) == 0 || PQconsumeInput(handle_) == 1;
  }
}

Result<PgRows> PgConnection::query(const char* sql,
                                   std::span<const PgParam> params,
                                   Deadline deadline,
                                   const Clock& clock,
                                   std::optional<FailPoint> sent) {
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(params.size(), 1);
  for (const auto& param : params) {
    types.push_back(param.type);
    values.push_back(param.value.data());
    lengths.push_back(static_cast<int>(param.value.size()));
  }
  const int is_sent = PQsendQueryParams(handle_,
                                        sql,
                                        static_cast<int>(params.size()),
                                        types.data(),
                                        values.data(),
                                        lengths.data(),
                                        formats.data(),
                                        1);
  if (is_sent == 0) return fail(lost(deadline, clock));
  return finish(deadline, clock, sent);
}

Result<void> PgConnection::script(const std::string& sql, Deadline deadline, const Clock& clock) {
  if (PQsendQuery(handle_, sql.c_str()) == 0) return fail(lost(deadline, clock));
  if (auto done = finish(deadline, clock); !done) return fail(done.error());
  return {};
}

Result<PgRows> PgConnection::finish(Deadline deadline,
                                    const Clock& clock,
                                    std::optional<FailPoint> sent) {
  end_ = PgEnd::done;
  sqlstate_.clear();
  for (;;) {
    const int flushed = PQflush(handle_);
    if (flushed == 0) break;
    if (flushed < 0 || !wait_for_socket(true, deadline, clock)) return fail(lost(deadline, clock));
  }
  if (sent) failpoint(*sent);
  if (failpoint(FailPoint::postgres_reply).error != 0) return fail(lost(deadline, clock));
  PgRows rows;
  std::optional<Error> error;
  for (;;) {
    while (PQisBusy(handle_) != 0)
      if (!wait_for_socket(false, deadline, clock) && PQisBusy(handle_) != 0)
        return fail(error && sqlstate_.empty() ? *error : lost(deadline, clock));
    PGresult* result = PQgetResult(handle_);
    if (result == nullptr) break;
    const auto status = PQresultStatus(result);
    PgRows got(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
      rows = std::move(got);
    else if (!error)
      error = failure(result);
  }
  if (PQstatus(handle_) != CONNECTION_OK) {
    is_broken_ = true;
    end_ = PgEnd::lost;
  }
  if (error) return fail(*error);
  return rows;
}

Error PgConnection::failure(const pg_result* result) {
  const auto field = [&](int which) {
    const char* value = PQresultErrorField(result, which);
    return std::string(value == nullptr ? "" : value);
  };
  sqlstate_ = field(PG_DIAG_SQLSTATE);
  if (sqlstate_.empty()) {  // libpq's own: the connection
    is_broken_ = true;
    end_ = PgEnd::lost;
    return {ErrorCode::store_unavailable,
            fmt::format("the store {} is gone: {}", where_, one_line(PQerrorMessage(handle_))),
            "store",
            Billed::no,
            {}};
  }
  end_ = sqlstate_.starts_with("40") ? PgEnd::conflict : PgEnd::refused;
  // Going down, or a primary that is none any more: another connection may find a better one.
  if (starts_with_any(sqlstate_, {"57P", "25006"})) {
    is_broken_ = true;
    end_ = sqlstate_ == "25006" ? PgEnd::conflict : PgEnd::lost;
  }
  return {code_of(sqlstate_),
          fmt::format("the store {}: {} ({})", where_, field(PG_DIAG_MESSAGE_PRIMARY), sqlstate_),
          "store",
          Billed::no,
          {}};
}

Error PgConnection::lost(Deadline deadline, const Clock& clock) {
  is_broken_ = true;
  end_ = PgEnd::lost;
  if (deadline.has_passed(clock))
    return {ErrorCode::deadline_exceeded,
            fmt::format("the store {} did not answer before the deadline", where_),
            "store",
            Billed::no,
            {}};
  return {ErrorCode::store_unavailable,
          fmt::format("the store {} is gone: {}", where_, one_line(PQerrorMessage(handle_))),
          "store",
          Billed::no,
          {}};
}

}  // namespace geonce
