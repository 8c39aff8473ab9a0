#include "simulation/shrink.h"

#include <algorithm>

namespace geonce::sim {

Report shrink(const Report& broken, const Defect& defect) {
  std::vector<Choice> kept = broken.taken;
  const auto still_breaks = [&](const std::vector<Choice>& only) -> std::optional<Report> {
    Report report = play(broken.seed, {.defect = defect, .only = &only});
    if (!report.violation || report.violation->rule != broken.violation->rule) return std::nullopt;
    return report;
  };
  for (std::size_t parts = 2; kept.size() > 1;) {
    const std::size_t size = (kept.size() + parts - 1) / parts;
    bool is_smaller = false;
    for (std::size_t from = 0; from < kept.size(); from += size) {
      std::vector<Choice> rest(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(from));
      rest.insert(rest.end(),
                  kept.begin() + static_cast<std::ptrdiff_t>(std::min(from + size, kept.size())),
                  kept.end());
      const auto report = still_breaks(rest);
      if (!report) continue;
      // What was not even reached without the part is gone as well.
      kept = report->taken;
      is_smaller = true;
      break;
    }
    if (is_smaller)
      parts = std::max<std::size_t>(parts - 1, 2);
    else if (size == 1)
      break;
    else
      parts = std::min(parts * 2, kept.size());
  }
  return play(broken.seed, {.defect = defect, .only = &kept, .tells_story = true});
}

}  // namespace geonce::sim
