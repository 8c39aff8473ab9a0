#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resolver/flight.h"
#include "resolver/request.h"
#include "simulation/spool_model.h"
#include "simulation/world.h"
#include "tiers/memory_tier.h"

namespace geonce::sim {

/// A flight, and what the checker wants to know of it.
struct SimFlight : Flight {
  using Flight::Flight;
  int number = 0;  // of the ask it began with
  Time begun{0};
  const SpendCap* leaders_cap = nullptr;
  bool is_shared = false;     // others have joined: one of them may pay
  bool is_abandoned = false;  // by a defect
};

/// One HTTP call and those who ride in it.
struct SimCall {
  std::size_t step = 0;
  bool bulk = false;
  struct Rider {
    FlightPtr flight;
    act::Call call;
  };
  std::vector<Rider> riders;
  Time checked{0};  // the last look at the clock before the first byte
  bool is_over = false;

  [[nodiscard]] std::vector<IntentId> intents() const;
};
using SimCallPtr = std::shared_ptr<SimCall>;

/// A process without threads: the real request machine, flights and memory tier, carried from
/// action to action as resolver/live.cc does it, with each wait an event of the world. Instead of
/// lanes there is chance: who may call and when is whatever a lane could ever say.
class Process {
 public:
  Process(World& world, int index, int seat, int host);
  /// Who still waits has nobody left to be answered by; without this they and their flights would
  /// hold each other.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const int index, seat, host;
  const OwnerId owner;
  bool is_alive = true;
  bool is_up = false;  // has adopted, and takes questions
  bool was_up = false;
  bool has_no_spool = false;   // it was adopted, or went with its host
  bool lost_its_disk = false;  // … and what it knew with it
  bool is_being_adopted = false;
  Time paused_until{0};
  Time last_pause_end{0};
  SpoolModel spool;

  /// What a process does first (adoption.cc): takes over from the dead on its host.
  void come_up();
  void ask(AskState& ask);

  /// Whether a question that began at `joined` may have met a flight that began at `begun` or
  /// before, and so hears what was known then.
  [[nodiscard]] bool had_flight(const Slot& slot, Time begun, Time joined) const;
  [[nodiscard]] std::size_t flights() const { return flights_.size() + under_way_; }
  [[nodiscard]] const WorldClock& clock() const { return clock_; }

 private:
  using GroupPtr = std::shared_ptr<Group>;
  [[nodiscard]] Moment moment(const Flight& flight) const {
    return {clock_.now(), clock_.now_utc(), flight.wanted_until()};
  }
  static int who(const FlightPtr& flight) { return static_cast<SimFlight&>(*flight).number; }
  [[nodiscard]] bool has(ProcessDefect defect) const { return world_.defect.in_process == defect; }
  void later(Site site, int who, milliseconds longest, std::function<void()> deed) {
    world_.after(world_.span(site, who, longest), this, who, std::move(deed));
  }

  // The way of a question (process.cc).
  void look_in_shared(const GroupPtr& group, AskState& ask);
  void look_up(const GroupPtr& group, AskState& ask);
  void limit_wait(const GroupPtr& group, const FlightPtr& flight, int who);
  void was_looked_up(const GroupPtr& group,
                     AskState& ask,
                     const std::optional<Found>& found,
                     Mono asked);
  void drive(const FlightPtr& flight, Action action);
  void carry_out(const FlightPtr& flight, act::Read& read);
  void carry_out(const FlightPtr& flight, act::Places& places);
  void carry_out(const FlightPtr& flight, act::Admit& admit);
  void carry_out(const FlightPtr& flight, act::Take& take);
  void carry_out(const FlightPtr& flight, act::Call& call);
  void carry_out(const FlightPtr& flight, act::Advance& advance);
  void carry_out(const FlightPtr& flight, act::Commit& commit);
  void carry_out(const FlightPtr& flight, act::Release& release);
  void carry_out(const FlightPtr& flight, act::Wait& wait);
  void carry_out(const FlightPtr& flight, act::Done& done);
  void tell(const FlightPtr& flight, bool goes_on);
  void land(const FlightPtr& flight);
  void give(const Caller& caller, Resolved resolved, const FlightPtr& flight);
  void remember(int who, const Slot& slot, const Found& found, Mono asked, Mono now);
  void publish(int who, const Slot& slot, const Cached& cached, Mono read, bool replaces);
  Mono grow_old(std::optional<Found>& found, Mono asked) const;
  void settled(const FlightPtr& flight, const std::optional<CallRecord>& call, bool is_needed);

