#include <algorithm>
#include <cstdlib>
#include <random>

#include "contract/store/store_contract.h"
#include "support/model_store/model_store.h"

// Every kind does what the model does, in any order of steps. The model is what the simulation
// (tests/simulation) runs on, so what it shows of the model holds for the kinds that agree with it.

namespace geonce::contract {
namespace {

// --- results as text: what is compared, and what a difference is shown as
// -----------------------------------------------------------------------------------

std::string show(const std::optional<Found>& found) {
  if (!found) return "nothing";
  return fmt::format("gen {} {} {} answered {} fresh {} stale {} erase {} until {}{}",
                     found->gen,
                     to_string(found->answer->kind),
                     found->answer->formatted,
                     found->answered_at,
                     found->fresh_left.count(),
                     found->stale_left.count(),
                     found->erase_left.count(),
                     found->fresh_until,
                     found->pinned ? " pinned" : "");
}

std::string show(const Taken& taken) {
  return fmt::format(
      "verdict {} step {} answered {} gen {} attempt {} {} wait {} streak {} found: {}",
      static_cast<int>(taken.verdict),
      taken.step,
      taken.answered,
      taken.gen,
      taken.attempt,
      taken.query_json,
      taken.wait_for.count(),
      taken.no_match_streak,
      show(taken.found));
}

std::string show(const Advanced& advanced) {
  return fmt::format("verdict {} step {} answered {}",
                     static_cast<int>(advanced.verdict),
                     advanced.step,
                     advanced.answered);
}

std::string show(const Committed& committed) {
  return fmt::format("stored {} held {} fresh {} stale {} erase {} answered at {} fresh until {}",
                     committed.stored,
                     committed.held,
                     committed.fresh_left.count(),
                     committed.stale_left.count(),
                     committed.erase_left.count(),
                     committed.answered_at,
                     committed.fresh_until);
}

std::string show(const Released& released) {
  return fmt::format("held {} blocked {}", released.held, released.blocked);
}

std::string show(const LedgerRow& row) {
  return fmt::format("{} {} at {} gen {} attempt {} {} {}{} http {} '{}' {} units {} price {}{}{}",
                     to_string(row.intent),
                     to_string(row.event),
                     row.at,
                     row.gen,
                     row.attempt,
                     row.provider,
                     to_string(row.cause),
                     row.bulk ? " bulk" : "",
                     row.http_status,
                     row.reason,
                     static_cast<int>(row.billed),
                     row.units,
                     row.price.micro_usd,
                     row.redundant ? " redundant" : "",
                     row.late ? " late" : "");
}

/// The fence is a store's own business: only whether there is one is compared.
std::string show(const OpenIntent& open) {
  return fmt::format("{} gen {} attempt {} {} price {} {} '{}' streak {} held {} fence {} noted {}",
                     to_string(open.intent),
                     open.gen,
                     open.attempt,
                     open.provider,
                     open.price.micro_usd,
                     open.query_json,
                     open.pre_image,
                     open.no_match_streak,
                     open.claim_held,
                     open.fence != 0,
                     open.noted);
}

std::string show(const LedgerSum& sum) {
  return fmt::format("{}: {} = {} + {} + {} + {} + {}, redundant {}, {} for {}, in doubt {} for {}",
                     sum.provider,
                     sum.prepared,
                     sum.answered,
                     sum.refused,
                     sum.unknown,
                     sum.voided,
                     sum.open,
                     sum.redundant,
                     sum.billed_units,
                     sum.billed.micro_usd,
                     sum.in_doubt_units,
                     sum.in_doubt.micro_usd);
}

std::string show(const EntryRow& row) {
  return fmt::format("gen {} {} {} {} {} {} {} streak {}{} {} {} in {}",
                     row.gen,
                     row.answer ? to_string(row.answer->kind) : "tombstone",
                     row.answer ? row.answer->provider : "",
                     row.answered_at,
                     row.fresh_until,
                     row.stale_until,
                     row.erase_after,
                     row.no_match_streak,
                     row.pinned ? " pinned" : "",
                     row.intent ? to_string(*row.intent) : "",
                     row.query_json,
                     row.building_key ? to_text(*row.building_key) : "none");
}

std::string show(const EndedWindow& window) {
  return fmt::format("{} gen {}", window.slot.key.bytes[0], window.gen);
}

std::string show(Rekeyed rekeyed) {
  return rekeyed == Rekeyed::stayed ? "stayed" : rekeyed == Rekeyed::moved ? "moved" : "merged";
}

std::string show(milliseconds span) { return fmt::format("{} ms", span.count()); }

std::string show(const SweepReport& report) {
  return fmt::format(
      "entries {} negatives {} claims {}", report.entries, report.negatives, report.claims);
}

/// Each on a line; order is no part of the contract where several are read at once.
template <class T>
std::string show(const std::vector<T>& many) {
  std::vector<std::string> lines;
  for (const T& one : many) lines.push_back(show(one));
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

template <class T>
std::string show_all(const Result<T>& result) {
  if (!result) return fmt::format("error {}", to_string(result.error().code));
  if constexpr (std::is_same_v<T, std::size_t>)
    return std::to_string(*result);
  else
    return show(*result);
}
std::string show_all(const Result<void>& result) { return result ? "done" : "error"; }

// --- a random life of a few keys
// -----------------------------------------------------------------------------------

/// A store, and what it said to the takes so far: the fences that later steps need.
struct Side {
  geonce::Store& store;
  std::vector<std::int64_t> fences;
};

class Steps {
 public:
  Steps(std::uint64_t seed, geonce::Store& kind, geonce::Store& model, WorldClock& clock)
      : random_(seed), kind_{kind, {}}, model_{model, {}}, clock_(clock) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
  }

 private:
  /// A claim that was won, as the one who won it knows it.
  struct Claim {
    TakeRequest request;
    std::int64_t gen = 0;
    std::size_t fence = 0;  // index into Side::fences
    IntentId intent;        // of the latest call
    std::size_t at = 0;     // in the chain
    std::string query_json;
  };

  std::size_t roll(std::size_t sides) {
    return std::uniform_int_distribution<std::size_t>(0, sides - 1)(random_);
  }
  bool chance(std::size_t in_a_hundred) { return roll(100) < in_a_hundred; }
  IntentId new_id() {
    IntentId id;
    const std::uint64_t number = ++ids_;
    std::memcpy(id.bytes.data() + 8, &number, sizeof number);
    return id;
  }
  Slot some_slot() { return slot(static_cast<std::uint32_t>(roll(2)) + 1); }

  /// Does the same to both and expects the same to be said.
  template <class F>
  void both(const std::string& what, F&& step) {
    done_.push_back(what);
    const std::string by_kind = show_all(step(kind_));
    const std::string by_model = show_all(step(model_));
    EXPECT_EQ(by_kind, by_model) << "after\n" << fmt::format("{}", fmt::join(done_, "\n"));
  }

  void step() {
    const std::size_t what = roll(100);
    if (what < 26)
      take();
    else if (what < 44)
      commit();
    else if (what < 56)
      advance();
    else if (what < 68)
      release();
    else if (what < 72)
      invalidate();
    else if (what < 74)
      pin();
    else if (what < 77)
      reconcile();
    else if (what < 79)
      rekey();
    else if (what < 81)
      both("sweep", [](Side& side) { return side.store.sweep(100, Deadline::never()); });
    else if (what < 82)
      lease();
    else if (what < 90)
      pass_time();
    else
      look();
  }

  void take() {
    TakeRequest request;
    request.slot = some_slot();
    request.intent = new_id();
    request.owner.bytes[0] = static_cast<std::uint8_t>(1 + roll(2));
    request.cause = chance(50) ? Cause::miss : Cause::batch;
    request.bulk = chance(20);
    if (chance(15)) request.refresh_before = chance(50) ? kRefreshAll : clock_.now_utc() - 1'000;
    request.retry_no_match = chance(15);
    request.life = kClaimLife;
    request.max_unknown = static_cast<int>(roll(3)) - 1;
    std::vector<std::string> chain{"alpha", "beta", "gamma"};
    chain.resize(1 + roll(3));
    for (std::size_t i = 0; i < chain.size(); ++i)
      request.prices.push_back(Money{static_cast<std::int64_t>(100 * (i + 1))});
    request.chain = std::make_shared<const std::vector<std::string>>(std::move(chain));
    request.query_json = fmt::format(R"({{"text":"{}"}})", ids_);
    request.pre_image = fmt::format("image {}", ids_);
    if (!claims_.empty() && chance(10)) {  // asked again, after a doubt
      const Claim& earlier = claims_[roll(claims_.size())];
      request.slot = earlier.request.slot;
      request.intent = earlier.intent;
    }
    std::optional<Taken> taken;
    both(fmt::format("take {} of {}", to_string(request.intent), request.slot.key.bytes[0]),
         [&](Side& side) {
           auto result = side.store.take({&request, 1}, Deadline::never());
           if (result) {
             taken = result->front();
             side.fences.push_back(taken->fence);
           }
           return result;
         });
    if (!taken || taken->verdict != Verdict::send) return;
    claims_.push_back({request,
                       taken->gen,
                       kind_.fences.size() - 1,
                       request.intent,
                       taken->step,
                       taken->query_json});
  }

  CallRecord call_of(const Claim& claim, Billed billed) {
    CallRecord call;
    call.intent = claim.intent;
    call.provider = (*claim.request.chain)[claim.at];
    call.http_status = 200;
    call.billed = billed;
    call.units = billed == Billed::no ? 0 : 1;
    call.price = Money{static_cast<std::int64_t>(roll(3)) * 50};
    return call;
  }

  /// Mostly the latest claim, but any may come late.
  Claim* some_claim() {
    if (claims_.empty()) return nullptr;
    return &claims_[chance(60) ? claims_.size() - 1 : roll(claims_.size())];
  }

  void commit() {
    const Claim* claim = some_claim();
    if (claim == nullptr) return;
    CommitRequest request;
    request.slot = claim->request.slot;
    request.gen = claim->gen;
    if (!chance(20)) request.call = call_of(*claim, Billed::yes);
    if (!request.call || chance(10)) request.answered_by = claim->request.intent;
    if (chance(30)) request.no_match_for = milliseconds{30'000};
    Answer answer = chance(70) ? match(1, 1, "alpha") : no_match("beta");
    answer.formatted = fmt::format("answer {}", done_.size());
    request.answer = std::make_shared<const Answer>(std::move(answer));
    if (!chance(10)) request.life = {20s, 40s, 60s};
    request.query_json = claim->query_json;
    request.building_key = building(6);
    request.pre_image = claim->request.pre_image;
    const int times = chance(20) ? 2 : 1;
    for (int i = 0; i < times; ++i)
      both(fmt::format(
               "commit for {}{}", to_string(claim->intent), request.call ? "" : " without a call"),
           [&](Side& side) {
             request.fence = side.fences[claim->fence];
             return side.store.commit({&request, 1}, Deadline::never());
           });
  }

  void advance() {
    Claim* claim = some_claim();
    if (claim == nullptr) return;
    AdvanceRequest request;
    request.slot = claim->request.slot;
    request.gen = claim->gen;
    request.refused = chance(40);
    request.call = call_of(*claim, request.refused ? Billed::no : Billed::yes);
    if (!request.refused && chance(50)) request.no_match_for = milliseconds{30'000};
    request.step = claim->at;
    request.next_intent = new_id();
    request.life = kClaimLife;
    request.chain = claim->request.chain;
    request.prices = claim->request.prices;
    if (chance(20)) {  // a no-match that wants to be confirmed
      request.chain = std::make_shared<const std::vector<std::string>>(
          std::vector<std::string>{request.call.provider, request.call.provider, "gamma"});
      request.prices = {Money{1}, Money{2}, Money{3}};
      request.step = 0;
    }
    std::optional<Advanced> advanced;
    const int times = chance(20) ? 2 : 1;
    for (int i = 0; i < times; ++i)
      both(fmt::format(
               "advance from {} to {}", to_string(claim->intent), to_string(request.next_intent)),
           [&](Side& side) {
             request.fence = side.fences[claim->fence];
             auto result = side.store.advance({&request, 1}, Deadline::never());
             if (result) advanced = result->front();
             return result;
           });
    if (advanced && advanced->verdict == Advanced::Verdict::send) {
      claim->intent = request.next_intent;
      claim->request.chain = request.chain;
      claim->request.prices = request.prices;
      claim->at = advanced->step;
    }
  }

  void release() {
    const Claim* claim = some_claim();
    if (claim == nullptr) return;
    ReleaseRequest request;
    request.kind = static_cast<ReleaseRequest::Kind>(roll(3));
    request.slot = claim->request.slot;
    request.call = call_of(
        *claim, request.kind == ReleaseRequest::Kind::unknown ? Billed::unknown : Billed::no);
    if (chance(60)) request.cool_down = 5s;
    request.max_unknown = static_cast<int>(roll(3)) - 1;
    const int times = chance(20) ? 2 : 1;
    for (int i = 0; i < times; ++i)
      both(fmt::format(
               "release {} of {}", static_cast<int>(request.kind), to_string(request.call.intent)),
           [&](Side& side) {
             request.fence = side.fences[claim->fence];
             return side.store.release({&request, 1}, Deadline::never());
           });
  }

  void invalidate() {
    const Slot where = some_slot();
    both(fmt::format("invalidate {}", where.key.bytes[0]), [&](Side& side) {
      return side.store.invalidate({&where, 1}, Deadline::never());
    });
  }
  void pin() {
    const Slot where = some_slot();
    both(fmt::format("pin {}", where.key.bytes[0]), [&](Side& side) {
      return side.store.pin(where, match(4, 4, "person"), "{}", "", building(4), Deadline::never());
    });
  }
  void reconcile() {
    if (claims_.empty()) return;
    const Claim& claim = claims_[roll(claims_.size())];
    const Reconciliation learnt{claim.request.slot, claim.intent, chance(50), "invoice"};
    both(fmt::format("reconcile {}", to_string(claim.intent)), [&](Side& side) {
      return side.store.reconcile({&learnt, 1}, Deadline::never());
    });
  }
  void rekey() {
    const std::uint32_t from = chance(50) ? 1 : 2;
    const auto entry = model_.store.entry(slot(from), Deadline::never());
    Rekey one{slot(from), slot(3 - from), "", fmt::format("of {}", from), building(from)};
    if (entry && *entry && chance(90)) one.query_json = (*entry)->query_json;
    both(fmt::format("rekey {} {}", from, one.query_json), [&](Side& side) {
      return side.store.rekey({&one, 1}, Deadline::never());
    });
  }

  void pass_time() {
    static constexpr std::array<milliseconds, 6> kSpans{5ms, 3s, 14s, 21s, 61s, 24h * 31};
    const milliseconds span = kSpans[chance(95) ? roll(5) : 5];
    done_.push_back(fmt::format("{} ms pass", span.count()));
    clock_.advance(span);
  }

  void lease() {
    OwnerId owner;
    owner.bytes[0] = static_cast<std::uint8_t>(1 + roll(2));
    const milliseconds life{roll(3) * 60'000};
    both(fmt::format("lease for {} ms", life.count()),
         [&](Side& side) { return side.store.lease("sweep", owner, life, Deadline::never()); });
  }

  void look() {
    for (const Slot& where : {slot(1), slot(2)})
      both("find", [&](Side& side) { return side.store.find({&where, 1}, Deadline::never()); });
    both("entries", [](Side& side) { return side.store.entries({}, Deadline::never()); });
    both("ended", [](Side& side) { return side.store.untold(100'000, Deadline::never()); });
    both("sums", [](Side& side) { return side.store.ledger_sums({}, Deadline::never()); });
    LedgerFilter all;
    all.limit = 100'000;
    both("ledger", [&](Side& side) { return side.store.ledger(all, Deadline::never()); });
    OwnerId owner;
    owner.bytes[0] = static_cast<std::uint8_t>(1 + roll(2));
    std::vector<IntentId> also;
    if (!claims_.empty()) also.push_back(claims_[roll(claims_.size())].intent);
    both("open intents",
         [&](Side& side) { return side.store.open_intents(owner, also, Deadline::never()); });
  }

  std::mt19937_64 random_;
  Side kind_, model_;
  WorldClock& clock_;
  std::vector<Claim> claims_;
  std::vector<std::string> done_;
  std::uint64_t ids_ = 0;
};

/// GEONCE_SEED does that one sequence; GEONCE_SEQUENCES as many as that.
std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_P(Store, does_what_the_model_does_in_any_order_of_steps) {
  const bool is_one = std::getenv("GEONCE_SEED") != nullptr;
  const std::uint64_t first = number_from("GEONCE_SEED", 1);
  const std::uint64_t count = is_one ? 1 : number_from("GEONCE_SEQUENCES", 12);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("GEONCE_SEED=" + std::to_string(seed));
    store_.reset();
    world_ = GetParam().make();
    store_ = open();
    const auto model = open_model_store(make_model_world(), clock_);
    Steps(seed, *store_, *model, clock_).run(80);
  }
}

}  // namespace
}  // namespace geonce::contract
