#pragma once

#include <chrono>
#include <optional>

#include "core/answer.h"
#include "store/store.h"

namespace geonce {

/// The name of the built-in provider that answers from address points the user owns.
inline constexpr std::string_view kPlacesName = "places";

/// The user's own data has no terms: a copy may be kept for as long as anybody cares.
inline constexpr std::chrono::hours kOwnDataKeep{24 * 365 * 100};

/// A match where there is one point, ambiguous where there are several, no_match where there is
/// none.
Answer answer_of(const std::optional<PlaceHit>& hit);

}  // namespace geonce
