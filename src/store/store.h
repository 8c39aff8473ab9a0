#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/life.h"
#include "core/money.h"
#include "core/outcome.h"
#include "core/query.h"
#include "core/uuid.h"

namespace geonce {

using std::chrono::milliseconds;

// --- entries -------------------------------------------------------------------------------------

/// A remembered answer, with what is left of its life by the store's clock at the moment of
/// reading.
struct Found {
  std::int64_t gen = 0;
  std::shared_ptr<const Answer> answer;
  milliseconds fresh_left{0};  // ≤ 0: stale
  milliseconds stale_left{0};
  milliseconds erase_left{0};
  UtcMs answered_at = 0;
  UtcMs fresh_until = 0;
  bool pinned = false;  // a person's correction: always fresh
};

/// The same, so much later: empty when it is to be erased by then.
std::optional<Found> aged(Found found, milliseconds by);

/// An entry as `geonce entry show` prints it.
struct EntryRow {
  Slot slot;
  std::optional<Key> building_key;  // shared by all entries of a building; empty in a tombstone
  std::int64_t gen = 0;
  std::shared_ptr<const Answer> answer;  // null: a tombstone
  UtcMs answered_at = 0, fresh_until = 0, stale_until = 0, erase_after = 0;
  int no_match_streak = 0;
  bool pinned = false;
  std::optional<IntentId> intent;
  std::string query_json;  // the spelling that was sent
  std::string pre_image;
};

struct EntryFilter {
  std::optional<std::string> provider;
  std::optional<AnswerKind> kind;
  std::optional<Slot> building;  // its key is a building key
  bool pinned = false;           // only a person's corrections
  std::optional<Slot> after;     // continue behind this slot; entries come in slot order
  std::size_t limit = 100;
};

// --- claims: the right to buy for one window -----------------------------------------------------

enum class Cause : std::uint8_t { miss = 1, stale, eager, forced, takeover, batch };
std::string_view to_string(Cause cause);

/// What the ledger says of a call at its end.
struct CallRecord {
  IntentId intent;
  std::string provider;
  int http_status = 0;
  std::string reason;  // short; no address, no secret
  std::string provider_request_id;
  Billed billed = Billed::unknown;
  int units = 1;
  Money price;
};

/// Older than this is any answer.
inline constexpr UtcMs kRefreshAll = INT64_MAX;

struct TakeRequest {
  Slot slot;
  IntentId intent;
  OwnerId owner;
  Cause cause = Cause::miss;
  bool bulk = false;
  /// An answer older than this does not count as fresh: a separately authorised new window.
  UtcMs refresh_before = 0;
  /// A remembered no-match, of the key or of a provider, does not count as fresh.
  bool retry_no_match = false;
  milliseconds life{14'000};  // send window + total deadline + margin
  /// Outcomes that may stay unknown before the key is blocked; <0: takeover never.
  int max_unknown = 1;
  std::shared_ptr<const std::vector<std::string>> chain;  // paid providers in order, at least one
  std::vector<Money> prices;  // what a call may cost, by step of the chain; empty: nothing
  std::string query_json;     // frozen in the claim: retries of one window send the same bytes
  std::string pre_image;
};

/// Steps of a chain, a bit each. Of those that a verdict passes over these have answered somebody
/// in this window; the others' own no-match is still fresh.
using StepMask = std::uint64_t;

struct Taken {
  enum class Verdict : std::uint8_t {
    send,       // claim and `prepared` are durable: call provider `step` of the chain
    fresh,      // somebody else answered; read it from `found`
    wait,       // somebody else is calling
    cooldown,   // refused a moment ago; `wait_for` says how long still
    blocked,    // too many unknown outcomes; needs a late answer, reconciliation, refresh or
                // invalidation
    exhausted,  // every provider of the chain has a no-match of its own that is still fresh; claim
                // closed
  };
  Verdict verdict = Verdict::wait;
  std::size_t step = 0;  // index into the chain
  StepMask answered = 0;
  std::int64_t fence = 0;
  std::int64_t gen = 0;
  int attempt = 1;
  std::string query_json;  // what must be sent: of the first attempt of this window
  milliseconds wait_for{0};
  std::optional<Found> found;  // of fresh
  int no_match_streak = 0;     // of the entry so far: the next no-match lives longer
};

/// One provider of the chain has been asked and the answer is not good enough: note it, ask the
/// next. A chain that names the same provider at `step + 1` has it asked again, for a no-match that
/// needs confirming.
struct AdvanceRequest {
  Slot slot;
  std::int64_t fence = 0;
  std::int64_t gen = 0;
  CallRecord call;  // ledger event `answered` or `refused`
  bool refused = false;
  std::optional<milliseconds> no_match_for;  // remember the provider's own no-match this long
  std::size_t step = 0;                      // of the provider that was asked
  IntentId next_intent;
  milliseconds life{14'000};
  std::shared_ptr<const std::vector<std::string>> chain;
  std::vector<Money> prices;  // as in TakeRequest
};

struct Advanced {
  enum class Verdict : std::uint8_t { send, exhausted, lost };  // lost: the claim is another's now
  Verdict verdict = Verdict::exhausted;
  std::size_t step = 0;
  StepMask answered = 0;
};

/// The end of a claim with an answer. May be repeated after a commit in doubt: the second does
/// nothing. Where `advance` has prepared a call that this neither reports nor ledgered, it was not
/// sent: it becomes `void`.
struct CommitRequest {
  Slot slot;
  std::int64_t fence = 0;
  std::int64_t gen = 0;
  std::optional<CallRecord> call;  // the last call; absent when `advance` has noted it already
  std::optional<milliseconds> no_match_for;  // as in AdvanceRequest
  std::shared_ptr<const Answer> answer;
  Life life;  // erase 0: only the ledger row is written, no entry
  std::string query_json, pre_image;
  std::optional<Key> building_key;  // kept with the entry; empty where the pre-image is unknown
  /// The intent whose answer is stored, when it is not the last call's.
  std::optional<IntentId> answered_by;
};

struct Committed {
  bool stored = false;  // false: a newer gen was there (the call is `redundant` in the ledger), or
                        // life.erase 0
  bool held = false;    // the claim was still ours
  // Of what the store holds now; the instants are of its clock.
  milliseconds fresh_left{0}, stale_left{0}, erase_left{0};
  UtcMs answered_at = 0, fresh_until = 0;
};

/// The end of a claim without an answer. `refused` may name a call that `advance` has noted
/// already: then the ledger stays as it is and the key cools down.
struct ReleaseRequest {
  enum class Kind : std::uint8_t {
    refused,  // ledger `refused`; the key cools down for `cool_down` (0: the claim is freed)
    voided,   // ledger `void`: proven unsent; the claim is freed
    unknown,  // ledger `unknown`; the next taker gets attempt + 1, or the key is blocked
  };
  Kind kind = Kind::voided;
  Slot slot;
  std::int64_t fence = 0;
  CallRecord call;
  milliseconds cool_down{0};
  int max_unknown = 1;
};

struct Released {
  bool held = false;
  bool blocked = false;
};

/// What became of an answer that was brought from elsewhere.
enum class Imported : std::uint8_t {
  stored,
  older,    // the store has an answer or a drop as young, or a person's correction
  expired,  // its life is over by the store's clock
};

/// What a person has learnt of a call whose answer is lost, from the invoice or from the provider.
struct Reconciliation {
  Slot slot;
  IntentId intent;
  bool was_billed = false;
  std::string reason;  // where it says so; no address, no secret
};

/// What a spooled intent was about: everything a dead process knew.
struct OpenIntent {
  IntentId intent;
  Slot slot;
  std::int64_t fence = 0, gen = 0;
  int attempt = 1;
  std::string provider;
  Money price;  // what the call may have cost
  OwnerId owner;
  std::string query_json, pre_image;
  int no_match_streak = 0;
  bool claim_held = false;  // the claim still carries this intent
  /// `advance` has noted its answer, and the claim is still the owner's to end: whoever has the
  /// answer can end it.
  bool noted = false;
};

// --- windows that ended before their time --------------------------------------------------------

/// `gen` and all windows before it are over, although answers of them may still be fresh in a tier:
/// they were dropped, corrected, or bought anew.
struct EndedWindow {
  std::int64_t number = 0;  // for `told`
  Slot slot;
  std::int64_t gen = 0;
};

struct EndedSince {
  std::vector<EndedWindow> windows;
  std::string cursor;       // of the next look
  bool has_gap = false;     // some are missing, and `windows` is empty
  bool has_untold = false;  // there are some that shared tiers have not been told of
};

/// An address that is to be forgotten, and the keys it may have had before.
struct ForgetRequest {
  Slot slot;
  std::vector<Key> former;
};

/// What was erased: its answer, no-matches of single providers, what a claim said of it, parts of
/// batches (with the answers of other addresses in them, which the entries have as well).
struct Forgotten {
  std::int64_t entries = 0, negatives = 0, claims = 0, chunks = 0;
};

// --- ledger --------------------------------------------------------------------------------------

enum class LedgerEvent : std::uint8_t {
  prepared = 1,
  answered,
  refused,
  unknown,
  voided,
  reconciled
};
std::string_view to_string(LedgerEvent event);

struct LedgerRow {
  IntentId intent;
  LedgerEvent event = LedgerEvent::prepared;
  UtcMs at = 0;
  Slot slot;
  std::int64_t gen = 0;
  int attempt = 1;
  std::string provider;
  Cause cause = Cause::miss;
  bool bulk = false;
  int http_status = 0;
  std::string reason, provider_request_id;
  Billed billed = Billed::unknown;
  int units = 0;
  Money price;  // of `prepared` and `unknown`: what it may cost
  bool redundant = false, late = false;
};

struct LedgerFilter {
  UtcMs from = 0, to = INT64_MAX;  // [from, to)
  std::optional<Slot> slot;
  std::optional<IntentId> intent;
  std::optional<std::string> provider;
  std::optional<LedgerEvent> event;
  bool newest_first = true;
  std::size_t limit = 100;
};

struct LedgerSum {
  std::string provider;
  std::int64_t prepared = 0, answered = 0, refused = 0, unknown = 0, voided = 0, redundant = 0,
               open = 0;
  /// In doubt is what may stand on the invoice: calls that are unknown, and those still open.
  std::int64_t billed_units = 0, in_doubt_units = 0;
  Money billed, in_doubt;
};

// --- places: address points the user owns --------------------------------------------------------

struct PlaceRow {
  std::string id;  // of the source; may be empty
  LatLng at;
  std::string house_number, street, unit, city, district, region, postcode;
  Country country;
  std::vector<Key> keys;  // under which it may be asked for (core/place_keys.h), finest first
};

struct PlaceHit {
  PlaceRow place;
  std::size_t candidates = 0;  // distinct points under that key; more than one = ambiguous
};

struct PlacesStats {
  std::int64_t points = 0, keys = 0;
  std::vector<std::pair<std::string, std::int64_t>> by_source;
  UtcMs loaded_at = 0;
};

// --- batches -------------------------------------------------------------------------------------

struct BatchHead {
  BatchId id;
  /// 32 bytes: digest of the input's bytes, the mapping and the options that change an answer.
  std::string identity;
  std::string label;      // for a person: the file's name
  std::string state;      // running, complete, complete_with_errors, interrupted, stopped
  std::int64_t rows = 0;  // known when complete
  UtcMs created_at = 0, updated_at = 0;
  UtcMs refresh_before = 0;  // answers older than this are bought anew; 0: no refresh
  std::string summary_json;
  bool is_new = false;  // this call made it
};

/// Which batch of an identity is meant.
enum class BatchStart : std::uint8_t {
  resume,   // the latest
  restart,  // a new one
  refresh,  // the latest if it is a refresh that did not reach its end, else a new one
};

/// Rows of one batch, `first_row` on, with their own copy of the answers (docs/formats/batch.md).
struct BatchChunk {
  std::int64_t number = 0;
  std::string bytes;
  milliseconds erase{0};  // earliest end of a contained answer's life; 0: do not store
};

struct SweepReport {
  std::int64_t entries = 0, chunks = 0, batches = 0, negatives = 0, claims = 0;
  bool is_behind = false;  // the store itself has not cleaned up after the last ones: leave it time
};

struct StoreStats {
  std::string kind, where, version;
  std::int64_t schema = 0, bytes = 0;
  std::int64_t entries = 0, open_claims = 0, blocked_claims = 0, ledger_rows = 0, places = 0,
               batches = 0;
};

/// An answer whose key has changed, because a new secret or new rules make it.
struct Rekey {
  Slot from, to;
  std::string query_json;  // what the answer was bought for; an answer to anything else stays
  std::string pre_image;   // what the new key is made of
  std::optional<Key> building_key;
};

/// What decides which of two entries of one address is left.
struct Standing {
  bool is_answer = false;  // false: it was dropped, at `answered_at`
  bool pinned = false;
  UtcMs answered_at = 0;
};
/// `moving` is an answer.
inline bool outlasts(const Standing& there, const Standing& moving) {
  if (there.is_answer && there.pinned != moving.pinned) return there.pinned;
  return there.answered_at >= moving.answered_at;
}

/// What became of it. `stayed`: there is no such answer (any more), or a call for `to` is on its
/// way. `merged`: `to` had an entry, and one of the two is left.
enum class Rekeyed : std::uint8_t { stayed, moved, merged };

/// The durable truth. Each method is one transaction (or one per ≤ 1,000 rows where it says so);
/// what it returned is on disk. Every method may be called from several threads at once, calls that
/// meet share a commit. Results are in the order of the requests; implementations sort by key
/// themselves.
///
/// errors of all  store_unavailable, store_busy, store_corrupt, disk_full, deadline_exceeded
class Store {
 public:
  virtual ~Store() = default;

