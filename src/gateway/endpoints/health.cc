#include "gateway/endpoint.h"
#include "gateway/problem.h"

namespace geonce {

void get_health(EndpointContext& /*context*/, const ServerRequest& /*request*/, HttpReply reply) {
  reply.send({200, "text/plain", {}, "ok\n"});
}

void get_readiness(EndpointContext& context, const ServerRequest& /*request*/, HttpReply reply) {
  if (const auto why = context.parts.why_not_ready())
    return reply.send(problem(503, "not_ready", *why));
  reply.send({200, "text/plain", {}, "ready\n"});
}

}  // namespace geonce
