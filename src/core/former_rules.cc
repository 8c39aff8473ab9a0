#include "core/former_rules.h"

namespace geonce {

// Alone in this file: a program of the tests has a version n0 in its place.
std::span<const FormerRules> former_rules() { return {}; }

}  // namespace geonce
