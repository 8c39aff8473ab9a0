#include <algorithm>
#include <map>
#include <tuple>

#include "simulation/checker.h"
#include "simulation/process.h"
#include "simulation/world.h"

// What must be so when all is over: the ledger laid beside the providers' bill.

namespace geonce::sim {

void Checker::drained() {
  for (const auto& process : world_.processes) {
    if (!process->is_alive) continue;
    if (process->flights() != 0)
      fail("I12",
           fmt::format("p{} has {} flights left, and nothing is under way",
                       process->index,
                       process->flights()));
    if (!process->spool.is_empty())
      fail("I12", fmt::format("the spool of p{} keeps what the store knows", process->index));
  }
  for (const auto& ask : world_.asks) {
    const bool was_heard = ask->process != nullptr && ask->process->is_alive;
    if (was_heard && ask->answers != 1)
      fail("G9", fmt::format("ask {} was never answered", ask->number));
  }
  for (const auto& ask : world_.asks) {
    const SpendCap* cap = ask->options.cap.get();
    if (cap == nullptr) continue;
    const auto spent = spent_.find(cap);
    if (spent != spent_.end() && spent->second > world_.most_calls_of(cap))
      fail("I11",
           fmt::format("{} calls under a cap of {}", spent->second, world_.most_calls_of(cap)));
  }
}

void Checker::finish() {
  sums.asks += world_.asks.size();
  read_ledger();
  check_ends();
  check_windows();
  check_kept();
}

void Checker::read_ledger() {
  LedgerFilter all;
  all.limit = SIZE_MAX;
  const auto rows = world_.store->ledger(all, Deadline::never());
  if (!rows) return fail("store", rows.error().message);
  for (const LedgerRow& row : *rows) {
    Intent& now = intent(row.intent);
    now.events.insert(row.event);
    now.is_redundant = now.is_redundant || row.redundant;
  }
}

/// I2, I3, G3: each call is in the ledger with the end it had.
void Checker::check_ends() {
  using enum LedgerEvent;
  for (std::uint64_t number = 0; number < intents_.size(); ++number) {
    const Intent& now = intents_[number];
    const auto has = [&](LedgerEvent event) { return now.events.contains(event); };
    if (now.events.empty() && now.bills == 0) continue;
    if (!has(LedgerEvent::prepared)) {
      fail("I2", fmt::format("intent {} is not in the ledger from the start", number));
      continue;
    }
    const int ends = (has(answered) ? 1 : 0) + (has(refused) ? 1 : 0) + (has(voided) ? 1 : 0);
    if (ends > 1) fail("I3", fmt::format("intent {} ends in two ways", number));
    if (ends == 0 && !has(unknown))
      fail("I3", fmt::format("intent {} has no end, and nobody will give it one", number));
    if (has(voided) && now.bills > 0)
      fail("I3", fmt::format("intent {} is called unsent, and is on the bill", number));
    if (has(answered) && (now.bills == 0 || now.is_refused))
      fail("I3", fmt::format("intent {} is called answered, and was not", number));
    if (has(refused) && now.bills > 0 && !now.is_refused)
      fail("I3", fmt::format("intent {} is called refused, and was not", number));
    if (has(unknown)) ++sums.unknown;
    if (has(voided)) ++sums.voided;
    if (now.is_redundant) ++sums.redundant;
    if (has(unknown) && ends == 0 && !now.has_left) ++sums.unknown_and_unsent;
  }
}

/// I1: what a window cost, by provider.
void Checker::check_windows() {
  using enum LedgerEvent;
  struct Window {
    int calls = 0, not_redundant = 0, reconciled = 0;
  };
  std::map<std::tuple<std::size_t, std::int64_t, int, int, std::size_t>, Window> windows;
  // What a provider forbids to keep ends its window unanswered, for all of the chain.
  std::map<std::pair<std::size_t, std::int64_t>, int> not_kept_in;
  // Whoever takes over does not have what the others had said to who is gone: an unknown outcome
  // of one provider lets the chain begin anew.
  std::map<std::pair<std::size_t, std::int64_t>, int> unknown_in;
  std::map<std::size_t, int> insisted;
  std::map<std::pair<std::size_t, std::int64_t>, int> claims;
  for (const Intent& now : intents_)
    if (now.is_prepared && now.opens_claim) ++claims[{now.key, now.gen}];
  for (const Intent& now : intents_) {
    if (!now.is_prepared) continue;
    if (now.is_extra) ++insisted[now.key];
    Window& window = windows[{now.key, now.gen, now.epoch, now.round, now.step}];
    const bool is_refusal = now.is_refused && !now.events.contains(unknown);
    if (now.events.contains(unknown)) ++unknown_in[{now.key, now.gen}];
    if (now.events.contains(reconciled)) ++window.reconciled;
    // A caller who insists is a purchase of its own.
    if (now.bills > 0 && !is_refusal && !now.is_extra) ++window.calls;
    if (!now.events.contains(answered)) continue;
    const Terms& terms = world_.providers[now.step]->traits_.terms;
    // … and so does one that no disk has, when its process is gone, or whose heir came later than
    // another who took over.
    const bool is_gone =
        now.owner != nullptr && !now.owner->is_alive &&
        (!now.is_spooled || now.owner->lost_its_disk || claims[{now.key, now.gen}] > 1);
    if (terms.keep == Terms::Keep::nothing || is_gone) ++not_kept_in[{now.key, now.gen}];
    if (!now.is_redundant && !now.is_extra && !now.events.contains(unknown)) ++window.not_redundant;
  }
  for (const auto& [name, window] : windows) {
    const auto& [key, gen, epoch, round, step] = name;
    const ProviderTraits& traits = world_.providers[step]->traits_;
    // A no-match that nobody confirmed counts for nothing, and the next claim begins anew.
    const int times = traits.no_match_rechecks == 0
                          ? 1
                          : (1 + traits.no_match_rechecks) * std::max(1, claims[{key, gen}]);
    const int not_kept = not_kept_in[{key, gen}];
    const int lost = unknown_in[{key, gen}];
    const int bound = times * (1 + lost) + not_kept;
    if (window.calls > bound)
      fail("I1",
           fmt::format("window {} of key {} cost {} calls to {}, and {} outcomes were unknown",
                       gen,
                       key,
                       window.calls,
                       traits.name,
                       lost));
    const bool is_strict = world_.options.max_unknown < 0;
    // … but a person may open what is blocked, by reconciling or by a refresh.
    if (is_strict && window.calls > times + not_kept + window.reconciled + insisted[key])
      fail("I1",
           fmt::format("takeover is never, and window {} of key {} cost {} calls to {}",
                       gen,
                       key,
                       window.calls,
                       traits.name));
    const int began_anew = world_.providers.size() > 1 ? lost : 0;
    if (window.not_redundant > times + not_kept + began_anew)
      fail("I1",
           fmt::format("window {} of key {} was bought {} times, and the ledger does not say which "
                       "was redundant",
                       gen,
                       key,
                       window.not_redundant));
  }
}

/// Otherwise an answer may end its window and not be kept, and take with it what others had said.
bool Checker::may_keep_all() const {
  return std::none_of(world_.providers.begin(), world_.providers.end(), [](const auto& provider) {
    return provider->traits_.terms.keep == Terms::Keep::nothing;
  });
}

/// G4, I4: what was received is known, and what was bought was had.
void Checker::check_kept() {
  using enum LedgerEvent;
  for (std::uint64_t number = 0; number < intents_.size(); ++number) {
    const Intent& now = intents_[number];
    if (!now.is_prepared) continue;
    const bool is_readable = now.word != Word::unreadable || now.is_refused;
    const bool is_on_disk = now.is_spooled && now.owner != nullptr && !now.owner->lost_its_disk;
    if (is_on_disk && is_readable && !now.events.contains(answered) &&
        !now.events.contains(refused))
      fail("G4", fmt::format("the answer of intent {} was in the spool, and is lost", number));
    const bool is_worth_keeping =
        now.word == Word::match || now.word == Word::ambiguous || now.word == Word::coarse;
    if (!now.events.contains(answered) || now.is_redundant || !is_worth_keeping ||
        !may_keep_all() || (now.owner != nullptr && !is_on_disk && !now.owner->is_alive))
      continue;
    const Key& key = keys_[now.key];
    const bool was_closed =
        std::any_of(key.drops.begin(), key.drops.end(), [&](const Key::Drop& drop) {
          return drop.when >= now.prepared_at;
        });
    if (key.most_gen < now.gen && !was_closed)
      fail("I4", fmt::format("intent {} is answered, and key {} never had it", number, now.key));
  }
}

}  // namespace geonce::sim