  /// Any number of slots; one consistent snapshot. Entries past `erase_after` and tombstones are
  /// misses.
  virtual Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots, Deadline) = 0;

  virtual Result<std::vector<Taken>> take(std::span<const TakeRequest>, Deadline) = 0;
  virtual Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest>, Deadline) = 0;
  virtual Result<std::vector<Committed>> commit(std::span<const CommitRequest>, Deadline) = 0;
  virtual Result<std::vector<Released>> release(std::span<const ReleaseRequest>, Deadline) = 0;

  /// Opens a new window: answers of calls begun before cannot fill it. Returns how many had an
  /// entry.
  virtual Result<std::size_t> invalidate(std::span<const Slot>, Deadline) = 0;
  /// Erases what is known of an address. Leaves the number of its window and the ledger's rows,
  /// which have no address in them; a call or a batch that is under way cannot bring it back. Reads
  /// every part of every batch.
  virtual Result<Forgotten> forget(const ForgetRequest&, Deadline) = 0;
  /// Files the answer under `from` under `to`, in the order given. Where `to` has an entry, the one
  /// that `outlasts` is left, what a person pinned or else the later one, and the other is erased.
  /// Claims and single no-matches stay where they are: they are of whatever was asked last.
  virtual Result<std::vector<Rekeyed>> rekey(std::span<const Rekey>, Deadline) = 0;
  /// Stores an answer a person gave; nothing replaces it but another pin or `invalidate`.
  virtual Result<void> pin(const Slot&,
                           const Answer&,
                           std::string_view query_json,
                           std::string_view pre_image,
                           const std::optional<Key>& building_key,
                           Deadline) = 0;
  /// Stores answers that another store or cache has bought, with what is left of their lives; where
  /// they came from keeps the ledger of them. `gen` and `intent` do not count, entries without an
  /// answer are `older`. Their instants are by another clock: one ahead of the store's counts as
  /// now. A call on its way is not held up, and the younger answer stays.
  virtual Result<std::vector<Imported>> import_entries(std::span<const EntryRow>, Deadline) = 0;
  /// Windows that ended since the look that gave `cursor`; "": since now. Cheap: it is asked every
  /// second. `has_gap` where they are more than `limit`, or some are gone (they are kept for a
  /// week, and the last million).
  virtual Result<EndedSince> ended_since(std::string_view cursor, std::size_t limit, Deadline) = 0;
  /// Those that tiers which processes share have not been told of, oldest first. Written in the
  /// transaction that ended them, so none is lost with the process that did.
  virtual Result<std::vector<EndedWindow>> untold(std::size_t limit, Deadline) = 0;
  virtual Result<void> told(std::span<const std::int64_t> numbers, Deadline) = 0;
  /// Ledger `reconciled` for each call that is unknown; others are left alone. A key that such a
  /// call has blocked may be bought again. Returns how many were unknown.
  virtual Result<std::size_t> reconcile(std::span<const Reconciliation>, Deadline) = 0;

