#pragma once

#include "providers/spec.h"
#include "providers/spec_table.h"

namespace geonce {

/// How many addresses are asked for in one call: the keys of `[bulk]`.
Bulk read_bulk(SpecTable& table);

}  // namespace geonce
