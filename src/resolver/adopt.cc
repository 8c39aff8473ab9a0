#include "resolver/adopt.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "core/normalize.h"
#include "io/failpoint.h"
#include "resolver/request.h"

namespace geonce {
namespace {

constexpr std::size_t kAtOnce = 500;
constexpr milliseconds kStoreDeadline{15'000};

/// Drives the requests of the dead to their end with the machine of the living, all in step, so
/// that the store is asked once per round.
class Adoption {
 public:
  Adoption(const AdoptParts& parts, const RequestRules& rules) : parts_(parts), rules_(rules) {}

  /// An answer that ended its call and not yet its window.
  void note(const OpenIntent& open, std::size_t step, Outcome outcome) {
    noted_[{open.slot, open.gen}].push_back({&open, step, std::move(outcome)});
  }
  /// Whether the end of this call is the end of a window of which answers were noted.
  [[nodiscard]] bool has_noted(const OpenIntent& open) const {
    return open.claim_held && noted_.contains({open.slot, open.gen});
  }
  /// Windows of which nothing is known but what was noted.
  [[nodiscard]] std::size_t windows_noted() const { return noted_.size(); }
  void was_answered(const OpenIntent& open, std::size_t step, bool bulk, Outcome outcome) {
    Heir& heir = add(open, step, bulk);
    heir.action = heir.request.was_answered(std::move(outcome), false);
  }
  void was_unsent(const OpenIntent& open, std::size_t step, Error why) {
    Heir& heir = add(open, step, false);
    heir.action = heir.request.was_unsent(Unsent::local, std::move(why));
  }

  Result<void> run() {
    while (!noted_.empty()) {  // no call was out
      const Noted& last = noted_.begin()->second.back();
      Heir& heir = add(*last.open, last.step, false);
      heir.action = heir.request.finish();
    }
    while (!heirs_.empty()) {
      for (auto& heir : heirs_) turn_down(*heir);
      if (auto done = write<act::Commit, Committed>(
              [this](auto requests) { return parts_.store.commit(requests, deadline()); },
              [this](Heir& heir, Committed committed) {
                heir.action = heir.request.was_committed(committed, parts_.clock.now(), moment());
              });
          !done)
        return done;
      if (auto done = write<act::Advance, Advanced>(
              [this](auto requests) { return parts_.store.advance(requests, deadline()); },
              [this](Heir& heir, Advanced advanced) {
                heir.action = heir.request.was_advanced(advanced, parts_.clock.now(), moment());
              });
          !done)
        return done;
      if (auto done = write<act::Release, Released>(
              [this](auto requests) { return parts_.store.release(requests, deadline()); },
              [this](Heir& heir, Released released) {
                heir.action = heir.request.was_released(released, moment());
              });
          !done)
        return done;
      // Whoever would look again or wait is told by the store when somebody asks.
      std::erase_if(heirs_, [](const auto& heir) {
        return !std::holds_alternative<act::Commit>(heir->action) &&
               !std::holds_alternative<act::Advance>(heir->action) &&
               !std::holds_alternative<act::Release>(heir->action) &&
               !std::holds_alternative<act::Admit>(heir->action);
      });
    }
    return {};
  }

 private:
  struct Heir {
    Request request;
    Action action;
  };
  struct Noted {
    const OpenIntent* open = nullptr;
    std::size_t step = 0;
    Outcome outcome;
  };

  Heir& add(const OpenIntent& open, std::size_t step, bool bulk) {
    Subject subject;
    subject.slot = open.slot;
    if (auto query = query_from_json(open.query_json)) subject.query = std::move(*query);
    if (auto canonical = parse_pre_image(open.pre_image)) subject.quality = quality_of(*canonical);
    heirs_.push_back(std::make_unique<Heir>(Heir{Request(rules_, std::move(subject)), {}}));
    Request& request = heirs_.back()->request;
    request.resume(open, step, bulk);
    if (!open.noted && !open.claim_held) return *heirs_.back();
    if (auto node = noted_.extract(std::pair{open.slot, open.gen}))
      for (Noted& noted : node.mapped())
        request.heard(noted.open->intent, noted.step, std::move(noted.outcome));
    return *heirs_.back();
  }

  [[nodiscard]] Deadline deadline() const { return Deadline::in(kStoreDeadline, parts_.clock); }
  [[nodiscard]] Moment moment() const {
    return {parts_.clock.now(), parts_.clock.now_utc(), Mono::max()};
  }

  /// Adoption settles what was bought, and buys nothing.
  static void turn_down(Heir& heir) {
    while (std::holds_alternative<act::Admit>(heir.action))
      heir.action = heir.request.denied(
          {ErrorCode::interrupted, "the process that asked is gone", {}, {}, {}});
  }

  template <class Act, class T, class Call, class GoOn>
  Result<void> write(Call call, GoOn go_on) {
    std::vector<Heir*> waiting;
    for (auto& heir : heirs_)
      if (std::holds_alternative<Act>(heir->action)) waiting.push_back(heir.get());
    for (std::size_t from = 0; from < waiting.size(); from += kAtOnce) {
      const std::size_t to = std::min(from + kAtOnce, waiting.size());
      std::vector<decltype(Act::request)> requests;
      for (std::size_t i = from; i < to; ++i)
        requests.push_back(std::get<Act>(waiting[i]->action).request);
      Result<std::vector<T>> results = call(std::span<const decltype(Act::request)>(requests));
      if (!results) return fail(results.error());
      for (std::size_t i = from; i < to; ++i) go_on(*waiting[i], (*results)[i - from]);
    }
    return {};
  }

  const AdoptParts& parts_;
  const RequestRules& rules_;
  std::map<std::pair<Slot, std::int64_t>, std::vector<Noted>> noted_;  // by window
  std::vector<std::unique_ptr<Heir>> heirs_;
};

Result<void> release_all(std::vector<ReleaseRequest> requests, const AdoptParts& parts) {
  for (std::size_t from = 0; from < requests.size(); from += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, requests.size() - from);
    auto released = parts.store.release(std::span(requests).subspan(from, count),
                                        Deadline::in(kStoreDeadline, parts.clock));
    if (!released) return fail(std::move(released.error()));
  }
  return {};
}

constexpr const char* kDiedBefore = "the process died before the call";
constexpr const char* kDiedAfter = "the process died before the answer";

ReleaseRequest release_of(const OpenIntent& open, bool was_sent, int max_unknown) {
  ReleaseRequest request;
  request.kind = was_sent ? ReleaseRequest::Kind::unknown : ReleaseRequest::Kind::voided;
  request.slot = open.slot;
  request.fence = open.fence;
  request.call.intent = open.intent;
  request.call.provider = open.provider;
  request.call.reason = was_sent ? kDiedAfter : kDiedBefore;
  request.call.billed = was_sent ? Billed::unknown : Billed::no;
  request.call.units = was_sent ? 1 : 0;
  if (was_sent) request.call.price = open.price;
  request.max_unknown = max_unknown;
  return request;
}

Outcome lost_outcome(const OpenIntent& open) {
  Outcome outcome;
  outcome.kind = OutcomeKind::unknown;
  outcome.reason = kDiedAfter;
  outcome.price = open.price;
  return outcome;
}

using OpenById = std::map<IntentId, const OpenIntent*>;

/// What a spool has of one call that is of use still.
struct Received {
  const OpenIntent* open = nullptr;
  std::size_t step = 0;
  bool bulk = false;
  Outcome outcome;
};

std::optional<std::size_t> step_of(const std::string& provider, const AdoptParts& parts) {
  for (std::size_t step = 0; step < parts.chain.size(); ++step)
    if (parts.chain[step]->traits().name == provider) return step;
  return std::nullopt;
}

std::vector<Outcome> outcomes_of(const SpooledResponse& response,
                                 const Provider& provider,
                                 const OpenById& open_by_id) {
  std::vector<ProviderAsk> asks;
  for (const IntentId& intent : response.intents) {
    ProviderAsk ask;
    ask.ref = std::to_string(asks.size());  // as it was sent: the place in the call
    const auto it = open_by_id.find(intent);
    // What the store has settled already is only here to keep the places.
    if (it != open_by_id.end())
      if (auto query = query_from_json(it->second->query_json)) ask.query = std::move(*query);
    asks.push_back(std::move(ask));
  }
  Transfer transfer;
  transfer.end = TransferEnd::complete;
  transfer.response.status = response.http_status;
  transfer.response.headers = response.headers;
  transfer.response.body = response.body;
  auto outcomes = provider.decode(transfer, asks, response.bulk);
  GEONCE_EXPECTS(outcomes.size() == asks.size());
  return outcomes;
}

Result<std::vector<Received>> received_in(const DeadSpool& spool,
                                          const OpenById& open_by_id,
                                          const AdoptParts& parts) {
  std::vector<Received> received;
  std::set<IntentId> seen;
  for (const SpooledResponse& response : spool.responses) {
    const auto& intents = response.intents;
    if (std::none_of(intents.begin(), intents.end(), [&](const IntentId& intent) {
          return open_by_id.contains(intent);
        }))
      continue;
    const auto step = step_of(response.provider, parts);
    if (!step)
      return fail(ErrorCode::no_provider,
                  "an answer of the provider {} waits in the spool; put it into the chain again so "
                  "that it can be read",
                  response.provider);
    auto outcomes = outcomes_of(response, *parts.chain[*step], open_by_id);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto it = open_by_id.find(intents[i]);
      if (it == open_by_id.end() || !seen.insert(intents[i]).second) continue;
      received.push_back({it->second, *step, response.bulk, std::move(outcomes[i])});
    }
  }
  return received;
}

void count(const Outcome& outcome, AdoptReport& report) {
  switch (outcome.kind) {
    case OutcomeKind::match:
    case OutcomeKind::no_match:
    case OutcomeKind::ambiguous:
      ++report.answered;
      break;
    case OutcomeKind::refused:
      ++report.refused;
      break;
    default:
      ++report.unknown;
  }
}

}  // namespace

