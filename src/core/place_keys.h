#pragma once

#include <vector>

#include "core/key.h"
#include "core/normalize.h"

namespace geonce {

/// The keys under which an owned address point is filed: as given, and without each of unit, postcode and
/// locality (admin goes with locality) in every combination that the point has.
std::vector<Key> place_keys(const Canonical& point);

/// The keys a question tries, finest first: as asked, then without its unit, without its postcode, without
/// its locality. A house number is never dropped.
std::vector<Key> place_questions(const Canonical& question);

}  // namespace geonce