  /// Intents of `owner` that have `prepared` and no outcome, and those among `also` whoever owns
  /// them. Those too whose answer is noted already, if it can still end its window.
  virtual Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                                       std::span<const IntentId> also,
                                                       Deadline) = 0;

  virtual Result<std::optional<EntryRow>> entry(const Slot&, Deadline) = 0;
  virtual Result<std::vector<EntryRow>> entries(const EntryFilter&, Deadline) = 0;
  virtual Result<std::vector<LedgerRow>> ledger(const LedgerFilter&, Deadline) = 0;
  virtual Result<std::vector<LedgerSum>> ledger_sums(const LedgerFilter&, Deadline) = 0;

  /// Adds points under a source name. `replace_source` first drops what that source had, in the
  /// same transaction as `rows` of the first call; ≤ 1,000 rows a transaction are wise.
  virtual Result<void> load_places(std::string_view source,
                                   bool replace_source,
                                   std::span<const PlaceRow> rows,
                                   Deadline) = 0;
  /// One place per list of keys: the first key that has any point decides.
  virtual Result<std::vector<std::optional<PlaceHit>>> find_places(
      std::span<const std::vector<Key>> keys, Deadline) = 0;
  virtual Result<PlacesStats> places_stats(Deadline) = 0;

  /// The batch of this identity, made when absent.
  virtual Result<BatchHead> open_batch(std::string_view identity,
                                       std::string_view label,
                                       BatchStart start,
                                       Deadline) = 0;
  virtual Result<std::optional<std::string>> batch_chunk(const BatchId&,
                                                         std::int64_t number,
                                                         Deadline) = 0;
  virtual Result<void> save_chunks(const BatchId&, std::span<const BatchChunk>, Deadline) = 0;
  virtual Result<void> close_batch(const BatchHead&, Deadline) = 0;
  virtual Result<std::vector<BatchHead>> batches(std::size_t limit, Deadline) = 0;

