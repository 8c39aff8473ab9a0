#pragma once

#include <span>
#include <string>

#include "core/query.h"
#include "core/result.h"

namespace geonce {

/// The rules by which keys were made before the present ones. Only the present rules make the keys
/// that answers are filed under; these say where an older answer may still stand
/// (docs/formats/key.md, "Versions"; resolver/former_answers.h takes it over).
///
/// A new version is: the new rules in place of the present ones, with kKeyVersion one higher; the
/// old ones kept as they were, with their tables, in a folder of their own; their row in
/// former_rules.cc.
struct FormerRules {
  int version = 0;  // 1 of n1
  /// The pre-image this version made of an address. Any thread.
  /// errors    the address had no key by these rules
  Result<std::string> (*pre_image)(const QueryView& query) = nullptr;
};

/// All versions that answers may still be filed under, the youngest first.
std::span<const FormerRules> former_rules();

}  // namespace geonce
