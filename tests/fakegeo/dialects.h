#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csv.h"
#include "http.h"

namespace fakegeo {

enum class Dialect { google, geocodio, nominatim, opencage, census, ban };
enum class Mode { single, batch };

std::string_view name_of(Dialect dialect);
std::string_view name_of(Mode mode);

struct Item {
  std::string ref;      // the caller's own key: Geocodio's object keys, the first Census column
  std::string text;     // the address that is billed
  std::string country;  // alpha-2 as asked, or the dialect's own
  Row cells;            // the row as sent, for the CSV batches
};

/// What one request asks, whichever dialect it was spelt in.
struct Ask {
  Dialect dialect = Dialect::google;
  Mode mode = Mode::single;
  std::vector<Item> items;        // in the order sent, at least one
  bool has_own_keys = false;      // Geocodio batch: an object instead of an array
  Row columns;                    // BAN batch: the header as sent
  char delimiter = ',';           // BAN batch
  std::optional<Answer> refusal;  // the provider would not even look: malformed, too long, too many
};

/// Nothing when no dialect has that path. `default_country` is for dialects that know several.
std::optional<Ask> read_ask(const Request& request, std::string_view default_country);

/// The order in which the answers of a batch come: indices into `Ask::items`.
/// US Census shuffles, the others keep the order.
std::vector<std::size_t> natural_order(const Ask& ask);

/// The answer that the texts' markers ask for (README.md). `version` moves every point: the data
/// of the provider at another time. `order` may leave items out or name them twice.
Answer answer(const Ask& ask, std::uint64_t version, const std::vector<std::size_t>& order);

/// Every address answered with the dialect's own form of "no such place".
Answer no_match(const Ask& ask);

/// The provider's own error body. `code` is what the dialect puts where it names the error
/// (Google's status); with `in_body` the HTTP status is 200 all the same.
Answer provider_error(
    Dialect dialect, int status, std::string_view code, std::string_view message, bool in_body);

}  // namespace fakegeo
