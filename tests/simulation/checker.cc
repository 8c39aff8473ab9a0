#include "simulation/checker.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulation/process.h"
#include "simulation/world.h"

namespace geonce::sim {

namespace {

constexpr std::array kSumRows{
    SumRow{"schedules", &Sums::schedules},
    SumRow{"events", &Sums::events},
    SumRow{"asks", &Sums::asks},
    SumRow{"answers", &Sums::answers},
    SumRow{"errors", &Sums::errors},
    SumRow{"told from memory", &Sums::from_memory},
    SumRow{"from the shared tier", &Sums::from_shared},
    SumRow{"from the store", &Sums::from_store},
    SumRow{"bought", &Sums::bought},
    SumRow{"coalesced", &Sums::coalesced},
    SumRow{"stale", &Sums::stale},
    SumRow{"calls", &Sums::calls},
    SumRow{"in bulk", &Sums::in_bulk},
    SumRow{"refused", &Sums::refused},
    SumRow{"unknown", &Sums::unknown},
    SumRow{"unknown and unsent", &Sums::unknown_and_unsent},
    SumRow{"redundant", &Sums::redundant},
    SumRow{"void", &Sums::voided},
    SumRow{"takeovers", &Sums::takeovers},
    SumRow{"blocked", &Sums::blocked},
    SumRow{"cooling", &Sums::cooling},
    SumRow{"first bytes after the claim's end", &Sums::late_bytes},
    SumRow{"kills", &Sums::kills},
    SumRow{"pauses", &Sums::pauses},
    SumRow{"hosts down", &Sums::hosts_down},
    SumRow{"answers adopted", &Sums::adopted},
    SumRow{"drops", &Sums::drops},
    SumRow{"told from memory after a drop", &Sums::memory_after_drop},
    SumRow{"clock jumps", &Sums::jumps},
};
/// Whether the providers, or the money for them, are what came in the way; the store was there.
bool is_of_providers(const Error& error) {
  switch (error.code) {
    case ErrorCode::provider_retry:
    case ErrorCode::provider_retry_after:
    case ErrorCode::provider_permanent:
    case ErrorCode::provider_fatal:
    case ErrorCode::quota_exhausted:
    case ErrorCode::cooling_down:
    case ErrorCode::in_doubt:
    case ErrorCode::not_sent:
    case ErrorCode::cache_only_miss:
      return true;
    default:
      return false;
  }
}

static_assert(sizeof(Sums) == kSumRows.size() * sizeof(std::uint64_t), "none is left out");

}  // namespace

std::span<const SumRow> sum_rows() { return kSumRows; }

void Sums::add(const Sums& other) {
  for (const auto& [name, member] : kSumRows) this->*member += other.*member;
}

void Checker::fail(std::string_view rule, std::string text) {
  if (violation) return;  // what comes after the first is no news
  world_.say("!! {}: {}", rule, text);
  violation = Violation{std::string(rule), std::move(text)};
  world_.is_told = false;
}

Checker::Intent& Checker::intent(const IntentId& id) {
  const std::uint64_t number = World::number_of(id);
  if (intents_.size() <= number) intents_.resize(number + 1);
  return intents_[number];
}

std::size_t Checker::key_of(const Slot& slot) const { return slot.key.bytes[0]; }

std::size_t Checker::step_of(const std::string& provider) const {
  for (std::size_t step = 0; step < world_.providers.size(); ++step)
    if (world_.providers[step]->traits_.name == provider) return step;
  return SIZE_MAX;
}

// --- what goes to the providers and comes back
// -------------------------------------------------------------

void Checker::left(const SimCall& call, const IntentId& id, const SpendCap* cap) {
  Intent& now = intent(id);
  now.has_left = true;
  if (cap != nullptr) ++spent_[cap];
  if (!now.is_prepared) {
    fail("I2",
         fmt::format("intent {} is sent, and nothing was written of it before",
                     World::number_of(id)));
    return;
  }
  const bool is_late = world_.now > now.claim_until;
  if (is_late) ++sums.late_bytes;
  // What comes between the last look at the clock and the first byte is what the margin is for.
  if (call.checked > now.prepared_at + world_.options.send_window)
    fail("R2",
         fmt::format("intent {} is sent {} ms after its claim",
                     World::number_of(id),
                     (call.checked - now.prepared_at).count()));
}

void Checker::billed(const IntentId& id, std::size_t step, bool is_refused) {
  Intent& now = intent(id);
  ++sums.calls;
  if (is_refused) ++sums.refused;
  if (++now.bills > 1)
    fail("I1", fmt::format("intent {} is on the bill twice", World::number_of(id)));
  if (now.is_prepared && now.step != step)
    fail("I2", fmt::format("intent {} went to another provider", World::number_of(id)));
  if (is_refused) now.is_refused = true;
}

std::size_t Checker::says(const IntentId& id, std::size_t step, Word word) {
  Intent& now = intent(id);
  now.word = word;
  if (word == Word::hopeless) now.is_refused = true;
  if (word == Word::no_match) keys_[now.key].said_no.insert(step);
  given_.push_back({World::number_of(id), step, now.key, word});
  promises_.emplace_back();
  return given_.size() - 1;
}

void Checker::spooled(const std::vector<IntentId>& intents) {
  for (const IntentId& id : intents) intent(id).is_spooled = true;
}

void Checker::called_redundant(const Slot& slot, const Answer& answer) {
  if (keys_[key_of(slot)].answer == SimProvider::number_of(answer))
    fail("I3", fmt::format("answer {} is called redundant, and is the entry", answer.formatted));
}

// --- what callers are told
// ---------------------------------------------------------------------------------

void Checker::gives(const SimFlight& flight, const AskOptions& options, const Resolved& resolved) {
  // G9: a failure is shared as it is; who may have a stale answer gets that with it.
  const Resolved& ending = flight.request.ending().resolved;
  if (ending.error.has_value() != resolved.error.has_value() ||
      (ending.error && ending.error->code != resolved.error->code))
    fail("G9", fmt::format("the callers of flight {} hear different errors", flight.number));
  if (ending.answer && resolved.answer != ending.answer)
    fail("G9", fmt::format("the callers of flight {} hear different answers", flight.number));
  if (ending.error && resolved.answer && !options.serve_stale)
    fail("I7", fmt::format("flight {} gives a stale answer to who wants none", flight.number));
}

void Checker::told(AskState& ask, Resolved resolved) {
  world_.say("p{} tells ask {}: {}{}",
             ask.process->index,
             ask.number,
             resolved.answer ? fmt::format("answer {} ({}, {})",
                                           resolved.answer->formatted,
                                           to_string(resolved.answer->kind),
                                           to_string(resolved.source))
                             : "",
             resolved.error ? fmt::format(" {}", to_string(resolved.error->code)) : "");
  if (++ask.answers > 1) fail("G9", fmt::format("ask {} is answered twice", ask.number));
  const Time latest = std::max(ask.deadline, ask.process->last_pause_end);
  if (world_.now > latest)
    fail("G9", fmt::format("ask {} is answered after its deadline", ask.number));
  if (!resolved.answer && !resolved.error)
    fail("G9", fmt::format("ask {} is told nothing", ask.number));
  if (!resolved.answer && ask.options.serve_stale &&
      (world_.now < ask.old_until || (is_of_providers(*resolved.error) && has_old_answer(ask))))
    fail("G19", fmt::format("ask {} is told an error, and an old answer is at hand", ask.number));
  if (resolved.answer) {
    check_answer(ask, resolved);
    ++sums.answers;
  } else {
    ++sums.errors;
  }
  ask.told = std::move(resolved);
}

/// Whether the store has had an old answer for it from first to last. A flight that was under way
/// before may have begun without, but none takes as long as a life. How long it was on its way
/// counts against what was read: nobody knows when of all that time the store looked.
bool Checker::has_old_answer(const AskState& ask) const {
  const auto at = keys_.find(ask.key);
  if (epoch_ > 0 || at == keys_.end() || at->second.answer == SIZE_MAX) return false;
  const Promise& kept = promises_[at->second.answer];
  const UtcMs now = world_.store_clock.now_utc();
  const auto since = (world_.now - ask.begun).count();
  const bool is_unwanted =
      ask.options.retry_no_match && given_[at->second.answer].word == Word::no_match;
  return kept.fresh_until <= now - since && now + since < kept.stale_until && !is_unwanted;
}

/// G19: what is past its freshness comes as that, with what came in the way of something better,
/// and only to who takes it.
void Checker::check_mark(const AskState& ask, const Resolved& resolved, const Promise& promised) {
  const bool is_marked = resolved.source == AnswerSource::stale;
  if (is_marked && (!resolved.error || !ask.options.serve_stale))
    fail("G19",
         fmt::format("ask {} is told an old answer {}",
                     ask.number,
                     resolved.error ? "and wants none" : "and not why"));
  const bool was_kept = promised.fresh >= milliseconds{0};
  if (!is_marked && was_kept && world_.now >= promised.fresh + milliseconds{1'000} &&
      (resolved.source == AnswerSource::paid || resolved.source == AnswerSource::coalesced))
    fail("G19", fmt::format("ask {} is told an old answer without its mark", ask.number));
}

void Checker::check_answer(const AskState& ask, const Resolved& resolved) {
  const std::size_t number = SimProvider::number_of(*resolved.answer);
  const bool is_whole_chain = resolved.source == AnswerSource::negative && number == SIZE_MAX;
  if (is_whole_chain) return;  // made of what each provider said of itself
  if (number >= given_.size() || given_[number].key != ask.key) {
    fail("I5",
         fmt::format(
             "ask {} is told '{}', which nobody said", ask.number, resolved.answer->formatted));
    return;
  }
  const Promise& promised = promises_[number];
  const milliseconds now = world_.now;
  check_mark(ask, resolved, promised);
  switch (resolved.source) {
    case AnswerSource::l1:
      ++sums.from_memory;
      if (now >= promised.fresh)
        fail("I7", fmt::format("ask {} is told from memory what is no longer fresh", ask.number));
      break;
    case AnswerSource::redis:
      ++sums.from_shared;
      if (now >= promised.fresh)
        fail("I7",
             fmt::format("ask {} is told from the shared tier what is not fresh", ask.number));
      break;
    case AnswerSource::db:
    case AnswerSource::negative:
      ++sums.from_store;
      if (now >= promised.fresh + milliseconds{1'000})
        fail("I7", fmt::format("ask {} is told as fresh what is not", ask.number));
      break;
    case AnswerSource::stale:
      ++sums.stale;
      if (now >= promised.stale)
        fail("I7", fmt::format("ask {} is told what is not even stale any more", ask.number));
      break;
    case AnswerSource::paid:
      ++sums.bought;
      return;
    default:
      ++sums.coalesced;
      return;
  }
  if (now >= promised.erase + milliseconds{1'000})
    fail("I7", fmt::format("ask {} is told what should be erased", ask.number));
  // I6: an answer that was asked for before the key was dropped is not for who comes after.
  const milliseconds asked_for = intents_[given_[number].intent].prepared_at;
  const Key& key = keys_[ask.key];
  const bool is_shared = resolved.source == AnswerSource::redis;
  // A store whose clock has jumped may have erased what the tier still holds, and counts anew.
  if (is_shared && sums.jumps > 0) return;
  for (const auto& [when, known] : is_shared ? key.shared_drops : key.drops) {
    if (asked_for >= when || ask.begun <= known) continue;
    const bool is_old_flight =
        !is_shared && ask.process->had_flight(world_.slot(ask.key), known, ask.begun);
    if (resolved.source == AnswerSource::l1 || is_old_flight)
      ++sums.memory_after_drop;
    else
      fail("I6", fmt::format("ask {} is told an answer that was dropped", ask.number));
  }
}

}  // namespace geonce::sim
