#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/key_ring.h"
#include "core/normalize.h"
#include "core/query.h"
#include "store/store.h"

namespace geonce {

// When rules or secrets change, or a second reader reads what was in one piece, an address gets
// another key, and its answer still stands under the one it had (docs/formats/key.md, "Versions").
// Which keys these may be, KeyRing::former says. What stands there was bought for one spelling,
// which the entry keeps, and belongs to the address that *this* spelling is now, whatever else the
// older rules took for the same.

/// Where an entry belongs by the present rules, reader and secret.
/// errors    those of Normalizer::normalize: its spelling has no key, or was not read
Result<Rekey> refiled(const EntryRow& entry, Normalizer& normalizer);

/// An address that has no good answer under its present key. Views: the bytes are the caller's.
struct Missing {
  Slot slot;
  QueryView query;
  std::string_view pre_image = {};  // as in Ask
};

/// An answer that one of them has under a former key.
struct FormerAnswer {
  std::size_t of = 0;  // which of the missing ones
  EntryRow entry;
  Rekey rekey;  // takes it to the present key
};

/// Only reads. Asks no second reader: spellings that are one by the built-in rules are one by it.
/// errors    of the store
Result<std::vector<FormerAnswer>> find_former_answers(Store& store,
                                                      const KeyRing& ring,
                                                      std::span<const Missing> missing,
                                                      Deadline deadline);

/// Files them under their present keys, where Store::find has them from then on.
/// returns   whether any may have come
/// errors    of the store
Result<bool> take_over_former_answers(Store& store,
                                      const KeyRing& ring,
                                      std::span<const Missing> missing,
                                      Deadline deadline);

/// The keys under which what is known of an address may stand besides its present one.
std::vector<Key> former_keys(const KeyRing& ring, const Missing& missing);

}  // namespace geonce
