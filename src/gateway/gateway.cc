#include "gateway/gateway.h"

#include <array>
#include <string_view>

#include "gateway/endpoint.h"
#include "gateway/problem.h"

namespace geonce {
namespace {

struct Route {
  HttpMethod method;
  std::string_view path;  // with a slash at its end: all below it as well
  Endpoint endpoint;
};

constexpr std::array kRoutes{
    Route{HttpMethod::get, "/v1/geocode", get_geocode},
    Route{HttpMethod::post, "/v1/geocode", post_geocode},
    Route{HttpMethod::get, "/healthz", get_health},
    Route{HttpMethod::get, "/readyz", get_readiness},
    Route{HttpMethod::get, "/metrics", get_metrics},
    Route{HttpMethod::get, "/openapi.json", get_openapi},
    Route{HttpMethod::get, "/problems/", get_problem},
    // The paths that other APIs have, so that a client needs another host and nothing else.
    Route{HttpMethod::get, "/api/v1/geocode", get_csv2geo},
    Route{HttpMethod::get, "/v1.6/geocode", get_geocodio},
    Route{HttpMethod::get, "/v1.7/geocode", get_geocodio},
    Route{HttpMethod::get, "/v1.8/geocode", get_geocodio},
    Route{HttpMethod::get, "/v1.9/geocode", get_geocodio},
    Route{HttpMethod::get, "/maps/api/geocode/json", get_google_geocode},
    Route{HttpMethod::get, "/search/geocode/v6/forward", get_mapbox},
    Route{HttpMethod::get, "/search", get_nominatim},
    Route{HttpMethod::get, "/search.php", get_nominatim},
    Route{HttpMethod::get, "/geocode/v1/json", get_opencage},
    Route{HttpMethod::get, "/v1/search", get_pelias},
    Route{HttpMethod::get, "/api", get_photon},
    Route{HttpMethod::get, "/api/", get_photon},
};

bool leads_to(const Route& route, std::string_view path) {
  return route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path;
}

class LoopHandler final : public HttpHandler {
 public:
  LoopHandler(const GatewayParts& parts, SlowWork& slow) : context_(parts, slow) {}

  void handle(const ServerRequest& request, HttpReply reply) override {
    const HttpMethod method = request.method == HttpMethod::head ? HttpMethod::get : request.method;
    std::string allowed;
    for (const Route& route : kRoutes) {
      if (!leads_to(route, request.path)) continue;
      if (route.method == method) return route.endpoint(context_, request, std::move(reply));
      allowed += allowed.empty() ? "" : ", ";
      allowed += to_string(route.method);
      if (route.method == HttpMethod::get) allowed += ", HEAD";
    }
    if (allowed.empty())
      return reply.send(problem(404, "no_such_path", "there is nothing here; see /openapi.json"));
    auto response = request.method == HttpMethod::options
                        ? ServerResponse{204, {}, {}, {}}
                        : problem(405, "method_not_allowed", "this method is not taken here");
    response.add("Allow", allowed);
    reply.send(std::move(response));
  }

 private:
  EndpointContext context_;
};

class LiveGateway final : public Gateway {
 public:
  explicit LiveGateway(GatewayParts parts)
      : parts_(std::move(parts)),
        reader_(parts_.ring, parts_.second),
        slow_(1, 1, [this](const auto& work) {
          for (const auto& piece : work) piece(reader_);
        }) {}

  [[nodiscard]] std::unique_ptr<HttpHandler> handler() override {
    return std::make_unique<LoopHandler>(parts_, slow_);
  }
  void stop() override { slow_.stop(); }

 private:
  const GatewayParts parts_;
  Normalizer reader_;  // of the thread of `slow_`
  SlowWork slow_;
};

}  // namespace

std::unique_ptr<Gateway> open_gateway(GatewayParts parts) {
  return std::make_unique<LiveGateway>(std::move(parts));
}

}  // namespace geonce
