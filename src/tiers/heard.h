#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <shared_mutex>
#include <span>
#include <unordered_map>

#include "core/clock.h"
#include "core/key.h"
#include "tiers/tier.h"

namespace geonce {

/// What this process has heard of windows that ended before their time, and until when it has heard
/// everything: what decides whether a tier may still give out what it holds
/// (docs/decisions/0015-coherence.md). Thread-safe.
///
/// Who takes in an answer asks `is_over` under the lock under which it becomes visible; who hears
/// something notes it here first and takes it out of the tiers then. So none slips through between.
class Heard {
 public:
  struct Options {
    std::chrono::milliseconds max_age{60'000};         // of what memory holds
    std::chrono::milliseconds max_age_cut_off{5'000};  // … while nothing is heard
    std::size_t most = 200'000;                        // windows remembered
    std::chrono::milliseconds stale_cut_off{0};  // as max_age_cut_off, of what is marked stale
  };

  Heard(Options options, const Clock& clock);

  /// These have ended. More than can be remembered are `lost`.
  void note(std::span<const Ended> windows, Mono asked);
  /// Some have ended that nobody knows: of what was read before `asked` nothing may be taken in any
  /// more, and shared tiers may hold it.
  void lost(Mono asked);
  /// All that had ended until `asked` is noted.
  void heard_all(Mono asked);
  /// The store could not be asked.
  void heard_nothing();
  /// Shared tiers have been told of everything that is not noted here …
  void trust_shared();
  /// … and of what was noted before `before`.
  void shared_knows(Mono before);

  /// Whether an answer of this window that was read at `as_of` must not be given out or kept.
  [[nodiscard]] bool is_over(const Slot& slot, std::int64_t gen, Mono as_of) const;
  /// Whether all that can have ended has been heard of, late enough for what memory holds.
  [[nodiscard]] bool is_connected(Mono now) const {
    return now <= good_until_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool trusts_shared() const {
    return trusts_shared_.load(std::memory_order_acquire);
  }
  /// Everything that ended until then is noted.
  [[nodiscard]] Mono heard_until() const {
    return good_until_.load(std::memory_order_acquire) - options_.max_age_cut_off;
  }
  /// Until when memory may give out as fresh what was read at `as_of` …
  [[nodiscard]] Mono good_in_memory_until(Mono as_of) const { return as_of + options_.max_age; }
  /// … and until when it may hold it, for those who ask while the store is away.
  [[nodiscard]] Mono kept_in_memory_until(Mono as_of) const {
    return as_of + options_.max_age + options_.stale_cut_off;
  }
  /// Whether the last attempt to hear anything was in vain.
  [[nodiscard]] bool is_store_away() const {
    return is_store_away_.load(std::memory_order_acquire);
  }
  /// Whether what memory holds is better than nothing still.
  [[nodiscard]] bool may_serve_stale(Mono now) const {
    return options_.stale_cut_off.count() > 0 && now <= heard_until() + options_.stale_cut_off;
  }

 private:
  struct Window {
    std::int64_t gen = 0;
    Mono noted;
  };
  void forget_all(Mono asked);

  const Options options_;
  std::atomic<Mono> good_until_;
  std::atomic<bool> trusts_shared_{false};
  std::atomic<bool> is_store_away_{false};
  mutable std::shared_mutex mutex_;
  std::unordered_map<Slot, Window, SlotHash> windows_;
  std::deque<std::pair<Mono, Slot>> order_;  // of noting
  Mono lost_at_ = Mono::min();
};

}  // namespace geonce
