#include "resolver/live.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <variant>

#include "core/place_keys.h"
#include "io/failpoint.h"
#include "resolver/flight.h"
#include "resolver/former_answers.h"
#include "resolver/lane.h"
#include "resolver/places.h"
#include "resolver/publisher.h"
#include "resolver/request.h"
#include "resolver/stage.h"
#include "resolver/timer.h"

namespace geonce {
namespace {

constexpr std::size_t kReadsAtOnce = 4'096;
constexpr std::size_t kWritesAtOnce = 500;
constexpr milliseconds kStoreDeadline{15'000};
constexpr milliseconds kSharedDeadline{1'000};
constexpr milliseconds kStoreAgain{1'000};  // when it is worth asking again whether it is back

/// Keeps buffers, so each thread has its own. By the built-in rules alone: what a second reader
/// guesses finds no places.
Normalizer& normalizer() {
  thread_local Normalizer normalizer;
  return normalizer;
}

/// What the key of a question is made of.
Result<Canonical> canonical_of(const std::string& pre_image, const Query& query) {
  return pre_image.empty() ? normalizer().normalize(query.view()) : parse_pre_image(pre_image);
}

RequestRules make_rules(const ResolverParts& parts) {
  RequestRules rules = rules_of(
      parts.chain, parts.life, parts.accept, parts.options, parts.owner, parts.orders, *parts.ring);
  rules.standard.places = rules.standard.places || parts.places;
  return rules;
}

LaneLimits limits_of(const ProviderTraits& traits, const ResolverOptions& options) {
  LaneLimits limits;
  limits.concurrency = std::max<std::size_t>(options.concurrency.value_or(traits.concurrency), 1);
  limits.rate_per_s = options.rate_per_s.value_or(traits.rate_per_s);
  // A bulk endpoint that takes one address is no bulk endpoint.
  const std::size_t size = std::min(options.bulk_size, traits.bulk_max);
  limits.bulk_size = size > 1 ? size : 0;
  limits.send_window = options.send_window;
  return limits;
}

std::vector<std::unique_ptr<Lane>> lanes_of(const ResolverParts& parts) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const auto& provider : parts.chain) {
    const ProviderTraits& traits = provider->traits();
    lanes.push_back(std::make_unique<Lane>(traits.name, limits_of(traits, parts.options)));
  }
  return lanes;
}

Resolved from_tier(const Cached& cached, AnswerSource source, Mono now) {
  Resolved resolved;
  resolved.answer = cached.answer;
  resolved.source = cached.answer->kind == AnswerKind::no_match ? AnswerSource::negative : source;
  resolved.gen = cached.gen;
  resolved.answered_at = cached.answered_at;
  resolved.expires_at = cached.expires_at;
  // The tier does not know when the terms end, but it is not before this.
  resolved.keep =
      std::max(std::chrono::floor<milliseconds>(cached.fresh_until - now), milliseconds{0});
  return resolved;
}

bool is_unwanted(const Answer& answer, UtcMs answered_at, const AskOptions& options) {
  return answered_at < options.refresh_before ||
         (options.retry_no_match && answer.kind == AnswerKind::no_match);
}

/// Whether what the store found is all that this caller wants.
bool is_hit(const std::optional<Found>& found, const AskOptions& options) {
  return found && (found->pinned ||
                   (is_fresh(*found) && !is_unwanted(*found->answer, found->answered_at, options)));
}

Missing missing_of(const Ask& ask) { return {ask.slot, ask.query.view(), ask.pre_image}; }

Subject subject_of(const Ask& ask, Query query) {
  Subject subject;
  subject.slot = ask.slot;
  subject.pre_image = ask.pre_image;
  subject.query = std::move(query);
  subject.quality = ask.quality;
  subject.cache_only = ask.options.cache_only;
  subject.refresh_before = ask.options.refresh_before;
  subject.retry_no_match = ask.options.retry_no_match;
  subject.cause = ask.options.cause;
  return subject;
}

/// Which of many slots are the same, so that each is read once.
class SlotSet {
 public:
  explicit SlotSet(std::size_t most) {
    std::size_t size = 16;
    while (size < 2 * most) size *= 2;
    table_.assign(size, kEmpty);
    slots.reserve(most);
  }
  std::uint32_t add(const Slot& slot) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = SlotHash{}(slot)&mask;; at = (at + 1) & mask) {
      if (table_[at] == kEmpty) {
        table_[at] = static_cast<std::uint32_t>(slots.size());
        slots.push_back(slot);
        return table_[at];
      }
      if (slots[table_[at]] == slot) return table_[at];
    }
  }
  std::vector<Slot> slots;

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;
  std::vector<std::uint32_t> table_;
};

/// One HTTP call and those who ride in it.
struct LiveCall {
  std::size_t lane = 0;
  bool bulk = false;
  std::vector<Ready> riders;
  std::vector<ProviderAsk> asks;
  Mono started;
  // Why it did not leave, when it was we who held it back.
  std::optional<Unsent> held_back;
  std::optional<Error> error;
  Transfer transfer;
};

class LiveResolver final : public Resolver {
 public:
  explicit LiveResolver(ResolverParts parts)
      : parts_(std::move(parts)),
        rules_(make_rules(parts_)),
        lanes_(lanes_of(parts_)),
        timer_(parts_.clock),
        read_(
            parts_.options.read_threads,
            kReadsAtOnce,
            [this](const auto& items) { do_read(items); },
            [](const ReadItem& item) {
              return item.flight ? std::size_t{1} : item.indices.size();
            }),
        places_(1, kWritesAtOnce, [this](const auto& items) { do_places(items); }),
        take_(1, kWritesAtOnce, [this](auto items) { do_take(std::move(items)); }),
        advance_(1, kWritesAtOnce, [this](auto items) { do_advance(std::move(items)); }),
        commit_(1, kWritesAtOnce, [this](auto items) { do_commit(std::move(items)); }),
        release_(1, kWritesAtOnce, [this](auto items) { do_release(std::move(items)); }),
        mark_(1, kWritesAtOnce, [this](const auto& calls) { do_mark(calls); }),
        decode_(1, kWritesAtOnce, [this](const auto& items) { do_decode(items); }) {
    if (parts_.shared != nullptr) {
      publisher_ = std::make_unique<Publisher>(*parts_.shared, parts_.clock);
      shared_read_ = std::make_unique<Stage<ReadItem>>(
          parts_.options.read_threads,
          kReadsAtOnce,
          [this](auto items) { do_shared_read(std::move(items)); },
          [](const ReadItem& item) { return item.indices.size(); });
    }
    sweep_later();
  }

