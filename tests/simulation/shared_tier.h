#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "tiers/tier.h"

namespace geonce::sim {

using std::chrono::milliseconds;

/// The tier that processes share (tiers/redis_tier.h), by its rules and in the world's time. What
/// gets lost on the way, or comes late, is the world's business.
class SharedTier {
 public:
  struct Value {
    std::int64_t gen = 0;
    std::shared_ptr<const Answer> answer;  // null: this window and all before it are over
    milliseconds dead{0};
    milliseconds stays{0};
    UtcMs answered_at = 0;
  };
  /// How long it is remembered that a window is over, and how long an entry may be on its way.
  static constexpr milliseconds kGuard{60'000}, kLongestWay{10'000};

  bool forgets_endings = false;  // a defect
  bool older_replaces = false;   // another

  [[nodiscard]] std::optional<Value> find(const Slot& slot, milliseconds now) {
    const auto at = values_.find(slot);
    if (at == values_.end()) return std::nullopt;
    if (at->second.stays <= now) {
      values_.erase(at);
      return std::nullopt;
    }
    if (!at->second.answer || at->second.dead <= now) return std::nullopt;
    return at->second;
  }

  /// by   not after that
  void store(const Slot& slot, Value value, milliseconds now, milliseconds by) {
    if (now > by) return;
    keep(slot, std::move(value), now);
  }

  void forget(const Slot& slot, std::int64_t gen, milliseconds now) {
    Value ended;
    ended.gen = gen;
    keep(slot, std::move(ended), now);
    if (forgets_endings) values_.erase(slot);
  }

  void lose(const Slot& slot) { values_.erase(slot); }
  void flush() { values_.clear(); }

 private:
  void keep(const Slot& slot, Value value, milliseconds now) {
    const auto at = values_.find(slot);
    if (at != values_.end() && at->second.stays > now && !older_replaces) {
      const Value& old = at->second;
      if (old.gen > value.gen || (old.gen == value.gen && old.dead <= value.dead)) return;
    }
    value.stays = std::max(value.dead, now + kGuard);
    values_[slot] = std::move(value);
  }

  std::map<Slot, Value> values_;
};

}  // namespace geonce::sim
