#include "simulation/process.h"

#include <utility>

namespace geonce::sim {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{1} << 20U;

bool is_unwanted(const Answer& answer, UtcMs answered_at, const AskOptions& options) {
  return answered_at < options.refresh_before ||
         (options.retry_no_match && answer.kind == AnswerKind::no_match);
}

Resolved from_tier(const Cached& cached, AnswerSource source) {
  Resolved resolved;
  resolved.answer = cached.answer;
  resolved.source = source;  // of a no-match, too: the checker wants to know
  resolved.gen = cached.gen;
  return resolved;
}

Resolved failed(Error error) {
  Resolved resolved;
  resolved.error = std::move(error);
  return resolved;
}

}  // namespace

Process::Process(World& world, int i, int at, int on)
    : index(i),
      seat(at),
      host(on),
      owner(world.next_id()),
      world_(world),
      clock_(world.now, milliseconds{i * 1'000'003}),
      rules_(rules_of(world.chain, world.life, {}, world.options, owner, {}, KeyRing::plain())),
      memory_(open_memory_tier(kMemoryBytes, clock_)),
      waiting_(world.chain.size()) {}

Process::~Process() {
  is_alive = false;
  for (const auto& weak : groups_)
    if (const auto group = weak.lock()) group->leave(Mono::max());
}

// --- the way of a question
// ---------------------------------------------------------------------------------

void Process::ask(AskState& ask) {
  ask.process = this;
  ask.begun = world_.now;
  ask.deadline = world_.now + ask.patience;
  const Slot slot = world_.slot(ask.key);
  world_.say("p{} ask {} for key {}{}{}{}, waits {} ms",
             index,
             ask.number,
             ask.key,
             ask.options.refresh_before > 0 ? ", refresh" : "",
             ask.options.retry_no_match ? ", retry no-match" : "",
             ask.options.cache_only ? ", cache only" : "",
             ask.patience.count());
  const auto cached = memory_->find_one(slot);
  if (cached && !is_unwanted(*cached->answer, cached->answered_at, ask.options)) {
    world_.checker.told(ask, from_tier(*cached, AnswerSource::l1));
    return;
  }
  Ask one;
  one.slot = slot;
  one.query.text = std::to_string(ask.key);
  one.options = ask.options;
  if (has(ProcessDefect::cap_not_held)) one.options.cap.reset();
  std::vector<Ask> all;
  all.push_back(std::move(one));
  auto group = std::make_shared<Group>(
      std::move(all),
      Deadline::in(ask.patience, clock_),
      [this, &ask](std::size_t, Resolved resolved) {
        if (has(ProcessDefect::stale_unmarked) && resolved.source == AnswerSource::stale) {
          resolved.source = AnswerSource::coalesced;
          resolved.error.reset();
        }
        if (is_alive) world_.checker.told(ask, std::move(resolved));
      },
      tally_);
  groups_.push_back(group);
  auto joined = flights_.join(slot, {group, 0}, clock_.now());
  if (joined.answer) group->answer(0, std::move(*joined.answer));
  if (joined.flight) {
    shared_.insert(slot);
    if (!joined.answer) limit_wait(group, joined.flight, ask.number);
  }
  if (!has(ProcessDefect::caller_forgotten))
    world_.at(ask.deadline, this, ask.number, [this, weak = std::weak_ptr<Group>(group)] {
      if (const auto late = weak.lock()) late->leave(clock_.now());
    });
  if (joined.flight) return;
  if (world_.shared)
    look_in_shared(group, ask);
  else
    look_up(group, ask);
}

void Process::look_in_shared(const GroupPtr& group, AskState& ask) {
  ++under_way_;
  const Mono asked = clock_.now();
  const int number = ask.number;
  world_.after(world_.span(Site::to_tier, number, milliseconds{400}), [=, this, &ask] {
    const Slot slot = world_.slot(ask.key);
    if (world_.trouble(Site::tier_loses, number, 20)) {
      world_.shared->lose(slot);
      world_.checker.shared_was_flushed();
    }
    const auto value = world_.shared->find(slot, world_.now);
    std::optional<Cached> cached;
    if (value)
      cached = Cached{
          value->answer, value->gen, asked + (value->dead - world_.now), value->answered_at, 0};
    world_.after(
        world_.span(Site::from_tier, number, milliseconds{400}), this, number, [=, this, &ask] {
          const bool is_late = cached && cached->fresh_until <= clock_.now() &&
                               !has(ProcessDefect::shared_read_not_aged);
          if (cached && !is_late) memory_->store_one(slot, *cached);
          if (cached && !is_late && !is_unwanted(*cached->answer, cached->answered_at, ask.options))
            group->answer(0, from_tier(*cached, AnswerSource::redis));
          else
            look_up(group, ask);
          --under_way_;
        });
  });
}