  // NOLINTNEXTLINE(bugprone-exception-escape): a mutex that cannot be locked ends the process
  ~LiveResolver() override {
    is_stopping_ = true;
    drain(Deadline::never());
    // From here on no flight is left, so nobody pushes anything any more.
    timer_.stop();
    shared_read_.reset();
    read_.stop();
    places_.stop();
    take_.stop();
    advance_.stop();
    commit_.stop();
    release_.stop();
    mark_.stop();
    decode_.stop();
    publisher_.reset();
  }
  LiveResolver(const LiveResolver&) = delete;
  LiveResolver& operator=(const LiveResolver&) = delete;

  void start(std::vector<Ask> asks, Deadline deadline, Group::Done done) override {
    failpoint(FailPoint::ask_begins);
    const Mono now = parts_.clock.now();
    std::vector<std::uint32_t> missing;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      if (auto known = remembered(asks[i].slot, asks[i].options))
        done(i, std::move(*known));
      else
        missing.push_back(static_cast<std::uint32_t>(i));
    }
    if (missing.empty()) return;

    auto group = std::make_shared<Group>(std::move(asks), deadline, std::move(done), tally_);
    std::erase_if(missing, [&](std::uint32_t i) {
      auto joined = flights_.join(group->asks[i].slot, {group, i}, now);
      if (joined.answer)
        group->answer(i, std::move(*joined.answer));
      else if (joined.flight)
        limit_wait({group, i}, joined.flight, now);
      return joined.flight != nullptr;
    });
    if (deadline.at != Mono::max()) {
      // Answers usually come first; then nothing is kept alive until the deadline.
      timer_.at(deadline.at, Hurry::never, [this, weak = std::weak_ptr<Group>(group)] {
        if (const auto late = weak.lock())
          late->leave(parts_.clock.now(),
                      [this](const Ask& ask, const Error& why) { return held_of(ask, why); });
      });
    }
    if (missing.empty()) return;
    under_way(reads_under_way_, 1);
    ReadItem item{std::move(group), std::move(missing), nullptr};
    if (shared_read_)
      shared_read_->push(std::move(item));
    else
      ask_store(std::move(item));
  }

  std::optional<Resolved> remembered(const Slot& slot, const AskOptions& options) override {
    const auto cached = parts_.memory.find_one(slot);
    if (!cached || is_unwanted(*cached->answer, cached->answered_at, options)) return std::nullopt;
    Resolved resolved = from_tier(*cached, AnswerSource::l1, parts_.clock.now());
    tally_.add(resolved);
    return resolved;
  }

  std::vector<Resolved> resolve(std::vector<Ask> asks, Deadline deadline) override {
    struct Waiting {
      std::mutex mutex;
      std::condition_variable all_there;
      std::size_t left = 0;
      std::vector<Resolved> answers;
    };
    const auto waiting = std::make_shared<Waiting>();
    waiting->left = asks.size();
    waiting->answers.resize(asks.size());
    start(std::move(asks), deadline, [waiting](std::size_t i, Resolved resolved) {
      const std::lock_guard lock(waiting->mutex);
      waiting->answers[i] = std::move(resolved);
      if (--waiting->left == 0) waiting->all_there.notify_one();
    });
    std::unique_lock lock(waiting->mutex);
    waiting->all_there.wait(lock, [&] { return waiting->left == 0; });
    return std::move(waiting->answers);
  }

  std::vector<Resolved> peek(std::span<const Ask> asks, Deadline deadline) override;

  void have_ended(std::span<const Ended> windows) override {
    for (const Ended& ended : windows) flights_.close(ended.slot);
  }
  void may_have_ended() override { flights_.close_all(); }

  [[nodiscard]] ResolverStats stats() const override {
    ResolverStats stats;
    tally_.fill(stats);
    stats.calls = calls_;
    stats.requests = requests_;
    stats.unknown = unknown_;
    stats.redundant = redundant_;
    stats.cost = {cost_micro_usd_};
    stats.flights = static_cast<std::int64_t>(flights_.size());
    stats.silence = silence_.with([](const Silence& silence) { return silence; });
    for (const auto& lane : lanes_)
      stats.calls_in_flight += static_cast<std::int64_t>(lane->in_flight());
    return stats;
  }

  void drain(Deadline deadline) override {
    is_draining_ = true;
    for (const auto& lane : lanes_) turn_away(*lane);
    timer_.hurry(Hurry::on_drain);
    if (is_stopping_) timer_.hurry(Hurry::on_stop);
    std::unique_lock lock(idle_mutex_);
    const auto is_idle = [this] { return flights_under_way_ == 0 && reads_under_way_ == 0; };
    if (deadline.at == Mono::max())
      idle_.wait(lock, is_idle);
    else
      idle_.wait_for(lock, deadline.left(parts_.clock), is_idle);
  }

 private:
  struct ReadItem {
    std::shared_ptr<Group> group;  // asks of a caller …
    std::vector<std::uint32_t> indices;
    FlightPtr flight;  // … or a flight that looks again
  };
  template <class Request>
  struct StoreItem {
    FlightPtr flight;
    Request request;
  };

  // --- carrying out what the machine wants
  // -----------------------------------------------------------

  [[nodiscard]] Moment moment(const Flight& flight) const {
    return {parts_.clock.now(), parts_.clock.now_utc(), flight.wanted_until()};
  }

  /// Carries out one action. Lanes are only filled here: whoever calls this calls `pump` when it is
  /// done with all it has, so that a bulk call takes everybody along.
  void drive(const FlightPtr& flight, Action action) {
    if (flight->request.has_ended() && !flight->is_told &&
        !std::holds_alternative<act::Done>(action))
      tell(flight, true);
    // Money is set aside for a call on its way, and for nothing else.
    const bool is_on_its_way = std::holds_alternative<act::Take>(action) ||
                               std::holds_alternative<act::Advance>(action) ||
                               std::holds_alternative<act::Call>(action);
    if (!is_on_its_way) give_back(*flight);
    std::visit([&](auto& what) { carry_out(flight, what); }, action);
  }

