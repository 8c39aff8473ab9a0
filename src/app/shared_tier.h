#pragma once

#include <memory>
#include <string>

#include "app/config.h"
#include "core/result.h"
#include "tiers/tier.h"

namespace geonce {

/// The cache that processes share; null: the config names none. Returns at once, and a cache that
/// cannot be reached is no error: it says so in a line on stderr, and again when it works.
///
/// patience  when longer than `redis.timeout`: for those who have nothing else to do
/// errors    invalid_config  a file or variable of the config that cannot be read
Result<std::unique_ptr<Tier>> open_shared_tier(const Config& config,
                                               std::chrono::milliseconds patience = {});

/// What a person wants to know of it; empty: the config names none.
/// errors    invalid_config, io_failed
Result<std::string> examine_shared_tier(const Config& config, Deadline deadline);

}  // namespace geonce
