#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/country.h"
#include "core/key_ring.h"
#include "core/second_reader.h"
#include "io/http_server.h"
#include "resolver/resolver.h"

namespace geonce {

struct GatewayOptions {
  Country default_country;                     // of queries that name none
  std::chrono::milliseconds deadline{10'000};  // of one query, at most
  std::size_t most_queries = 10'000;           // in one request
};

/// What the endpoints of a gateway work with; all of it outlives the gateway and its server.
struct GatewayParts {
  Resolver& resolver;
  const KeyRing& ring;
  SecondReader* second = nullptr;  // null: nobody is asked
  const Clock& clock;
  GatewayOptions options;
  /// Whether requests can be answered; the reason why not.
  std::function<std::optional<std::string>()> why_not_ready;
  /// What the server has seen, once it is there.
  std::function<HttpServerStats()> server_stats;
};

/// What all loops of a gateway share.
class Gateway {
 public:
  virtual ~Gateway() = default;
  /// The handler of one loop.
  [[nodiscard]] virtual std::unique_ptr<HttpHandler> handler() = 0;
  /// Returns when every query that was taken has gone to the resolver. No request comes any more.
  virtual void stop() = 0;
};

/// Answers the requests of API v1 (docs/reference/http.md).
std::unique_ptr<Gateway> open_gateway(GatewayParts parts);

}  // namespace geonce
