#include "resolver/flight.h"

#include <algorithm>

namespace geonce {

void Tally::add(const Resolved& resolved) {
  const std::size_t at = resolved.answer ? static_cast<std::size_t>(resolved.source) : kSources;
  counts_[at].fetch_add(1, std::memory_order_relaxed);
}

void Tally::fill(ResolverStats& stats) const {
  const auto of = [this](AnswerSource source) {
    return counts_[static_cast<std::size_t>(source)].load(std::memory_order_relaxed);
  };
  stats.l1 = of(AnswerSource::l1);
  stats.redis = of(AnswerSource::redis);
  stats.db = of(AnswerSource::db);
  stats.places = of(AnswerSource::places);
  stats.coalesced = of(AnswerSource::coalesced);
  stats.paid = of(AnswerSource::paid);
  stats.negative = of(AnswerSource::negative);
  stats.stale = of(AnswerSource::stale);
  stats.errors = counts_[kSources].load(std::memory_order_relaxed);
}

Group::Group(std::vector<Ask> all, Deadline until, Done done, Tally& tally)
    : asks(std::move(all)),
      deadline(until),
      done_(std::move(done)),
      tally_(tally),
      answered_(asks.size()) {}

bool Group::answer(std::size_t index, Resolved resolved) {
  if (answered_[index].exchange(true)) return false;
  tally_.add(resolved);
  done_(index, std::move(resolved));
  return true;
}

void Group::waits_for(std::size_t index, std::shared_ptr<const Flight> flight) {
  if (deadline.at == Mono::max()) return;  // never leaves
  const std::lock_guard lock(mutex_);
  waiting_.emplace_back(index, std::move(flight));
}

void Group::leave(Mono now, const Held& held) {
  std::vector<std::pair<std::size_t, std::shared_ptr<const Flight>>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  std::vector<const Flight*> flight_of(asks.size());
  for (const auto& [index, flight] : waiting) flight_of[index] = flight.get();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (answered_[i].load()) continue;
    Ending ending;
    ending.resolved.error = Error{ErrorCode::deadline_exceeded,
                                  "no answer before the deadline; it may be there next time",
                                  {},
                                  {},
                                  {}};
    if (const Flight* flight = flight_of[i]) {
      ending.stale = flight->stale();
      ending.stale_until = flight->stale_until();
    }
    Resolved share = share_of(ending, asks[i].options, false, now);
    if (held && share.error && !share.answer) {
      if (auto stale = held(asks[i], *share.error)) share = std::move(*stale);
    }
    answer(i, std::move(share));
  }
}

void Group::leave_early(std::size_t index, const Flight& flight, Mono now) {
  if (!flight.stale() || now >= flight.stale_until() || answered_[index].load()) return;
  answer(index,
         as_stale(*flight.stale(),
                  Error{ErrorCode::deadline_exceeded,
                        "a fresh answer takes longer than resolver.soft_limit; it is on its way",
                        {},
                        {},
                        {}}));
}

Resolved share_of(const Ending& ending, const AskOptions& options, bool pays, Mono now) {
  Resolved share;
  if (ending.resolved.error && ending.stale && options.serve_stale && now < ending.stale_until)
    share = as_stale(*ending.stale, ending.resolved.error);
  else
    share = ending.resolved;
  share.calls = pays ? ending.resolved.calls : 0;
  share.cost = pays ? ending.resolved.cost : Money{};
  if (!pays && share.source == AnswerSource::paid) share.source = AnswerSource::coalesced;
  return share;
}

Flight::Flight(const RequestRules& rules, Subject subject, std::optional<Found> found, Mono asked)
    : request(rules, std::move(subject)),
      first(request.begin(std::move(found), asked)),
      stale_(request.ending().stale),
      stale_until_(request.ending().stale_until) {}

Flights::Manner Flights::manner_of(const AskOptions& options) {
  if (options.cache_only) return Manner::alone;
  if (options.refresh_before > 0) return Manner::refresh;
  return options.retry_no_match ? Manner::retry_no_match : Manner::plain;
}

Flights::Name Flights::name_of(const Flight& flight) {
  const Subject& subject = flight.request.subject();
  AskOptions options;
  options.cache_only = subject.cache_only;
  options.refresh_before = subject.refresh_before;
  options.retry_no_match = subject.retry_no_match;
  return {subject.slot, manner_of(options)};
}

void Flights::add(Flight& flight, const Caller& caller) {
  flight.callers_.push_back(caller);
  if (caller.group->deadline.at > flight.wanted_until())
    flight.wanted_until_.store(caller.group->deadline.at, std::memory_order_relaxed);
}

