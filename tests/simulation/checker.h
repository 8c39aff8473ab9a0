#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resolver/resolver.h"
#include "simulation/provider.h"
#include "store/store.h"

namespace geonce::sim {

class Process;
class World;
struct AskState;
struct SimCall;
struct SimFlight;

/// A promise that was not kept: the first of a schedule.
struct Violation {
  std::string rule;  // see tests/simulation/README.md
  std::string text;
};

/// What many schedules came to.
struct Sums {
  std::uint64_t schedules = 0, events = 0, asks = 0, answers = 0, errors = 0;
  std::uint64_t from_memory = 0, from_shared = 0, from_store = 0;
  std::uint64_t bought = 0, coalesced = 0, stale = 0;
  std::uint64_t calls = 0, in_bulk = 0, refused = 0, unknown = 0, redundant = 0, voided = 0;
  std::uint64_t takeovers = 0, blocked = 0, cooling = 0, late_bytes = 0;
  std::uint64_t kills = 0, pauses = 0, hosts_down = 0, adopted = 0, drops = 0, jumps = 0;
  std::uint64_t unknown_and_unsent = 0;  // recorded as unknown, and no byte had left
  std::uint64_t memory_after_drop = 0;   // dropped answers that a process still told from memory
  void add(const Sums& other);
};

/// All of them, with the words they are printed with.
struct SumRow {
  std::string_view name;
  std::uint64_t Sums::*member;
};
std::span<const SumRow> sum_rows();

/// Watches a world from above: knows what each process, the store and the providers did, and when.
/// The providers' bill is the truth that the ledger is measured by.
class Checker {
 public:
  explicit Checker(World& world) : world_(world) {}

  // Transactions, as the store carries them out.
  Result<std::optional<Found>> find(const Slot& slot);
  Result<Taken> take(const TakeRequest& request);
  Result<Advanced> advance(const AdvanceRequest& request);
  Result<Committed> commit(const CommitRequest& request);
  Result<Released> release(const ReleaseRequest& request);
  void drop(const Slot& slot);
  /// The shared tier has heard of it, or has lost what it knew.
  void drop_was_shared(const Slot& slot, milliseconds when);
  void shared_was_flushed();
  void reconcile_all();
  void sweep();
  void jump(milliseconds by);

  // Calls, as they pass.
  void left(const SimCall& call, const IntentId& id, const SpendCap* cap);
  void billed(const IntentId& id, std::size_t step, bool is_refused);
  /// A provider says something of one lookup. Returns the number of the answer.
  std::size_t says(const IntentId& id, std::size_t step, Word word);
  void spooled(const std::vector<IntentId>& intents);

  /// A process counts the answer it bought as redundant.
  void called_redundant(const Slot& slot, const Answer& answer);

  // Callers, as they are told.
  void gives(const SimFlight& flight, const AskOptions& options, const Resolved& resolved);
  void told(AskState& ask, Resolved resolved);

  /// All is over, nothing is under way: what must be left, and what must not.
  void drained();
  void finish();

  void fail(std::string_view rule, std::string text);
  std::optional<Violation> violation;
  Sums sums;

 private:
  struct Given {
    std::uint64_t intent = 0;
    std::size_t step = 0;
    std::size_t key = 0;
    Word word = Word::match;
  };
  struct Promise {
    milliseconds fresh{-1}, stale{-1}, erase{-1};             // in the world's time
    UtcMs fresh_until = 0, stale_until = 0, erase_after = 0;  // as it was committed
  };
  struct Intent {
    bool is_prepared = false;
    std::size_t key = 0;
    std::int64_t gen = 0;
    std::size_t step = 0;
    milliseconds prepared_at{0}, claim_until{0};
    int epoch = 0;  // so many times the store forgot or its clock jumped before
    int round = 0;  // so many no-matches of this provider had run out before
    bool opens_claim = false;
    bool is_extra = false;  // a caller wanted it although there may be an answer
    int bills = 0;
    bool has_left = false;
    bool is_refused = false;
    std::optional<Word> word;
    bool is_spooled = false;
    bool is_committed = false;
    const Process* owner = nullptr;
    std::set<LedgerEvent> events;
    bool is_redundant = false;
  };
  struct Key {
    struct Drop {
      milliseconds when;
      milliseconds known;  // … to the tier in question
    };
    std::vector<Drop> drops, shared_drops;
    std::int64_t most_gen = 0;                              // of an entry that was there
    std::map<std::size_t, std::pair<UtcMs, int>> no_match;  // by step: until when, which round
    milliseconds cool_until{0};
    std::set<std::size_t> said_no;
    // The entry and the claim as they must be, by the store's clock.
    std::int64_t gen = 0;
    std::size_t answer = SIZE_MAX;  // its number; none: nothing, or dropped
    UtcMs claim_until = 0;          // of a call under way …
    IntentId claim_intent;          // … which is this
    std::set<std::size_t> asked;    // have answered under the claim of …
    std::int64_t asked_gen = 0;     // … this window, if that is known
    bool is_asked_known = true;
    void forget_asked() {
      asked.clear();
      is_asked_known = true;
    }
  };
  Intent& intent(const IntentId& id);
  std::size_t key_of(const Slot& slot) const;
  std::size_t step_of(const std::string& provider) const;
  void prepared(const IntentId& id,
                const Slot& slot,
                std::int64_t gen,
                const std::string& provider,
                milliseconds life,
                bool is_extra,
                const OwnerId& owner);
  void promise(const std::shared_ptr<const Answer>& answer,
               milliseconds fresh,
               milliseconds stale,
               milliseconds erase);
  void check_claim(const TakeRequest& request, const Taken& taken);
  void check_lives(const Found& found);
  [[nodiscard]] bool may_keep_all() const;
  bool is_remembered_of_each(const CommitRequest& request);
  void remember_no_match(const Slot& slot, const CallRecord& call, milliseconds life);
  void check_answer(const AskState& ask, const Resolved& resolved);
  void check_mark(const AskState& ask, const Resolved& resolved, const Promise& promised);
  [[nodiscard]] bool has_old_answer(const AskState& ask) const;
  void check_life_unmoved(const Slot& slot, std::string_view after);
  void read_ledger();
  void check_ends();
  void check_windows();
  void check_kept();

  World& world_;
  std::vector<Intent> intents_;
  std::vector<Given> given_;
  std::vector<Promise> promises_;
  std::map<std::size_t, Key> keys_;
  std::map<const SpendCap*, std::int64_t> spent_;
  int epoch_ = 0;
};

}  // namespace geonce::sim
