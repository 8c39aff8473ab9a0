#pragma once

#include <span>
#include <vector>

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

// The rules of buying, which are functions in the database (sql/postgres/003_take.sql and
// 004_end.sql): what goes there, and what comes back.

Result<std::vector<Taken>> take(PostgresWorkers& workers,
                                std::span<const TakeRequest> requests,
                                Deadline deadline);
Result<std::vector<Advanced>> advance(PostgresWorkers& workers,
                                      std::span<const AdvanceRequest> requests,
                                      Deadline deadline);
Result<std::vector<Committed>> commit(PostgresWorkers& workers,
                                      std::span<const CommitRequest> requests,
                                      Deadline deadline);
Result<std::vector<Released>> release(PostgresWorkers& workers,
                                      std::span<const ReleaseRequest> requests,
                                      Deadline deadline);

}  // namespace geonce
