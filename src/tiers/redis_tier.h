#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "io/redis.h"
#include "tiers/heard.h"
#include "tiers/tier.h"

namespace geonce {

struct RedisTierOptions {
  std::string prefix = "geonce:";
  /// No entry stays longer, so that an early end of a window that could not be told is overtaken.
  /// At least a minute.
  std::chrono::milliseconds max_stay{std::chrono::hours{24}};
  /// What Redis may not have been told yet; outlives the tier. Null: nothing.
  const Heard* heard = nullptr;
};

/// The channel on which it is called out that windows have ended, after Redis was told which.
std::string redis_channel(std::string_view prefix);

/// The tier that processes share. It may vanish or be wrong at any moment: a value of another
/// codec, a cut one or somebody else's is a miss and is taken away. The end of a window is
/// remembered for a minute, and what is not there after ten seconds on its way never comes in
/// (docs/decisions/0012-lives-in-redis.md).
std::unique_ptr<Tier> open_redis_tier(std::unique_ptr<Redis> redis,
                                      RedisTierOptions options,
                                      const Clock& clock);

}  // namespace geonce