void Flights::unlist(Shard& shard, Flight& flight) {
  if (!flight.is_listed_) return;
  shard.flights.erase(name_of(flight));
  flight.is_listed_ = false;
  size_.fetch_sub(1, std::memory_order_relaxed);
}

Flights::Joined Flights::join(const Slot& slot, const Caller& caller, Mono now) {
  const Manner manner = manner_of(caller.options());
  if (manner == Manner::alone || size() == 0) return {};
  Shard& shard = shard_of(slot);
  Joined joined;
  {
    const std::lock_guard lock(shard.mutex);
    const auto it = shard.flights.find(Name{slot, manner});
    if (it == shard.flights.end()) return {};
    joined.flight = it->second;
    if (joined.flight->told_)
      joined.answer = share_of(*joined.flight->told_, caller.options(), false, now);
    else
      add(*joined.flight, caller);
  }
  if (!joined.answer) caller.group->waits_for(caller.index, joined.flight);
  return joined;
}

Flights::Boarded Flights::board(const Slot& slot,
                                const Caller& caller,
                                Mono now,
                                const std::function<FlightPtr()>& make) {
  const Manner manner = manner_of(caller.options());
  Shard& shard = shard_of(slot);
  Boarded boarded;
  {
    const std::lock_guard lock(shard.mutex);
    const auto it =
        manner == Manner::alone ? shard.flights.end() : shard.flights.find(Name{slot, manner});
    if (it != shard.flights.end()) {
      boarded.flight = it->second;
    } else {
      boarded.flight = make();
      boarded.leads = true;
      if (manner != Manner::alone) {
        shard.flights.emplace(Name{slot, manner}, boarded.flight);
        boarded.flight->is_listed_ = true;
        size_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    if (boarded.flight->told_)
      boarded.answer = share_of(*boarded.flight->told_, caller.options(), false, now);
    else
      add(*boarded.flight, caller);
  }
  if (!boarded.answer) caller.group->waits_for(caller.index, boarded.flight);
  return boarded;
}

void Flights::close(const Slot& slot) {
  if (size() == 0) return;
  Shard& shard = shard_of(slot);
  const std::lock_guard lock(shard.mutex);
  for (const Manner manner : {Manner::plain, Manner::retry_no_match, Manner::refresh}) {
    const auto it = shard.flights.find(Name{slot, manner});
    if (it == shard.flights.end()) continue;
    const FlightPtr flight = it->second;
    unlist(shard, *flight);
  }
}

void Flights::close_all() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    while (!shard.flights.empty()) {
      const FlightPtr flight = shard.flights.begin()->second;
      unlist(shard, *flight);
    }
  }
}

bool Flights::reserve(Flight& flight,
                      Money price,
                      const std::function<void(const Caller&)>& leave) {
  std::vector<Caller> broke;
  bool is_paid = false;
  {
    Shard& shard = shard_of(flight.request.subject().slot);
    const std::lock_guard lock(shard.mutex);
    auto& callers = flight.callers_;
    const auto payer = std::find_if(callers.begin(), callers.end(), [&](const Caller& caller) {
      return !caller.options().cap || caller.options().cap->reserve(price);
    });
    is_paid = payer != callers.end();
    if (is_paid) {
      flight.payer_ = *payer;
      flight.cap = payer->options().cap;
      flight.reserved = price;
    }
    // Those before the payer were asked first and cannot pay.
    broke.assign(callers.begin(), payer);
    callers.erase(callers.begin(), payer);
    if (!is_paid) unlist(shard, flight);
  }
  for (const Caller& caller : broke) leave(caller);
  return is_paid;
}

void Flights::tell(const FlightPtr& flight,
                   bool goes_on,
                   Mono now,
                   const std::function<void(const Caller&, Resolved)>& give) {
  const Ending& ending = flight->request.ending();
  std::vector<Caller> callers;
  std::optional<Caller> payer;
  {
    Shard& shard = shard_of(flight->request.subject().slot);
    const std::lock_guard lock(shard.mutex);
    callers.swap(flight->callers_);
    payer.swap(flight->payer_);
    if (goes_on)
      flight->told_ = ending;
    else
      unlist(shard, *flight);
  }
  for (const Caller& caller : callers) {
    const bool pays = payer && payer->group == caller.group && payer->index == caller.index;
    give(caller, share_of(ending, caller.options(), pays, now));
  }
}

}  // namespace geonce
