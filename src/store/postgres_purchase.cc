#include "store/postgres_purchase.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/postgres_rows.h"

namespace geonce {
namespace {

using enum PgType;

std::string chain_of(const std::shared_ptr<const std::vector<std::string>>& chain) {
  GEONCE_EXPECTS(chain != nullptr && !chain->empty());
  return fmt::format("{}", fmt::join(*chain, "\n"));
}

template <class Request>
std::string prices_of(const Request& request) {
  GEONCE_EXPECTS(request.prices.empty() || request.prices.size() == request.chain->size());
  std::string text;
  for (const auto& price : request.prices)
    text += fmt::format("{}{}", text.empty() ? "" : ",", price.micro_usd);
  return text;
}

std::optional<std::int64_t> span_of(const std::optional<milliseconds>& span) {
  return span ? std::optional(geonce::span_of(*span)) : std::nullopt;
}

Taken taken_from(const PgRows& rows, int row) {
  constexpr int kFirstOfEntry = 9;  // t
  constexpr int kAnswered = 18;
  Taken taken;
  taken.verdict = static_cast<Taken::Verdict>(rows.integer(row, 1));
  taken.step = static_cast<std::size_t>(rows.integer(row, 2));
  taken.answered = static_cast<StepMask>(rows.integer(row, kAnswered));
  taken.fence = rows.integer(row, 3);
  taken.gen = rows.integer(row, 4);
  taken.attempt = rows.is_null(row, 5) ? 1 : static_cast<int>(rows.integer(row, 5));
  taken.query_json = rows.bytes(row, 6);
  taken.wait_for = std::min(milliseconds{rows.integer(row, 7)}, kLongestLife);
  taken.no_match_streak = static_cast<int>(rows.integer(row, 8));
  if (taken.verdict == Taken::Verdict::fresh) taken.found = found_from(rows, row, kFirstOfEntry);
  return taken;
}

bool is_damaged(const Taken& taken) {
  return taken.verdict == Taken::Verdict::fresh && !taken.found;
}

static_assert(static_cast<int>(Taken::Verdict::send) == 0 &&
              static_cast<int>(Taken::Verdict::exhausted) == 5);
static_assert(static_cast<int>(Advanced::Verdict::send) == 0 &&
              static_cast<int>(Advanced::Verdict::lost) == 2);

}  // namespace

namespace {

Result<std::vector<Taken>> take_once(PostgresWorkers& workers,
                                     std::span<const TakeRequest> requests,
                                     Deadline deadline) {
  PgLists lists{bigint,
                bytea,
                uuid,
                uuid,
                bigint,
                boolean,
                bigint,
                boolean,
                bigint,
                bigint,
                text,
                text,
                text,
                bytea};
  for (const auto& request : requests)
    lists.row(request.slot.pool,
              bytes_of(request.slot.key),
              bytes_of(request.intent),
              bytes_of(request.owner),
              request.cause,
              request.bulk,
              request.refresh_before,
              request.retry_no_match,
              geonce::span_of(request.life),
              request.max_unknown,
              chain_of(request.chain),
              prices_of(request),
              request.query_json,
              PgBytes{request.pre_image});
  const auto slice = workers.list(
      "SELECT n, verdict, step, fence, gen, attempt, query_json, wait_for, no_match_streak, "
      "t, gen, kind, answered_at, fresh_until, stale_until, erase_after, pinned, payload, answered "
      "FROM geonce.take($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
      std::move(lists),
      deadline,
      FailPoint::take_open);
  if (!slice) return fail(slice.error());
  std::vector<Taken> taken;
  taken.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    taken.push_back(taken_from(slice->rows(), slice->row_of(i)));
  return taken;
}

/// The server takes an answer for fresh that cannot be read here: it has to be told so.
Result<void> drop_damaged(PostgresWorkers& workers,
                          std::span<const TakeRequest> requests,
                          std::span<const Taken> taken,
                          Deadline deadline) {
  PgLists lists{bigint, bytea, bigint};
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (is_damaged(taken[i]))
      lists.row(requests[i].slot.pool, bytes_of(requests[i].slot.key), taken[i].gen);
  auto done = workers.query("SELECT geonce.drop_damaged($1, $2, $3)", lists.params(), deadline);
  if (!done) return fail(done.error());
  return {};
}

}  // namespace

Result<std::vector<Taken>> take(PostgresWorkers& workers,
                                std::span<const TakeRequest> requests,
                                Deadline deadline) {
  auto taken = take_once(workers, requests, deadline);
  if (!taken || std::none_of(taken->begin(), taken->end(), is_damaged)) return taken;
  if (auto done = drop_damaged(workers, requests, *taken, deadline); !done)
    return fail(done.error());
  // A take that is repeated with its intents is the same take.
  taken = take_once(workers, requests, deadline);
  if (taken && std::any_of(taken->begin(), taken->end(), is_damaged))
    return fail(ErrorCode::store_corrupt,
                "the store has an answer that cannot be read, written a moment ago; are there "
                "programs of a newer version?");
  return taken;
}

Result<std::vector<Advanced>> advance(PostgresWorkers& workers,
                                      std::span<const AdvanceRequest> requests,
                                      Deadline deadline) {
  PgLists lists{bigint,
                bytea,
                bigint,
                bigint,
                uuid,
                text,
                bigint,
                text,
                text,
                bigint,
                bigint,
                bigint,
                boolean,
                bigint,
                bigint,
                uuid,
                bigint,
                text,
                text};
  for (const auto& request : requests)
    lists.row(request.slot.pool,
              bytes_of(request.slot.key),
              request.fence,
              request.gen,
              bytes_of(request.call.intent),
              request.call.provider,
              request.call.http_status,
              request.call.reason,
              request.call.provider_request_id,
              request.call.billed,
              request.call.units,
              request.call.price.micro_usd,
              request.refused,
              span_of(request.no_match_for),
              request.step,
              bytes_of(request.next_intent),
              geonce::span_of(request.life),
              chain_of(request.chain),
              prices_of(request));
  const auto slice = workers.list(
      "SELECT n, verdict, step, answered FROM geonce.advance($1, $2, $3, $4, $5, $6, $7, $8, $9, "
      "$10, $11, "
      "$12, $13, $14, $15, $16, $17, $18, $19)",
      std::move(lists),
      deadline);
  if (!slice) return fail(slice.error());
  std::vector<Advanced> advanced;
  advanced.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const int row = slice->row_of(i);
    advanced.push_back({static_cast<Advanced::Verdict>(slice->rows().integer(row, 1)),
                        static_cast<std::size_t>(slice->rows().integer(row, 2)),
                        static_cast<StepMask>(slice->rows().integer(row, 3))});
  }
  return advanced;
}

