#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/checker.h"
#include "simulation/choices.h"
#include "simulation/defects.h"
#include "store/store.h"

namespace geonce::sim {

/// What came of one schedule.
struct Report {
  std::uint64_t seed = 0;
  std::optional<Violation> violation;
  std::vector<Choice> taken;       // what was not harmless
  std::vector<std::string> story;  // when it was asked for
  Sums sums;
};

struct Play {
  Defect defect = {};
  /// Instead of the model; given the store's clock.
  std::function<std::unique_ptr<Store>(Clock&)> open_store = {};
  const std::vector<Choice>* only = nullptr;  // null: all that the seed gives
  bool tells_story = false;
};

/// One schedule: a few processes, keys and callers, and whatever trouble the seed brings, until
/// everything is over; then the trouble ends, and everything must come to a good end.
Report play(std::uint64_t seed, const Play& how);

}  // namespace geonce::sim
