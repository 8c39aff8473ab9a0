#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

#include "core/guarded.h"
#include "store/store.h"

namespace geonce {

/// A store behind a gate: each operation of a purchase asks `fault` first and fails with what it
/// says.
class FaultyStore : public Store {
 public:
  explicit FaultyStore(Store& store) : store_(store) {}

  /// operation   find, take, advance, commit, release, rekey, entry, find_places,
  ///             ended_since, untold, told
  void set_fault(std::function<std::optional<Error>(std::string_view operation)> fault) {
    fault_.with([&](auto& present) { present = std::move(fault); });
  }
  /// Slots that `find` was asked for.
  std::atomic<std::int64_t> slots_read{0};

  Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots, Deadline d) override {
    slots_read += static_cast<std::int64_t>(slots.size());
    if (auto error = fault("find")) return fail(std::move(*error));
    return store_.find(slots, d);
  }
  Result<std::vector<Taken>> take(std::span<const TakeRequest> r, Deadline d) override {
    if (auto error = fault("take")) return fail(std::move(*error));
    return store_.take(r, d);
  }
  Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest> r, Deadline d) override {
    if (auto error = fault("advance")) return fail(std::move(*error));
    return store_.advance(r, d);
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> r, Deadline d) override {
    if (auto error = fault("commit")) return fail(std::move(*error));
    return store_.commit(r, d);
  }
  Result<std::vector<Released>> release(std::span<const ReleaseRequest> r, Deadline d) override {
    if (auto error = fault("release")) return fail(std::move(*error));
    return store_.release(r, d);
  }
  Result<std::vector<std::optional<PlaceHit>>> find_places(std::span<const std::vector<Key>> keys,
                                                           Deadline d) override {
    if (auto error = fault("find_places")) return fail(std::move(*error));
    return store_.find_places(keys, d);
  }

  Result<std::vector<Rekeyed>> rekey(std::span<const Rekey> rekeys, Deadline d) override {
    if (auto error = fault("rekey")) return fail(std::move(*error));
    return store_.rekey(rekeys, d);
  }
  Result<std::size_t> invalidate(std::span<const Slot> slots, Deadline d) override {
    return store_.invalidate(slots, d);
  }
  Result<Forgotten> forget(const ForgetRequest& request, Deadline d) override {
    return store_.forget(request, d);
  }
  Result<void> pin(const Slot& slot,
                   const Answer& answer,
                   std::string_view query_json,
                   std::string_view pre_image,
                   const std::optional<Key>& building_key,
                   Deadline d) override {
    return store_.pin(slot, answer, query_json, pre_image, building_key, d);
  }
  Result<std::vector<Imported>> import_entries(std::span<const EntryRow> entries,
                                               Deadline d) override {
    return store_.import_entries(entries, d);
  }
  Result<EndedSince> ended_since(std::string_view cursor, std::size_t limit, Deadline d) override {
    if (auto error = fault("ended_since")) return fail(std::move(*error));
    return store_.ended_since(cursor, limit, d);
  }
  Result<std::vector<EndedWindow>> untold(std::size_t limit, Deadline d) override {
    if (auto error = fault("untold")) return fail(std::move(*error));
    return store_.untold(limit, d);
  }
  Result<void> told(std::span<const std::int64_t> numbers, Deadline d) override {
    if (auto error = fault("told")) return fail(std::move(*error));
    return store_.told(numbers, d);
  }
  Result<std::size_t> reconcile(std::span<const Reconciliation> found, Deadline d) override {
    return store_.reconcile(found, d);
  }
  Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                               std::span<const IntentId> also,
                                               Deadline d) override {
    return store_.open_intents(owner, also, d);
  }
  Result<std::optional<EntryRow>> entry(const Slot& slot, Deadline d) override {
    if (auto error = fault("entry")) return fail(std::move(*error));
    return store_.entry(slot, d);
  }
  Result<std::vector<EntryRow>> entries(const EntryFilter& filter, Deadline d) override {
    return store_.entries(filter, d);
  }
  Result<std::vector<LedgerRow>> ledger(const LedgerFilter& filter, Deadline d) override {
    return store_.ledger(filter, d);
  }
  Result<std::vector<LedgerSum>> ledger_sums(const LedgerFilter& filter, Deadline d) override {
    return store_.ledger_sums(filter, d);
  }
  Result<void> load_places(std::string_view source,
                           bool replace,
                           std::span<const PlaceRow> rows,
                           Deadline d) override {
    return store_.load_places(source, replace, rows, d);
  }
  Result<PlacesStats> places_stats(Deadline d) override { return store_.places_stats(d); }
  Result<BatchHead> open_batch(std::string_view identity,
                               std::string_view label,
                               BatchStart start,
                               Deadline d) override {
    return store_.open_batch(identity, label, start, d);
  }
  Result<std::optional<std::string>> batch_chunk(const BatchId& id,
                                                 std::int64_t number,
                                                 Deadline d) override {
    return store_.batch_chunk(id, number, d);
  }
  Result<void> save_chunks(const BatchId& id,
                           std::span<const BatchChunk> chunks,
                           Deadline d) override {
    return store_.save_chunks(id, chunks, d);
  }
  Result<void> close_batch(const BatchHead& head, Deadline d) override {
    return store_.close_batch(head, d);
  }
  Result<std::vector<BatchHead>> batches(std::size_t limit, Deadline d) override {
    return store_.batches(limit, d);
  }
  Result<SweepReport> sweep(std::size_t limit, Deadline d) override {
    return store_.sweep(limit, d);
  }
  Result<milliseconds> lease(std::string_view name,
                             const OwnerId& owner,
                             milliseconds life,
                             Deadline d) override {
    return store_.lease(name, owner, life, d);
  }
  Result<StoreStats> stats(Deadline d) override { return store_.stats(d); }
  Result<void> check(Deadline d) override { return store_.check(d); }

 private:
  std::optional<Error> fault(std::string_view operation) {
    const auto fault = fault_.with([](const auto& present) { return present; });
    return fault ? fault(operation) : std::nullopt;
  }

  Store& store_;
  Guarded<std::function<std::optional<Error>(std::string_view)>> fault_;
};

}  // namespace geonce