/// Nobody waits for it. What takes too long is not taken; that an older window is over is said all
/// the same, later.
void Process::publish(int who, const Slot& slot, const Cached& cached, Mono read, bool replaces) {
  if (!world_.shared) return;
  const auto in_world = [this](Mono when) {
    return world_.now + std::chrono::floor<milliseconds>(when - clock_.now());
  };
  SharedTier::Value value;
  value.gen = cached.gen;
  value.answer = cached.answer;
  value.answered_at = cached.answered_at;
  value.dead = in_world(cached.fresh_until);
  const Time by = in_world(read + SharedTier::kLongestWay);
  world_.after(world_.span(Site::to_tier, who, milliseconds{15'000}),
               [this, who, slot, value, by, replaces] {
                 const bool is_lost = world_.trouble(Site::tier_loses, who, 40);
                 if (!is_lost) world_.shared->store(slot, value, world_.now, by);
                 if ((is_lost || world_.now > by) && replaces && value.gen > 1)
                   world_.after(milliseconds{2'000}, this, who, [this, slot, gen = value.gen - 1] {
                     world_.shared->forget(slot, gen, world_.now);
                   });
               });
}

void Process::look_up(const GroupPtr& group, AskState& ask) {
  ++under_way_;
  const Mono asked = clock_.now();
  exchange<std::optional<Found>>(
      ask.number,
      [&world = world_, slot = world_.slot(ask.key)] { return world.checker.find(slot); },
      [this, group, &ask, asked](Result<std::optional<Found>> found) {
        if (found) {
          const Mono now = grow_old(*found, asked);
          if (*found) remember(ask.number, world_.slot(ask.key), **found, asked, now);
          was_looked_up(group, ask, *found, now);
        } else {
          group->answer(0, failed(found.error()));
        }
        --under_way_;
      });
}

/// What took a while to read is so much older.
Mono Process::grow_old(std::optional<Found>& found, Mono asked) const {
  const Mono now = clock_.now();
  if (found) found = aged(std::move(*found), std::chrono::ceil<milliseconds>(now - asked));
  return now;
}

void Process::remember(int who, const Slot& slot, const Found& found, Mono asked, Mono now) {
  if (has(ProcessDefect::stale_for_ever)) last_seen_.insert_or_assign(slot, found);
  if (found.fresh_left <= milliseconds{0}) return;
  const milliseconds surplus{has(ProcessDefect::memory_outlives_store) ? 3'600'000 : 0};
  const Cached cached{found.answer,
                      found.gen,
                      now + found.fresh_left + surplus,
                      found.answered_at,
                      found.fresh_until};
  memory_->store_one(slot, cached);
  publish(who, slot, cached, asked, false);
}

/// As resolver/live.cc does it.
void Process::limit_wait(const GroupPtr& group, const FlightPtr& flight, int who) {
  const auto& limit = world_.options.soft_limit;
  const AskOptions& options = group->asks[0].options;
  if (!limit || !flight->stale() || !options.serve_stale || options.refresh_before > 0 ||
      options.cause == Cause::batch)
    return;
  world_.after(*limit, this, who, [this, flight, weak = std::weak_ptr<Group>(group)] {
    if (const auto waiting = weak.lock()) waiting->leave_early(0, *flight, clock_.now());
  });
}

void Process::was_looked_up(const GroupPtr& group,
                            AskState& ask,
                            const std::optional<Found>& found,
                            Mono asked) {
  if (found && (found->pinned || (is_fresh(*found) &&
                                  !is_unwanted(*found->answer, found->answered_at, ask.options)))) {
    group->answer(0, as_found(*found));
    return;
  }
  auto boarded = flights_.board(world_.slot(ask.key), {group, 0}, asked, [&] {
    Subject subject;
    subject.slot = world_.slot(ask.key);
    subject.query = std::move(group->asks[0].query);
    subject.cache_only = ask.options.cache_only;
    subject.refresh_before = ask.options.refresh_before;
    subject.retry_no_match = ask.options.retry_no_match;
    subject.cause = ask.options.cause;
    auto flight = std::make_shared<SimFlight>(
        rules_,
        std::move(subject),
        has(ProcessDefect::stale_not_kept) ? std::optional<Found>{} : found,
        asked);
    flight->number = ask.number;
    flight->leaders_cap = ask.options.cap.get();
    flight->begun = ask.begun;
    return flight;
  });
  if (boarded.answer)
    group->answer(0, std::move(*boarded.answer));
  else
    limit_wait(group, boarded.flight, ask.number);
  const bool is_unwanted_no_match =
      found && ask.options.retry_no_match && found->answer->kind == AnswerKind::no_match;
  if (boarded.leads && found && !is_unwanted_no_match)
    ask.old_until = world_.now + std::max(found->fresh_left, found->stale_left);
  if (!boarded.leads) {
    static_cast<SimFlight&>(*boarded.flight).is_shared = true;
    return;
  }
  ++under_way_;
  past_[ask.number] = {world_.slot(ask.key), ask.begun, Time::max()};
  if (has(ProcessDefect::abandoned_with_its_caller))
    world_.at(ask.deadline, this, ask.number, [flight = boarded.flight] {
      static_cast<SimFlight&>(*flight).is_abandoned = true;
    });
  drive(boarded.flight, std::move(boarded.flight->first));
}

// --- what the machine wants
// ---------------------------------------------------------------------------------

void Process::drive(const FlightPtr& flight, Action action) {
  if (static_cast<SimFlight&>(*flight).is_abandoned) {
    land(flight);
    return;
  }
  if (flight->request.has_ended() && !flight->is_told && !std::holds_alternative<act::Done>(action))
    tell(flight, true);
  const bool is_on_its_way = std::holds_alternative<act::Take>(action) ||
                             std::holds_alternative<act::Advance>(action) ||
                             std::holds_alternative<act::Call>(action);
  if (!is_on_its_way) give_back(*flight);
  std::visit([&](auto& what) { carry_out(flight, what); }, action);
}

void Process::carry_out(const FlightPtr& flight, act::Read&) {
  const Mono asked = clock_.now();
  const Slot slot = flight->request.subject().slot;
  exchange<std::optional<Found>>(
      who(flight),
      [&world = world_, slot] { return world.checker.find(slot); },
      [this, flight, slot, asked](Result<std::optional<Found>> found) {
        const Mono now = found ? grow_old(*found, asked) : clock_.now();
        if (found && *found) remember(who(flight), slot, **found, asked, now);
        drive(flight, flight->request.was_read(std::move(found), now));
      });
}

void Process::carry_out(const FlightPtr&, act::Places&) {
  GEONCE_EXPECTS(!"no chain here has places");
}

void Process::carry_out(const FlightPtr& flight, act::Admit& admit) {
  later(Site::admission,
        who(flight),
        admit.holding ? milliseconds{5} : milliseconds{10'000},
        [this, flight, admit] {
          Admission admission;
          for (const std::size_t step : admit.steps) {
            if (!world_.trouble(Site::not_up, who(flight), 30))
              admission.steps.push_back(step);
            else
              admission.passed_over = Error{ErrorCode::cooling_down, "not now", {}, {}, {}};
          }
          const bool is_late = !admit.holding && clock_.now() >= flight->wanted_until();
          if (is_late || admission.steps.empty()) {
            drive(flight,
                  flight->request.denied(
                      {is_late ? ErrorCode::deadline_exceeded : ErrorCode::cooling_down,
                       "no call for now",
                       {},
                       {},
                       {}}));
            return;
          }
          admission.bulk = goes_by_bulk(*flight, admission.steps.front());
          if (!reserve(flight, price_of(admission.steps.front(), admission.bulk))) {
            drive(flight,
                  flight->request.denied(
                      {ErrorCode::quota_exhausted, "the cap is reached", {}, {}, {}}));
            return;
          }
          admission.intent = world_.next_id();
          drive(flight, flight->request.admitted(std::move(admission)));
        });
}

void Process::carry_out(const FlightPtr& flight, act::Take& take) {
  const Mono asked = clock_.now();
  exchange<Taken>(
      who(flight),
      [&world = world_, request = take.request] { return world.checker.take(request); },
      [this, flight, asked, request = take.request](Result<Taken> taken) {
        if (!taken && has(ProcessDefect::sent_in_doubt)) {
          taken = Taken{};
          taken->verdict = Taken::Verdict::send;
          taken->query_json = request.query_json;
        }
        drive(flight, flight->request.was_taken(std::move(taken), asked, moment(*flight)));
      });
}

void Process::carry_out(const FlightPtr& flight, act::Advance& advance) {
  const Mono asked = clock_.now();
  exchange<Advanced>(
      who(flight),
      [&world = world_, request = advance.request] { return world.checker.advance(request); },
      [this, flight, asked, call = advance.request.call, is_refused = advance.request.refused](
          Result<Advanced> advanced) {
        if (advanced) settled(flight, call, !is_refused);
        drive(flight, flight->request.was_advanced(std::move(advanced), asked, moment(*flight)));
      });
}

void Process::carry_out(const FlightPtr& flight, act::Commit& commit) {
  const Mono asked = clock_.now();
  exchange<Committed>(
      who(flight),
      [&world = world_, request = commit.request] { return world.checker.commit(request); },
      [this, flight, asked, call = commit.request.call](Result<Committed> committed) {
        if (!committed && has(ProcessDefect::answer_dropped_in_doubt)) committed = Committed{};
        if (committed) settled(flight, call, false);
        drive(flight, flight->request.was_committed(std::move(committed), asked, moment(*flight)));
      });
}

void Process::carry_out(const FlightPtr& flight, act::Release& release) {
  if (has(ProcessDefect::stale_stored_anew) && flight->stale()) {
    CommitRequest again;
    again.slot = release.request.slot;
    again.fence = release.request.fence;
    again.gen = flight->stale()->gen + 1;
    again.answer = flight->stale()->answer;
    again.life = {milliseconds{60'000}, milliseconds{60'000}, milliseconds{60'000}};
    (void)world_.checker.commit(again);
  }
  exchange<Released>(
      who(flight),
      [&world = world_, request = release.request] { return world.checker.release(request); },
      [this, flight, call = release.request.call](Result<Released> released) {
        if (released) settled(flight, call, false);
        drive(flight, flight->request.was_released(std::move(released), moment(*flight)));
      });
}

/// is_needed  the answer may still be the one that ends the claim
void Process::settled(const FlightPtr& flight,
                      const std::optional<CallRecord>& call,
                      bool is_needed) {
  if (!call || !flight->is_marked) return;
  flight->is_marked = false;
  if (is_needed)
    flight->noted.push_back(call->intent);
  else
    spool.settled(call->intent);
}

void Process::carry_out(const FlightPtr& flight, act::Wait& wait) {
  world_.after(
      wait.span, this, who(flight), [this, flight] { drive(flight, flight->request.woken()); });
}

void Process::carry_out(const FlightPtr& flight, act::Done&) {
  const Ending& ending = flight->request.ending();
  const Resolved& resolved = ending.resolved;
  const Slot slot = flight->request.subject().slot;
  if (resolved.answer && ending.fresh_left > milliseconds{0}) {
    const Cached cached{resolved.answer,
                        resolved.gen,
                        ending.as_of + ending.fresh_left,
                        resolved.answered_at,
                        resolved.expires_at};
    memory_->store_one(slot, cached);
    publish(who(flight), slot, cached, ending.as_of, true);
  }
  if (flight->request.was_redundant()) world_.checker.called_redundant(slot, *resolved.answer);
  if (has(ProcessDefect::error_remembered) && resolved.error) {
    Answer nothing;
    nothing.kind = AnswerKind::no_match;
    memory_->store_one(slot,
                       {std::make_shared<const Answer>(nothing),
                        1,
                        clock_.now() + milliseconds{60'000},
                        clock_.now_utc(),
                        0});
  }
  if (has(ProcessDefect::stale_remembered) && resolved.error && ending.stale)
    memory_->store_one(slot,
                       {ending.stale->answer,
                        ending.stale->gen,
                        clock_.now() + milliseconds{60'000},
                        ending.stale->answered_at,
                        0});
  for (const IntentId& intent : std::exchange(flight->noted, {})) spool.settled(intent);
  land(flight);
}

void Process::give(const Caller& caller, Resolved resolved, const FlightPtr& flight) {
  if (has(ProcessDefect::stale_for_ever) && resolved.error && !resolved.answer) {
    const auto seen = last_seen_.find(caller.group->asks[caller.index].slot);
    if (seen != last_seen_.end()) resolved = as_stale(seen->second, resolved.error);
  }
  world_.checker.gives(static_cast<const SimFlight&>(*flight), caller.options(), resolved);
  caller.group->answer(caller.index, std::move(resolved));
}

void Process::tell(const FlightPtr& flight, bool goes_on) {
  flight->is_told = true;
  flights_.tell(flight, goes_on, clock_.now(), [&](const Caller& caller, Resolved resolved) {
    give(caller, std::move(resolved), flight);
  });
}

void Process::land(const FlightPtr& flight) {
  const bool stays =
      has(ProcessDefect::failure_kept) && flight->request.ending().resolved.error.has_value();
  tell(flight, stays);
  past_.at(who(flight)).landed = world_.now;
  --under_way_;
}

bool Process::had_flight(const Slot& slot, Time begun, Time joined) const {
  return std::any_of(past_.begin(), past_.end(), [&](const auto& flight) {
    const Past& past = flight.second;
    return past.slot == slot && past.begun <= begun && past.landed >= joined;
  });
}

}  // namespace geonce::sim
