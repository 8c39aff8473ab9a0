#pragma once

#include <string>
#include <vector>

#include "app/config.h"
#include "core/result.h"

namespace geonce {

/// What is amiss with the server of a Postgres store, a line each with what to do; empty: nothing,
/// or the store is a file.
/// errors    store_unavailable, invalid_config
Result<std::vector<std::string>> store_complaints(const Config& config, Deadline deadline);

}  // namespace geonce
