#pragma once

#include <optional>
#include <vector>

#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {

// The rules of buying, each as a part of one write transaction (docs/formats/store.md). Failures of
// the database stay with the connection; what these return then is dropped with the transaction.

Taken take(SqliteWork& work, const TakeRequest& request);
Advanced advance(SqliteWork& work, const AdvanceRequest& request);
Committed commit(SqliteWork& work, const CommitRequest& request);
Released release(SqliteWork& work, const ReleaseRequest& request);

/// Whether there was an entry that could be served.
bool invalidate(SqliteWork& work, const Slot& slot);
/// All but what batches hold.
Forgotten forget(SqliteWork& work, const Slot& slot);
Rekeyed rekey(SqliteWork& work, const Rekey& rekey);
void pin(SqliteWork& work,
         const Slot& slot,
         const Answer& answer,
         std::string_view query_json,
         std::string_view pre_image,
         const std::optional<Key>& building_key);

Imported import_entry(SqliteWork& work, const EntryRow& entry);

/// Whether the call was unknown, and is so no more.
bool reconcile(SqliteWork& work, const Reconciliation& found);

/// Only reads.
std::vector<OpenIntent> open_intents(SqliteWork& work,
                                     const OwnerId& owner,
                                     std::span<const IntentId> also);

}  // namespace geonce
