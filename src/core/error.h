#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace geonce {

/// What can go wrong in service. One row per code in error.cc; spelt the same in JSON, CSV and
/// docs.
enum class ErrorCode : std::uint8_t {
  usage,                 // the command line does not say what to do
  invalid_config,        // a config file, spec file or environment value
  invalid_address,       // empty, over-long, invalid UTF-8 …
  unknown_country,       // not ISO 3166-1
  country_conflict,      // the text names another country than the hint
  contradictory_fields,  // structured fields disagree with each other
  not_found,             // a named entry, file, provider …
  bad_encoding,          // the input's bytes are not what was promised
  bad_csv,               // the input's shape is not what was promised
  io_failed,             // a file or socket of this machine
  disk_full,
  store_unavailable,  // cannot be reached or opened
  store_busy,         // locked by somebody else for too long
  store_corrupt,
  store_newer,           // made by a newer geonce
  provider_retry,        // transient refusal or fault of the provider
  provider_retry_after,  // the same, and the provider said how long
  provider_permanent,    // this address can never succeed as sent
  provider_fatal,        // key, quota, payment, block: stop this provider
  not_sent,              // the call never reached the provider; nothing was billed
  in_doubt,              // the call may have been billed and its answer is lost
  cooling_down,          // a recent failure of this key or provider; ask later
  quota_exhausted,       // our own cap on calls or cost
  no_provider,           // no provider may be asked for this address
  cache_only_miss,       // the caller forbade paying and nothing is remembered
  deadline_exceeded,
  interrupted,         // the process is stopping
  reader_unavailable,  // the second reader of unparsed text did not read this one
  internal,
};

/// Whether money went to the provider. `unknown` stays in the ledger until a rule or a person
/// settles it.
enum class Billed : std::uint8_t { no = 0, yes = 1, unknown = 2 };

struct ErrorRow {
  ErrorCode code;
  std::string_view name;
  int http_status;
  int exit_code;   // docs/reference/exit-codes.md
  bool retryable;  // the same request may succeed later
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  /// For a person: what was tried, on what, what to do next. No address, no secret.
  std::string message;
  std::string source;  // the tier or provider that said so
  Billed billed = Billed::no;
  std::chrono::milliseconds retry_after{0};  // 0: no hint
};

const ErrorRow& row(ErrorCode code);
std::string_view to_string(ErrorCode code);
std::string_view to_string(Billed billed);

/// Stops the process when a promise of our own code is broken; kept in release.
[[noreturn]] void broken(const char* what, const char* file, int line);
#define GEONCE_EXPECTS(condition) \
  ((condition) ? void(0) : ::geonce::broken(#condition, __FILE__, __LINE__))

}  // namespace geonce
