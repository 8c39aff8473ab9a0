#include "tiers/heard.h"

#include <algorithm>
#include <mutex>

namespace geonce {

Heard::Heard(Options options, const Clock& clock)
    : options_(options), good_until_(clock.now() + options.max_age_cut_off) {}

void Heard::note(std::span<const Ended> windows, Mono asked) {
  const std::unique_lock lock(mutex_);
  for (const Ended& ended : windows) {
    Window& window = windows_[ended.slot];
    window.gen = std::max(window.gen, ended.gen);
    window.noted = asked;
    order_.emplace_back(asked, ended.slot);
  }
  if (order_.size() > options_.most) forget_all(asked);
}

void Heard::lost(Mono asked) {
  const std::unique_lock lock(mutex_);
  forget_all(asked);
}

void Heard::forget_all(Mono asked) {
  trusts_shared_.store(false, std::memory_order_release);
  windows_.clear();
  order_.clear();
  lost_at_ = std::max(lost_at_, asked);
}

void Heard::heard_all(Mono asked) {
  good_until_.store(asked + options_.max_age_cut_off, std::memory_order_release);
  is_store_away_.store(false, std::memory_order_release);
}

void Heard::heard_nothing() { is_store_away_.store(true, std::memory_order_release); }

void Heard::trust_shared() { trusts_shared_.store(true, std::memory_order_release); }

void Heard::shared_knows(Mono before) {
  const std::unique_lock lock(mutex_);
  for (; !order_.empty() && order_.front().first < before; order_.pop_front()) {
    const auto at = windows_.find(order_.front().second);
    // Noted again since: a later place in the order stands for it.
    if (at != windows_.end() && at->second.noted < before) windows_.erase(at);
  }
}

bool Heard::is_over(const Slot& slot, std::int64_t gen, Mono as_of) const {
  const std::shared_lock lock(mutex_);
  if (as_of <= lost_at_) return true;
  const auto at = windows_.find(slot);
  return at != windows_.end() && gen <= at->second.gen;
}

}  // namespace geonce
