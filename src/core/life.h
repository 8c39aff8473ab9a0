#pragma once

#include <chrono>

namespace geonce {

/// How long an answer lives, as durations from the moment of the commit: only durations cross
/// machines.
struct Life {
  std::chrono::milliseconds fresh{0};
  /// ≥ fresh: until then it may be served, marked, when nothing better is to be had.
  std::chrono::milliseconds stale{0};
  /// ≥ stale: gone from everywhere after this. 0: must not be stored at all.
  std::chrono::milliseconds erase{0};
};

}  // namespace geonce
