#include "support/model_store/model_store.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "support/model_store/model_world.h"

namespace geonce {
namespace {

const Slot& slot_of(const Slot& slot) { return slot; }
template <class Request>
const Slot& slot_of(const Request& request) {
  return request.slot;
}

class ModelStore final : public Store {
 public:
  ModelStore(std::shared_ptr<ModelWorld> world, const Clock& clock)
      : world_(std::move(world)), clock_(clock) {}

  Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots,
                                                 Deadline deadline) override {
    return each<std::optional<Found>>(
        slots, deadline, [](auto& world, const auto& slot, UtcMs now) {
          return world.find(slot, now);
        });
  }
  Result<std::vector<Taken>> take(std::span<const TakeRequest> requests,
                                  Deadline deadline) override {
    std::optional<IntentId> used_before;
    auto taken = each<Taken>(requests, deadline, [&](auto& world, const auto& request, UtcMs now) {
      auto one = world.take(request, now);
      if (!one) used_before = request.intent;
      return std::move(one).value_or(Taken{});
    });
    if (used_before)
      return fail(ErrorCode::internal,
                  "the intent {} has been used before; each attempt needs its own",
                  to_string(*used_before));
    return taken;
  }
  Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest> requests,
                                        Deadline deadline) override {
    return each<Advanced>(requests, deadline, [](auto& world, const auto& request, UtcMs now) {
      return world.advance(request, now);
    });
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> requests,
                                        Deadline deadline) override {
    return each<Committed>(requests, deadline, [](auto& world, const auto& request, UtcMs now) {
      return world.commit(request, now);
    });
  }
  Result<std::vector<Released>> release(std::span<const ReleaseRequest> requests,
                                        Deadline deadline) override {
    return each<Released>(requests, deadline, [](auto& world, const auto& request, UtcMs now) {
      return world.release(request, now);
    });
  }

