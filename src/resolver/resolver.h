#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/answer.h"
#include "core/clock.h"
#include "core/guarded.h"
#include "core/key.h"
#include "core/money.h"
#include "core/normalize.h"
#include "core/query.h"
#include "core/result.h"
#include "core/uuid.h"
#include "store/store.h"
#include "tiers/tier.h"

namespace geonce {

/// A cap on what one caller may spend. Reserved before a call is made, given back when it is proven
/// unsent, settled when its bill is known; many calls may race for the last reservation and one
/// gets it. A call is one lookup: a bulk request of 100 addresses counts 100.
class SpendCap {
 public:
  SpendCap(std::optional<std::int64_t> max_calls, std::optional<Money> max_cost)
      : max_calls_(max_calls), max_cost_(max_cost) {}
  [[nodiscard]] bool reserve(Money price);
  void give_back(Money price);
  /// The call was made and costs `actual`: what was reserved beyond that is free again.
  void settle(Money reserved, Money actual);
  [[nodiscard]] std::int64_t calls() const;
  [[nodiscard]] Money cost() const;
  [[nodiscard]] bool was_hit() const;

 private:
  struct Spent {
    std::int64_t calls = 0;
    Money cost;
    bool was_refused = false;
  };
  std::optional<std::int64_t> max_calls_;
  std::optional<Money> max_cost_;
  Guarded<Spent> spent_;
};

struct AskOptions {
  bool cache_only = false;      // never pay, not even wait for who pays
  UtcMs refresh_before = 0;     // buy anew what was answered before; kRefreshAll: whatever there is
  bool retry_no_match = false;  // a remembered no-match is a miss
  bool serve_stale = true;      // when nothing better is to be had
  bool waits_for_store = true;  // false: store_unavailable at once while it is known to be away
  Cause cause = Cause::miss;    // `batch` sends through bulk endpoints where there are
  std::shared_ptr<SpendCap> cap;
};

struct Ask {
  Slot slot;
  std::string pre_image;  // what the key is made of; empty: what the built-in rules say of query
  Query query;
  Quality quality = Quality::none;
  AskOptions options;
};

/// Where an answer came from; the words of the CSV column `geo_cache`.
enum class AnswerSource : std::uint8_t { l1, redis, db, places, coalesced, paid, negative, stale };
std::string_view to_string(AnswerSource source);

struct Resolved {
  std::shared_ptr<const Answer> answer;  // null: `error` says why
  std::optional<Error> error;
  AnswerSource source = AnswerSource::l1;
  std::int64_t gen = 0;
  UtcMs answered_at = 0, expires_at = 0;
  Money cost;     // of calls made for this ask; 0 when remembered or when another caller paid
  int calls = 0;  // lookups sent for this ask
  milliseconds keep{0};  // how long the caller's own copy may be kept (terms); 0: not at all
  std::optional<IntentId> intent;
  bool is_stored = true;  // false: paid and told, but the store does not take it yet
};

/// HTTP requests since the last one that brought an answer: how providers have been failing,
/// whatever becomes of the questions meanwhile.
struct Silence {
  std::int64_t requests = 0;
  Mono first, last;  // when these ended; of none, nothing
  std::string why;   // the last of them
};

struct ResolverStats {
  // Asks, by where their answer came from.
  std::int64_t l1 = 0, redis = 0, db = 0, places = 0, coalesced = 0, paid = 0, negative = 0,
               stale = 0;
  std::int64_t errors = 0;
  std::int64_t calls = 0;     // lookups sent to providers
  std::int64_t requests = 0;  // HTTP requests that carried them
  std::int64_t unknown = 0;   // lookups whose answer was lost
  std::int64_t redundant = 0;
  Money cost;
  std::int64_t flights = 0;          // questions under way now
  std::int64_t calls_in_flight = 0;  // HTTP requests under way now
  Silence silence;
};

/// Answers each query from the first tier that has it, else from one paid call per distinct key.
class Resolver {
 public:
  virtual ~Resolver() = default;

  /// Starts `asks`; `done` is called once per ask with its index, from any thread, maybe before
  /// this returns (remembered answers), and must not block. At the deadline it is called with
  /// deadline_exceeded or a stale answer, while the purchase goes on and is stored.
  virtual void start(std::vector<Ask> asks,
                     Deadline deadline,
                     std::function<void(std::size_t, Resolved)> done) = 0;

  /// The same of one, where this process's memory has the answer, and nothing else is asked; it
  /// costs no more than that.
  virtual std::optional<Resolved> remembered(const Slot& slot, const AskOptions& options) = 0;

  /// The same, waiting: one result per ask, same order.
  virtual std::vector<Resolved> resolve(std::vector<Ask> asks, Deadline deadline) = 0;

  /// What is known without asking anybody: no flight, no claim. For dry runs.
  virtual std::vector<Resolved> peek(std::span<const Ask> asks, Deadline deadline) = 0;

  /// These windows are over: who asks from now on is not given what is under way for them. Those
  /// who asked before are.
  virtual void have_ended(std::span<const Ended> windows) = 0;
  /// … and any may be.
  virtual void may_have_ended() = 0;

  [[nodiscard]] virtual ResolverStats stats() const = 0;

  /// No new calls from here on; returns when calls in flight are answered and committed, or at the
  /// deadline.
  virtual void drain(Deadline deadline) = 0;
};

}  // namespace geonce
