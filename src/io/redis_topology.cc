#include "io/redis_topology.h"

#include <algorithm>
#include <charconv>

namespace geonce {
namespace {

constexpr std::chrono::milliseconds kScoutPatience{1'000};

std::shared_ptr<RedisNode> node_at(const RedisEndpoint& endpoint,
                                   const RedisTopology* before,
                                   const RedisManner& manner) {
  if (before != nullptr)
    for (const auto& node : before->nodes)
      if (node->endpoint() == endpoint) return node;
  return std::make_shared<RedisNode>(endpoint, manner);
}

}  // namespace

RedisNode* RedisTopology::serving(std::string_view key) const {
  if (!is_cluster) return nodes.front().get();
  const std::uint16_t at = node_of[redis_slot(key)];
  return at == kNobody ? nullptr : nodes[at].get();
}

RedisNode* RedisTopology::at(const RedisEndpoint& endpoint) const {
  for (const auto& node : nodes)
    if (node->endpoint() == endpoint) return node.get();
  return nullptr;
}

bool RedisTopology::has_down_node() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->is_down(); });
}

Result<std::shared_ptr<const RedisTopology>> RedisScout::look(const RedisTopology* before) {
  auto topology = std::make_shared<RedisTopology>();
  if (target_.kind == RedisTarget::Kind::cluster) {
    const auto found = shards(before);
    if (!found) return fail(found.error());
    topology->is_cluster = true;
    topology->node_of.assign(kRedisSlots, RedisTopology::kNobody);
    for (const RedisShard& shard : *found) {
      const auto index = static_cast<std::uint16_t>(topology->nodes.size());
      topology->nodes.push_back(node_at(shard.master, before, manner_));
      for (const auto& [first, last] : shard.slots)
        for (std::size_t slot = first; slot <= last; ++slot) topology->node_of[slot] = index;
    }
    return topology;
  }
  auto endpoint = target_.kind == RedisTarget::Kind::sentinel
                      ? master()
                      : Result<RedisEndpoint>(target_.endpoints.front());
  if (!endpoint) return fail(endpoint.error());
  topology->nodes.push_back(node_at(*endpoint, before, manner_));
  return topology;
}

Result<std::vector<RedisShard>> RedisScout::shards(const RedisTopology* before) const {
  // A node that has died may be the one that served; any other knows who does now.
  std::vector<RedisEndpoint> known;
  if (before != nullptr)
    for (const auto& node : before->nodes)
      if (!node->is_down()) known.push_back(node->endpoint());
  for (const RedisEndpoint& seed : target_.endpoints)
    if (std::find(known.begin(), known.end(), seed) == known.end()) known.push_back(seed);
  std::string ask;
  append_redis_command(ask, {"CLUSTER", "SLOTS"});
  Error why;
  for (const RedisEndpoint& endpoint : known) {
    auto connection =
        RedisConnection::open(endpoint, manner_.login, kScoutPatience, *manner_.clock);
    auto reply = connection ? (*connection)->ask(ask, 1, kScoutPatience)
                            : Result<std::vector<HeldRedisReply>>(fail(connection.error()));
    if (reply && reply->front().look().is_error())
      reply = fail(ErrorCode::io_failed, "{}", reply->front().look().text());
    if (reply) {
      auto found = read_redis_shards(reply->front().look(), endpoint);
      if (found) return found;
      reply = fail(found.error());
    }
    why = reply.error();
    why.message = fmt::format("{}: {}", to_text(endpoint), why.message);
  }
  return fail(std::move(why));
}

Result<RedisEndpoint> RedisScout::master() {
  std::string ask;
  append_redis_command(ask, {"SENTINEL", "get-master-addr-by-name", target_.master});
  RedisLogin login;
  login.tls = tls_;
  login.is_sentinel = true;
  login.user = target_.sentinel_user;
  login.password = target_.sentinel_password;
  Error why;
  for (std::size_t i = 0; i < target_.endpoints.size(); ++i) {
    const std::size_t at = (sentinel_ + i) % target_.endpoints.size();
    const RedisEndpoint& sentinel = target_.endpoints[at];
    std::string said;
    auto connection = RedisConnection::open(sentinel, login, kScoutPatience, *manner_.clock);
    if (connection) {
      const auto reply = (*connection)->ask(ask, 1, kScoutPatience);
      const RedisReply master = reply ? reply->front().look() : RedisReply(nullptr);
      int port = 0;
      const auto text = master.at(1).text();
      std::from_chars(text.data(), text.data() + text.size(), port);
      if (port > 0) {
        sentinel_ = at;
        return RedisEndpoint{std::string(master.at(0).text()), port, {}};
      }
      said = !reply              ? reply.error().message
             : master.is_error() ? std::string(master.text())
                                 : fmt::format("it watches no master {}", target_.master);
    } else {
      said = connection.error().message;
    }
    why = {
        ErrorCode::io_failed, fmt::format("sentinel {}: {}", to_text(sentinel), said), {}, {}, {}};
  }
  return fail(std::move(why));
}

}  // namespace geonce
