#pragma once

#include <vector>

#include "core/key.h"
#include "core/normalize.h"

namespace geonce {

// How an address finds a point its owner has loaded, by keys alone and without ever answering for
// another place. Country, road and house number must be equal. For unit, postcode, locality and
// admin:
//
//   question says it   point has it    they must be equal
//   question says it   point lacks it  passes: the point cannot tell. But of postcode and locality,
//   where the
//                                      question says any, one must be equal: a number and a street
//                                      alone are in a hundred towns.
//   question silent    point has it    passes; a point without a unit goes before those with one
//
// So no field the question says is ever dropped to reach a point that has another there. All points
// that pass alike are filed under one key, so whoever finds more than one place under it (places,
// not points: units may share theirs) has an ambiguous question, and must answer none.
//
// Free text in countries without a grammar is in one piece (`Mode::unparsed`); so is a road field
// that holds the number. It is read as street, number and town where the border between them is
// marked: by a comma, by the number behind the street, or by the postcode. Each word of it must
// then be confirmed. Readings that are not marked (`12 oak park ridge`) find nothing.

/// The keys under which an owned address point is filed. Empty: it has no street or no number, or
/// its street can be read in more than one way.
std::vector<Key> place_keys(const Canonical& point);

/// The keys a question tries, finest first; the first one that has any point decides. Empty: it
/// cannot be answered by a point (no street, no number, a box, a state without a town).
std::vector<Key> place_questions(const Canonical& question);

}  // namespace geonce
