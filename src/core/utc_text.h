#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/result.h"

namespace geonce {

/// `2026-05-01T12:00:00Z`; a dash for 0.
std::string utc_text(UtcMs at);
/// A date or an instant in UTC: `2026-05-01`, `2026-05-01T12:00:00Z`.
/// errors    usage
Result<UtcMs> parse_utc(std::string_view text);

}  // namespace geonce
