#pragma once

#include <array>
#include <cstdint>

#include "batch/row_result.h"
#include "core/money.h"
#include "resolver/resolver.h"

namespace geonce {

inline constexpr std::size_t kRowStatuses = 7;
inline constexpr std::size_t kSources = 8;

/// What was done so far. A row counts once, when its output is written.
struct BatchCounts {
  std::int64_t rows = 0, distinct = 0, replayed = 0, kept = 0;
  std::array<std::int64_t, kRowStatuses> by_status{};
  std::array<std::int64_t, kSources> by_source{};
  std::int64_t calls = 0;
  Money cost;
  std::uint64_t bytes_read = 0, bytes_total = 0;

  [[nodiscard]] std::int64_t of(RowStatus status) const {
    return by_status.at(static_cast<std::size_t>(status));
  }
  [[nodiscard]] std::int64_t of(AnswerSource source) const {
    return by_source.at(static_cast<std::size_t>(source));
  }
  void add(const BatchCounts& more);
  /// Rows answered without a call, of all that were answered.
  [[nodiscard]] double hit_share() const;
};

}  // namespace geonce
