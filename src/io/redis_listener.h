#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/result.h"
#include "io/redis.h"

namespace geonce {

/// Listens to a channel over a connection of its own. A thread connects, again and again where it
/// has to; what is called meanwhile is lost.
class RedisListener {
 public:
  virtual ~RedisListener() = default;
};

/// called    somebody has called, or may have while nobody listened: at every connection as well.
///           On the listener's thread.
/// errors    invalid_config  the TLS files
Result<std::unique_ptr<RedisListener>> open_redis_listener(RedisOptions options,
                                                           std::string channel,
                                                           std::function<void()> called,
                                                           const Clock& clock);

}  // namespace geonce
