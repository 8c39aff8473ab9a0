#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace geonce {

/// Name and text of each file in src/providers/specs/; the build makes the table
/// (cmake/EmbedSpecs.cmake).
std::span<const std::pair<std::string_view, std::string_view>> builtin_specs();

}  // namespace geonce
