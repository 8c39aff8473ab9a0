#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "core/normalize.h"
#include "core/query.h"
#include "gateway/endpoint.h"
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

/// Whether only the second reader can say what the key is.
bool is_for_second(const EndpointContext& context, const Keyed& keyed);

/// Makes the response to one query.
///
/// key       in its text form; empty: the query has none, and `resolved` an error
/// resolved  with an answer or an error
using Respond = std::function<ServerResponse(
    std::string_view key, const Resolved& resolved, const AskManner& manner, UtcMs now)>;

/// Answers one query: at once where memory has the answer.
void answer(EndpointContext& context,
            const QueryView& query,
            const AskManner& manner,
            HttpReply reply,
            const Respond& respond);

/// The fields that say where an answer came from (RFC 9211) and what it cost.
void add_source(ServerResponse& response,
                std::string_view key,
                const Resolved& resolved,
                UtcMs now);

/// As API v1 responds: the answer, and fields that say where it came from (RFC 9211).
ServerResponse response_of(std::string_view key,
                           const Resolved& resolved,
                           const AskManner& manner,
                           UtcMs now);

}  // namespace geonce
