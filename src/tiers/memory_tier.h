#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiers/tier.h"

namespace geonce {

struct MemoryTierStats {
  std::uint64_t hits = 0, misses = 0, admitted = 0, turned_away = 0, evicted = 0;
  std::size_t bytes = 0, entries = 0;
};

/// The tier in this process. Bounded by bytes, all overhead counted; S3-FIFO admission, so that one pass
/// over a large file does not wash out what is asked again and again.
class MemoryTier : public Tier {
 public:
  /// The hot path: no vector, no Result.
  virtual std::optional<Cached> find_one(const Slot& slot) = 0;
  virtual void store_one(const Slot& slot, const Cached& cached) = 0;
  [[nodiscard]] virtual MemoryTierStats stats() const = 0;
};

std::unique_ptr<MemoryTier> open_memory_tier(std::size_t max_bytes, const Clock& clock);

}  // namespace geonce
