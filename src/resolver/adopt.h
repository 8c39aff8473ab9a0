#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/key_ring.h"
#include "core/result.h"
#include "ledger/spool.h"
#include "policy/acceptance.h"
#include "policy/life_policy.h"
#include "providers/provider.h"
#include "resolver/live.h"
#include "store/store.h"

namespace geonce {

/// What became of the calls of dead processes.
struct AdoptReport {
  std::size_t spools = 0;
  std::size_t answered = 0;  // paid and received, now in the store
  std::size_t refused = 0;
  std::size_t unknown = 0;         // sent, or about to be, without an answer
  std::size_t voided = 0;          // never sent
  std::vector<std::string> notes;  // for a person
};

/// All that is needed to understand what the dead have left; the same values as the resolver has.
struct AdoptParts {
  Store& store;
  const Clock& clock;
  std::vector<std::shared_ptr<Provider>> chain;
  LifeConfig life;
  AcceptConfig accept;
  ResolverOptions options;
  ChainOrders orders = {};
  const KeyRing* ring = &KeyRing::plain();
};

/// Brings to the store what dead processes on this host had received, and says of the rest what is
/// known: sent without an answer is unknown at once (nobody will answer any more), not sent is
/// void. Done at start, before the resolver is opened.
/// errors    of the store and of adopt_dead_spools; no_provider: an answer of a provider that is
///           not in the chain any more. A spool that met an error stays for the next start.
Result<AdoptReport> adopt(const std::filesystem::path& spool_folder, const AdoptParts& parts);

/// The same for one spool.
Result<void> adopt_spool(const DeadSpool& spool, const AdoptParts& parts, AdoptReport& report);

}  // namespace geonce
