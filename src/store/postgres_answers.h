#pragma once

#include <optional>
#include <span>
#include <vector>

#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {

// Reading answers, and changing them by hand (sql/postgres/005_answers.sql).

Result<std::vector<std::optional<Found>>> find(PostgresWorkers& workers,
                                               std::span<const Slot> slots,
                                               Deadline deadline);
Result<std::size_t> invalidate(PostgresWorkers& workers,
                               std::span<const Slot> slots,
                               Deadline deadline);
Result<Forgotten> forget(PostgresWorkers& workers, const ForgetRequest& request, Deadline deadline);
Result<std::vector<Rekeyed>> rekey(PostgresWorkers& workers,
                                   std::span<const Rekey> rekeys,
                                   Deadline deadline);
Result<void> pin(PostgresWorkers& workers,
                 const Slot& slot,
                 const Answer& answer,
                 std::string_view query_json,
                 std::string_view pre_image,
                 const std::optional<Key>& building_key,
                 Deadline deadline);
Result<std::vector<Imported>> import_entries(PostgresWorkers& workers,
                                             std::span<const EntryRow> entries,
                                             Deadline deadline);
Result<std::size_t> reconcile(PostgresWorkers& workers,
                              std::span<const Reconciliation> found,
                              Deadline deadline);
Result<std::vector<OpenIntent>> open_intents(PostgresWorkers& workers,
                                             const OwnerId& owner,
                                             std::span<const IntentId> also,
                                             Deadline deadline);

}  // namespace geonce