  /// A transaction's way to the store and back.
  template <class T>
  void exchange(int who, std::function<Result<T>()> transaction, std::function<void(Result<T>)> on);

  // Money and calls (calls.cc).
  bool reserve(const FlightPtr& flight, Money price);
  static void give_back(Flight& flight);
  static void settle(Flight& flight, const Outcome& outcome);
  [[nodiscard]] Money price_of(std::size_t step, bool bulk) const;
  [[nodiscard]] bool goes_by_bulk(const Flight& flight, std::size_t step) const;
  void depart(std::size_t step);
  void send(std::vector<SimCall::Rider> riders);
  void mark(const SimCallPtr& call);
  void connect(const SimCallPtr& call);
  void leave(const SimCallPtr& call);
  void reach(const SimCallPtr& call);
  [[nodiscard]] std::string words(const SimCall& call);
  void received(const SimCallPtr& call, Transfer transfer);
  void lost(const SimCallPtr& call);
  void ended(const SimCallPtr& call, const Transfer& transfer);
  void hold_back(const SimCallPtr& call, Unsent why, const Error& error);

  World& world_;
  WorldClock clock_;
  const RequestRules rules_;
  const std::unique_ptr<MemoryTier> memory_;
  Tally tally_;
  Flights flights_;
  std::size_t under_way_ = 0;
  std::vector<std::vector<SimCall::Rider>> waiting_;  // for company, by step
  std::map<Slot, Found> last_seen_;                   // for a defect
  struct Past {
    Slot slot;
    Time begun{0}, landed{Time::max()};
  };
  std::map<int, Past> past_;                  // flights, by their number
  std::set<Slot> shared_;                     // whose flights somebody has joined
  std::vector<std::weak_ptr<Group>> groups_;  // that wait, or did
};

template <class T>
void Process::exchange(int who,
                       std::function<Result<T>()> transaction,
                       std::function<void(Result<T>)> on) {
  World& world = world_;
  enum Fault : std::uint8_t { none, refused, ends_in_doubt, comes_late };
  const auto fault = world.trouble(Site::store_fault, who, 8)
                         ? static_cast<Fault>(1 + world.choices.below(Site::store_fault, who, 3))
                         : none;
  world.after(world.span(Site::to_store, who, milliseconds{9'000}),
              [this, &world, who, fault, transaction = std::move(transaction), on = std::move(on)] {
                if (!is_alive && world.trouble(Site::dies_on_the_wire, who, 100)) return;
                Result<T> told = fail(ErrorCode::store_unavailable, "no store");
                const bool is_down = world.is_store_down();
                if (is_down || fault == refused) {
                  world.say("   the store is {}: nothing is done for ask {}",
                            is_down ? "down" : "busy",
                            who);
                } else if (fault == comes_late) {
                  world.say("   the store does not hear of it yet, ask {} is told so", who);
                  told = fail(ErrorCode::deadline_exceeded, "the store did not answer");
                  world.after(world.span(Site::late_span, who, milliseconds{20'000}),
                              [&world, transaction] {
                                if (!world.is_store_down()) (void)transaction();
                              });
                } else {
                  told = transaction();
                  if (fault == ends_in_doubt) {
                    world.say("   … and ask {} never hears that it was done", who);
                    told = fail(ErrorCode::store_unavailable, "the connection broke");
                  }
                }
                world.after(world.span(Site::from_store, who, milliseconds{4'000}),
                            this,
                            who,
                            [on, told = std::move(told)] { on(told); });
              });
}

}  // namespace geonce::sim
