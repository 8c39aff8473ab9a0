#include "store/postgres_answers.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "store/postgres_rows.h"

namespace geonce {
namespace {

using enum PgType;

std::size_t count_true(const PgSlice& slice, std::size_t size) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i)
    if (slice.rows().integer(slice.row_of(i), 1) != 0) ++count;
  return count;
}

}  // namespace

Result<std::vector<std::optional<Found>>> find(PostgresWorkers& workers,
                                               std::span<const Slot> slots,
                                               Deadline deadline) {
  // In the order of the index, so that neighbours are found on a page that was just looked at.
  std::vector<std::size_t> order(slots.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(
      order, {}, [&](std::size_t i) { return std::tie(slots[i].pool, slots[i].key.bytes); });
  PgLists lists{bigint, bytea};
  for (const std::size_t i : order) lists.row(slots[i].pool, bytes_of(slots[i].key));
  const auto slice = workers.list("SELECT * FROM geonce.find($1, $2)", std::move(lists), deadline);
  if (!slice) return fail(slice.error());
  std::vector<std::optional<Found>> found(slots.size());
  for (std::size_t n = 0; n < order.size(); ++n)
    if (const int row = slice->row_of(n); row >= 0)
      found[order[n]] = found_from(slice->rows(), row, 1);
  return found;
}

Result<std::size_t> invalidate(PostgresWorkers& workers,
                               std::span<const Slot> slots,
                               Deadline deadline) {
  PgLists lists{bigint, bytea};
  for (const auto& slot : slots) lists.row(slot.pool, bytes_of(slot.key));
  const auto slice = workers.list(
      "SELECT n, had_answer FROM geonce.invalidate($1, $2)", std::move(lists), deadline);
  if (!slice) return fail(slice.error());
  return count_true(*slice, slots.size());
}

Result<Forgotten> forget(PostgresWorkers& workers,
                         const ForgetRequest& request,
                         Deadline deadline) {
  PgLists former{bytea};
  for (const Key& key : request.former) former.row(bytes_of(key));
  auto params = former.params();
  params.insert(params.begin(),
                {PgParam::integer(request.slot.pool), PgParam::bytes(bytes_of(request.slot.key))});
  // Not again after a doubt: the second run would count what the first has left.
  const auto rows =
      workers.query("SELECT entries, negatives, claims, chunks FROM geonce.forget($1, $2, $3)",
                    params,
                    deadline,
                    PgRepeat::never);
  if (!rows) return fail(rows.error());
  return Forgotten{
      rows->integer(0, 0), rows->integer(0, 1), rows->integer(0, 2), rows->integer(0, 3)};
}

Result<std::vector<Rekeyed>> rekey(PostgresWorkers& workers,
                                   std::span<const Rekey> rekeys,
                                   Deadline deadline) {
  PgLists lists{bigint, bytea, bigint, bytea, text, bytea, bytea};
  for (const auto& rekey : rekeys)
    lists.row(rekey.from.pool,
              bytes_of(rekey.from.key),
              rekey.to.pool,
              bytes_of(rekey.to.key),
              rekey.query_json,
              PgBytes{rekey.pre_image},
              bytes_of(rekey.building_key));
  // Alone and once: which of two goes first is the caller's to say, and a second run would find the
  // moved ones moved and say that they were not.
  const auto rows = workers.query("SELECT * FROM geonce.rekey($1, $2, $3, $4, $5, $6, $7)",
                                  lists.params(),
                                  deadline,
                                  PgRepeat::never);
  if (!rows) return fail(rows.error());
  std::vector<Rekeyed> moved(rekeys.size());
  for (int row = 0; row < rows->size(); ++row)
    moved.at(static_cast<std::size_t>(rows->integer(row, 0) - 1)) =
        static_cast<Rekeyed>(rows->integer(row, 1));
  return moved;
}

Result<void> pin(PostgresWorkers& workers,
                 const Slot& slot,
                 const Answer& answer,
                 std::string_view query_json,
                 std::string_view pre_image,
                 const std::optional<Key>& building_key,
                 Deadline deadline) {
  const std::string payload = encode(answer);
  const std::vector<PgParam> params{
      PgParam::integer(slot.pool),
      PgParam::bytes(bytes_of(slot.key)),
      PgParam::bytes(building_key ? bytes_of(*building_key) : PgBytes{}),
      PgParam::integer(answer.kind),
      PgParam::text(answer.provider),
      PgParam::bytes({payload}),
      PgParam::text(query_json),
      PgParam::bytes({pre_image})};
  auto done = workers.query(
      "SELECT geonce.pin($1, $2, nullif($3, ''), $4, $5, $6, $7, $8)", params, deadline);
  if (!done) return fail(done.error());
  return {};
}

Result<std::vector<Imported>> import_entries(PostgresWorkers& workers,
                                             std::span<const EntryRow> entries,
                                             Deadline deadline) {
  PgLists lists{bigint,
                bytea,
                bytea,
                bigint,
                bigint,
                bigint,
                bigint,
                bigint,
                bigint,
                boolean,
                text,
                bytea,
                text,
                bytea};
  std::vector<Imported> results(entries.size(), Imported::older);
  std::vector<std::size_t> places;  // of those that have an answer
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const EntryRow& entry = entries[i];
    if (entry.answer == nullptr) continue;
    places.push_back(i);
    const std::string payload = encode(*entry.answer);
    lists.row(entry.slot.pool,
              bytes_of(entry.slot.key),
              bytes_of(entry.building_key),
              static_cast<std::int64_t>(entry.answer->kind),
              entry.answered_at,
              entry.fresh_until,
              entry.stale_until,
              entry.erase_after,
              entry.no_match_streak,
              entry.pinned,
              entry.answer->provider,
              PgBytes{payload},
              entry.query_json,
              PgBytes{entry.pre_image});
  }
  const auto slice = workers.list(
      "SELECT n, result FROM geonce.import_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, "
      "$12, $13, $14)",
      std::move(lists),
      deadline);
  if (!slice) return fail(slice.error());
  for (std::size_t i = 0; i < places.size(); ++i)
    results[places[i]] = static_cast<Imported>(slice->rows().integer(slice->row_of(i), 1));
  return results;
}

