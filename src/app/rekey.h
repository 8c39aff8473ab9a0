#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/key_ring.h"
#include "core/result.h"
#include "core/second_reader.h"
#include "store/store.h"

namespace geonce {

/// What becomes of the remembered answers when their keys are made anew from the spellings they
/// were bought for.
struct RekeyReport {
  std::int64_t entries = 0;     // with an answer
  std::int64_t same = 0;        // have the key already
  std::int64_t moves = 0;       // get another key. Other spellings of the address may not follow.
  std::int64_t merges = 0;      // would get the key of another entry, and stay where they are
  std::int64_t unreadable = 0;  // the spelling has no key by the present rules
  std::int64_t unread = 0;      // the second reader did not answer; they stay
  /// Some of the merges: two spellings that are one address now.
  struct Merge {
    std::string one, other;
  };
  std::vector<Merge> examples;
};

/// Only reads. Memory: 16 bytes an entry.
/// second   reads what the built-in rules leave in one piece; null: nobody does
Result<RekeyReport> plan_rekey(Store& store,
                               const KeyRing& ring,
                               SecondReader* second,
                               Deadline deadline);
/// Moves what the plan says; may be stopped and run again at any time. `merges` are those that
/// another entry stood in the way of, or a call on its way.
Result<RekeyReport> rekey_entries(Store& store,
                                  const KeyRing& ring,
                                  SecondReader* second,
                                  Deadline deadline);

}  // namespace geonce
