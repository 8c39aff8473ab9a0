#pragma once

#include <chrono>
#include <string_view>

#include "core/normalize.h"
#include "core/query.h"
#include "gateway/gateway.h"
#include "io/http_message.h"
#include "resolver/resolver.h"

namespace geonce {

/// How a request wants its queries answered.
struct AskManner {
  AskOptions options;
  std::chrono::milliseconds patience{};
  bool as_geojson = false;
};

/// What the fields `Accept` and `Cache-Control` (`only-if-cached`, `no-cache`, `max-age=N`,
/// `stale-if-error=0`) say; directives that mean nothing here are passed over, as RFC 9111 has it.
///
/// timeout   milliseconds, of the caller; empty: as long as the gateway allows
/// errors    usage
Result<AskManner> manner_of(const ServerRequest& request,
                            std::string_view timeout,
                            const GatewayParts& parts);

Ask ask_of(const QueryView& query, const Keyed& keyed, const AskManner& manner);

/// The response to one query: the answer, and fields that say where it came from (RFC 9211).
///
/// key       in its text form
/// resolved  with an answer or an error
ServerResponse response_of(std::string_view key,
                           const Resolved& resolved,
                           const AskManner& manner,
                           UtcMs now);

}  // namespace geonce
