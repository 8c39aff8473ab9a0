#include "app/sweeper.h"

#include <algorithm>

#include <fmt/format.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;

// Whoever erases holds the first; the second is held by nobody's work but by time: until it is over
// no process begins another round.
constexpr std::string_view kWork = "sweep";
constexpr std::string_view kRound = "sweep.round";
constexpr milliseconds kPatience{60'000};
constexpr milliseconds kShortestRest{1};

std::int64_t rows_of(const SweepReport& report) {
  return report.entries + report.negatives + report.claims + report.chunks + report.batches;
}

void add(SweepReport& sum, const SweepReport& one) {
  sum.entries += one.entries;
  sum.negatives += one.negatives;
  sum.claims += one.claims;
  sum.chunks += one.chunks;
  sum.batches += one.batches;
  sum.is_behind = one.is_behind;
}

void sleep(milliseconds span, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, span, [] { return false; });
}

}  // namespace

Result<Swept> sweep_once(Store& store,
                         const OwnerId& owner,
                         const Clock& clock,
                         const SweepPace& pace,
                         const std::stop_token& stop,
                         const std::function<void(milliseconds)>& rest) {
  Swept swept;
  milliseconds caught_up{0};
  while (!stop.stop_requested()) {
    // Renewed before each portion. Lost to another it was held too long: that one goes on.
    const auto held = store.lease(kWork, owner, pace.lease, Deadline::in(kPatience, clock));
    if (!held) return fail(held.error());
    if (held->count() > 0) {
      swept.busy = *held;
      return swept;
    }
    const Mono began = clock.now();
    const auto portion = store.sweep(pace.portion, Deadline::in(kPatience, clock));
    if (!portion) return fail(portion.error());
    add(swept.sum, *portion);
    if (rows_of(*portion) == 0) break;
    if (portion->is_behind && caught_up < pace.most_catching_up) {
      rest(pace.catch_up);
      caught_up += pace.catch_up;
    } else if (pace.share < 1) {
      const auto took = std::chrono::duration_cast<milliseconds>(clock.now() - began);
      const double resting = static_cast<double>(took.count()) * (1 / pace.share - 1);
      rest(std::max(kShortestRest, milliseconds{static_cast<std::int64_t>(resting)}));
    }
  }
  if (auto back = store.lease(kWork, owner, milliseconds{0}, Deadline::in(kPatience, clock)); !back)
    return fail(back.error());
  return swept;
}

Result<Swept> sweep_once(Store& store,
                         const OwnerId& owner,
                         const SweepPace& pace,
                         const std::stop_token& stop) {
  return sweep_once(
      store, owner, system_clock(), pace, stop, [&stop](milliseconds span) { sleep(span, stop); });
}

Sweeper::Sweeper(Store& store,
                 const SweepConfig& config,
                 std::function<void(const std::string&)> notice)
    : store_(store),
      config_(config),
      notice_(std::move(notice)),
      owner_(make_uuid(system_clock())) {
  if (config_.every.count() > 0)
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
}

void Sweeper::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) sleep(look(stop), stop);
}

milliseconds Sweeper::look(const std::stop_token& stop) {
  const milliseconds every = config_.every;
  const auto due = store_.lease(kRound, owner_, every, Deadline::in(kPatience, system_clock()));
  if (due && due->count() > 0) return *due;
  Result<Swept> swept = due ? sweep_once(store_, owner_, {}, stop) : fail(due.error());
  if (!swept)
    notice_(fmt::format("cannot erase what has outlived its terms: {}; the next try is in {} s",
                        swept.error().message,
                        every.count() / 1'000));
  return every;
}

}  // namespace geonce
