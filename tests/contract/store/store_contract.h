#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "store/store.h"

namespace geonce::contract {

/// A durable place that starts empty and outlives the stores opened on it.
class StoreWorld {
 public:
  virtual ~StoreWorld() = default;
  /// One more process's view, as it were. Several may be open at once.
  /// clock   null: the system's
  virtual Result<std::unique_ptr<geonce::Store>> open(Clock* clock) = 0;
  /// The test's clock has moved; of interest to stores that have a clock of their own.
  virtual void clock_moved(UtcMs /*now*/) {}
};

/// Tells the world when it moves.
class WorldClock : public FakeClock {
 public:
  explicit WorldClock(const std::unique_ptr<StoreWorld>& world) : world_(world) {}
  void advance(milliseconds by) {
    FakeClock::advance(by);
    world_->clock_moved(now_utc());
  }
  void jump_utc(milliseconds by) {
    FakeClock::jump_utc(by);
    world_->clock_moved(now_utc());
  }

 private:
  const std::unique_ptr<StoreWorld>& world_;
};

/// One kind of store. A new kind adds its factory in a file of its own, and a line in
/// kinds_test.cc.
struct StoreFactory {
  std::string kind;
  std::function<std::unique_ptr<StoreWorld>()> make;
};

inline void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.kind; }
inline std::string kind_of(const testing::TestParamInfo<StoreFactory>& info) {
  return info.param.kind;
}

std::vector<StoreFactory> store_kinds();
/// Those that several processes can share, and that outlive them.
std::vector<StoreFactory> store_kinds_for_processes();

using namespace std::chrono_literals;
using Verdict = Taken::Verdict;

inline constexpr milliseconds kClaimLife{14'000};
inline constexpr milliseconds kFresh = 24h;
inline constexpr milliseconds kStale = 48h;
inline constexpr milliseconds kErase = 72h;

/// The n-th address of a test.
Slot slot(std::uint32_t n, Pool pool = kDefaultPool);
/// The key of the n-th building.
Key building(std::uint32_t n);
IntentId new_intent();
Answer match(double lat_deg = 59.9, double lng_deg = 10.7, std::string provider = "alpha");
Answer no_match(std::string provider = "alpha");

/// A world with one open store and a clock that moves by hand, and the steps of a purchase in
/// short.
class Store : public testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override;

  [[nodiscard]] std::unique_ptr<geonce::Store> open();

  TakeRequest ask(const Slot& where);
  Taken take(const TakeRequest& request);
  Taken take(const Slot& where) { return take(ask(where)); }
  CallRecord call(const TakeRequest& request, Billed billed = Billed::yes) const;
  CommitRequest answer_to(const TakeRequest& request,
                          const Taken& taken,
                          const Answer& answer) const;
  Committed commit(const CommitRequest& request);
  Advanced advance(const AdvanceRequest& request);
  Released release(const ReleaseRequest& request);
  ReleaseRequest ending(ReleaseRequest::Kind kind,
                        const TakeRequest& request,
                        const Taken& taken) const;
  AdvanceRequest next_after(const TakeRequest& request, const Taken& taken) const;
  /// take and commit in one.
  void buy(const Slot& where, const Answer& answer);
  std::optional<Found> find(const Slot& where);
  std::vector<LedgerRow> ledger_of(const IntentId& intent);
  std::vector<std::string> events_of(const IntentId& intent);
  LedgerSum sum(const std::string& provider = "alpha");

  std::unique_ptr<StoreWorld> world_;
  WorldClock clock_{world_};
  std::unique_ptr<geonce::Store> store_;
  OwnerId owner_ = new_intent();
};

inline Slot slot(std::uint32_t n, Pool pool) {
  Slot slot;
  slot.pool = pool;
  // Spread over the key space as digests are, and the same in every run.
  std::uint64_t state = n + 1;
  for (std::size_t at = 0; at < slot.key.bytes.size(); at += sizeof state) {
    state = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U + 0x9E3779B97F4A7C15U;
    std::memcpy(slot.key.bytes.data() + at, &state, sizeof state);
  }
  return slot;
}

inline Key building(std::uint32_t n) { return slot(1'000'000 + n).key; }

inline IntentId new_intent() { return make_uuid(system_clock()); }

inline Answer match(double lat_deg, double lng_deg, std::string provider) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{lat_deg, lng_deg};
  answer.precision = Precision::rooftop;
  answer.provider = std::move(provider);
  answer.formatted = "1 Some Street, Some Town";
  return answer;
}

