#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/answer.h"
#include "core/error.h"
#include "core/money.h"

namespace geonce {

/// What a call came to: a closed type, so that no adapter can produce "nothing".
enum class OutcomeKind : std::uint8_t {
  match,
  no_match,  // only where the provider said so explicitly
  ambiguous,
  pending,   // accepted, the answer comes later (asynchronous endpoints)
  refused,   // a definite "no": nothing was looked up, `failure` says what to do
  not_sent,  // the provider never saw it: nothing was billed
  unknown,   // may have been billed, the answer is lost or unreadable
};

std::string_view to_string(OutcomeKind kind);

/// What may be done after a failure (docs/formats/spec.md).
enum class FailureClass : std::uint8_t {
  none,
  retry,        // transient, no hint
  retry_after,  // transient, `delay` says how long; pauses the whole provider
  permanent,    // this address can never succeed as sent; final for the row, but no no-match
  fatal,        // configuration, key, quota, payment, block: stop the provider, fail no row for it
};

/// `retry-after` and so on: the spelling of spec files and of `geonce provider check`.
std::string_view to_string(FailureClass failure);

struct Outcome {
  OutcomeKind kind = OutcomeKind::unknown;
  Answer answer;  // of match; of ambiguous without coordinates
  FailureClass failure = FailureClass::none;
  std::chrono::milliseconds delay{0};  // of retry_after
  std::string reason;                  // short, for the ledger; no address, no secret
  int http_status = 0;                 // 0: no status line was read
  Billed billed = Billed::unknown;
  Money price;  // what this lookup costs when billed
  std::string provider_request_id;
};

}  // namespace geonce
