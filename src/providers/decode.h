#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/http_client.h"
#include "providers/provider.h"
#include "providers/spec.h"

namespace geonce {

/// One outcome per ask, in the order of the asks. Whatever the bytes are, only an answer that has
/// the shape the spec describes becomes a match or a no-match; what cannot be read is `unknown`.
std::vector<Outcome> decode(const Spec& spec,
                            const Transfer& transfer,
                            std::span<const ProviderAsk> asks,
                            bool bulk);

/// A bulk answer seen without its question.
struct BulkContents {
  std::optional<Outcome> refusal;  // the call as a whole was refused, or cannot be read
  std::vector<std::string> refs;  // of the items in the order they came; empty where they have none
};
BulkContents look_into_bulk(const Spec& spec, const HttpResponse& response);

}  // namespace geonce
