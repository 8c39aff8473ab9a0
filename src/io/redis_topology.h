#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/redis_cluster.h"
#include "io/redis_node.h"

namespace geonce {

/// Who serves which key. Never changed once it is made.
struct RedisTopology {
  std::vector<std::shared_ptr<RedisNode>> nodes;
  bool is_cluster = false;
  std::vector<std::uint16_t> node_of;  // of a cluster: kRedisSlots indices, kNobody where none

  static constexpr std::uint16_t kNobody = UINT16_MAX;
  /// null: nobody serves it.
  [[nodiscard]] RedisNode* serving(std::string_view key) const;
  [[nodiscard]] RedisNode* at(const RedisEndpoint& endpoint) const;
  [[nodiscard]] bool has_down_node() const;
};

/// Finds out who serves what: of one server it is known, sentinels and clusters are asked. Waits
/// for them, so only the keeper calls it.
class RedisScout {
 public:
  RedisScout(const RedisTarget& target, const RedisManner& manner, RedisTls* tls)
      : target_(target), manner_(manner), tls_(tls) {}

  /// Nodes of `before` that still serve are kept with their connections.
  /// errors    io_failed  nobody knows, or says
  Result<std::shared_ptr<const RedisTopology>> look(const RedisTopology* before);

 private:
  Result<std::vector<RedisShard>> shards(const RedisTopology* before) const;
  Result<RedisEndpoint> master();

  const RedisTarget& target_;
  const RedisManner& manner_;
  RedisTls* const tls_;
  std::size_t sentinel_ = 0;  // that answered last
};

}  // namespace geonce
