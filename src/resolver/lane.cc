#include "resolver/lane.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace geonce {

Lane::Lane(std::string name, LaneLimits limits) : name_(std::move(name)), limits_(limits) {
  GEONCE_EXPECTS(limits_.concurrency > 0);
  tokens_ = burst();
}

Lane::Standing Lane::standing(Mono now) const {
  const std::lock_guard lock(mutex_);
  if (is_up(now)) return {};
  Standing standing;
  standing.is_up = false;
  standing.is_stopped = is_stopped_;
  standing.until = closed_until_;
  standing.why = why_closed_;
  if (standing.why)
    standing.why->retry_after = std::chrono::ceil<milliseconds>(closed_until_ - now);
  return standing;
}

void Lane::want(FlightPtr flight, bool bulk) {
  const std::lock_guard lock(mutex_);
  (bulk ? want_bulk_ : want_single_).push_back({std::move(flight), bulk});
}

void Lane::has_taken(bool bulk, milliseconds took) {
  const std::lock_guard lock(mutex_);
  --(bulk ? taking_bulk_ : taking_single_);
  if (took > milliseconds{0}) take_ms_ = take_ms_ * 0.9 + static_cast<double>(took.count()) * 0.1;
}

void Lane::ready(Ready ready) {
  const std::lock_guard lock(mutex_);
  (ready.call.bulk && limits_.bulk_size > 0 ? ready_bulk_ : ready_single_)
      .push_back(std::move(ready));
}

void Lane::woke() {
  const std::lock_guard lock(mutex_);
  wake_.reset();
}

std::size_t Lane::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

Lane::Work Lane::next(Mono now) {
  const std::lock_guard lock(mutex_);
  Work work;
  for (auto* queue : {&ready_single_, &ready_bulk_}) {
    while (!queue->empty() && queue->front().call.send_before <= now) {
      work.late.push_back(std::move(queue->front()));
      queue->pop_front();
    }
  }
  std::optional<Mono> again;
  const auto due = [&again](Mono when) { again = again ? std::min(*again, when) : when; };
  if (is_up(now)) {
    refill(now);
    send(work, now);
    let_through(work, now);
    if (work.again) due(*work.again);
  } else if (!want_single_.empty() || !want_bulk_.empty()) {
    due(closed_until_);
  }
  for (const auto* queue : {&ready_single_, &ready_bulk_})
    if (!queue->empty())
      due(std::min(queue->front().call.send_before, is_up(now) ? Mono::max() : closed_until_));
  work.again.reset();
  if (again && (!wake_ || *again < *wake_)) work.again = wake_ = again;
  return work;
}

/// Calls that have a slot and a token.
void Lane::send(Work& work, Mono now) {
  while (in_flight_ < slots() && !(ready_single_.empty() && ready_bulk_.empty())) {
    const bool bulk = ready_single_.empty();
    const double needed =
        bulk ? std::min(burst(),
                        static_cast<double>(std::min(ready_bulk_.size(), limits_.bulk_size)))
             : 1;
    if (const milliseconds wait = until_tokens(needed); wait > milliseconds{0}) {
      work.again = now + wait;
      return;
    }
    std::vector<Ready> call;
    if (bulk) {
      call = take_bulk();
    } else {
      call.push_back(std::move(ready_single_.front()));
      ready_single_.pop_front();
    }
    tokens_ -=
        static_cast<double>(call.size());  // may go below: a bulk call is paid off afterwards
    ++in_flight_;
    work.calls.push_back(std::move(call));
  }
}

std::vector<Ready> Lane::take_bulk() {
  std::vector<Ready> call;
  std::size_t most = limits_.bulk_size;
  while (!ready_bulk_.empty()) {
    most = std::min(most, ready_bulk_.front().flight->bulk_limit);
    if (call.size() >= most) break;
    call.push_back(std::move(ready_bulk_.front()));
    ready_bulk_.pop_front();
  }
  return call;
}

