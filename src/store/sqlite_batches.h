#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {

/// `new_id` becomes the id of a batch that has to be made.
BatchHead open_batch(SqliteWork& work,
                     std::string_view identity,
                     std::string_view label,
                     BatchStart start,
                     const BatchId& new_id);
std::optional<std::string> batch_chunk(SqliteWork& work, const BatchId& id, std::int64_t number);
/// false: there is no such batch, and nothing was written.
bool save_chunks(SqliteWork& work, const BatchId& id, std::span<const BatchChunk> chunks);
/// false: there is no such batch.
bool close_batch(SqliteWork& work, const BatchHead& head);
std::vector<BatchHead> batches(SqliteWork& work, std::size_t limit);

/// Erases chunks that have one of these keys in them, and sees to it that batches which are under
/// way file no more of them. Returns how many.
std::int64_t forget_in_batches(SqliteWork& work, std::span<const Key> keys);

/// Erases chunks past their life, and heads that have had no chunk and no change for long.
void sweep_batches(SqliteWork& work, std::size_t limit, SweepReport& report);

}  // namespace geonce
