#include "core/error.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace geonce {
namespace {

using enum ErrorCode;

// Exit codes: 1 failure, 2 usage, 3 provider or network down, 5 encoding or CSV, 6 finished with
// row errors, 7 stopped by a cap (resumable), 8 authentication or configuration at the provider,
// 130 interrupted (resumable).
constexpr std::array kRows{
    ErrorRow{usage, "usage", 400, 2, false},
    ErrorRow{invalid_config, "invalid_config", 500, 2, false},
    ErrorRow{invalid_address, "invalid_address", 422, 6, false},
    ErrorRow{unknown_country, "unknown_country", 422, 6, false},
    ErrorRow{country_conflict, "country_conflict", 422, 6, false},
    ErrorRow{contradictory_fields, "contradictory_fields", 422, 6, false},
    ErrorRow{not_found, "not_found", 404, 1, false},
    ErrorRow{bad_encoding, "bad_encoding", 415, 5, false},
    ErrorRow{bad_csv, "bad_csv", 400, 5, false},
    ErrorRow{io_failed, "io_failed", 500, 1, true},
    ErrorRow{disk_full, "disk_full", 507, 1, true},
    ErrorRow{store_unavailable, "store_unavailable", 503, 1, true},
    ErrorRow{store_busy, "store_busy", 503, 1, true},
    ErrorRow{store_corrupt, "store_corrupt", 500, 1, false},
    ErrorRow{store_newer, "store_newer", 500, 1, false},
    ErrorRow{provider_retry, "provider_retry", 503, 3, true},
    ErrorRow{provider_retry_after, "provider_retry_after", 503, 3, true},
    ErrorRow{provider_permanent, "provider_permanent", 422, 6, false},
    ErrorRow{provider_fatal, "provider_fatal", 502, 8, false},
    ErrorRow{not_sent, "not_sent", 503, 3, true},
    ErrorRow{in_doubt, "in_doubt", 504, 6, true},
    ErrorRow{cooling_down, "cooling_down", 503, 3, true},
    ErrorRow{quota_exhausted, "quota_exhausted", 429, 7, true},
    ErrorRow{no_provider, "no_provider", 503, 8, false},
    ErrorRow{cache_only_miss, "cache_only_miss", 504, 6, true},
    ErrorRow{deadline_exceeded, "deadline_exceeded", 504, 3, true},
    ErrorRow{interrupted, "interrupted", 503, 130, true},
    ErrorRow{reader_unavailable, "reader_unavailable", 503, 1, true},
    ErrorRow{internal, "internal", 500, 1, false},
};
static_assert(kRows.size() == static_cast<std::size_t>(internal) + 1);

}  // namespace

const ErrorRow& row(ErrorCode code) { return kRows.at(static_cast<std::size_t>(code)); }

std::string_view to_string(ErrorCode code) { return row(code).name; }

std::string_view to_string(Billed billed) {
  switch (billed) {
    case Billed::no:
      return "no";
    case Billed::yes:
      return "yes";
    case Billed::unknown:
      return "unknown";
  }
  return "unknown";
}

void broken(const char* what, const char* file, int line) {
  std::fprintf(stderr, "geonce: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace geonce
