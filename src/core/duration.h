#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/result.h"

namespace geonce {

/// `180d`, `4h`, `90s`, `1h30m`, `500ms`: whole numbers with d, h, m, s or ms behind each; at most
/// 100 years.
/// errors    usage  anything else; the message shows the accepted form
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The shortest text with one unit that parses to the same span: 5,400 s is `90m`, 0 is `0s`.
std::string duration_text(std::chrono::milliseconds span);

}  // namespace geonce
