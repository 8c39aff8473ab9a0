#include <fmt/format.h>

#include "store/postgres_answers.h"
#include "store/postgres_batches.h"
#include "store/postgres_ended.h"
#include "store/postgres_places.h"
#include "store/postgres_purchase.h"
#include "store/postgres_schema.h"
#include "store/postgres_upkeep.h"
#include "store/postgres_views.h"
#include "store/postgres_workers.h"
#include "store/store.h"

namespace geonce {
namespace {

class PostgresStore final : public Store {
 public:
  PostgresStore(const PostgresOptions& options,
                const Clock& clock,
                std::unique_ptr<PgConnection> first)
      : where_(pg_uri_masked(options.uri)),
        clock_(clock),
        workers_({{options.uri, options.password}, options.connections, options.patience},
                 std::move(first),
                 clock) {}

  Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots,
                                                 Deadline deadline) override {
    if (slots.empty()) return std::vector<std::optional<Found>>{};
    return geonce::find(workers_, slots, deadline);
  }
  Result<std::vector<Taken>> take(std::span<const TakeRequest> requests,
                                  Deadline deadline) override {
    if (requests.empty()) return std::vector<Taken>{};
    return geonce::take(workers_, requests, deadline);
  }
  Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest> requests,
                                        Deadline deadline) override {
    if (requests.empty()) return std::vector<Advanced>{};
    return geonce::advance(workers_, requests, deadline);
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> requests,
                                        Deadline deadline) override {
    if (requests.empty()) return std::vector<Committed>{};
    return geonce::commit(workers_, requests, deadline);
  }
  Result<std::vector<Released>> release(std::span<const ReleaseRequest> requests,
                                        Deadline deadline) override {
    if (requests.empty()) return std::vector<Released>{};
    return geonce::release(workers_, requests, deadline);
  }

