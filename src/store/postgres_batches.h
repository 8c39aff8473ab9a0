#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

Result<BatchHead> open_batch(PostgresWorkers& workers,
                             std::string_view identity,
                             std::string_view label,
                             BatchStart start,
                             const BatchId& new_id,
                             Deadline deadline);
Result<std::optional<std::string>> batch_chunk(PostgresWorkers& workers,
                                               const BatchId& id,
                                               std::int64_t number,
                                               Deadline deadline);
Result<void> save_chunks(PostgresWorkers& workers,
                         const BatchId& id,
                         std::span<const BatchChunk> chunks,
                         Deadline deadline);
Result<void> close_batch(PostgresWorkers& workers, const BatchHead& head, Deadline deadline);
Result<std::vector<BatchHead>> batches(PostgresWorkers& workers,
                                       std::size_t limit,
                                       Deadline deadline);

}  // namespace geonce
