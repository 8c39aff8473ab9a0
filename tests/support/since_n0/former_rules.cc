#include "support/older_rules.h"

namespace geonce {

std::span<const FormerRules> former_rules() { return kSinceN0; }

}  // namespace geonce