Result<std::size_t> reconcile(PostgresWorkers& workers,
                              std::span<const Reconciliation> found,
                              Deadline deadline) {
  PgLists lists{bigint, bytea, uuid, boolean, text};
  for (const auto& one : found)
    lists.row(
        one.slot.pool, bytes_of(one.slot.key), bytes_of(one.intent), one.was_billed, one.reason);
  const auto slice = workers.list("SELECT n, was_unknown FROM geonce.reconcile($1, $2, $3, $4, $5)",
                                  std::move(lists),
                                  deadline);
  if (!slice) return fail(slice.error());
  return count_true(*slice, found.size());
}

Result<std::vector<OpenIntent>> open_intents(PostgresWorkers& workers,
                                             const OwnerId& owner,
                                             std::span<const IntentId> also,
                                             Deadline deadline) {
  PgArray named(uuid);
  for (const auto& intent : also) named.add(bytes_of(intent));
  const std::vector<PgParam> params{PgParam::bytes(bytes_of(owner), uuid), named.param()};
  const auto rows = workers.query("SELECT * FROM geonce.open_intents($1, $2)", params, deadline);
  if (!rows) return fail(rows.error());
  std::vector<OpenIntent> open;
  for (int row = 0; row < rows->size(); ++row) {
    OpenIntent intent;
    intent.intent = digest_from<IntentId>(rows->bytes(row, 0));
    intent.slot = {static_cast<Pool>(rows->integer(row, 1)), digest_from<Key>(rows->bytes(row, 2))};
    intent.gen = rows->integer(row, 3);
    intent.attempt = static_cast<int>(rows->integer(row, 4));
    intent.provider = rows->bytes(row, 5);
    intent.owner = digest_from<OwnerId>(rows->bytes(row, 6));
    intent.price = Money{rows->integer(row, 7)};
    intent.no_match_streak = static_cast<int>(rows->integer(row, 8));
    intent.claim_held = rows->integer(row, 9) != 0;
    intent.fence = rows->integer(row, 10);
    intent.query_json = rows->bytes(row, 11);
    intent.pre_image = rows->bytes(row, 12);
    intent.noted = rows->integer(row, 13) != 0;
    open.push_back(std::move(intent));
  }
  return open;
}

}  // namespace geonce