  /// Erases what has outlived its terms; ≤ `limit` rows of each kind in one transaction. Call until
  /// all counts are 0. Of an entry whose key has a claim the gen is kept.
  virtual Result<SweepReport> sweep(std::size_t limit, Deadline) = 0;
  /// For what only one process at a time shall do. 0: `name` is the owner's for `life` from now on,
  /// taken or renewed; else how long another has it still. A life of 0 gives it back.
  virtual Result<milliseconds> lease(std::string_view name,
                                     const OwnerId& owner,
                                     milliseconds life,
                                     Deadline) = 0;
  /// Counts anew what a store keeps counted for people's own queries; most keep nothing. Slow.
  virtual Result<void> refresh_counts(Deadline /*deadline*/) { return {}; }
  virtual Result<StoreStats> stats(Deadline) = 0;
  /// Reads everything once: integrity of the file, of the schema, of each payload. Slow.
  virtual Result<void> check(Deadline) = 0;
};

struct SqliteOptions {
  std::string path;
  bool create = true;
  std::size_t readers = 2;
  std::size_t cache_bytes = 16U << 20U;  // per connection
  milliseconds busy_timeout{10'000};
  Clock* clock = nullptr;  // null: the system's; a test moves its own
};

/// Opens or makes the embedded store. One file, `-wal` and `-shm` beside it; a second process on
/// the same host is safe.
/// errors    store_unavailable  cannot be opened, a folder, read-only, or on a network file system
///           store_newer        its schema has steps this program does not know
///           store_corrupt, store_busy, disk_full
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

struct PostgresOptions {
  std::string uri;       // postgres://user@host1,host2/database?sslmode=verify-full
  std::string password;  // empty: what libpq finds (PGPASSFILE, …)
  bool create = true;    // makes the schema in a database that has none, if the role may
  std::size_t connections = 4;
  milliseconds patience{30'000};  // with a server that is away
  /// null: the system's. For deadlines alone: instants come from the server's clock.
  Clock* clock = nullptr;
};

/// Opens the store in a Postgres database, which any number of processes on any number of machines
/// may share. Poolers that deal out transactions may stand between.
/// errors    store_unavailable  nobody listens, access refused, the schema is older than this
///                              program
///           store_newer        the schema has a step that this program has to know and does not
///           not_found          there is no store, and it is not to be made
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

/// Makes the schema or brings it up to this program's; returns the names of the steps it added.
/// errors    as those of opening it
Result<std::vector<std::string>> migrate_postgres_store(const PostgresOptions& options);

}  // namespace geonce