  void carry_out(const FlightPtr& flight, act::Read&) { read_.push({nullptr, {}, flight}); }
  void carry_out(const FlightPtr& flight, act::Places&) { places_.push(flight); }
  void carry_out(const FlightPtr& flight, act::Admit& admit) {
    flight->steps = std::move(admit.steps);
    if (is_draining_)
      drive(flight, flight->request.denied(interrupted()));
    else if (admit.holding)
      admit_next(flight);
    else
      queue(flight);
  }
  void carry_out(const FlightPtr& flight, act::Take& take) {
    take_.push({flight, std::move(take.request)});
  }
  void carry_out(const FlightPtr& flight, act::Advance& advance) {
    advance_.push({flight, std::move(advance.request)});
  }
  void carry_out(const FlightPtr& flight, act::Commit& commit) {
    commit_.push({flight, std::move(commit.request)});
  }
  void carry_out(const FlightPtr& flight, act::Release& release) {
    release_.push({flight, std::move(release.request)});
  }
  void carry_out(const FlightPtr& flight, act::Call& call) {
    if (is_draining_) {
      drive(flight, flight->request.was_unsent(Unsent::local, interrupted()));
      return;
    }
    Lane& lane = *lanes_[call.step];
    auto query = query_from_json(call.query_json);
    if (!query) {
      drive(flight, flight->request.was_unsent(Unsent::local, std::move(query.error())));
      return;
    }
    call.bulk = call.bulk && lane.bulk_size() > 0 && parts_.chain[call.step]->takes_bulk(*query);
    // The store may have passed over the provider that the admission was for.
    if (!reserve(flight, price_of(call.step, call.bulk))) {
      drive(flight, flight->request.was_unsent(Unsent::local, out_of_money()));
      return;
    }
    lane.ready({flight, std::move(call), std::move(*query)});
  }
  void carry_out(const FlightPtr& flight, act::Wait& wait) {
    if (wait.for_store &&
        is_stopping_) {  // it stays in the spool, and is adopted at the next start
      land(flight);
      return;
    }
    timer_.at(parts_.clock.now() + wait.span,
              wait.for_store ? Hurry::on_stop : Hurry::on_drain,
              [this, flight, for_store = wait.for_store] {
                if (for_store && is_stopping_) {
                  land(flight);
                  return;
                }
                drive(flight, flight->request.woken());
                pump();
              });
  }
  void carry_out(const FlightPtr& flight, act::Done&) {
    const Ending& ending = flight->request.ending();
    const Resolved& resolved = ending.resolved;
    failpoint(FailPoint::entry_committed);
    if (resolved.answer && ending.fresh_left > milliseconds{0}) {
      const Remembered entry{flight->request.subject().slot,
                             {resolved.answer,
                              resolved.gen,
                              ending.as_of + ending.fresh_left,
                              resolved.answered_at,
                              resolved.expires_at,
                              ending.as_of}};
      parts_.memory.store_one(entry.slot, entry.cached);
      if (publisher_) publisher_->replace(entry, ending.as_of);
    }
    if (flight->request.was_redundant()) ++redundant_;
    let_go(std::exchange(flight->noted, {}));
    land(flight);
  }

  void tell(const FlightPtr& flight, bool goes_on) {
    flight->is_told = true;
    flights_.tell(flight, goes_on, parts_.clock.now(), [](const Caller& caller, Resolved resolved) {
      caller.group->answer(caller.index, std::move(resolved));
    });
  }

  void land(const FlightPtr& flight) {
    tell(flight, false);
    under_way(flights_under_way_, -1);
  }

  void under_way(std::int64_t& count, std::int64_t change) {
    const std::lock_guard lock(idle_mutex_);
    count += change;
    if (flights_under_way_ == 0 && reads_under_way_ == 0) idle_.notify_all();
  }

  void sweep_later() {
    timer_.at(parts_.clock.now() + parts_.options.sweep_every, Hurry::never, [this] {
      parts_.memory.sweep();
      sweep_later();
    });
  }

  // --- admission
  // -------------------------------------------------------------------------------------

  static Error interrupted() {
    return {ErrorCode::interrupted, "the program is stopping; nothing was asked", {}, {}, {}};
  }
  static Error out_of_money() {
    return {ErrorCode::quota_exhausted, "the cap on calls or cost is reached", {}, {}, {}};
  }
  static Error too_late() {
    return {ErrorCode::deadline_exceeded, "no call slot was free before the deadline", {}, {}, {}};
  }

  [[nodiscard]] bool goes_by_bulk(const Flight& flight, std::size_t step) const {
    const Subject& subject = flight.request.subject();
    return subject.cause == Cause::batch && lanes_[step]->bulk_size() > 0 &&
           parts_.chain[step]->takes_bulk(subject.query);
  }
  [[nodiscard]] Money price_of(std::size_t step, bool bulk) const {
    const ProviderTraits& traits = parts_.chain[step]->traits();
    return bulk ? traits.price_bulk : traits.price_single;
  }

  /// Sets the price of one call aside from the first caller who can pay; again, if it was another
  /// price.
  bool reserve(const FlightPtr& flight, Money price) {
    if (flight->reserved == price) return true;
    give_back(*flight);
    return flights_.reserve(*flight, price, [&](const Caller& caller) {
      Ending ending = flight->request.ending();
      ending.resolved.error = out_of_money();
      caller.group->answer(caller.index,
                           share_of(ending, caller.options(), false, parts_.clock.now()));
    });
  }
  static void give_back(Flight& flight) {
    if (flight.reserved && flight.cap) flight.cap->give_back(*flight.reserved);
    flight.reserved.reset();
    flight.cap.reset();
  }
  static void settle(Flight& flight, const Outcome& outcome) {
    if (outcome.kind == OutcomeKind::not_sent) return;  // `drive` gives it back
    if (flight.reserved && flight.cap && outcome.billed != Billed::unknown)
      flight.cap->settle(*flight.reserved, outcome.billed == Billed::yes ? outcome.price : Money{});
    flight.reserved.reset();
    flight.cap.reset();
  }

