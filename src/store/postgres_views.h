#pragma once

#include <optional>
#include <vector>

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

Result<std::optional<EntryRow>> read_entry_row(PostgresWorkers& workers,
                                               const Slot& slot,
                                               Deadline deadline);
Result<std::vector<EntryRow>> read_entry_rows(PostgresWorkers& workers,
                                              const EntryFilter& filter,
                                              Deadline deadline);
Result<std::vector<LedgerRow>> read_ledger(PostgresWorkers& workers,
                                           const LedgerFilter& filter,
                                           Deadline deadline);
Result<std::vector<LedgerSum>> sum_ledger(PostgresWorkers& workers,
                                          const LedgerFilter& filter,
                                          Deadline deadline);

}  // namespace geonce
