#pragma once

#include <chrono>
#include <cstdint>

namespace geonce {

/// Milliseconds since 1970-01-01 UTC, as the store writes them.
using UtcMs = std::int64_t;
using Mono = std::chrono::steady_clock::time_point;

/// Time comes from here, so tests move it by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual UtcMs now_utc() const = 0;
  [[nodiscard]] virtual Mono now() const = 0;
};

Clock& system_clock();

/// Moves only when told.
class FakeClock : public Clock {
 public:
  explicit FakeClock(UtcMs start = 1'800'000'000'000) : utc_(start) {}
  [[nodiscard]] UtcMs now_utc() const override { return utc_; }
  [[nodiscard]] Mono now() const override { return mono_; }
  void advance(std::chrono::milliseconds by) {
    utc_ += by.count();
    mono_ += by;
  }
  void jump_utc(std::chrono::milliseconds by) { utc_ += by.count(); }

 private:
  UtcMs utc_;
  Mono mono_{std::chrono::hours{1}};
};

/// One absolute instant that a call carries from the edge to the socket.
struct Deadline {
  Mono at = Mono::max();
  static Deadline never() { return {}; }
  static Deadline in(std::chrono::milliseconds span, const Clock& clock) {
    return {clock.now() + span};
  }
  [[nodiscard]] bool has_passed(const Clock& clock) const { return clock.now() >= at; }
  [[nodiscard]] std::chrono::milliseconds left(const Clock& clock) const {
    if (at == Mono::max()) return std::chrono::hours{24};
    const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(at - clock.now());
    return span.count() > 0 ? span : std::chrono::milliseconds{0};
  }
};

}  // namespace geonce