  /// Queues for the first provider that works, or will again in a moment; if there is none, for the
  /// one that is back first, as long as somebody waits for it and has nothing else.
  void queue(const FlightPtr& flight) {
    const Mono now = parts_.clock.now();
    const ResolverOptions& options = parts_.options;
    std::optional<std::size_t> soonest;
    Mono soonest_at = std::min(flight->wanted_until(), now + options.longest_wait);
    std::optional<Error> why;
    for (const std::size_t step : flight->steps) {
      auto standing = lanes_[step]->standing(now);
      if (standing.is_up || can_wait(standing, now, *flight)) {
        lanes_[step]->want(flight, goes_by_bulk(*flight, step));
        return;
      }
      if (!why) why = std::move(standing.why);
      if (!standing.is_stopped && standing.until <= soonest_at) {
        soonest = step;
        soonest_at = standing.until;
      }
    }
    // With a stale answer at hand nobody waits for a provider that does not work.
    if (soonest && !flight->stale())
      lanes_[*soonest]->want(flight, goes_by_bulk(*flight, *soonest));
    else
      drive(flight, flight->request.denied(std::move(why).value_or(Error{})));
  }

  [[nodiscard]] bool can_wait(const Lane::Standing& standing,
                              Mono now,
                              const Flight& flight) const {
    return !standing.is_stopped && standing.until <= flight.wanted_until() &&
           standing.until - now <= parts_.options.patience;
  }

  /// A flight that has been let through by `lane`: it may take its claim.
  void let_in(const FlightPtr& flight, std::size_t lane) {
    const Mono now = parts_.clock.now();
    const bool lane_bulk = goes_by_bulk(*flight, lane);
    Admission admission;
    for (const std::size_t step : flight->steps) {
      auto standing = lanes_[step]->standing(now);
      if (standing.is_up || can_wait(standing, now, *flight))
        admission.steps.push_back(step);
      else if (!admission.passed_over)
        admission.passed_over = std::move(standing.why);
    }
    const bool is_late = now >= flight->wanted_until();
    if (is_late || admission.steps.empty()) {
      lanes_[lane]->has_taken(lane_bulk);
      if (is_late)
        drive(flight, flight->request.denied(too_late()));
      else
        queue(flight);
      return;
    }
    admission.bulk = goes_by_bulk(*flight, admission.steps.front());
    if (!reserve(flight, price_of(admission.steps.front(), admission.bulk))) {
      lanes_[lane]->has_taken(lane_bulk);
      drive(flight, flight->request.denied(out_of_money()));
      return;
    }
    admission.intent = make_uuid(parts_.clock);
    // An address that cannot be normalised has no key, so nobody asks for one.
    const Subject& subject = flight->request.subject();
    if (auto canonical = canonical_of(subject.pre_image, subject.query))
      admission.pre_image = pre_image(*canonical);
    flight->lane = lane;
    flight->let_in_at = now;
    drive(flight, flight->request.admitted(std::move(admission)));
  }

  /// The next provider for a flight that holds its claim: now, or not at all.
  void admit_next(const FlightPtr& flight) {
    const Mono now = parts_.clock.now();
    Admission admission;
    for (const std::size_t step : flight->steps) {
      auto standing = lanes_[step]->standing(now);
      if (standing.is_up)
        admission.steps.push_back(step);
      else if (!admission.passed_over)
        admission.passed_over = std::move(standing.why);
    }
    if (admission.steps.empty()) {
      drive(flight, flight->request.denied(std::move(admission.passed_over).value_or(Error{})));
      return;
    }
    admission.bulk = goes_by_bulk(*flight, admission.steps.front());
    if (!reserve(flight, price_of(admission.steps.front(), admission.bulk))) {
      drive(flight, flight->request.denied(out_of_money()));
      return;
    }
    admission.intent = make_uuid(parts_.clock);
    drive(flight, flight->request.admitted(std::move(admission)));
  }

  // --- calls
  // -----------------------------------------------------------------------------------------

