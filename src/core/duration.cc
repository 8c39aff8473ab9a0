#include "core/duration.h"

#include <array>
#include <charconv>

namespace geonce {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

// Largest first; `ms` before `m` and `s`, because the longer name has to be tried first when
// reading.
constexpr std::array kUnits{Unit{"d", 86'400'000},
                            Unit{"h", 3'600'000},
                            Unit{"ms", 1},
                            Unit{"m", 60'000},
                            Unit{"s", 1'000}};
constexpr std::int64_t kMost = 36'525LL * 86'400'000;

}  // namespace

Result<milliseconds> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return fail(
        ErrorCode::usage, "\"{}\" is no duration; write one like 180d, 4h, 30m, 8s or 500ms", text);
  };
  std::string_view rest = text;
  std::int64_t total = 0;
  if (rest.empty()) return bad();
  while (!rest.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{} || number < 0) return bad();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const Unit* unit = nullptr;
    for (const auto& candidate : kUnits) {
      if (rest.starts_with(candidate.name)) {
        unit = &candidate;
        break;
      }
    }
    if (unit == nullptr || number > kMost / unit->ms) return bad();
    rest.remove_prefix(unit->name.size());
    total += number * unit->ms;
    if (total > kMost) return bad();
  }
  return milliseconds{total};
}

std::string duration_text(milliseconds span) {
  if (span.count() == 0) return "0s";
  const Unit* best = nullptr;
  for (const auto& unit : kUnits)
    if (span.count() % unit.ms == 0 && (best == nullptr || unit.ms > best->ms)) best = &unit;
  return fmt::format("{}{}", span.count() / best->ms, best->name);
}

}  // namespace geonce