  Result<std::size_t> invalidate(std::span<const Slot> slots, Deadline deadline) override {
    if (slots.empty()) return std::size_t{0};
    return geonce::invalidate(workers_, slots, deadline);
  }
  Result<Forgotten> forget(const ForgetRequest& request, Deadline deadline) override {
    return geonce::forget(workers_, request, deadline);
  }
  Result<std::vector<Rekeyed>> rekey(std::span<const Rekey> rekeys, Deadline deadline) override {
    if (rekeys.empty()) return std::vector<Rekeyed>{};
    return geonce::rekey(workers_, rekeys, deadline);
  }
  Result<void> pin(const Slot& slot,
                   const Answer& answer,
                   std::string_view query_json,
                   std::string_view pre_image,
                   const std::optional<Key>& building_key,
                   Deadline deadline) override {
    return geonce::pin(workers_, slot, answer, query_json, pre_image, building_key, deadline);
  }
  Result<std::vector<Imported>> import_entries(std::span<const EntryRow> entries,
                                               Deadline deadline) override {
    if (entries.empty()) return std::vector<Imported>();
    return geonce::import_entries(workers_, entries, deadline);
  }
  Result<EndedSince> ended_since(std::string_view cursor,
                                 std::size_t limit,
                                 Deadline deadline) override {
    return geonce::ended_since(workers_, cursor, limit, deadline);
  }
  Result<std::vector<EndedWindow>> untold(std::size_t limit, Deadline deadline) override {
    return geonce::untold(workers_, limit, deadline);
  }
  Result<void> told(std::span<const std::int64_t> numbers, Deadline deadline) override {
    if (numbers.empty()) return {};
    return geonce::told(workers_, numbers, deadline);
  }
  Result<std::size_t> reconcile(std::span<const Reconciliation> found, Deadline deadline) override {
    if (found.empty()) return std::size_t{0};
    return geonce::reconcile(workers_, found, deadline);
  }
  Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                               std::span<const IntentId> also,
                                               Deadline deadline) override {
    return geonce::open_intents(workers_, owner, also, deadline);
  }

  Result<std::optional<EntryRow>> entry(const Slot& slot, Deadline deadline) override {
    return read_entry_row(workers_, slot, deadline);
  }
  Result<std::vector<EntryRow>> entries(const EntryFilter& filter, Deadline deadline) override {
    return read_entry_rows(workers_, filter, deadline);
  }
  Result<std::vector<LedgerRow>> ledger(const LedgerFilter& filter, Deadline deadline) override {
    return read_ledger(workers_, filter, deadline);
  }
  Result<std::vector<LedgerSum>> ledger_sums(const LedgerFilter& filter,
                                             Deadline deadline) override {
    return sum_ledger(workers_, filter, deadline);
  }

  Result<void> load_places(std::string_view source,
                           bool replace_source,
                           std::span<const PlaceRow> rows,
                           Deadline deadline) override {
    return geonce::load_places(workers_, source, replace_source, rows, deadline);
  }
  Result<std::vector<std::optional<PlaceHit>>> find_places(std::span<const std::vector<Key>> keys,
                                                           Deadline deadline) override {
    return geonce::find_places(workers_, keys, deadline);
  }
  Result<PlacesStats> places_stats(Deadline deadline) override {
    return geonce::places_stats(workers_, deadline);
  }

  Result<BatchHead> open_batch(std::string_view identity,
                               std::string_view label,
                               BatchStart start,
                               Deadline deadline) override {
    return geonce::open_batch(workers_, identity, label, start, make_uuid(clock_), deadline);
  }
  Result<std::optional<std::string>> batch_chunk(const BatchId& id,
                                                 std::int64_t number,
                                                 Deadline deadline) override {
    return geonce::batch_chunk(workers_, id, number, deadline);
  }
  Result<void> save_chunks(const BatchId& id,
                           std::span<const BatchChunk> chunks,
                           Deadline deadline) override {
    return geonce::save_chunks(workers_, id, chunks, deadline);
  }
  Result<void> close_batch(const BatchHead& head, Deadline deadline) override {
    return geonce::close_batch(workers_, head, deadline);
  }
  Result<std::vector<BatchHead>> batches(std::size_t limit, Deadline deadline) override {
    return geonce::batches(workers_, limit, deadline);
  }

  Result<SweepReport> sweep(std::size_t limit, Deadline deadline) override {
    return geonce::sweep(workers_, limit, deadline);
  }
  Result<milliseconds> lease(std::string_view name,
                             const OwnerId& owner,
                             milliseconds life,
                             Deadline deadline) override {
    return geonce::lease(workers_, name, owner, life, deadline);
  }
  Result<void> refresh_counts(Deadline deadline) override {
    return geonce::refresh_counts(workers_, deadline);
  }
  Result<StoreStats> stats(Deadline deadline) override {
    StoreStats stats;
    stats.kind = "postgres";
    stats.where = where_;
    if (auto done = count_rows(workers_, stats, deadline); !done) return fail(done.error());
    return stats;
  }
  Result<void> check(Deadline deadline) override {
    return geonce::check(workers_, where_, deadline);
  }

 private:
  const std::string where_;
  const Clock& clock_;
  PostgresWorkers workers_;
};

// How long opening may take, beside the time of connecting.
constexpr milliseconds kOpenPatience{60'000};

const Clock& clock_of(const PostgresOptions& options) {
  return options.clock == nullptr ? system_clock() : *options.clock;
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  const Clock& clock = clock_of(options);
  auto connection = PgConnection::open({options.uri, options.password});
  if (!connection) return fail(connection.error());
  const auto deadline = Deadline::in(kOpenPatience, clock);
  auto schema = examine_schema(**connection, deadline, clock);
  if (!schema) return fail(schema.error());
  if (schema->state == PostgresSchema::State::older)
    return fail(ErrorCode::store_unavailable,
                "the store {} has the schema of an older geonce; run `geonce migrate` first, while "
                "the others go on",
                (*connection)->where());
  if (schema->state == PostgresSchema::State::none) {
    if (!options.create)
      return fail(ErrorCode::not_found,
                  "there is no store in the database {} yet; `geonce migrate` makes it",
                  (*connection)->where());
    if (auto made = bring_up_schema(**connection, deadline, clock); !made)
      return fail(made.error());
  }
  return std::make_unique<PostgresStore>(options, clock, std::move(*connection));
}

Result<std::vector<std::string>> migrate_postgres_store(const PostgresOptions& options) {
  const Clock& clock = clock_of(options);
  auto connection = PgConnection::open({options.uri, options.password});
  if (!connection) return fail(connection.error());
  const auto deadline = Deadline::in(kOpenPatience, clock);
  // What may not be used is not touched either: another server version, a newer schema.
  if (auto schema = examine_schema(**connection, deadline, clock); !schema)
    return fail(schema.error());
  return bring_up_schema(**connection, deadline, clock);
}

}  // namespace geonce
