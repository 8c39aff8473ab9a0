#pragma once

#include <chrono>

#include "core/answer.h"
#include "core/key.h"
#include "core/life.h"
#include "core/normalize.h"
#include "core/terms.h"

namespace geonce {

/// The `[life]` table of the config, with its defaults (docs/reference/config.md).
struct LifeConfig {
  std::chrono::hours rooftop{24 * 180}, parcel{24 * 180}, interpolated{24 * 60}, street{24 * 30};
  std::chrono::hours postcode{24 * 14}, locality{24 * 14}, region{24 * 14}, country{24 * 14};
  std::chrono::hours unknown{24 * 14}, rejected{24 * 7}, ambiguous{24 * 7}, weak_input{24 * 30};
  std::chrono::minutes no_match_first{4 * 60};
  std::chrono::hours no_match_most{24 * 30};
  std::chrono::hours stale{24 * 180};  // beyond fresh, inside the terms
  double jitter = 0.15;                // only downwards, derived from the key
  double low_confidence = 0.5;         // below: half the life
  std::chrono::hours fallback{24};     // an answer given because an earlier provider was down
};

struct LifeInput {
  const Answer& answer;  // as judged, before `keep_allowed`: an unsure answer lives shorter
  Key key;
  Quality quality = Quality::none;
  int no_match_streak = 0;    // explicit no-matches in a row, this one not counted
  bool earlier_down = false;  // an earlier provider of the chain could not be asked
  const Terms& terms;
};

/// Decided once, at the commit. Half the life at low confidence, at most `weak_input` for a PO box,
/// a rural route, unparsed input or one without a locality, at most `fallback` when an earlier
/// provider was down; then jitter; nothing outlives the terms. `erase` is where `stale` ends.
/// `erase` 0: the terms allow no storage, or not of the coordinates an answer would be worthless
/// without.
Life life_of(const LifeInput& input, const LifeConfig& config);

/// The answer with only those fields that the terms allow to keep. `keep_fields` may name lat and
/// lon (both or neither), confidence, formatted, place_id, country, house_number, street, unit,
/// city, state, postcode. What we concluded ourselves stays: kind, provider, precision, partial,
/// reason.
Answer keep_allowed(const Answer& answer, const Terms& terms);

}  // namespace geonce
