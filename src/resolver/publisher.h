#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "tiers/tier.h"

namespace geonce {

/// Carries entries to a tier that processes share, on a thread of its own: nobody waits for it.
/// What it cannot carry in time is dropped, because the store has it. Only that older windows are
/// over is not: it is said until the tier has heard it, as long as this lives.
class Publisher {
 public:
  Publisher(Tier& tier, const Clock& clock);
  /// Carries what waits, unless the tier does not work.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// read   when the store was asked for them, taken before
  void publish(std::vector<Remembered> entries, Mono read);
  /// An entry that has just taken the place of another.
  void replace(Remembered entry, Mono read);

 private:
  struct Item {
    Remembered entry;
    Mono read;
    bool replaces = false;
  };
  static constexpr std::size_t kMostWaiting = 20'000;
  static constexpr std::size_t kMostUnheard = 100'000;
  static constexpr std::size_t kAtOnce = 1'000;
  static constexpr std::chrono::milliseconds kWay{10'000};     // from the store to the tier
  static constexpr std::chrono::milliseconds kAgainIn{2'000};  // what was not heard

  void work();
  /// false: the tier does not work.
  bool carry(std::vector<Item> items);
  bool say_unheard();
  void remember_unheard(const Item& item);

  Tier& tier_;
  const Clock& clock_;
  std::vector<Ended> unheard_;  // the thread's own
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> waiting_;
  bool is_stopping_ = false;
  std::jthread thread_;  // last, because it uses all of the above
};

}  // namespace geonce
