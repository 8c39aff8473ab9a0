#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tiers/heard.h"
#include "tiers/tier.h"

namespace geonce {

struct MemoryTierStats {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t admitted = 0;     // came into the main queue: asked for often enough
  std::uint64_t turned_away = 0;  // left the small queue without that, or larger than a whole shard
  std::uint64_t evicted = 0;      // left the main queue
  std::size_t bytes = 0, entries = 0;
};

/// The tier in this process. Bounded by bytes, all overhead counted; S3-FIFO admission, so that one
/// pass over a large file does not wash out what is asked again and again. What was stored is found
/// by the next `find`, unless it is larger than a shard (a 256th of `max_bytes`, at least 1 MiB or
/// all of it).
///
/// An answer of an older window that somebody read before `forget` and stores after it comes back,
/// unless the tier is given what this process has heard: then such an answer is refused, none is
/// given out for longer than that allows, and none while nothing is heard.
class MemoryTier : public Tier {
 public:
  /// The hot path: no vector, no Result.
  virtual std::optional<Cached> find_one(const Slot& slot) = 0;
  /// For who asks while the store is away: what is held within its life, although it may have been
  /// dropped meanwhile. Never to be given out as fresh.
  virtual std::optional<Cached> find_unconfirmed(const Slot& slot) = 0;
  /// An entry that is past its `fresh_until` only takes away what is older.
  virtual void store_one(const Slot& slot, const Cached& cached) = 0;
  /// Frees what is past its `fresh_until`. `find` and the want of room do that as well; this is for
  /// what nobody asks for any more, which the terms do not allow to hold for ever. Returns how
  /// many.
  virtual std::size_t sweep() = 0;
  virtual void clear() = 0;
  [[nodiscard]] virtual MemoryTierStats stats() const = 0;
};

/// max_bytes  0: remembers nothing
/// heard      outlives the tier; null: nobody else ends windows
std::unique_ptr<MemoryTier> open_memory_tier(std::size_t max_bytes,
                                             const Clock& clock,
                                             const Heard* heard = nullptr);

}  // namespace geonce
