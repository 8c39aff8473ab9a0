#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace geonce {

/// The name=value pairs of a target's query (the form that HTML forms send), decoded.
class Parameters {
 public:
  /// Keeps the memory of the last one.
  /// errors    usage  a broken %-escape
  Result<void> read(std::string_view query);
  /// Empty values count as absent.
  [[nodiscard]] std::string_view value(std::string_view name) const;
  /// Every name is one of `known` and stands there once.
  /// errors    usage  naming the parameter
  [[nodiscard]] Result<void> only(std::span<const std::string_view> known) const;

 private:
  std::string_view decode(std::string_view text, bool& is_broken);

  std::string bytes_;
  std::vector<std::pair<std::string_view, std::string_view>> pairs_;
};

}  // namespace geonce
