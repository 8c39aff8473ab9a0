#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/config.h"
#include "core/result.h"
#include "io/redis_listener.h"
#include "store/store.h"
#include "tiers/heard.h"
#include "tiers/tier.h"

namespace geonce {

/// The cache that processes share; null: the config names none. Returns at once, and a cache that
/// cannot be reached is no error: it says so in a line on stderr, and again when it works.
///
/// patience  when longer than `redis.timeout`: for those who have nothing else to do
/// heard     what it may not have been told of; outlives the tier
/// errors    invalid_config  a file or variable of the config that cannot be read
Result<std::unique_ptr<Tier>> open_shared_tier(const Config& config,
                                               std::chrono::milliseconds patience = {},
                                               const Heard* heard = nullptr);

/// Calls back when other processes call out that windows have ended; null: the config names none.
/// A hint, which may come late, never, or for nothing.
Result<std::unique_ptr<RedisListener>> open_shared_ear(const Config& config,
                                                       std::function<void()> called);

/// Tells that cache of the windows it has not been told of, by whomever they were ended; without a
/// cache, nothing. For commands that have just ended one: what fails here the next process does.
/// errors    as above, io_failed, store_…
Result<void> tell_shared_tier(const Config& config, Store& store);

/// What a person wants to know of that cache.
struct SharedTierHealth {
  std::string description;              // empty: the config names none
  std::vector<std::string> complaints;  // what is amiss with its servers, each with what to do
};
/// errors    invalid_config, io_failed
Result<SharedTierHealth> examine_shared_tier(const Config& config, Deadline deadline);

}  // namespace geonce
