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

/// A match that meets the rules, or the same answer turned into `rejected` with its reason. Never touches
/// no_match and ambiguous. A precision is capped before it is judged.
Answer judge(Answer answer, Country asked, const AcceptConfig& config);

/// Which of two answers of one chain is kept: match before rejected before ambiguous before no_match, then
/// precision, then confidence; the earlier one on a tie.
bool is_better(const Answer& candidate, const Answer& best);

}  // namespace geonce
