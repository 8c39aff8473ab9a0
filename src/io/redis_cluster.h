#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/redis_reply.h"
#include "io/redis_url.h"

namespace geonce {

inline constexpr std::size_t kRedisSlots = 16'384;

/// The slot a cluster files a key under: CRC16 (XMODEM) of it, or of what stands between its first
/// `{` and the next `}` when that is not empty.
std::uint16_t redis_slot(std::string_view key);

/// Which master serves which slots.
struct RedisShard {
  RedisEndpoint master;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> slots;  // first and last of each run
};

/// A reply to CLUSTER SLOTS. asked: where it was asked; some clusters leave out their own host.
/// errors    io_failed  not of that form
Result<std::vector<RedisShard>> read_redis_shards(RedisReply reply, const RedisEndpoint& asked);

/// `MOVED 3999 127.0.0.1:6381`, `ASK 3999 127.0.0.1:6381`: go there. nullopt: another error.
struct RedisRedirect {
  bool only_once = false;  // ASK
  RedisEndpoint to;
};
std::optional<RedisRedirect> read_redis_redirect(std::string_view error,
                                                 const RedisEndpoint& asked);

}  // namespace geonce
