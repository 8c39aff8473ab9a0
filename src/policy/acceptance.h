#pragma once

#include <optional>
#include <string>

#include "core/answer.h"
#include "core/country.h"

namespace geonce {

/// The `[accept]` table of the config.
struct AcceptConfig {
  Precision floor = Precision::locality;  // coarser matches are `rejected`
  double min_confidence = 0;              // only where the provider reports one
  bool partial_is_street = true;          // a partial match is no better than `street`
  bool allow_zero_zero = false;           // 0,0 is an invalid result unless asked for
};

/// A match that meets the rules, or the same answer turned into `rejected` with its reason. Only a
/// match is judged. A precision is capped before it is judged; invalid coordinates and 0,0 are
/// taken off. asked     ZZ accepts every country, as does an answer that names none
Answer judge(Answer answer, Country asked, const AcceptConfig& config);

/// Which of two answers of one chain is kept: match before rejected before ambiguous before
/// no_match, then precision, then confidence where both have one; the earlier one on a tie.
bool is_better(const Answer& candidate, const Answer& best);

}  // namespace geonce
