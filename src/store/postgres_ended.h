#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

// Windows that ended before their time (sql/postgres/007_ended.sql).

Result<EndedSince> ended_since(PostgresWorkers& workers,
                               std::string_view cursor,
                               std::size_t limit,
                               Deadline deadline);
Result<std::vector<EndedWindow>> untold(PostgresWorkers& workers,
                                        std::size_t limit,
                                        Deadline deadline);
Result<void> told(PostgresWorkers& workers,
                  std::span<const std::int64_t> numbers,
                  Deadline deadline);

}  // namespace geonce