/// As many claims as will find a slot and a token well inside their send window, and so many that
/// no slot waits for its claim.
void Lane::let_through(Work& work, Mono now) {
  const double half_window = static_cast<double>(limits_.send_window.count()) / 2;
  double ahead = 0;  // in the place of each slot, beside the one that is called
  if (latency_ms_ > 0)
    ahead = std::min(std::max(1.0, 2 * take_ms_ / latency_ms_), half_window / latency_ms_);
  const auto most = static_cast<std::size_t>(static_cast<double>(slots()) * (1 + ahead));
  while (slots_used() < std::max<std::size_t>(most, 1)) {
    const bool bulk = want_single_.empty();
    auto& queue = bulk ? want_bulk_ : want_single_;
    if (queue.empty()) return;
    // A token has to come in time as well.
    const double wanted =
        bulk ? burst() : static_cast<double>(taking_single_ + ready_single_.size()) + 1;
    const milliseconds wait =
        until_tokens(wanted) - milliseconds{static_cast<std::int64_t>(half_window)};
    if (wait > milliseconds{0}) {
      const Mono when = now + wait;
      work.again = work.again ? std::min(*work.again, when) : when;
      return;
    }
    if (bulk && limits_.rate_per_s > 0 && taking_bulk_ + ready_bulk_.size() >= limits_.bulk_size)
      return;
    ++(bulk ? taking_bulk_ : taking_single_);
    work.admit.push_back(std::move(queue.front().flight));
    queue.pop_front();
  }
}

std::size_t Lane::slots() const { return is_probing_ ? 1 : limits_.concurrency; }

std::size_t Lane::slots_used() const {
  const std::size_t bulk = taking_bulk_ + ready_bulk_.size();
  return in_flight_ + taking_single_ + ready_single_.size() +
         (limits_.bulk_size > 0 ? bulk / limits_.bulk_size : 0);
}

double Lane::burst() const {
  // A tenth of a second's worth: timers are not exact, providers count in seconds.
  return limits_.rate_per_s > 0 ? std::max(1.0, limits_.rate_per_s / 10) : 1.0;
}

void Lane::refill(Mono now) {
  if (limits_.rate_per_s > 0 && refilled_) {
    const double seconds = std::chrono::duration<double>(now - *refilled_).count();
    tokens_ = std::min(burst(), tokens_ + seconds * limits_.rate_per_s);
  }
  refilled_ = now;
}

milliseconds Lane::until_tokens(double wanted) const {
  constexpr double kRounding = 1e-6;
  if (limits_.rate_per_s <= 0 || tokens_ + kRounding >= wanted) return milliseconds{0};
  return milliseconds{
      static_cast<std::int64_t>(std::ceil((wanted - tokens_) / limits_.rate_per_s * 1000))};
}

Lane::Work Lane::empty() {
  const std::lock_guard lock(mutex_);
  Work work;
  for (auto* queue : {&want_single_, &want_bulk_}) {
    for (Want& want : *queue) work.admit.push_back(std::move(want.flight));
    queue->clear();
  }
  for (auto* queue : {&ready_single_, &ready_bulk_}) {
    for (Ready& ready : *queue) work.late.push_back(std::move(ready));
    queue->clear();
  }
  return work;
}

void Lane::ended(
    Health health, milliseconds span, std::optional<Error> why, milliseconds took, Mono now) {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  if (health == Health::unknown) return;
  const auto took_ms = static_cast<double>(std::max<std::int64_t>(took.count(), 1));
  latency_ms_ = latency_ms_ > 0 ? latency_ms_ * 0.9 + took_ms * 0.1 : took_ms;
  if (health == Health::good) {
    failures_ = 0;
    breaks_ = 0;
    is_probing_ = false;
    return;
  }
  if (health == Health::failed) {
    // Calls that were under way when the breaker opened tell nothing new.
    if (now < closed_until_ || (++failures_ < kBreakerTrips && !is_probing_)) return;
    span = std::min(kLongestBreak, kFirstBreak * (1 << std::min(breaks_, 5)));
    ++breaks_;
    failures_ = 0;
    is_probing_ = true;
    why->code = ErrorCode::cooling_down;
  }
  if (health == Health::stop) is_probing_ = true;
  if (now + span <= closed_until_) return;
  closed_until_ = now + span;
  is_stopped_ = health == Health::stop;
  why_closed_ = std::move(why);
}

}  // namespace geonce