  /// Does what the lanes allow, until they allow nothing more.
  void pump() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = *lanes_[i];
        Lane::Work work;
        if (is_draining_) {
          turn_away(lane);
        } else {
          work = lane.next(parts_.clock.now());
        }
        if (work.again) {
          timer_.at(*work.again, Hurry::never, [this, &lane] {
            lane.woke();
            pump();
          });
        }
        again = again || !work.is_empty();
        for (Ready& late : work.late)
          drive(late.flight, late.flight->request.was_unsent(Unsent::late, {}));
        for (auto& riders : work.calls) send(i, std::move(riders));
        for (const FlightPtr& flight : work.admit) let_in(flight, i);
      }
    }
  }

  void turn_away(Lane& lane) {
    Lane::Work work = lane.empty();
    for (const FlightPtr& flight : work.admit) drive(flight, flight->request.denied(interrupted()));
    for (const Ready& ready : work.late)
      drive(ready.flight, ready.flight->request.was_unsent(Unsent::local, interrupted()));
  }

  void send(std::size_t lane, std::vector<Ready> riders) {
    auto call = std::make_shared<LiveCall>();
    call->lane = lane;
    call->bulk = riders.size() > 1;
    call->started = parts_.clock.now();
    call->riders = std::move(riders);
    for (Ready& rider : call->riders) {
      // The reference is the place in the call, so that the spool's list of intents gives it back.
      call->asks.push_back({std::to_string(call->asks.size()), std::move(rider.query)});
    }
    // One that waits alone does not go by the bulk endpoint, and may cost more.
    if (!call->bulk && !reserve(call->riders.front().flight, price_of(lane, false)))
      return hold_back(call, Unsent::local, out_of_money());
    mark_.push(std::move(call));
  }

  /// All calls that wait share one mark in the spool, and so one sync of the disk. Not on the HTTP
  /// client's thread: there every call would wait for the marks of those before it.
  void do_mark(const std::vector<std::shared_ptr<LiveCall>>& calls) {
    std::vector<IntentId> intents;
    for (const auto& call : calls)
      for (const Ready& rider : call->riders) intents.push_back(rider.call.intent);
    failpoint(FailPoint::call_unmarked);
    const auto marked = parts_.spool.mark_sent(intents);
    for (const auto& call : calls) {
      if (!marked) {
        hold_back(call, Unsent::local, marked.error());
        continue;
      }
      for (const Ready& rider : call->riders) rider.flight->is_marked = true;
      launch(call);
    }
  }

  void launch(const std::shared_ptr<LiveCall>& call) {
    const ChainStep& step = rules_.chain[call->lane];
    const milliseconds span = call->bulk ? step.bulk_timeout : step.single_timeout;
    const auto started = parts_.chain[call->lane]->call(
        call->asks,
        call->bulk,
        Deadline::in(span, parts_.clock),
        [this, call] { return may_send(*call); },
        [this, call](Transfer transfer) { was_transferred(call, std::move(transfer)); });
    if (!started) hold_back(call, Unsent::network, started.error());
  }

  void hold_back(const std::shared_ptr<LiveCall>& call, Unsent why, Error error) {
    call->held_back = why;
    call->error = std::move(error);
    decode_.push(call);
  }

  /// On the HTTP client's thread, right before the first byte (R2). A slow disk or a busy client
  /// may have used up the window since the claim.
  bool may_send(LiveCall& call) {
    failpoint(FailPoint::call_marked);
    const Mono now = parts_.clock.now();
    for (const Ready& rider : call.riders)
      if (rider.call.send_before <= now) call.held_back = Unsent::late;
    return !call.held_back;
  }

  /// On the HTTP client's thread. Nothing comes before the spool: what is in it is never paid
  /// again.
  void was_transferred(const std::shared_ptr<LiveCall>& call, Transfer transfer) {
    if (transfer.end == TransferEnd::complete) {
      failpoint(FailPoint::answer_read);
      SpooledResponse response;
      for (const Ready& rider : call->riders) response.intents.push_back(rider.call.intent);
      response.provider = parts_.chain[call->lane]->traits().name;
      response.bulk = call->bulk;
      response.http_status = transfer.response.status;
      response.headers = transfer.response.headers;
      response.body = transfer.response.body;
      ignore(parts_.spool.append(response),
             "the answer is in memory still and goes to the store now");
      failpoint(FailPoint::answer_spooled);
    }
    call->transfer = std::move(transfer);
    decode_.push(call);
  }

  void do_decode(const std::vector<std::shared_ptr<LiveCall>>& calls) {
    for (const auto& call : calls) end_call(*call);
    pump();
  }

  void end_call(LiveCall& call) {
    const Mono now = parts_.clock.now();
    const auto took = std::chrono::duration_cast<milliseconds>(now - call.started);
    Lane& lane = *lanes_[call.lane];
    if (call.held_back && call.transfer.end != TransferEnd::complete) {
      lane.ended(Lane::Health::unknown, {}, {}, took, now);
      for (const Ready& rider : call.riders)
        drive(rider.flight,
              rider.flight->request.was_unsent(*call.held_back, call.error.value_or(Error{})));
      return;
    }
    std::vector<Outcome> outcomes = outcomes_of(call);
    note_health(lane, outcomes, took, now);

    // A bulk call that is refused as a whole says nothing of most of its asks: smaller ones find
    // the bad one.
    const bool is_bisected =
        call.bulk && call.transfer.response.status >= 400 && call.transfer.response.status < 500 &&
        std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
          return outcome.kind == OutcomeKind::refused && outcome.failure == FailureClass::permanent;
        });
    if (outcomes.front().kind != OutcomeKind::not_sent) ++requests_;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const FlightPtr& flight = call.riders[i].flight;
      Outcome& outcome = outcomes[i];
      if (outcome.kind != OutcomeKind::not_sent) ++calls_;
      if (outcome.kind == OutcomeKind::unknown) ++unknown_;
      if (outcome.billed == Billed::yes) cost_micro_usd_ += outcome.price.micro_usd;
      settle(*flight, outcome);
      if (is_bisected) flight->bulk_limit = outcomes.size() / 2;
      drive(flight, flight->request.was_answered(std::move(outcome), is_bisected));
    }
  }

  [[nodiscard]] std::vector<Outcome> outcomes_of(const LiveCall& call) const {
    const Provider& provider = *parts_.chain[call.lane];
    if (call.transfer.end == TransferEnd::complete) {
      auto outcomes = provider.decode(call.transfer, call.asks, call.bulk);
      GEONCE_EXPECTS(outcomes.size() == call.asks.size());
      return outcomes;
    }
    const bool is_lost = call.transfer.end == TransferEnd::lost;
    Outcome outcome;
    outcome.kind = is_lost ? OutcomeKind::unknown : OutcomeKind::not_sent;
    outcome.billed = is_lost ? Billed::unknown : Billed::no;
    outcome.reason = call.transfer.error;
    outcome.price = price_of(call.lane, call.bulk);
    std::vector<Outcome> all_alike(call.asks.size(), outcome);
    return all_alike;
  }

  void note_health(Lane& lane, const std::vector<Outcome>& outcomes, milliseconds took, Mono now) {
    const Outcome* worst = nullptr;
    for (const Outcome& outcome : outcomes) {
      const bool is_answer =
          outcome.kind == OutcomeKind::match || outcome.kind == OutcomeKind::no_match ||
          outcome.kind == OutcomeKind::ambiguous || outcome.failure == FailureClass::permanent;
      if (is_answer) {
        silence_.with([](Silence& silence) { silence = {}; });
        return lane.ended(Lane::Health::good, {}, {}, took, now);
      }
      if (worst == nullptr || outcome.failure > worst->failure) worst = &outcome;
    }
    Error why;
    why.source = lane.name();
    why.message = fmt::format("{}: {}", lane.name(), worst->reason);
    silence_.with([&](Silence& silence) {
      if (silence.requests++ == 0) silence.first = now;
      silence.last = now;
      silence.why = why.message;
    });
    if (worst->kind == OutcomeKind::refused && worst->failure == FailureClass::fatal) {
      why.code = ErrorCode::provider_fatal;
      lane.ended(Lane::Health::stop, parts_.options.fatal_cool_down, std::move(why), took, now);
    } else if (worst->kind == OutcomeKind::refused && worst->failure == FailureClass::retry_after) {
      why.code = ErrorCode::cooling_down;
      lane.ended(Lane::Health::pause, worst->delay, std::move(why), took, now);
    } else {
      lane.ended(Lane::Health::failed, {}, std::move(why), took, now);
    }
  }

  // --- the stages
  // ------------------------------------------------------------------------------------

  Result<void> add_former_answers(std::span<const Ask> asks,
                                  std::span<const std::size_t> looked_up,
                                  std::vector<std::optional<Found>>& found,
                                  Deadline deadline);

  [[nodiscard]] Deadline store_deadline() const {
    return Deadline::in(kStoreDeadline, parts_.clock);
  }

  /// What the shared tier does not have goes on to the store.
  void do_shared_read(std::vector<ReadItem> items) {
    std::size_t most = 0;
    for (const ReadItem& item : items) most += item.indices.size();
    SlotSet set(most);
    std::vector<std::uint32_t> places;
    places.reserve(most);
    for (const ReadItem& item : items)
      for (const std::uint32_t i : item.indices)
        places.push_back(set.add(item.group->asks[i].slot));
    const auto found = parts_.shared->find(set.slots, Deadline::in(kSharedDeadline, parts_.clock));
    const Mono now = parts_.clock.now();
    for (std::size_t i = 0; found && i < set.slots.size(); ++i)
      if ((*found)[i]) parts_.memory.store_one(set.slots[i], *(*found)[i]);
    std::size_t at = 0;
    for (ReadItem& item : items) {
      std::erase_if(item.indices, [&](std::uint32_t i) {
        const std::uint32_t place = places[at++];
        if (!found || !(*found)[place]) return false;
        const Cached& cached = *(*found)[place];
        if (cached.fresh_until <= now ||  // it took so long to hear of it
            is_unwanted(*cached.answer, cached.answered_at, item.group->asks[i].options))
          return false;
        item.group->answer(i, from_tier(cached, AnswerSource::redis, now));
        return true;
      });
      ask_store(std::move(item));
    }
  }

  /// While the store is away: what memory holds within its life, for want of better.
  std::optional<Resolved> held_of(const Ask& ask, const Error& why) {
    if (!ask.options.serve_stale) return std::nullopt;
    const auto cached = parts_.memory.find_unconfirmed(ask.slot);
    if (!cached || (ask.options.retry_no_match && cached->answer->kind == AnswerKind::no_match))
      return std::nullopt;
    Resolved resolved = from_tier(*cached, AnswerSource::stale, parts_.clock.now());
    resolved.source = AnswerSource::stale;
    resolved.error = why;
    return resolved;
  }

  /// Where it is known to be away nobody waits for it who has something else, or does not want to.
  void ask_store(ReadItem item) {
    if (parts_.heard != nullptr && parts_.heard->is_store_away()) {
      Error why{ErrorCode::store_unavailable,
                "the store cannot be asked now; nothing was bought",
                "store",
                {},
                kStoreAgain};
      std::erase_if(item.indices, [&](std::uint32_t i) {
        const Ask& ask = item.group->asks[i];
        auto held = held_of(ask, why);
        if (!held && ask.options.waits_for_store) return false;
        item.group->answer(i, held ? std::move(*held) : failed(why));
        return true;
      });
    }
    if (item.indices.empty())
      under_way(reads_under_way_, -1);
    else
      read_.push(std::move(item));
  }

  void do_read(const std::vector<ReadItem>& items) {
    const Mono asked = parts_.clock.now();
    std::size_t most = 0;
    for (const ReadItem& item : items) most += item.flight ? 1 : item.indices.size();
    SlotSet set(most);
    std::vector<std::uint32_t> places;  // of each ask in the set, in order
    places.reserve(most);
    for (const ReadItem& item : items) {
      if (item.flight) places.push_back(set.add(item.flight->request.subject().slot));
      for (const std::uint32_t i : item.indices)
        places.push_back(set.add(item.group->asks[i].slot));
    }
    auto found = find(items, places, set.slots);
    // What took a while to read is so much older.
    const Mono now = parts_.clock.now();
    if (found) {
      const auto since = std::chrono::ceil<milliseconds>(now - asked);
      for (auto& entry : *found)
        if (entry) entry = aged(std::move(*entry), since);
      std::vector<Remembered> fresh;
      for (std::size_t i = 0; i < set.slots.size(); ++i) {
        const auto& entry = (*found)[i];
        if (!entry || entry->fresh_left <= milliseconds{0}) continue;
        const Cached cached{entry->answer,
                            entry->gen,
                            now + entry->fresh_left,
                            entry->answered_at,
                            entry->fresh_until,
                            asked};
        parts_.memory.store_one(set.slots[i], cached);
        if (publisher_) fresh.push_back({set.slots[i], cached});
      }
      if (!fresh.empty()) publisher_->publish(std::move(fresh), asked);
    }
    std::size_t at = 0;
    for (const ReadItem& item : items) {
      if (item.flight) {
        auto one = found ? Result<std::optional<Found>>((*found)[places[at]])
                         : Result<std::optional<Found>>(fail(found.error()));
        ++at;
        drive(item.flight, item.flight->request.was_read(std::move(one), now));
        continue;
      }
      for (const std::uint32_t i : item.indices) {
        const std::size_t place = places[at++];
        if (found) {
          was_looked_up({item.group, i}, (*found)[place], now);
          continue;
        }
        auto held = held_of(item.group->asks[i], found.error());
        item.group->answer(i, held ? std::move(*held) : failed(found.error()));
      }
      under_way(reads_under_way_, -1);
    }
    pump();
  }

  [[nodiscard]] bool has_former_keys(const Ask& ask) const {
    return parts_.ring->has_former() || !ask.pre_image.empty();
  }

  /// What the store has for the addresses of `items`, also where it stood under a former key until
  /// now.
  Result<std::vector<std::optional<Found>>> find(const std::vector<ReadItem>& items,
                                                 const std::vector<std::uint32_t>& places,
                                                 const std::vector<Slot>& slots) {
    auto found = parts_.store.find(slots, store_deadline());
    if (!found) return found;
    std::vector<Missing> missing;
    std::size_t at = 0;
    for (const ReadItem& item : items) {
      if (item.flight) ++at;
      for (const std::uint32_t i : item.indices) {
        const Ask& ask = item.group->asks[i];
        if (!is_hit((*found)[places[at++]], ask.options) && has_former_keys(ask))
          missing.push_back(missing_of(ask));
      }
    }
    const auto any =
        take_over_former_answers(parts_.store, *parts_.ring, missing, store_deadline());
    // Better an error than a call for what may be known.
    if (!any) return fail(any.error());
    return *any ? parts_.store.find(slots, store_deadline()) : std::move(found);
  }

  static Resolved failed(Error error) {
    Resolved resolved;
    resolved.error = std::move(error);
    return resolved;
  }

  /// A hit is answered at once; all else becomes a flight, or joins one.
  void was_looked_up(const Caller& caller, const std::optional<Found>& found, Mono asked) {
    Ask& ask = caller.group->asks[caller.index];
    const AskOptions& options = ask.options;
    if (is_hit(found, options)) {
      caller.group->answer(caller.index, as_found(*found));
      return;
    }
    auto boarded = flights_.board(ask.slot, caller, asked, [&] {
      Subject subject = subject_of(ask, std::move(ask.query));
      // Callers who join later must not be given, for want of better, what is over by now.
      const bool is_over =
          found && parts_.heard != nullptr && parts_.heard->is_over(ask.slot, found->gen, asked);
      return std::make_shared<Flight>(
          rules_, std::move(subject), is_over ? std::nullopt : found, asked);
    });
    if (boarded.answer)
      caller.group->answer(caller.index, std::move(*boarded.answer));
    else
      limit_wait(caller, boarded.flight, asked);
    if (!boarded.leads) return;
    under_way(flights_under_way_, 1);
    failpoint(FailPoint::flight_begins);
    drive(boarded.flight, std::move(boarded.flight->first));
  }

  /// With a stale answer at hand a caller waits no longer than the soft limit, unless it insists on
  /// a new answer or has all the time of a batch. The flight goes on.
  void limit_wait(const Caller& caller, const FlightPtr& flight, Mono now) {
    const auto& limit = parts_.options.soft_limit;
    const AskOptions& options = caller.options();
    if (!limit || !flight->stale() || !options.serve_stale || options.refresh_before > 0 ||
        options.cause == Cause::batch)
      return;
    timer_.at(now + *limit,
              Hurry::never,
              [this, flight, index = caller.index, weak = std::weak_ptr<Group>(caller.group)] {
                if (const auto group = weak.lock())
                  group->leave_early(index, *flight, parts_.clock.now());
              });
  }

  void do_places(const std::vector<FlightPtr>& flights) {
    std::vector<std::vector<Key>> questions;
    std::vector<FlightPtr> asking;
    for (const FlightPtr& flight : flights) {
      auto canonical = normalizer().normalize(flight->request.subject().query.view());
      if (canonical) {
        questions.push_back(place_questions(*canonical));
        asking.push_back(flight);
      } else {
        drive(flight, flight->request.places_said(std::optional<PlaceHit>{}));
      }
    }
    auto hits = parts_.store.find_places(questions, store_deadline());
    for (std::size_t i = 0; i < asking.size(); ++i)
      drive(asking[i],
            asking[i]->request.places_said(
                hits ? Result<std::optional<PlaceHit>>((*hits)[i])
                     : Result<std::optional<PlaceHit>>(fail(hits.error()))));
    pump();
  }

  /// One store call for all `items`, then each flight goes on with its own result.
  template <class T, class Request, class Call, class GoOn>
  void write(std::vector<StoreItem<Request>> items, Call call, GoOn go_on) {
    std::vector<Request> requests;
    requests.reserve(items.size());
    for (auto& item : items) requests.push_back(std::move(item.request));
    const Mono asked = parts_.clock.now();
    Result<std::vector<T>> results = call(std::span<const Request>(requests));
    if constexpr (!std::is_same_v<Request, TakeRequest>) {
      if (results) note_settled(items, requests);
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      go_on(items[i].flight,
            results ? Result<T>(std::move((*results)[i])) : Result<T>(fail(results.error())),
            asked);
    pump();
  }

  template <class Request>
  void note_settled(const std::vector<StoreItem<Request>>& items,
                    const std::vector<Request>& requests) {
    std::vector<IntentId> settled;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto intent = intent_of(requests[i]);
      Flight& flight = *items[i].flight;
      if (!intent || !flight.is_marked) continue;
      (is_needed(requests[i]) ? flight.noted : settled).push_back(*intent);
      flight.is_marked = false;
    }
    let_go(settled);
  }
  void let_go(const std::vector<IntentId>& settled) {
    if (!settled.empty())
      ignore(parts_.spool.settled(settled),
             "an intent adopted although it is settled changes nothing");
  }
  /// Whether the answer may still be the one that ends the claim.
  static bool is_needed(const AdvanceRequest& request) { return !request.refused; }
  template <class Request>
  static bool is_needed(const Request&) {
    return false;
  }
  static std::optional<IntentId> intent_of(const AdvanceRequest& request) {
    return request.call.intent;
  }
  static std::optional<IntentId> intent_of(const ReleaseRequest& request) {
    return request.call.intent;
  }
  static std::optional<IntentId> intent_of(const CommitRequest& request) {
    if (!request.call) return std::nullopt;
    return request.call->intent;
  }

  void do_take(std::vector<StoreItem<TakeRequest>> items) {
    // The send window starts here, before the store is asked: `write` reads the clock first.
    write<Taken>(
        std::move(items),
        [this](auto requests) {
          auto taken = parts_.store.take(requests, store_deadline());
          failpoint(FailPoint::take_done);
          if (taken &&
              std::ranges::any_of(*taken, [](const Taken& one) { return one.attempt > 1; }))
            failpoint(FailPoint::takeover_done);
          return taken;
        },
        [this](const FlightPtr& flight, Result<Taken> taken, Mono asked) {
          const std::size_t lane = flight->lane;
          const bool bulk = goes_by_bulk(*flight, lane);
          const auto took = parts_.clock.now() - flight->let_in_at;
          drive(flight, flight->request.was_taken(std::move(taken), asked, moment(*flight)));
          lanes_[lane]->has_taken(bulk, std::chrono::ceil<milliseconds>(took));
        });
  }
  void do_advance(std::vector<StoreItem<AdvanceRequest>> items) {
    write<Advanced>(
        std::move(items),
        [this](auto requests) {
          auto done = parts_.store.advance(requests, store_deadline());
          failpoint(FailPoint::advance_done);
          return done;
        },
        [this](const FlightPtr& flight, Result<Advanced> advanced, Mono asked) {
          drive(flight, flight->request.was_advanced(std::move(advanced), asked, moment(*flight)));
        });
  }
  void do_commit(std::vector<StoreItem<CommitRequest>> items) {
    write<Committed>(
        std::move(items),
        [this](auto requests) {
          auto done = parts_.store.commit(requests, store_deadline());
          failpoint(FailPoint::commit_done);
          return done;
        },
        [this](const FlightPtr& flight, Result<Committed> committed, Mono asked) {
          drive(flight,
                flight->request.was_committed(std::move(committed), asked, moment(*flight)));
        });
  }
  void do_release(std::vector<StoreItem<ReleaseRequest>> items) {
    write<Released>(
        std::move(items),
        [this](auto requests) {
          auto done = parts_.store.release(requests, store_deadline());
          failpoint(FailPoint::release_done);
          return done;
        },
        [this](const FlightPtr& flight, Result<Released> released, Mono /*asked*/) {
          drive(flight, flight->request.was_released(std::move(released), moment(*flight)));
        });
  }

  const ResolverParts parts_;
  const RequestRules rules_;
  Tally tally_;
  Flights flights_;
  const std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<bool> is_draining_{false}, is_stopping_{false};
  Guarded<Silence> silence_;
  std::mutex idle_mutex_;
  std::condition_variable idle_;
  std::int64_t flights_under_way_ = 0, reads_under_way_ = 0;
  std::atomic<std::int64_t> calls_{0}, requests_{0}, unknown_{0}, redundant_{0}, cost_micro_usd_{0};

  // Last, because their threads use all of the above.
  Timer timer_;
  Stage<ReadItem> read_;
  Stage<FlightPtr> places_;
  Stage<StoreItem<TakeRequest>> take_;
  Stage<StoreItem<AdvanceRequest>> advance_;
  Stage<StoreItem<CommitRequest>> commit_;
  Stage<StoreItem<ReleaseRequest>> release_;
  Stage<std::shared_ptr<LiveCall>> mark_;
  Stage<std::shared_ptr<LiveCall>> decode_;
  std::unique_ptr<Publisher> publisher_;          // null: no tier is shared
  std::unique_ptr<Stage<ReadItem>> shared_read_;  // … nor asked
};

