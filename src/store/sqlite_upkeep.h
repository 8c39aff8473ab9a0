#pragma once

#include <string>
#include <vector>

#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {

/// Erases entries, no-matches and spent claims that are past their life, at most `limit` of each
/// kind.
void sweep_entries(SqliteWork& work, std::size_t limit, SweepReport& report);

/// Store::lease.
milliseconds lease(SqliteWork& work,
                   std::string_view name,
                   const OwnerId& owner,
                   milliseconds life);

/// Fills in how many rows there are of what.
void count_rows(SqliteWork& work, StoreStats& stats);

/// Reads everything once. What is wrong, in words; at most a handful.
std::vector<std::string> check(SqliteWork& work);

}  // namespace geonce
