#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>

#include "core/clock.h"
#include "io/redis_connection.h"

namespace geonce {

/// Commands that travel together.
struct RedisChunk {
  std::string bytes;
  std::size_t replies = 0;
  std::size_t id = 0;  // the caller's own
};

/// What is said over one connection.
struct RedisTalk {
  RedisConnection* connection = nullptr;
  std::deque<RedisChunk> chunks;
  std::optional<Error> failure = {};  // the connection is of no more use, and what is left of the
                                      // chunks without a reply
};

/// How many chunks of one connection may be on their way: enough that neither side waits for the
/// other, and few enough that another client's command comes in between.
inline constexpr std::size_t kRedisChunksInFlight = 2;

/// Says all that is to be said over all connections at once, and gives every reply in its turn.
///
/// patience  a connection from which no whole reply comes for so long has failed
/// sent      the chunk is about to leave
/// reply     the `n`-th reply to the chunk
void converse(std::span<RedisTalk> talks,
              std::chrono::milliseconds patience,
              Deadline deadline,
              const Clock& clock,
              const std::function<void(std::size_t id)>& sent,
              const std::function<void(std::size_t id, std::size_t n, RedisReply)>& reply);

}  // namespace geonce
