#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "resolver/request.h"
#include "resolver/resolver.h"

namespace geonce {

class Flight;

/// Counts asks by where their answer came from.
class Tally {
 public:
  void add(const Resolved& resolved);
  /// Fills the members of `stats` that count asks.
  void fill(ResolverStats& stats) const;

 private:
  static constexpr std::size_t kSources = 8;
  std::array<std::atomic<std::int64_t>, kSources + 1> counts_{};  // the last one: errors
};

/// The asks of one `Resolver::start` whose answer was not at hand. Each is answered exactly once,
/// by whoever comes first: its flight or the deadline.
class Group {
 public:
  using Done = std::function<void(std::size_t, Resolved)>;
  Group(std::vector<Ask> all, Deadline until, Done done, Tally& tally);

  std::vector<Ask> asks;  // an ask's query moves on into the flight it leads
  const Deadline deadline;

  /// False: it had been answered already, and `resolved` is dropped.
  bool answer(std::size_t index, Resolved resolved);
  /// Ask `index` waits for `flight`, and is given its stale entry at the deadline.
  void waits_for(std::size_t index, std::shared_ptr<const Flight> flight);
  /// The deadline has come: every ask without an answer leaves, with a stale one if there is. The
  /// flights go on.
  /// held  finds a stale answer for those whose flight has none; null: nobody does
  using Held = std::function<std::optional<Resolved>(const Ask&, const Error& why)>;
  void leave(Mono now, const Held& held = nullptr);
  /// Ask `index` has waited as long as it wants to with a stale answer at hand: it leaves with
  /// that. Where the answer is not even stale any more it stays.
  void leave_early(std::size_t index, const Flight& flight, Mono now);

 private:
  Done done_;
  Tally& tally_;
  std::vector<std::atomic<bool>> answered_;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, std::shared_ptr<const Flight>>> waiting_;
};

/// One who waits for a flight.
struct Caller {
  std::shared_ptr<Group> group;
  std::size_t index = 0;
  [[nodiscard]] const AskOptions& options() const { return group->asks[index].options; }
};

/// What one caller is given when the flight ends so. Only the payer sees what it cost.
Resolved share_of(const Ending& ending, const AskOptions& options, bool pays, Mono now);

/// One question under way, shared by all callers in this process who ask the same in the same
/// manner.
class Flight {
 public:
  Flight(const RequestRules& rules, Subject subject, std::optional<Found> found, Mono asked);

  /// Belongs to whoever carries out its present action; nobody else touches it.
  Request request;
  Action first;  // to be carried out by the leader
  std::size_t bulk_limit =
      SIZE_MAX;            // no bulk call larger than this: a larger one was refused as a whole
  bool is_marked = false;  // the spool knows the present intent
  std::vector<IntentId> noted;  // … and these, whose answers are needed until the claim has ended
  bool is_told = false;         // the callers have their answer
  std::vector<std::size_t> steps;  // providers that the admission under way is about
  std::size_t lane = 0;            // that let this flight through to its claim
  Mono let_in_at;
  std::shared_ptr<SpendCap> cap;  // that the present call was reserved from …
  std::optional<Money> reserved;  // … and how much

  /// When the last caller leaves.
  [[nodiscard]] Mono wanted_until() const { return wanted_until_.load(std::memory_order_relaxed); }
  /// What callers are given at their deadline; null: nothing. Set at the start, never changed.
  [[nodiscard]] const std::shared_ptr<const Found>& stale() const { return stale_; }
  [[nodiscard]] Mono stale_until() const { return stale_until_; }

 private:
  friend class Flights;
  std::shared_ptr<const Found> stale_;
  Mono stale_until_;
  std::atomic<Mono> wanted_until_{Mono::min()};
  // Under the lock of the flight's shard:
  std::vector<Caller> callers_;
  std::optional<Caller> payer_;
  std::optional<Ending> told_;  // callers who still come are given this
  bool is_listed_ = false;
};

using FlightPtr = std::shared_ptr<Flight>;

/// The flights of a process by what they ask. A flight is listed from its start until the store has
/// its outcome; who asks later starts anew, so a failure is shared by those who waited for it and
/// by nobody else.
class Flights {
 public:
  /// Joins the flight that asks this in this manner, if there is one.
  /// returns   the answer when it is known already (only the store is behind)
  struct Joined {
    FlightPtr flight;  // null: there is none
    std::optional<Resolved> answer;
  };
  Joined join(const Slot& slot, const Caller& caller, Mono now);

  /// Joins as above, or starts a flight that `make` makes. `leads` says that its `first` is to be
  /// done.
  struct Boarded {
    FlightPtr flight;
    bool leads = false;
    std::optional<Resolved> answer;
  };
  Boarded board(const Slot& slot,
                const Caller& caller,
                Mono now,
                const std::function<FlightPtr()>& make);

  /// Reserves `price` from the first caller who can pay it. Callers who cannot leave with
  /// quota_exhausted: `leave` is called for each. False: nobody pays; who asks from now on starts
  /// anew.
  bool reserve(Flight& flight, Money price, const std::function<void(const Caller&)>& leave);

  /// Gives all callers the ending. The flight stays listed while `goes_on`.
  void tell(const FlightPtr& flight,
            bool goes_on,
            Mono now,
            const std::function<void(const Caller&, Resolved)>& give);

  /// Nobody joins these flights any more; those who wait for them go on waiting.
  void close(const Slot& slot);
  void close_all();

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  enum class Manner : std::uint8_t { plain, retry_no_match, refresh, alone };
  struct Name {
    Slot slot;
    Manner manner = Manner::plain;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct NameHash {
    std::size_t operator()(const Name& name) const {
      return SlotHash{}(name.slot) + static_cast<std::size_t>(name.manner);
    }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Name, FlightPtr, NameHash> flights;
  };
  static constexpr std::size_t kShards = 64;

  static Manner manner_of(const AskOptions& options);
  static Name name_of(const Flight& flight);
  static void add(Flight& flight, const Caller& caller);
  void unlist(Shard& shard, Flight& flight);
  Shard& shard_of(const Slot& slot) { return shards_[SlotHash{}(slot) >> 58U]; }

  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_{0};  // listed flights
};

}  // namespace geonce
