#pragma once

#include "simulation/schedule.h"

namespace geonce::sim {

/// The fewest choices of a schedule that still break the same rule, found by taking choices back
/// (Zeller, Hildebrandt: "Simplifying and isolating failure-inducing input", TSE 2002). Returns
/// what `play` says with those alone, story and all. The schedule breaks a rule.
Report shrink(const Report& broken, const Defect& defect);

}  // namespace geonce::sim
