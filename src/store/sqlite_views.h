#pragma once

#include <optional>
#include <vector>

#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {

// Entries and the ledger as a person looks at them. All of these only read.

/// Tombstones are shown, what is past `erase_after` is not.
std::optional<EntryRow> read_entry_row(SqliteWork& work, const Slot& slot);
std::vector<EntryRow> read_entry_rows(SqliteWork& work, const EntryFilter& filter);

std::vector<LedgerRow> read_ledger(SqliteWork& work, const LedgerFilter& filter);
std::vector<LedgerSum> sum_ledger(SqliteWork& work, const LedgerFilter& filter);

}  // namespace geonce
