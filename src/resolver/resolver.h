#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/answer.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/money.h"
#include "core/normalize.h"
#include "core/query.h"
#include "core/result.h"
#include "core/uuid.h"
#include "store/store.h"

namespace geonce {

/// A cap on what one caller may spend, reserved before a call is made and given back when proven unsent.
class SpendCap {
 public:
  SpendCap(std::optional<std::int64_t> max_calls, std::optional<Money> max_cost)
      : max_calls_(max_calls), max_cost_(max_cost) {}
  [[nodiscard]] bool reserve(Money price);
  void give_back(Money price);
  [[nodiscard]] std::int64_t calls() const { return calls_.load(); }
  [[nodiscard]] bool was_hit() const { return hit_.load(); }

 private:
  std::optional<std::int64_t> max_calls_;
  std::optional<Money> max_cost_;
  std::atomic<std::int64_t> calls_{0};
  std::atomic<std::int64_t> micro_usd_{0};
  std::atomic<bool> hit_{false};
};

struct AskOptions {
  bool cache_only = false;      // never pay, not even wait for who pays
  bool refresh = false;         // buy anew although fresh
  bool retry_no_match = false;  // a remembered no-match is a miss
  bool serve_stale = true;      // when nothing better is to be had
  Cause cause = Cause::miss;    // `batch` sends through bulk endpoints where there are
  std::shared_ptr<SpendCap> cap;
};

struct Ask {
  Slot slot;
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
  Money cost;                            // of calls made for this ask; 0 when remembered
  int calls = 0;
  milliseconds keep{0};                  // how long the caller's own copy may be kept (terms); 0: not at all
  std::optional<IntentId> intent;
};

struct ResolverStats {
  std::int64_t l1 = 0, db = 0, places = 0, coalesced = 0, paid = 0, negative = 0, stale = 0, errors = 0;
  std::int64_t calls = 0, unknown = 0, redundant = 0;
  Money cost;
  std::int64_t flights = 0, calls_in_flight = 0;
};

/// Answers each query from the first tier that has it, else from one paid call per distinct key.
class Resolver {
 public:
  virtual ~Resolver() = default;

  /// Starts `asks`; `done` is called once per ask with its index, from any thread, maybe before this
  /// returns (remembered answers), and must not block. At the deadline it is called with
  /// deadline_exceeded or a stale answer, while the purchase goes on and is stored.
  virtual void start(std::vector<Ask> asks,
                     Deadline deadline,
                     std::function<void(std::size_t, Resolved)> done) = 0;

  /// The same, waiting: one result per ask, same order.
  virtual std::vector<Resolved> resolve(std::vector<Ask> asks, Deadline deadline) = 0;

  /// What is known without asking anybody: no flight, no claim. For dry runs.
  virtual std::vector<Resolved> peek(std::span<const Ask> asks, Deadline deadline) = 0;

  [[nodiscard]] virtual ResolverStats stats() const = 0;

  /// No new calls from here on; returns when calls in flight are answered and committed, or at the deadline.
  virtual void drain(Deadline deadline) = 0;
};

}  // namespace geonce