Result<std::vector<Committed>> commit(PostgresWorkers& workers,
                                      std::span<const CommitRequest> requests,
                                      Deadline deadline) {
  PgLists lists{bigint, bytea,  bytea,  bigint, bigint, uuid,   text,   bigint,
                text,   text,   bigint, bigint, bigint, bigint, bigint, text,
                bytea,  bigint, bigint, bigint, text,   bytea,  uuid};
  for (const auto& request : requests) {
    GEONCE_EXPECTS(request.answer != nullptr);
    const CallRecord call = request.call.value_or(CallRecord{});
    const std::string payload = encode(*request.answer);
    lists.row(request.slot.pool,
              bytes_of(request.slot.key),
              bytes_of(request.building_key),
              request.fence,
              request.gen,
              request.call ? std::optional(bytes_of(call.intent)) : std::nullopt,
              call.provider,
              call.http_status,
              call.reason,
              call.provider_request_id,
              call.billed,
              call.units,
              call.price.micro_usd,
              span_of(request.no_match_for),
              request.answer->kind,
              request.answer->provider,
              PgBytes{payload},
              geonce::span_of(request.life.fresh),
              geonce::span_of(request.life.stale),
              geonce::span_of(request.life.erase),
              request.query_json,
              PgBytes{request.pre_image},
              request.answered_by ? std::optional(bytes_of(*request.answered_by)) : std::nullopt);
  }
  const auto slice = workers.list(
      "SELECT n, is_stored, is_held, t, answered_at, fresh_until, stale_until, erase_after FROM "
      "geonce.commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
      "$18, $19, $20, $21, $22, $23)",
      std::move(lists),
      deadline,
      FailPoint::commit_open);
  if (!slice) return fail(slice.error());
  std::vector<Committed> committed(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& rows = slice->rows();
    const int row = slice->row_of(i);
    committed[i].stored = rows.integer(row, 1) != 0;
    committed[i].held = rows.integer(row, 2) != 0;
    if (rows.integer(row, 7) == 0) continue;  // nothing is held
    const UtcMs now = rows.integer(row, 3);
    committed[i].answered_at = rows.integer(row, 4);
    committed[i].fresh_until = rows.integer(row, 5);
    committed[i].fresh_left = left_of(committed[i].fresh_until, now);
    committed[i].stale_left = left_of(rows.integer(row, 6), now);
    committed[i].erase_left = left_of(rows.integer(row, 7), now);
  }
  return committed;
}

Result<std::vector<Released>> release(PostgresWorkers& workers,
                                      std::span<const ReleaseRequest> requests,
                                      Deadline deadline) {
  PgLists lists{bigint,
                bigint,
                bytea,
                bigint,
                uuid,
                text,
                bigint,
                text,
                text,
                bigint,
                bigint,
                bigint,
                bigint,
                bigint};
  for (const auto& request : requests) {
    const auto event = request.kind == ReleaseRequest::Kind::unknown   ? LedgerEvent::unknown
                       : request.kind == ReleaseRequest::Kind::refused ? LedgerEvent::refused
                                                                       : LedgerEvent::voided;
    lists.row(event,
              request.slot.pool,
              bytes_of(request.slot.key),
              request.fence,
              bytes_of(request.call.intent),
              request.call.provider,
              request.call.http_status,
              request.call.reason,
              request.call.provider_request_id,
              request.call.billed,
              request.call.units,
              request.call.price.micro_usd,
              geonce::span_of(request.cool_down),
              request.max_unknown);
  }
  const auto slice = workers.list(
      "SELECT n, is_held, is_blocked FROM geonce.release($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
      "$11, $12, $13, $14)",
      std::move(lists),
      deadline);
  if (!slice) return fail(slice.error());
  std::vector<Released> released;
  released.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const int row = slice->row_of(i);
    released.push_back({slice->rows().integer(row, 1) != 0, slice->rows().integer(row, 2) != 0});
  }
  return released;
}

}  // namespace geonce
