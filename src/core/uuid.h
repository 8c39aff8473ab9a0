#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/result.h"

namespace geonce {

/// UUIDv7 (RFC 9562): sorts by the time it was made.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

using IntentId = Uuid;  // one purchase attempt
using OwnerId = Uuid;   // one process incarnation
using BatchId = Uuid;

/// Never the same twice in a process; the random part comes from the system.
Uuid make_uuid(const Clock& clock);
std::string to_string(const Uuid& uuid);
Result<Uuid> parse_uuid(std::string_view text);

}  // namespace geonce