  Result<std::size_t> invalidate(std::span<const Slot> slots, Deadline deadline) override {
    std::size_t had = 0;
    auto done = each<char>(slots, deadline, [&](auto& world, const auto& slot, UtcMs now) {
      had += world.invalidate(slot, now) ? 1 : 0;
      return '\0';
    });
    if (!done) return fail(std::move(done.error()));
    return had;
  }
  Result<Forgotten> forget(const ForgetRequest& request, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) { return world.forget(request, now); });
  }
  Result<std::vector<Rekeyed>> rekey(std::span<const Rekey> rekeys, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) {
      std::vector<Rekeyed> moved;
      for (const Rekey& rekey : rekeys) moved.push_back(world.rekey(rekey, now));
      return moved;
    });
  }
  Result<void> pin(const Slot& slot,
                   const Answer& answer,
                   std::string_view query_json,
                   std::string_view pre_image,
                   const std::optional<Key>& building_key,
                   Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) {
      world.pin(slot, answer, query_json, pre_image, building_key, now);
    });
  }
  Result<std::vector<Imported>> import_entries(std::span<const EntryRow> entries,
                                               Deadline deadline) override {
    return each<Imported>(entries, deadline, [](auto& world, const EntryRow& entry, UtcMs now) {
      return world.import_entry(entry, now);
    });
  }
  Result<EndedSince> ended_since(std::string_view cursor,
                                 std::size_t limit,
                                 Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { return world.ended_since(cursor, limit); });
  }
  Result<std::vector<EndedWindow>> untold(std::size_t limit, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { return world.untold(limit); });
  }
  Result<void> told(std::span<const std::int64_t> numbers, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { world.told(numbers); });
  }
  Result<std::size_t> reconcile(std::span<const Reconciliation> found, Deadline deadline) override {
    std::size_t were_unknown = 0;
    auto done = each<char>(found, deadline, [&](auto& world, const auto& one, UtcMs now) {
      were_unknown += world.reconcile(one, now) ? 1 : 0;
      return '\0';
    });
    if (!done) return fail(std::move(done.error()));
    return were_unknown;
  }

  Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                               std::span<const IntentId> also,
                                               Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { return world.open_intents(owner, also); });
  }
  Result<std::optional<EntryRow>> entry(const Slot& slot, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) { return world.entry(slot, now); });
  }
  Result<std::vector<EntryRow>> entries(const EntryFilter& filter, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) { return world.entries(filter, now); });
  }
  Result<std::vector<LedgerRow>> ledger(const LedgerFilter& filter, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { return world.ledger(filter); });
  }
  Result<std::vector<LedgerSum>> ledger_sums(const LedgerFilter& filter,
                                             Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { return world.ledger_sums(filter); });
  }

  Result<void> load_places(std::string_view source,
                           bool replace_source,
                           std::span<const PlaceRow> rows,
                           Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) {
      world.load_places(source, replace_source, rows, now);
    });
  }
  Result<std::vector<std::optional<PlaceHit>>> find_places(std::span<const std::vector<Key>> keys,
                                                           Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) {
      std::vector<std::optional<PlaceHit>> hits;
      for (const auto& list : keys) hits.push_back(world.find_place(list));
      return hits;
    });
  }
  Result<PlacesStats> places_stats(Deadline deadline) override {
    return with(deadline, [](auto& world, UtcMs) { return world.places_stats(); });
  }

  Result<BatchHead> open_batch(std::string_view identity,
                               std::string_view label,
                               BatchStart start,
                               Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) {
      return world.open_batch(identity, label, start, make_uuid(clock_), now);
    });
  }
  Result<std::optional<std::string>> batch_chunk(const BatchId& id,
                                                 std::int64_t number,
                                                 Deadline deadline) override {
    return with(deadline,
                [&](auto& world, UtcMs now) { return world.batch_chunk(id, number, now); });
  }
  Result<void> save_chunks(const BatchId& id,
                           std::span<const BatchChunk> chunks,
                           Deadline deadline) override {
    return known(id, with(deadline, [&](auto& world, UtcMs now) {
                   return world.save_chunks(id, chunks, now);
                 }));
  }
  Result<void> close_batch(const BatchHead& head, Deadline deadline) override {
    return known(head.id, with(deadline, [&](auto& world, UtcMs now) {
                   return world.close_batch(head, now);
                 }));
  }
  Result<std::vector<BatchHead>> batches(std::size_t limit, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs) { return world.batches(limit); });
  }

  Result<SweepReport> sweep(std::size_t limit, Deadline deadline) override {
    return with(deadline, [&](auto& world, UtcMs now) { return world.sweep(limit, now); });
  }
  Result<milliseconds> lease(std::string_view name,
                             const OwnerId& owner,
                             milliseconds life,
                             Deadline deadline) override {
    return with(deadline,
                [&](auto& world, UtcMs now) { return world.lease(name, owner, life, now); });
  }
  Result<StoreStats> stats(Deadline deadline) override {
    return with(deadline, [](auto& world, UtcMs) { return world.stats(); });
  }
  Result<void> check(Deadline deadline) override {
    return with(deadline, [](auto&, UtcMs) {});  // maps do not break
  }

 private:
  template <class F>
  auto with(Deadline deadline, F&& what) -> Result<std::invoke_result_t<F, ModelWorld&, UtcMs>> {
    if (deadline.has_passed(clock_))
      return fail(ErrorCode::deadline_exceeded, "the deadline had passed; nothing was changed");
    const std::lock_guard lock(world_->mutex);
    if constexpr (std::is_void_v<std::invoke_result_t<F, ModelWorld&, UtcMs>>) {
      what(*world_, clock_.now_utc());
      return {};
    } else {
      return what(*world_, clock_.now_utc());
    }
  }

  /// In the order of their slots, as the contract has it; results in the order asked.
  template <class Out, class Request, class F>
  Result<std::vector<Out>> each(std::span<const Request> requests, Deadline deadline, F&& what) {
    return with(deadline, [&](ModelWorld& world, UtcMs now) {
      std::vector<Out> out(requests.size());
      std::vector<std::size_t> order(requests.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return slot_of(requests[a]) < slot_of(requests[b]);
      });
      for (const std::size_t i : order) out[i] = what(world, requests[i], now);
      return out;
    });
  }

  static Result<void> known(const BatchId& id, Result<bool> is_known) {
    if (!is_known) return fail(std::move(is_known.error()));
    if (!*is_known) return fail(ErrorCode::not_found, "the store has no batch {}", to_string(id));
    return {};
  }

  const std::shared_ptr<ModelWorld> world_;
  const Clock& clock_;
};

}  // namespace

std::shared_ptr<ModelWorld> make_model_world() { return std::make_shared<ModelWorld>(); }

std::unique_ptr<Store> open_model_store(std::shared_ptr<ModelWorld> world, const Clock& clock) {
  return std::make_unique<ModelStore>(std::move(world), clock);
}

void set_defect(ModelWorld& world, ModelDefect defect) { world.defect = defect; }

}  // namespace geonce
