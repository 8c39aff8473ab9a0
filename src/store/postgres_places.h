#pragma once

#include <optional>
#include <span>
#include <vector>

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

Result<void> load_places(PostgresWorkers& workers,
                         std::string_view source,
                         bool replace_source,
                         std::span<const PlaceRow> rows,
                         Deadline deadline);
Result<std::vector<std::optional<PlaceHit>>> find_places(PostgresWorkers& workers,
                                                         std::span<const std::vector<Key>> keys,
                                                         Deadline deadline);
Result<PlacesStats> places_stats(PostgresWorkers& workers, Deadline deadline);

}  // namespace geonce
