#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/normalize.h"
#include "gateway/gateway.h"
#include "gateway/parameters.h"
#include "io/http_server.h"
#include "resolver/stage.h"

namespace geonce {

/// What must not be done on a loop, since it waits.
using SlowWork = Stage<std::function<void(Normalizer&)>>;

/// What an endpoint has at hand: one per loop, so only `slow` is shared with others.
struct EndpointContext {
  explicit EndpointContext(const GatewayParts& given, SlowWork& slow_work)
      : parts(given), normalizer(given.ring), slow(slow_work) {}

  const GatewayParts& parts;
  Normalizer normalizer;  // without the second reader, which takes its time
  SlowWork& slow;
  Parameters parameters;  // of the request that is looked at
};

using Endpoint = void (*)(EndpointContext&, const ServerRequest&, HttpReply);

// compat/<api>.cc
void get_csv2geo(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_geocodio(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_google_geocode(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_mapbox(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_nominatim(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_opencage(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_pelias(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_photon(EndpointContext& context, const ServerRequest& request, HttpReply reply);

// endpoints/<name>.cc
void get_geocode(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void post_geocode(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_health(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_readiness(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_metrics(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_openapi(EndpointContext& context, const ServerRequest& request, HttpReply reply);
void get_problem(EndpointContext& context, const ServerRequest& request, HttpReply reply);

}  // namespace geonce