/// Puts what stands under former keys into the place of misses, as it would be taken over.
Result<void> LiveResolver::add_former_answers(std::span<const Ask> asks,
                                              std::span<const std::size_t> looked_up,
                                              std::vector<std::optional<Found>>& found,
                                              Deadline deadline) {
  std::vector<Missing> missing;
  std::vector<std::size_t> place_of;
  for (std::size_t m = 0; m < looked_up.size(); ++m) {
    const Ask& ask = asks[looked_up[m]];
    if (is_hit(found[m], ask.options) || !has_former_keys(ask)) continue;
    missing.push_back(missing_of(ask));
    place_of.push_back(m);
  }
  const auto answers = find_former_answers(parts_.store, *parts_.ring, missing, deadline);
  if (!answers) return fail(answers.error());
  std::vector<Slot> slots;
  for (const FormerAnswer& answer : *answers) slots.push_back(answer.rekey.from);
  const auto former = parts_.store.find(slots, deadline);
  if (!former) return fail(former.error());
  for (std::size_t f = 0; f < slots.size(); ++f) {
    const auto& one = (*former)[f];
    auto& present = found[place_of[(*answers)[f].of]];
    if (one &&
        (!present ||
         (one->pinned == present->pinned ? one->answered_at > present->answered_at : one->pinned)))
      present = one;
  }
  return {};
}

