#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"

namespace geonce {

/// When a deed stops waiting for its time.
enum class Hurry : std::uint8_t { never, on_drain, on_stop };

/// Does things later, on one thread of its own that sleeps until the next of them is due.
class Timer {
 public:
  explicit Timer(const Clock& clock);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void at(Mono when, Hurry hurry, std::function<void()> deed);
  /// From now on nothing waits that was given this `hurry`.
  void hurry(Hurry which);
  /// Forgets what is not due yet and ends the thread.
  void stop();

 private:
  struct Entry {
    Mono when;
    std::uint64_t number = 0;  // first come, first done
    Hurry hurry = Hurry::never;
    std::function<void()> deed;
    friend bool operator<(const Entry& a, const Entry& b) {  // a heap's front is its largest
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };
  [[nodiscard]] bool hurries(Hurry hurry) const {
    return (hurry == Hurry::on_drain && drains_) || (hurry == Hurry::on_stop && stops_);
  }
  void run();

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> heap_;
  std::uint64_t next_number_ = 0;
  bool drains_ = false, stops_ = false;
  bool is_stopping_ = false;
  std::jthread thread_;
};

}  // namespace geonce
