#pragma once

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

Result<SweepReport> sweep(PostgresWorkers& workers, std::size_t limit, Deadline deadline);
Result<milliseconds> lease(PostgresWorkers& workers,
                           std::string_view name,
                           const OwnerId& owner,
                           milliseconds life,
                           Deadline deadline);
Result<void> refresh_counts(PostgresWorkers& workers, Deadline deadline);
/// Fills what is counted in the database, its size and the server's version.
Result<void> count_rows(PostgresWorkers& workers, StoreStats& stats, Deadline deadline);
/// errors    store_corrupt  the first of what it found
Result<void> check(PostgresWorkers& workers, const std::string& where, Deadline deadline);

}  // namespace geonce
