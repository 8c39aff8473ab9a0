#pragma once

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
};

/// One kind of store. A new kind adds a file that instantiates the suites with its own factory.
struct StoreFactory {
  std::string kind;
  std::function<std::unique_ptr<StoreWorld>()> make;
};

inline void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.kind; }
inline std::string kind_of(const testing::TestParamInfo<StoreFactory>& info) {
  return info.param.kind;
}

using namespace std::chrono_literals;
using Verdict = Taken::Verdict;

inline constexpr milliseconds kClaimLife{14'000};
inline constexpr milliseconds kFresh = 24h;
inline constexpr milliseconds kStale = 48h;
inline constexpr milliseconds kErase = 72h;

/// The n-th address of a test.
Slot slot(std::uint32_t n, Pool pool = kDefaultPool);
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
  FakeClock clock_;
  std::unique_ptr<geonce::Store> store_;
  OwnerId owner_ = new_intent();
};

}  // namespace geonce::contract
