#include <utility>

#include "simulation/process.h"

// A call from the moment its claim is won until the machine hears what it came to.

namespace geonce::sim {
namespace {

Error out_of_money() { return {ErrorCode::quota_exhausted, "the cap is reached", {}, {}, {}}; }

Outcome no_answer(OutcomeKind kind) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.billed = kind == OutcomeKind::not_sent ? Billed::no : Billed::unknown;
  outcome.reason = kind == OutcomeKind::not_sent ? "unreachable" : "lost";
  return outcome;
}

}  // namespace

std::vector<IntentId> SimCall::intents() const {
  std::vector<IntentId> all;
  for (const Rider& rider : riders) all.push_back(rider.call.intent);
  return all;
}

// --- money
// -------------------------------------------------------------------------------------------------

Money Process::price_of(std::size_t step, bool bulk) const {
  const ProviderTraits& traits = world_.chain[step]->traits();
  return bulk ? traits.price_bulk : traits.price_single;
}

bool Process::goes_by_bulk(const Flight& flight, std::size_t step) const {
  return flight.request.subject().cause == Cause::batch &&
         world_.chain[step]->traits().bulk_max > 1;
}

bool Process::reserve(const FlightPtr& flight, Money price) {
  if (flight->reserved == price) return true;
  give_back(*flight);
  const bool is_paid = flights_.reserve(*flight, price, [&](const Caller& caller) {
    Ending ending = flight->request.ending();
    ending.resolved.error = out_of_money();
    caller.group->answer(caller.index, share_of(ending, caller.options(), false, clock_.now()));
  });
  return is_paid;
}

void Process::give_back(Flight& flight) {
  if (flight.reserved && flight.cap) flight.cap->give_back(*flight.reserved);
  flight.reserved.reset();
  flight.cap.reset();
}

void Process::settle(Flight& flight, const Outcome& outcome) {
  if (outcome.kind == OutcomeKind::not_sent) return;  // `drive` gives it back
  if (flight.reserved && flight.cap && outcome.billed != Billed::unknown)
    flight.cap->settle(*flight.reserved, outcome.billed == Billed::yes ? outcome.price : Money{});
  flight.reserved.reset();
  flight.cap.reset();
}

// --- on the way out
// ---------------------------------------------------------------------------------------

