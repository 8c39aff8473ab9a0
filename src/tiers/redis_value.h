#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/answer.h"
#include "core/clock.h"
#include "core/key.h"

namespace geonce {

/// The value of a Redis key (docs/formats/redis.md).
struct RedisValue {
  std::int64_t gen = 0;
  std::int64_t dead_at_ms = 0;  // by the clock of the Redis server; 0: `gen` is over
  UtcMs answered_at = 0, expires_at = 0;
  std::shared_ptr<const Answer> answer;  // null: `gen` is over
};

std::string redis_key(std::string_view prefix, const Slot& slot);

std::string encode(std::int64_t gen,
                   std::int64_t dead_at_ms,
                   UtcMs answered_at,
                   UtcMs expires_at,
                   const Answer& answer);
/// That `gen` and all before it are over.
std::string encode_ended(std::int64_t gen);

/// nullopt: another codec, cut off, or not ours at all.
std::optional<RedisValue> decode_redis_value(std::string_view bytes);
/// The gen of a value of any codec; nullopt: not ours.
std::optional<std::int64_t> gen_of_redis_value(std::string_view bytes);

}  // namespace geonce
