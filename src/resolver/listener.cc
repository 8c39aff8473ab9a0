#include "resolver/listener.h"

#include <utility>

namespace geonce {
namespace {

constexpr std::size_t kAtOnce = 1'000;            // told to a shared tier
constexpr std::size_t kMostHeard = 10'000;        // in one look; beyond it, memory begins anew
constexpr std::size_t kMostHandedOver = 100'000;  // in one go, so that the next look is not late
constexpr milliseconds kLookDeadline{2'000};
constexpr milliseconds kTellDeadline{2'000};
/// Longer than anybody carries what he has read to a tier, and than a shared tier guards a window.
constexpr milliseconds kRemembered{120'000};

std::vector<Ended> ended_of(const std::vector<EndedWindow>& windows) {
  std::vector<Ended> ended;
  ended.reserve(windows.size());
  for (const EndedWindow& window : windows) ended.push_back({window.slot, window.gen});
  return ended;
}

}  // namespace

Result<std::size_t> hand_over(Store& store, Tier& shared, Deadline deadline) {
  std::size_t handed_over = 0;
  while (handed_over < kMostHandedOver) {
    const auto untold = store.untold(kAtOnce, deadline);
    if (!untold) return fail(untold.error());
    if (untold->empty()) break;
    if (auto told = shared.forget(ended_of(*untold), deadline); !told) return fail(told.error());
    std::vector<std::int64_t> numbers;
    for (const EndedWindow& window : *untold) numbers.push_back(window.number);
    if (auto noted = store.told(numbers, deadline); !noted) return fail(noted.error());
    handed_over += untold->size();
    if (untold->size() < kAtOnce) break;
  }
  return handed_over;
}

Listener::Listener(ListenerParts parts) : parts_(parts) {
  look();
  if (parts_.every > milliseconds{0}) thread_ = std::thread([this] { work(); });
}

Listener::~Listener() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Listener::hint() {
  {
    const std::lock_guard lock(mutex_);
    is_hinted_ = true;
  }
  wake_.notify_all();
}

void Listener::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, parts_.every, [this] { return is_hinted_ || is_stopping_; });
      if (is_stopping_) return;
      is_hinted_ = false;
    }
    look();
  }
}

bool Listener::look() {
  const std::lock_guard lock(looking_);
  const Mono asked = parts_.clock.now();
  auto since =
      parts_.store.ended_since(cursor_, kMostHeard, Deadline::in(kLookDeadline, parts_.clock));
  if (!since) {
    parts_.heard.heard_nothing();
    return false;
  }
  const bool has_untold = since->has_untold;
  if (cursor_.empty() || since->has_gap) {
    if (!begin_anew(std::move(*since), asked)) return false;
  } else {
    const auto ended = ended_of(since->windows);
    // Noted first, so that nothing of these windows comes in behind those who take it out.
    parts_.heard.note(ended, asked);
    ignore(parts_.memory.forget(ended, Deadline::never()), "memory does not fail");
    parts_.resolver.have_ended(ended);
    cursor_ = std::move(since->cursor);
  }
  parts_.heard.heard_all(asked);
  tell_shared(has_untold, asked);
  return true;
}

bool Listener::begin_anew(EndedSince since, Mono asked) {
  cursor_.clear();
  parts_.heard.lost(asked);
  parts_.memory.clear();
  parts_.resolver.may_have_ended();
  // Asked after the cursor was given: what ends in between is heard twice and not missed.
  const auto untold = parts_.store.untold(kMostHeard, Deadline::in(kLookDeadline, parts_.clock));
  if (!untold) return false;
  parts_.heard.note(ended_of(*untold), asked);
  if (untold->size() < kMostHeard) parts_.heard.trust_shared();
  cursor_ = std::move(since.cursor);
  return true;
}

void Listener::tell_shared(bool has_untold, Mono asked) {
  if (!has_untold) {
    parts_.heard.trust_shared();
    parts_.heard.shared_knows(asked - kRemembered);
  } else if (parts_.shared != nullptr) {
    ignore(hand_over(parts_.store, *parts_.shared, Deadline::in(kTellDeadline, parts_.clock)),
           "what it was not told is tried again at the next look");
  }
}

}  // namespace geonce