void Process::carry_out(const FlightPtr& flight, act::Call& call) {
  const std::size_t step = call.step;
  call.bulk = call.bulk && world_.chain[step]->traits().bulk_max > 1;
  if (!reserve(flight, price_of(step, call.bulk))) {
    drive(flight, flight->request.was_unsent(Unsent::local, out_of_money()));
    return;
  }
  if (!call.bulk) {
    later(Site::slot, who(flight), milliseconds{4'000}, [this, flight, call] {
      send({{flight, call}});
    });
    return;
  }
  auto& waiting = waiting_[step];
  waiting.push_back({flight, call});
  if (waiting.size() > 1) return;
  const milliseconds span = world_.span(Site::company, who(flight), milliseconds{2'000});
  world_.after(milliseconds{40} + span, this, who(flight), [this, step] { depart(step); });
}

void Process::depart(std::size_t step) {
  auto& waiting = waiting_[step];
  const std::size_t most = world_.chain[step]->traits().bulk_max;
  while (!waiting.empty()) {
    std::vector<SimCall::Rider> riders;
    std::size_t limit = most;
    while (!waiting.empty() && riders.size() < limit) {
      limit = std::min({limit, std::max<std::size_t>(waiting.front().flight->bulk_limit, 1)});
      if (riders.size() >= limit && !riders.empty()) break;
      riders.push_back(std::move(waiting.front()));
      waiting.erase(waiting.begin());
    }
    send(std::move(riders));
  }
}

void Process::send(std::vector<SimCall::Rider> riders) {
  auto call = std::make_shared<SimCall>();
  call->step = riders.front().call.step;
  call->bulk = riders.size() > 1;
  call->riders = std::move(riders);
  if (!call->bulk && !reserve(call->riders.front().flight, price_of(call->step, false)))
    return hold_back(call, Unsent::local, out_of_money());
  later(Site::mark, who(call->riders.front().flight), milliseconds{2'000}, [this, call] {
    mark(call);
  });
}

void Process::mark(const SimCallPtr& call) {
  const int first = who(call->riders.front().flight);
  if (world_.trouble(Site::disk_full, first, 5)) {
    world_.say("p{} the disk takes no mark for ask {}", index, first);
    return hold_back(call, Unsent::local, {ErrorCode::disk_full, "disk full", {}, {}, {}});
  }
  if (!has(ProcessDefect::mark_after_sending)) spool.mark_sent(call->intents());
  for (const auto& rider : call->riders) rider.flight->is_marked = true;
  later(Site::connect, first, milliseconds{5'000}, [this, call] { connect(call); });
}

void Process::connect(const SimCallPtr& call) {
  const int first = who(call->riders.front().flight);
  if (world_.trouble(Site::unreachable, first, 15)) {
    world_.say("p{} the provider cannot be reached for ask {}", index, first);
    for (const auto& rider : call->riders)
      drive(rider.flight,
            rider.flight->request.was_answered(no_answer(OutcomeKind::not_sent), false));
    return;
  }
  for (const auto& rider : call->riders) {
    const bool is_late = rider.call.send_before <= clock_.now();
    if (!is_late || has(ProcessDefect::window_not_checked)) continue;
    world_.say("p{} it is too late to send for ask {}", index, who(rider.flight));
    return hold_back(call, Unsent::late, {});
  }
  call->checked = world_.now;
  world_.after(world_.trouble(Site::gap, first, 20) ? milliseconds{3} : milliseconds{0},
               this,
               first,
               [this, call] { leave(call); });
}

void Process::hold_back(const SimCallPtr& call, Unsent why, const Error& error) {
  for (const auto& rider : call->riders)
    drive(rider.flight, rider.flight->request.was_unsent(why, error));
}

/// The first byte.
void Process::leave(const SimCallPtr& call) {
  const int first = who(call->riders.front().flight);
  const std::string& provider = world_.chain[call->step]->traits().name;
  for (const auto& rider : call->riders) {
    world_.say("p{} calls {} for ask {}, intent {}",
               index,
               provider,
               who(rider.flight),
               World::number_of(rider.call.intent));
    const auto& flight = static_cast<const SimFlight&>(*rider.flight);
    const bool is_shared = flight.is_shared || shared_.contains(flight.request.subject().slot);
    const SpendCap* cap = is_shared ? flight.cap.get() : flight.leaders_cap;
    world_.checker.left(*call, rider.call.intent, cap);
  }
  const ChainStep& step = rules_.chain[call->step];
  world_.after(call->bulk ? step.bulk_timeout : step.single_timeout, this, first, [this, call] {
    if (!call->is_over) world_.say("p{} has waited long enough", index);
    lost(call);
  });
  world_.after(world_.span(Site::request, first, milliseconds{3'000}),
               [this, call] { reach(call); });
  if (has(ProcessDefect::resent_inside_a_call) && world_.trouble(Site::gap, first, 50))
    world_.after(milliseconds{50}, [this, call] { reach(call); });
  if (has(ProcessDefect::mark_after_sending))
    world_.after(milliseconds{20}, this, first, [this, call] {
      if (!call->is_over) spool.mark_sent(call->intents());
    });
}

// --- at the provider's
// ------------------------------------------------------------------------------------

namespace {

/// What the provider, or the way back, makes of a call.
enum class End : std::uint8_t { words, not_reached, lost, busy, wait, broke, hopeless };

}  // namespace

void Process::reach(const SimCallPtr& call) {
  Choices& choices = world_.choices;
  const int first = who(call->riders.front().flight);
  const auto end = world_.trouble(Site::call_end, first, 80)
                       ? static_cast<End>(1 + choices.below(Site::call_end, first, 6))
                       : End::words;
  const milliseconds while_asked = world_.span(Site::answering, first, milliseconds{12'000});
  if (end == End::not_reached) {
    world_.say("   the call of ask {} does not reach the provider", first);
    world_.after(while_asked, this, first, [this, call] { lost(call); });
    return;
  }
  Transfer transfer;
  transfer.end = TransferEnd::complete;
  transfer.response.status = 200;
  if (end == End::busy) transfer.response.status = 503;
  if (end == End::broke) transfer.response.status = 401;
  if (end == End::hopeless) transfer.response.status = 400;
  if (end == End::wait) {
    transfer.response.status = 429;
    transfer.response.headers.emplace_back(
        "retry-after", std::to_string(1 + 5 * choices.below(Site::call_end, first, 4)));
  }
  const bool is_refused = transfer.response.status != 200;
  if (!is_refused) transfer.response.body = words(*call);
  if (call->bulk) ++world_.checker.sums.in_bulk;
  for (const auto& rider : call->riders)
    world_.checker.billed(rider.call.intent, call->step, is_refused);
  world_.say("   the provider says {} '{}'{}",
             transfer.response.status,
             transfer.response.body,
             end == End::lost ? ", and nobody hears it" : "");
  if (end == End::lost)
    world_.after(while_asked, this, first, [this, call] { lost(call); });
  else
    world_.after(while_asked, this, first, [this, call, transfer = std::move(transfer)] {
      received(call, transfer);
    });
}

/// One word per rider, each with a new number.
std::string Process::words(const SimCall& call) {
  static constexpr std::array kWords{Word::match,
                                     Word::match,
                                     Word::match,
                                     Word::no_match,
                                     Word::ambiguous,
                                     Word::coarse,
                                     Word::hopeless,
                                     Word::unreadable};
  std::string body;
  for (const auto& rider : call.riders) {
    auto word = kWords[world_.choices.below(Site::answer, who(rider.flight), kWords.size())];
    if (world_.is_ending) word = Word::match;
    SimProvider::add_word(body, word, world_.checker.says(rider.call.intent, call.step, word));
  }
  return body;
}

// --- on the way back
// ---------------------------------------------------------------------------------------

void Process::received(const SimCallPtr& call, Transfer transfer) {
  if (call->is_over) {
    world_.say("p{} nobody waits for that any more", index);
    return;
  }
  call->is_over = true;
  const int first = who(call->riders.front().flight);
  if (world_.trouble(Site::spool_full, first, 3)) {
    world_.say("p{} the spool does not take the answer of ask {}", index, first);
  } else {
    SpooledResponse response;
    response.intents = call->intents();
    response.provider = world_.chain[call->step]->traits().name;
    response.bulk = call->bulk;
    response.http_status = transfer.response.status;
    response.headers = transfer.response.headers;
    response.body = transfer.response.body;
    spool.append(std::move(response));
    world_.checker.spooled(call->intents());
  }
  later(Site::decode, first, milliseconds{1'000}, [this, call, transfer = std::move(transfer)] {
    ended(call, transfer);
  });
}

void Process::lost(const SimCallPtr& call) {
  if (call->is_over) return;
  call->is_over = true;
  Transfer transfer;
  transfer.end = TransferEnd::lost;
  ended(call, transfer);
}

void Process::ended(const SimCallPtr& call, const Transfer& transfer) {
  std::vector<Outcome> outcomes;
  if (transfer.end == TransferEnd::complete) {
    std::vector<ProviderAsk> asks(call->riders.size());
    for (std::size_t i = 0; i < asks.size(); ++i) asks[i].ref = std::to_string(i);
    outcomes = world_.chain[call->step]->decode(transfer, asks, call->bulk);
  } else {
    const auto kind =
        has(ProcessDefect::loss_read_as_unsent) ? OutcomeKind::not_sent : OutcomeKind::unknown;
    outcomes.assign(call->riders.size(), no_answer(kind));
  }
  const bool is_bisected =
      call->bulk && transfer.end == TransferEnd::complete && transfer.response.status == 400;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const FlightPtr& flight = call->riders[i].flight;
    settle(*flight, outcomes[i]);
    if (is_bisected) flight->bulk_limit = outcomes.size() / 2;
    drive(flight, flight->request.was_answered(std::move(outcomes[i]), is_bisected));
  }
}

}  // namespace geonce::sim
