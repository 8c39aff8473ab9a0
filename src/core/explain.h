#pragma once

#include <string>

#include "core/normalize.h"
#include "core/query.h"

namespace geonce {

/// An account of one address for a person: what was taken for what, the pre-image with `␟` between
/// its parts, the key. Lines end with `\n`. Shows the address: not for logs.
std::string explain(const QueryView& query,
                    const Result<Canonical>& read,
                    const KeyRing& ring = KeyRing::plain());

/// The same as one JSON object without line breaks: `key`, `building_key`, `canonical` (a text with
/// this key), `mode`, `backend`, `country`, `fields` (those that are not empty), `quality`,
/// `pre_image`; or `error` with `code` and `message`.
std::string explain_json(const Result<Canonical>& read, Normalizer& normalizer);

/// Why two addresses have two keys, or that they have one: what differs, side by side.
std::string explain_difference(const Canonical& a, const Canonical& b);

}  // namespace geonce