Result<void> adopt_spool(const DeadSpool& spool, const AdoptParts& parts, AdoptReport& report) {
  std::vector<IntentId> intents = spool.marked;
  for (const auto& response : spool.responses)
    intents.insert(intents.end(), response.intents.begin(), response.intents.end());
  const auto open =
      parts.store.open_intents(spool.owner, intents, Deadline::in(kStoreDeadline, parts.clock));
  if (!open) return fail(open.error());
  OpenById open_by_id;
  for (const OpenIntent& one : *open) open_by_id.emplace(one.intent, &one);
  auto received = received_in(spool, open_by_id, parts);
  if (!received) return fail(std::move(received.error()));

  const RequestRules rules = rules_of(
      parts.chain, parts.life, parts.accept, parts.options, spool.owner, parts.orders, *parts.ring);
  Adoption adoption(parts, rules);
  for (Received& one : *received)
    if (one.open->noted) adoption.note(*one.open, one.step, std::move(one.outcome));
  for (Received& one : *received) {
    if (one.open->noted) continue;
    count(one.outcome, report);
    open_by_id.erase(one.open->intent);
    adoption.was_answered(*one.open, one.step, one.bulk, std::move(one.outcome));
  }

  const std::set<IntentId> marked(spool.marked.begin(), spool.marked.end());
  std::vector<ReleaseRequest> rest;
  for (const auto& [intent, one] : open_by_id) {
    if (one->noted) continue;  // has its outcome
    const bool was_sent = marked.contains(intent) || !spool.complete;
    ++(was_sent ? report.unknown : report.voided);
    const auto step = step_of(one->provider, parts);
    if (!adoption.has_noted(*one) || !step)
      rest.push_back(release_of(*one, was_sent, parts.options.max_unknown));
    else if (was_sent)
      adoption.was_answered(*one, *step, false, lost_outcome(*one));
    else
      adoption.was_unsent(*one, *step, {ErrorCode::interrupted, kDiedBefore, {}, {}, {}});
  }
  report.answered += adoption.windows_noted();
  if (auto done = adoption.run(); !done) return done;
  return release_all(std::move(rest), parts);
}

Result<AdoptReport> adopt(const std::filesystem::path& spool_folder, const AdoptParts& parts) {
  AdoptReport report;
  auto adopted = adopt_dead_spools(spool_folder, [&](const DeadSpool& spool) {
    if (!spool.damage.empty()) report.notes.push_back(spool.damage);
    failpoint(FailPoint::adoption_begins);
    auto done = adopt_spool(spool, parts, report);
    failpoint(FailPoint::adoption_done);
    return done;
  });
  if (!adopted) return fail(std::move(adopted.error()));
  report.spools = adopted->spools;
  report.notes.insert(report.notes.end(), adopted->notes.begin(), adopted->notes.end());
  return report;
}

}  // namespace geonce
