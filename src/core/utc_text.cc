#include "core/utc_text.h"

#include <array>
#include <ctime>

namespace geonce {

std::string utc_text(UtcMs at) {
  if (at == 0) return "-";
  const std::time_t seconds = at / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 24> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

Result<UtcMs> parse_utc(std::string_view text) {
  const std::string copy(text);
  for (const char* form : {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* end = strptime(copy.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return static_cast<UtcMs>(timegm(&parts)) * 1000;
  }
  return fail(
      ErrorCode::usage, "\"{}\" is no date: write 2026-05-01 or 2026-05-01T12:00:00Z (UTC)", text);
}

}  // namespace geonce