inline Answer no_match(std::string provider) {
  Answer answer;
  answer.kind = AnswerKind::no_match;
  answer.provider = std::move(provider);
  return answer;
}

inline void Store::SetUp() {
  world_ = GetParam().make();
  store_ = open();
}

inline std::unique_ptr<geonce::Store> Store::open() {
  auto opened = world_->open(&clock_);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    std::abort();
  }
  return std::move(*opened);
}

inline TakeRequest Store::ask(const Slot& where) {
  static const auto kChain = std::make_shared<const std::vector<std::string>>(1, "alpha");
  TakeRequest request;
  request.slot = where;
  request.intent = new_intent();
  request.owner = owner_;
  request.life = kClaimLife;
  request.chain = kChain;
  request.query_json = R"({"text":"1 some street"})";
  request.pre_image = std::string("pre\0image", 9);
  return request;
}

inline Taken Store::take(const TakeRequest& request) {
  auto taken = store_->take({&request, 1}, Deadline::never());
  EXPECT_TRUE(taken) << taken.error().message;
  return taken->front();
}

inline CallRecord Store::call(const TakeRequest& request, Billed billed) const {
  CallRecord call;
  call.intent = request.intent;
  call.provider = request.chain->front();
  call.http_status = 200;
  call.billed = billed;
  call.price = Money{5'000};
  return call;
}

inline CommitRequest Store::answer_to(const TakeRequest& request,
                                      const Taken& taken,
                                      const Answer& answer) const {
  CommitRequest commit;
  commit.slot = request.slot;
  commit.fence = taken.fence;
  commit.gen = taken.gen;
  commit.call = call(request);
  commit.answer = std::make_shared<const Answer>(answer);
  commit.life = {kFresh, kStale, kErase};
  commit.query_json = taken.query_json;
  commit.pre_image = request.pre_image;
  commit.building_key = building(1);
  return commit;
}

inline Committed Store::commit(const CommitRequest& request) {
  auto committed = store_->commit({&request, 1}, Deadline::never());
  EXPECT_TRUE(committed) << committed.error().message;
  return committed->front();
}

inline Advanced Store::advance(const AdvanceRequest& request) {
  auto advanced = store_->advance({&request, 1}, Deadline::never());
  EXPECT_TRUE(advanced) << advanced.error().message;
  return advanced->front();
}

inline Released Store::release(const ReleaseRequest& request) {
  auto released = store_->release({&request, 1}, Deadline::never());
  EXPECT_TRUE(released) << released.error().message;
  return released->front();
}

inline ReleaseRequest Store::ending(ReleaseRequest::Kind kind,
                                    const TakeRequest& request,
                                    const Taken& taken) const {
  ReleaseRequest release;
  release.kind = kind;
  release.slot = request.slot;
  release.fence = taken.fence;
  release.call =
      call(request, kind == ReleaseRequest::Kind::unknown ? Billed::unknown : Billed::no);
  return release;
}

inline AdvanceRequest Store::next_after(const TakeRequest& request, const Taken& taken) const {
  AdvanceRequest advance;
  advance.slot = request.slot;
  advance.fence = taken.fence;
  advance.gen = taken.gen;
  advance.call = call(request);
  advance.call.provider = (*request.chain)[taken.step];
  advance.step = taken.step;
  advance.next_intent = new_intent();
  advance.life = kClaimLife;
  advance.chain = request.chain;
  return advance;
}

inline void Store::buy(const Slot& where, const Answer& answer) {
  const auto request = ask(where);
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  ASSERT_TRUE(commit(answer_to(request, taken, answer)).stored);
}

inline std::optional<Found> Store::find(const Slot& where) {
  auto found = store_->find({&where, 1}, Deadline::never());
  EXPECT_TRUE(found) << found.error().message;
  return found->front();
}

inline std::vector<LedgerRow> Store::ledger_of(const IntentId& intent) {
  LedgerFilter filter;
  filter.intent = intent;
  filter.newest_first = false;
  auto rows = store_->ledger(filter, Deadline::never());
  EXPECT_TRUE(rows) << rows.error().message;
  return *rows;
}

inline std::vector<std::string> Store::events_of(const IntentId& intent) {
  std::vector<std::string> events;
  for (const auto& row : ledger_of(intent)) events.emplace_back(to_string(row.event));
  return events;
}

inline LedgerSum Store::sum(const std::string& provider) {
  auto sums = store_->ledger_sums({}, Deadline::never());
  EXPECT_TRUE(sums) << sums.error().message;
  for (const auto& sum : *sums)
    if (sum.provider == provider) return sum;
  return {};
}

}  // namespace geonce::contract
