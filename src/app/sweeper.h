#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "app/config.h"
#include "core/clock.h"
#include "core/result.h"
#include "core/uuid.h"
#include "store/store.h"

namespace geonce {

/// How a round of erasing goes about it, so that others hardly notice.
struct SweepPace {
  std::size_t portion = 1'000;                // rows in one transaction
  double share = 0.25;                        // of the time at work, the rest at rest; 1: no rests
  std::chrono::milliseconds catch_up{5'000};  // a rest for a store that is behind with cleaning up
  /// So long in one round rests are made for it, then not any more: terms do not wait.
  std::chrono::milliseconds most_catching_up{600'000};
  std::chrono::milliseconds lease{120'000};  // longer than a portion and a rest
};

/// What a round has erased.
struct Swept {
  SweepReport sum;
  /// Longer than 0: nothing was done, another process is at it and has the lease so long still.
  std::chrono::milliseconds busy{0};
};

/// Erases what has outlived its terms, in portions, until nothing is left or `stop`. One at a time
/// over all processes of the store.
///
/// rest      waits, less when told to stop
/// errors    as Store
Result<Swept> sweep_once(Store& store,
                         const OwnerId& owner,
                         const Clock& clock,
                         const SweepPace& pace,
                         const std::stop_token& stop,
                         const std::function<void(std::chrono::milliseconds)>& rest);
/// The same with real rests.
Result<Swept> sweep_once(Store& store,
                         const OwnerId& owner,
                         const SweepPace& pace,
                         const std::stop_token& stop);

/// Erases beside the work of a process that runs long: a round every so often, of whichever process
/// of the store comes first. From its making to its end, a thread of its own.
class Sweeper {
 public:
  /// notice    a line for a person when a round fails; the next one tries again
  Sweeper(Store& store, const SweepConfig& config, std::function<void(const std::string&)> notice);
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;
  ~Sweeper() = default;

 private:
  void loop(const std::stop_token& stop);
  /// How long until the next round may be due.
  std::chrono::milliseconds look(const std::stop_token& stop);

  Store& store_;
  const SweepConfig config_;
  const std::function<void(const std::string&)> notice_;
  const OwnerId owner_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace geonce
