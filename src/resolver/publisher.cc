#include "resolver/publisher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "io/failpoint.h"

namespace geonce {

Publisher::Publisher(Tier& tier, const Clock& clock)
    : tier_(tier), clock_(clock), thread_([this] { work(); }) {}

Publisher::~Publisher() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
}

void Publisher::publish(std::vector<Remembered> entries, Mono read) {
  {
    const std::lock_guard lock(mutex_);
    for (Remembered& entry : entries) {
      if (waiting_.size() == kMostWaiting) break;
      waiting_.push_back({std::move(entry), read, false});
    }
  }
  wake_.notify_all();
}

void Publisher::replace(Remembered entry, Mono read) {
  {
    // These are as many as are bought, so the queue does not grow by them for long.
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(entry), read, true});
  }
  wake_.notify_all();
}

void Publisher::work() {
  for (bool is_last = false; !is_last;) {
    std::vector<Item> taken;
    {
      std::unique_lock lock(mutex_);
      const auto is_wanted = [this] { return !waiting_.empty() || is_stopping_; };
      if (unheard_.empty())
        wake_.wait(lock, is_wanted);
      else
        wake_.wait_for(lock, kAgainIn, is_wanted);
      const auto end =
          waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kAtOnce));
      taken.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
      waiting_.erase(waiting_.begin(), end);
      is_last = is_stopping_ && waiting_.empty();
    }
    bool works = carry(std::move(taken));
    if (works && !unheard_.empty()) works = say_unheard();
    const std::lock_guard lock(mutex_);
    is_last = is_last || (is_stopping_ && !works);  // the end does not wait for a tier that fails
  }
}

bool Publisher::carry(std::vector<Item> items) {
  const Mono now = clock_.now();
  std::vector<Remembered> entries;
  Mono oldest = now;
  for (const Item& item : items) {
    if (item.read + kWay <= now) {
      remember_unheard(item);
      continue;
    }
    oldest = std::min(oldest, item.read);
    entries.push_back(item.entry);
  }
  if (entries.empty()) return true;
  if (tier_.store(entries, {oldest + kWay})) {
    failpoint(FailPoint::entry_shared);
    return true;
  }
  for (const Item& item : items) remember_unheard(item);
  return false;
}

void Publisher::remember_unheard(const Item& item) {
  if (!item.replaces || item.entry.cached.gen <= 1) return;  // nothing was there before
  if (unheard_.size() == kMostUnheard) unheard_.erase(unheard_.begin());
  unheard_.push_back({item.entry.slot, item.entry.cached.gen - 1});
}

bool Publisher::say_unheard() {
  if (!tier_.forget(unheard_, Deadline::in(kWay, clock_))) return false;
  unheard_.clear();
  return true;
}

}  // namespace geonce
