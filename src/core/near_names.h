#pragma once

#include <span>
#include <string>
#include <string_view>

namespace geonce {

/// Edits (insert, drop, replace, swap of neighbours) between two words, ASCII case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// ` (did you mean "rooftop"?)` with the nearest of `names`, or nothing when none is near: for the
/// end of an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace geonce
