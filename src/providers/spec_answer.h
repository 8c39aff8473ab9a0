#pragma once

#include "providers/spec.h"
#include "providers/spec_table.h"

namespace geonce {

/// How answers are read: the keys of `[answer]`, and the rules that stand as `[[no_match]]`,
/// `[[ambiguous]]`, `[[pending]]` and `[[error]]` in `rules`.
Reading read_reading(SpecTable& answer, SpecTable& rules);

}  // namespace geonce
