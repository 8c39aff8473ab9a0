#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "resolver/resolver.h"
#include "store/store.h"
#include "tiers/heard.h"
#include "tiers/memory_tier.h"

namespace geonce {

/// Tells a tier that processes share of the windows it has not been told of, whoever ended them.
/// Returns how many.
/// errors    those of the store and of the tier; what was told until then is noted
Result<std::size_t> hand_over(Store& store, Tier& shared, Deadline deadline);

struct ListenerParts {
  Store& store;
  Heard& heard;
  MemoryTier& memory;
  Resolver& resolver;
  Tier* shared = nullptr;  // null: none
  const Clock& clock;
  milliseconds every{1'000};  // 0: only when told
};

/// Hears of windows that other processes end: looks into the store every so often, and takes what
/// is over out of this process. Where it cannot look, memory gives out nothing before long (Heard).
/// Tells the shared tier what it has not been told by those who should have.
class Listener {
 public:
  /// Looks once before it returns.
  explicit Listener(ListenerParts parts);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Something has ended, somebody says: has this process look soon.
  void hint();
  /// Looks now, on the caller's thread. false: it could not.
  bool look();

 private:
  void work();
  bool begin_anew(EndedSince since, Mono asked);
  void tell_shared(bool has_untold, Mono asked);

  const ListenerParts parts_;
  std::mutex looking_;  // one at a time
  std::string cursor_;  // empty: begin anew
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_hinted_ = false, is_stopping_ = false;
  std::thread thread_;
};

}  // namespace geonce
