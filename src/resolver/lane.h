#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "resolver/flight.h"
#include "resolver/request.h"

namespace geonce {

struct LaneLimits {
  std::size_t concurrency = 8;  // calls at once
  double rate_per_s = 0;        // lookups; 0: no limit
  std::size_t bulk_size = 0;    // lookups of one bulk call; 0: no bulk endpoint
  milliseconds send_window{2'000};
};

/// A request whose claim is ours: it only needs a slot.
struct Ready {
  FlightPtr flight;
  act::Call call;
  Query query;  // what is sent
};

/// The way to one provider: how many calls at once, how fast, and whether at all. Decides, and does
/// nothing itself: no thread, no clock, no I/O. Thread-safe.
///
/// Requests `want` a call, are let through to take their claim, come back `ready`, and are sent.
/// Only a little more are let through than there are slots, so that no claim grows old waiting
/// (R2).
class Lane {
 public:
  Lane(std::string name, LaneLimits limits);

  /// Whether calls may go out now; if not, from when on, and why.
  struct Standing {
    bool is_up = true;
    bool is_stopped = false;  // by a fatal refusal: waiting is no use
    Mono until;
    std::optional<Error> why;
  };
  [[nodiscard]] Standing standing(Mono now) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t bulk_size() const { return limits_.bulk_size; }

  void want(FlightPtr flight, bool bulk);
  /// One that was let through has its claim, or will not get one. took: since it was let through;
  /// 0: it never came to the store.
  void has_taken(bool bulk, milliseconds took = milliseconds{0});
  void ready(Ready ready);

  struct Work {
    std::vector<FlightPtr> admit;  // let through: may take their claims
    std::vector<std::vector<Ready>>
        calls;                  // to be sent; more than one in a call: by the bulk endpoint
    std::vector<Ready> late;    // waited too long for a slot
    std::optional<Mono> again;  // something is due then
    [[nodiscard]] bool is_empty() const { return admit.empty() && calls.empty() && late.empty(); }
  };
  Work next(Mono now);
  /// The moment `Work::again` has come.
  void woke();
  /// Everybody who waits, for the end.
  Work empty();

  enum class Health {
    good,     // the provider works
    unknown,  // nothing was learnt: the call did not leave this process
    failed,   // a transient fault; several in a row open the breaker
    pause,    // the provider said for how long
    stop,     // key, quota, payment, block
  };
  /// A call handed out by `next` is over. span: of pause and stop. why: of all but good.
  void ended(
      Health health, milliseconds span, std::optional<Error> why, milliseconds took, Mono now);
  [[nodiscard]] std::size_t in_flight() const;

 private:
  struct Want {
    FlightPtr flight;
    bool bulk = false;
  };
  static constexpr int kBreakerTrips = 5;
  static constexpr milliseconds kFirstBreak{2'000};
  static constexpr milliseconds kLongestBreak{60'000};

  [[nodiscard]] bool is_up(Mono now) const { return now >= closed_until_; }
  [[nodiscard]] std::size_t slots() const;
  [[nodiscard]] std::size_t slots_used() const;
  [[nodiscard]] double burst() const;
  [[nodiscard]] milliseconds until_tokens(double wanted) const;
  void refill(Mono now);
  std::vector<Ready> take_bulk();
  void send(Work& work, Mono now);
  void let_through(Work& work, Mono now);

  const std::string name_;
  const LaneLimits limits_;
  mutable std::mutex mutex_;
  std::deque<Want> want_single_, want_bulk_;
  std::deque<Ready> ready_single_, ready_bulk_;
  std::size_t taking_single_ = 0, taking_bulk_ = 0;
  std::size_t in_flight_ = 0;
  double tokens_ = 1;
  std::optional<Mono> refilled_;
  double latency_ms_ = 0;  // of a call, smoothed; 0: not known
  double take_ms_ = 0;     // of a claim, smoothed
  Mono closed_until_ = Mono::min();
  bool is_stopped_ = false;
  std::optional<Error> why_closed_;
  int failures_ = 0, breaks_ = 0;
  bool is_probing_ = false;  // after a break: one call at a time until one works
  std::optional<Mono> wake_;
};

}  // namespace geonce