std::vector<Resolved> LiveResolver::peek(std::span<const Ask> asks, Deadline deadline) {
  const Mono now = parts_.clock.now();
  std::vector<Resolved> known(asks.size());
  std::vector<std::size_t> missing;
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    auto cached = parts_.memory.find_one(asks[i].slot);
    if (cached && !is_unwanted(*cached->answer, cached->answered_at, asks[i].options)) {
      known[i] = from_tier(*cached, AnswerSource::l1, now);
      continue;
    }
    missing.push_back(i);
    slots.push_back(asks[i].slot);
  }
  auto found = parts_.store.find(slots, deadline);
  if (!found) {
    for (const std::size_t i : missing) known[i] = failed(found.error());
    return known;
  }
  if (auto done = add_former_answers(asks, missing, *found, deadline); !done) {
    for (const std::size_t i : missing) known[i] = failed(done.error());
    return known;
  }
  // What is left goes through the machine, which is forbidden to pay.
  struct Asking {
    std::size_t index = 0;
    Request request;
  };
  std::vector<Asking> asking;
  std::vector<std::vector<Key>> questions;
  for (std::size_t m = 0; m < missing.size(); ++m) {
    const std::size_t i = missing[m];
    const auto& entry = (*found)[m];
    if (is_hit(entry, asks[i].options)) {
      known[i] = as_found(*entry);
      continue;
    }
    Subject subject = subject_of(asks[i], asks[i].query);
    subject.cache_only = true;
    Request request(rules_, std::move(subject));
    if (std::holds_alternative<act::Done>(request.begin(entry, now))) {
      known[i] = share_of(request.ending(), asks[i].options, false, now);
      continue;
    }
    auto canonical = normalizer().normalize(asks[i].query.view());
    questions.push_back(canonical ? place_questions(*canonical) : std::vector<Key>{});
    asking.push_back({i, std::move(request)});
  }
  auto hits = parts_.store.find_places(questions, deadline);
  for (std::size_t q = 0; q < asking.size(); ++q) {
    auto& [i, request] = asking[q];
    (void)request.places_said(hits ? Result<std::optional<PlaceHit>>((*hits)[q])
                                   : Result<std::optional<PlaceHit>>(fail(hits.error())));
    known[i] = share_of(request.ending(), asks[i].options, false, now);
  }
  return known;
}

}  // namespace

