#include <array>

#include <fmt/format.h>

#include "gateway/endpoint.h"
#include "gateway/problem.h"

namespace geonce {
namespace {

struct Meaning {
  std::string_view name, text;
};

constexpr std::array kMeanings{
#include "gateway/tables/problems.inc"
};

}  // namespace

void get_problem(EndpointContext& /*context*/, const ServerRequest& request, HttpReply reply) {
  const auto name = request.path.substr(std::string_view("/problems/").size());
  for (const Meaning& meaning : kMeanings)
    if (meaning.name == name)
      return reply.send({200, "text/plain", {}, fmt::format("{}\n\n{}\n", name, meaning.text)});
  reply.send(problem(404, "no_such_path", "there is no problem of this name"));
}

}  // namespace geonce
