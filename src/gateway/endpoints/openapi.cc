#include "gateway/openapi.h"

#include "gateway/endpoint.h"

namespace geonce {

void get_openapi(EndpointContext& /*context*/, const ServerRequest& /*request*/, HttpReply reply) {
  reply.send({200, "application/json", {}, std::string(openapi_json())});
}

}  // namespace geonce
