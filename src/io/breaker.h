#pragma once

#include <chrono>
#include <deque>

#include "core/clock.h"

namespace geonce {

/// Whether something that keeps failing is worth another try. Closed: yes. It opens after too many
/// failures in a while; when its pause is over, one try decides whether it closes or stays open for
/// twice as long.
class Breaker {
 public:
  struct Limits {
    std::size_t failures = 5;                   // this many of them …
    std::chrono::milliseconds within{300'000};  // … in so short a time open it
    std::chrono::milliseconds pause{60'000}, longest_pause{960'000};
  };
  explicit Breaker(Limits limits) : limits_(limits), pause_(limits.pause) {}

  [[nodiscard]] bool is_open() const { return is_open_; }
  /// The end of the pause, while it is open.
  [[nodiscard]] Mono until() const { return until_; }

  void failed(Mono now) {
    if (!failures_.empty() && now - failures_.back() > limits_.within && !is_open_)
      pause_ = limits_.pause;  // that was another trouble
    failures_.push_back(now);
    while (now - failures_.front() > limits_.within) failures_.pop_front();
    if (is_open_ || failures_.size() >= limits_.failures) open(now);
  }
  /// A failure that a second try at once would not mend.
  void failed_for_now(Mono now) {
    failures_.push_back(now);
    open(now);
  }
  void succeeded() {
    if (is_open_) failures_.clear();
    is_open_ = false;
  }

 private:
  void open(Mono now) {
    is_open_ = true;
    until_ = now + pause_;
    pause_ = std::min(2 * pause_, limits_.longest_pause);
  }

  Limits limits_;
  std::chrono::milliseconds pause_;
  std::deque<Mono> failures_;
  bool is_open_ = false;
  Mono until_;
};

}  // namespace geonce