RequestRules rules_of(const std::vector<std::shared_ptr<Provider>>& chain,
                      const LifeConfig& life,
                      const AcceptConfig& accept,
                      const ResolverOptions& options,
                      const OwnerId& owner,
                      const ChainOrders& orders,
                      const KeyRing& ring) {
  RequestRules rules;
  rules.countries = orders.countries;
  if (orders.standard) {
    rules.standard = *orders.standard;
  } else {
    for (std::size_t step = 0; step < chain.size(); ++step) rules.standard.steps.push_back(step);
  }
  for (const auto& provider : chain) {
    const ProviderTraits& traits = provider->traits();
    rules.chain.push_back({traits.name,
                           traits.terms,
                           traits.countries,
                           traits.no_match_rechecks,
                           traits.single_timeout,
                           traits.bulk_timeout,
                           traits.price_single,
                           traits.price_bulk});
  }
  rules.life = life;
  rules.accept = accept;
  rules.owner = owner;
  rules.send_window = options.send_window;
  rules.margin = options.margin;
  rules.max_unknown = options.max_unknown;
  rules.cool_down = options.cool_down;
  rules.permanent_cool_down = options.permanent_cool_down;
  rules.ring = &ring;
  std::memcpy(&rules.jitter_seed, owner.bytes.data() + 8, sizeof rules.jitter_seed);
  return rules;
}

std::unique_ptr<Resolver> open_resolver(ResolverParts parts) {
  return std::make_unique<LiveResolver>(std::move(parts));
}

}  // namespace geonce
