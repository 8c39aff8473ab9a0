#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/config.h"
#include "core/result.h"

namespace geonce {

/// Opens everything that the gateway needs, answers HTTP until `stop`, lets what is under way end,
/// and closes everything.
///
/// listening  told where, once connections are taken
/// notice     a line for a person
/// errors     usage           an address that is none, or public and not `serve.open`
///            io_failed       it cannot be listened to
///            those of open_engine and open_second_reader
Result<void> serve(const Config& config,
                   const std::stop_token& stop,
                   const std::function<void(const std::vector<std::string>& addresses)>& listening,
                   const std::function<void(const std::string&)>& notice);

}  // namespace geonce
