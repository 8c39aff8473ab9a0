#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "resolver/live.h"
#include "resolver/resolver.h"
#include "simulation/checker.h"
#include "simulation/choices.h"
#include "simulation/defects.h"
#include "simulation/provider.h"
#include "simulation/shared_tier.h"
#include "store/store.h"

namespace geonce::sim {

class Process;

/// Time in a world begins at 0 and is what a clock nobody touches would show.
using Time = milliseconds;

/// A clock in a world. Each process has its own, so that an instant of one is nonsense in another.
class WorldClock final : public Clock {
 public:
  WorldClock(const Time& now, milliseconds ahead) : now_(now), ahead_(ahead) {}
  [[nodiscard]] UtcMs now_utc() const override {
    return 1'800'000'000'000 + (now_ + ahead_ + jumped_).count();
  }
  [[nodiscard]] Mono now() const override { return Mono{std::chrono::hours{1}} + now_ + ahead_; }
  void jump(milliseconds by) { jumped_ += by; }
  [[nodiscard]] milliseconds jumped() const { return jumped_; }

 private:
  const Time& now_;
  const milliseconds ahead_;
  milliseconds jumped_{0};  // of the time of day alone
};

/// One caller's question.
struct AskState {
  int number = 0;
  std::size_t key = 0;
  AskOptions options;
  milliseconds patience{0};
  Time begun{0};
  Time deadline{0};
  const Process* process = nullptr;  // who was asked; null: nobody was there
  Time old_until{0};                 // until then an answer that is not fresh is at hand
  int answers = 0;
  std::optional<Resolved> told;
};

/// Processes, a store they share, providers, and the events between them in the order of time. One
/// thread; the same choices make the same world.
class World {
 public:
  /// store    with `store_clock`; null: a model
  World(Choices& choices, const Defect& defect);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Choices& choices;
  const Defect defect;
  Time now{0};
  WorldClock store_clock{now, milliseconds{0}};
  std::unique_ptr<Store> store;
  Checker checker{*this};
  std::vector<std::shared_ptr<SimProvider>> providers;
  std::vector<std::shared_ptr<Provider>> chain;  // the same
  ResolverOptions options;
  LifeConfig life;
  std::vector<std::unique_ptr<Process>> processes;  // the dead as well, in the order they began
  std::vector<std::unique_ptr<AskState>> asks;
  std::optional<SharedTier> shared;
  std::size_t hosts = 1;
  bool is_ending = false;  // no more trouble from outside

  /// Does it then, unless the process is dead by then. While the process is paused its events wait.
  /// process  null: it happens elsewhere
  /// who      the ask it is about
  void at(Time when, Process* process, int who, std::function<void()> deed);
  void after(milliseconds span, Process* process, int who, std::function<void()> deed) {
    at(now + span, process, who, std::move(deed));
  }
  void at(Time when, std::function<void()> deed) { at(when, nullptr, 0, std::move(deed)); }
  void after(milliseconds span, std::function<void()> deed) { at(now + span, std::move(deed)); }
  /// Whether trouble comes, as Choices::chance; none does at the end.
  bool trouble(Site site, int who, int per_mille) {
    return !is_ending && choices.chance(site, who, per_mille);
  }
  /// How long something takes, as Choices::span; nothing tarries at the end.
  milliseconds span(Site site, int who, milliseconds longest) {
    return is_ending ? milliseconds{1} : choices.span(site, who, longest);
  }
  /// Everything up to then; time stands there afterwards.
  void run_until(Time when);
  /// Until nothing is left to happen.
  void run();

  [[nodiscard]] bool is_store_down() const;
  void take_store_down(Time from, Time until) { outages_.emplace_back(from, until); }

  Process& start_process(int seat, int host);
  std::shared_ptr<SpendCap> make_cap(std::int64_t most_calls);
  [[nodiscard]] std::int64_t most_calls_of(const SpendCap* cap) const { return caps_.at(cap); }
  Process* at_seat(int seat);  // null: nobody is up there
  void kill(Process& process, std::string_view why);
  void kill_host(int host);

  [[nodiscard]] Slot slot(std::size_t key) const;
  Uuid next_id();
  static std::uint64_t number_of(const Uuid& id);

  /// The story, when somebody listens.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    if (is_told) tell(fmt::format(format, std::forward<Args>(args)...));
  }
  bool is_told = false;
  std::vector<std::string> story;
  std::uint64_t events_done = 0;

 private:
  struct Event {
    Time when{0};
    std::uint64_t number = 0;
    Process* process = nullptr;
    int who = 0;
    std::function<void()> deed;
    friend bool operator<(const Event& a, const Event& b) {  // a heap's front is its largest
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };
  void push(Event event);
  Event pop();
  void happen(Event event);
  void tell(const std::string& line);
  void restart_later(const Process& dead);

  std::vector<Event> events_;
  std::uint64_t numbers_ = 0;
  std::uint64_t ids_ = 0;
  std::vector<std::pair<Time, Time>> outages_;
  std::map<const SpendCap*, std::int64_t> caps_;
  std::string last_line_;  // of the story
  int times_ = 0;
};

}  // namespace geonce::sim
