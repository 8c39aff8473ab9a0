#pragma once

#include <memory>
#include <stop_token>

#include "app/config.h"
#include "core/result.h"
#include "core/second_reader.h"

namespace geonce {

/// What reads addresses that the built-in rules leave in one piece (`[normalize]`); null: nobody
/// does. Its process runs as long as it lives.
///
/// stop      whoever waits for it is then told `interrupted`
/// errors    invalid_config  the library or its data cannot be used
Result<std::unique_ptr<SecondReader>> open_second_reader(const Config& config,
                                                         std::stop_token stop = {});

}  // namespace geonce
