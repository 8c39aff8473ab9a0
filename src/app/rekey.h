#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/key_ring.h"
#include "core/result.h"
#include "core/second_reader.h"
#include "store/store.h"

namespace geonce {

/// An entry in a plan.
struct PlannedEntry {
  std::string key;      // where it stands, in text form
  std::string address;  // the spelling it was bought for
  std::string new_key;  // where it belongs
  bool is_erased = false;
};

/// What would become of the remembered answers if each were filed under the key that present rules
/// and secret make of the spelling it was bought for.
struct RekeyPlan {
  std::int64_t entries = 0;     // with an answer: the sum of the next five
  std::int64_t same = 0;        // have the key already
  std::int64_t moves = 0;       // get another key
  std::int64_t merges = 0;      // would be erased: another entry of the same address is left
  std::int64_t unreadable = 0;  // the spelling has no key by the present rules
  std::int64_t unread = 0;      // the second reader did not answer; they stay
  /// Of those with another key: made by other rules, so that spellings which shared the old key
  /// need not share the new one. The others have another secret, and stay together.
  std::int64_t by_rules = 0;
  /// Former addresses of which stored spellings have several keys now.
  std::int64_t splits = 0;
  /// Some of the merges, by the key they share, and of the splits, by the former address.
  std::vector<std::vector<PlannedEntry>> merge_examples, split_examples;
};

/// Only reads. Memory: 64 bytes an entry, and 32 more for each older version of the rules.
/// second   reads what the built-in rules leave in one piece; null: nobody does
Result<RekeyPlan> plan_rekey(Store& store,
                             const KeyRing& ring,
                             SecondReader* second,
                             Deadline deadline);

struct RekeyReport {
  std::int64_t moved = 0;
  std::int64_t merged = 0;  // one of two entries is left
  std::int64_t stayed = 0;  // a call for the new key was on its way
  std::int64_t unread = 0;  // the second reader did not answer; they stay
};

/// Does what the plan says; may be stopped and run again at any time.
Result<RekeyReport> rekey_entries(Store& store,
                                  const KeyRing& ring,
                                  SecondReader* second,
                                  Deadline deadline);

}  // namespace geonce
