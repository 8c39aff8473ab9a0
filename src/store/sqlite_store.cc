#include <algorithm>
#include <filesystem>
#include <numeric>

#include <sys/stat.h>

#include "io/failpoint.h"
#include "io/sqlite.h"
#include "store/sqlite_batches.h"
#include "store/sqlite_ended.h"
#include "store/sqlite_file.h"
#include "store/sqlite_places.h"
#include "store/sqlite_purchase.h"
#include "store/sqlite_readers.h"
#include "store/sqlite_rows.h"
#include "store/sqlite_upkeep.h"
#include "store/sqlite_views.h"
#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {
namespace {

const Slot& slot_of(const Slot& slot) { return slot; }
template <class Request>
const Slot& slot_of(const Request& request) {
  return request.slot;
}

/// The indices of `requests` in the order of their slots; equal slots stay in the order asked.
template <class Request>
std::vector<std::uint32_t> by_slot(std::span<const Request> requests) {
  std::vector<std::uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return slot_of(requests[a]) < slot_of(requests[b]);
  });
  return order;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(SqliteOptions options,
              const Clock& clock,
              std::unique_ptr<SqliteDb> writer,
              std::vector<std::unique_ptr<SqliteDb>> readers)
      : options_(std::move(options)),
        writer_(std::move(writer), clock),
        readers_(std::move(readers), clock),
        clock_(clock) {}

  Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots,
                                                 Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) {
      std::vector<std::optional<Found>> found(slots.size());
      static const std::string kSql =
          fmt::format("SELECT {} FROM entry WHERE pool = ? AND key = ?", kFoundColumns);
      auto row = work.db.prepare(kSql);
      std::optional<std::uint32_t> last;
      for (const auto index : by_slot(slots)) {
        if (last && slots[*last] == slots[index]) {
          found[index] = found[*last];
          continue;
        }
        row.bind(slots[index].pool, blob(slots[index].key));
        if (row.step()) found[index] = found_from(row, work.now);
        row.rewind();
        last = index;
      }
      return found;
    });
  }

  Result<std::vector<Taken>> take(std::span<const TakeRequest> requests,
                                  Deadline deadline) override {
    return for_each<Taken>(requests, deadline, geonce::take, FailPoint::take_open);
  }
  Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest> requests,
                                        Deadline deadline) override {
    return for_each<Advanced>(requests, deadline, geonce::advance);
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> requests,
                                        Deadline deadline) override {
    return for_each<Committed>(requests, deadline, geonce::commit, FailPoint::commit_open);
  }
  Result<std::vector<Released>> release(std::span<const ReleaseRequest> requests,
                                        Deadline deadline) override {
    return for_each<Released>(requests, deadline, geonce::release);
  }

  Result<std::size_t> invalidate(std::span<const Slot> slots, Deadline deadline) override {
    auto had = for_each<char>(slots, deadline, geonce::invalidate);
    if (!had) return fail(had.error());
    return static_cast<std::size_t>(std::count(had->begin(), had->end(), 1));
  }
  Result<Forgotten> forget(const ForgetRequest& request, Deadline deadline) override {
    Forgotten forgotten;
    std::vector<Key> keys = request.former;
    keys.push_back(request.slot.key);
    auto done = writer_.run(request.slot, keys.size(), deadline, [&](SqliteWork& work) {
      forgotten = geonce::forget(work, request.slot);
      forgotten.chunks = forget_in_batches(work, keys);
    });
    if (!done) return fail(done.error());
    return forgotten;
  }
  Result<std::vector<Rekeyed>> rekey(std::span<const Rekey> rekeys, Deadline deadline) override {
    std::vector<Rekeyed> moved(rekeys.size());
    if (rekeys.empty()) return moved;
    auto done = writer_.run(rekeys.front().to, rekeys.size(), deadline, [&](SqliteWork& work) {
      for (std::size_t i = 0; i < rekeys.size() && !work.db.has_failed(); ++i)
        moved[i] = geonce::rekey(work, rekeys[i]);
    });
    if (!done) return fail(done.error());
    return moved;
  }
  Result<void> pin(const Slot& slot,
                   const Answer& answer,
                   std::string_view query_json,
                   std::string_view pre_image,
                   const std::optional<Key>& building_key,
                   Deadline deadline) override {
    return writer_.run(slot, 1, deadline, [&](SqliteWork& work) {
      geonce::pin(work, slot, answer, query_json, pre_image, building_key);
    });
  }

  Result<std::vector<Imported>> import_entries(std::span<const EntryRow> entries,
                                               Deadline deadline) override {
    return for_each<Imported>(entries, deadline, geonce::import_entry);
  }

  Result<EndedSince> ended_since(std::string_view cursor,
                                 std::size_t limit,
                                 Deadline deadline) override {
    return read(deadline,
                [&](SqliteWork& work) { return geonce::ended_since(work, cursor, limit); });
  }
  Result<std::vector<EndedWindow>> untold(std::size_t limit, Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return geonce::untold(work, limit); });
  }
  Result<void> told(std::span<const std::int64_t> numbers, Deadline deadline) override {
    if (numbers.empty()) return {};
    return writer_.run(
        {}, numbers.size(), deadline, [&](SqliteWork& work) { geonce::told(work, numbers); });
  }

  Result<std::size_t> reconcile(std::span<const Reconciliation> found, Deadline deadline) override {
    auto were_unknown = for_each<char>(found, deadline, geonce::reconcile);
    if (!were_unknown) return fail(were_unknown.error());
    return static_cast<std::size_t>(std::count(were_unknown->begin(), were_unknown->end(), 1));
  }

  Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                               std::span<const IntentId> also,
                                               Deadline deadline) override {
    return read(deadline,
                [&](SqliteWork& work) { return geonce::open_intents(work, owner, also); });
  }

  Result<std::optional<EntryRow>> entry(const Slot& slot, Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return read_entry_row(work, slot); });
  }
  Result<std::vector<EntryRow>> entries(const EntryFilter& filter, Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return read_entry_rows(work, filter); });
  }
  Result<std::vector<LedgerRow>> ledger(const LedgerFilter& filter, Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return read_ledger(work, filter); });
  }
  Result<std::vector<LedgerSum>> ledger_sums(const LedgerFilter& filter,
                                             Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return sum_ledger(work, filter); });
  }

  Result<void> load_places(std::string_view source,
                           bool replace_source,
                           std::span<const PlaceRow> rows,
                           Deadline deadline) override {
    return writer_.run({}, rows.size(), deadline, [&](SqliteWork& work) {
      geonce::load_places(work, source, replace_source, rows);
    });
  }
  Result<std::vector<std::optional<PlaceHit>>> find_places(std::span<const std::vector<Key>> keys,
                                                           Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return geonce::find_places(work, keys); });
  }
  Result<PlacesStats> places_stats(Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return geonce::places_stats(work); });
  }

  Result<BatchHead> open_batch(std::string_view identity,
                               std::string_view label,
                               BatchStart start,
                               Deadline deadline) override {
    const BatchId fresh_id = make_uuid(clock_);
    BatchHead head;
    auto done = writer_.run({}, 1, deadline, [&](SqliteWork& work) {
      head = geonce::open_batch(work, identity, label, start, fresh_id);
    });
    if (!done) return fail(done.error());
    return head;
  }
  Result<std::optional<std::string>> batch_chunk(const BatchId& id,
                                                 std::int64_t number,
                                                 Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return geonce::batch_chunk(work, id, number); });
  }
  Result<void> save_chunks(const BatchId& id,
                           std::span<const BatchChunk> chunks,
                           Deadline deadline) override {
    bool is_known = false;
    auto done = writer_.run({}, chunks.size(), deadline, [&](SqliteWork& work) {
      is_known = geonce::save_chunks(work, id, chunks);
    });
    if (done && !is_known) return no_batch(id);
    return done;
  }
  Result<void> close_batch(const BatchHead& head, Deadline deadline) override {
    bool is_known = false;
    auto done = writer_.run(
        {}, 1, deadline, [&](SqliteWork& work) { is_known = geonce::close_batch(work, head); });
    if (done && !is_known) return no_batch(head.id);
    return done;
  }
  Result<std::vector<BatchHead>> batches(std::size_t limit, Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) { return geonce::batches(work, limit); });
  }

  Result<SweepReport> sweep(std::size_t limit, Deadline deadline) override {
    SweepReport report;
    auto done = writer_.run({}, limit, deadline, [&](SqliteWork& work) {
      report = {};
      sweep_entries(work, limit, report);
      sweep_batches(work, limit, report);
      failpoint(FailPoint::sweep_open);
    });
    if (!done) return fail(done.error());
    return report;
  }

  Result<milliseconds> lease(std::string_view name,
                             const OwnerId& owner,
                             milliseconds life,
                             Deadline deadline) override {
    milliseconds left{0};
    auto done = writer_.run(
        {}, 1, deadline, [&](SqliteWork& work) { left = geonce::lease(work, name, owner, life); });
    if (!done) return fail(done.error());
    return left;
  }

  Result<StoreStats> stats(Deadline deadline) override {
    return read(deadline, [&](SqliteWork& work) {
      StoreStats stats;
      stats.kind = "sqlite";
      stats.where = options_.path;
      stats.version = sqlite_version();
      stats.schema = schema_number(work.db);
      for (const auto* suffix : {"", "-wal"}) {
        struct stat status {};
        if (::stat((options_.path + suffix).c_str(), &status) == 0) stats.bytes += status.st_size;
      }
      count_rows(work, stats);
      return stats;
    });
  }

  Result<void> check(Deadline deadline) override {
    auto findings = read(deadline, [&](SqliteWork& work) { return geonce::check(work); });
    if (!findings) return fail(findings.error());
    if (findings->empty()) return {};
    return fail(
        ErrorCode::store_corrupt,
        "the store {} has {} finding(s), the first: {}; put back a copy, or move it away to begin "
        "a new one",
        options_.path,
        findings->size(),
        findings->front());
  }

 private:
  template <class F>
  auto read(Deadline deadline, F&& what) -> Result<std::invoke_result_t<F, SqliteWork&>> {
    auto db = readers_.lend(deadline);
    if (!db) return fail(db.error());
    auto transaction = SqliteTransaction::begin(**db, SqliteTransaction::Kind::read);
    if (!transaction) return fail(transaction.error());
    SqliteWork work{**db, clock_.now_utc()};
    auto out = std::forward<F>(what)(work);
    if (auto done = transaction->commit(); !done) return fail(done.error());
    return out;
  }

  /// One transaction for all requests, in the order of their slots; results in the order asked.
  template <class Out, class Request, class F>
  Result<std::vector<Out>> for_each(std::span<const Request> requests,
                                    Deadline deadline,
                                    F&& what,
                                    std::optional<FailPoint> open = {}) {
    std::vector<Out> out(requests.size());
    if (requests.empty()) return out;
    const auto order = by_slot(requests);
    auto done = writer_.run(
        slot_of(requests[order.front()]), requests.size(), deadline, [&](SqliteWork& work) {
          for (const auto index : order) {
            out[index] = what(work, requests[index]);
            if (work.db.has_failed()) return;
          }
          if (open) failpoint(*open);
        });
    if (!done) return fail(done.error());
    return out;
  }

  static tl::unexpected<Error> no_batch(const BatchId& id) {
    return fail(ErrorCode::not_found, "the store has no batch {}", to_string(id));
  }

  SqliteOptions options_;
  SqliteWriter writer_;
  SqliteReaders readers_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  GEONCE_EXPECTS(options.readers > 0);
  // Absolute: the working folder may change, and SQLite gives names like ":memory:" a meaning of
  // their own.
  SqliteOptions settled = options;
  std::error_code no_working_folder;
  if (const auto path = std::filesystem::absolute(options.path, no_working_folder);
      !no_working_folder && !options.path.empty())
    settled.path = path.string();
  const Clock& clock = options.clock == nullptr ? system_clock() : *options.clock;
  auto writer = open_sqlite_file(settled, clock);
  if (!writer) return fail(writer.error());
  std::vector<std::unique_ptr<SqliteDb>> readers;
  for (std::size_t i = 0; i < options.readers; ++i) {
    auto reader = open_sqlite_reader(settled);
    if (!reader) return fail(reader.error());
    readers.push_back(std::move(*reader));
  }
  return std::make_unique<SqliteStore>(settled, clock, std::move(*writer), std::move(readers));
}

}  // namespace geonce
