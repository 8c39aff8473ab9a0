#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/key_ring.h"
#include "core/uuid.h"
#include "ledger/spool.h"
#include "policy/acceptance.h"
#include "policy/life_policy.h"
#include "providers/provider.h"
#include "resolver/request.h"
#include "resolver/resolver.h"
#include "store/store.h"
#include "tiers/heard.h"
#include "tiers/memory_tier.h"

namespace geonce {

/// What does not belong to one provider.
struct ResolverOptions {
  milliseconds send_window{2'000};  // from before the claim to the first byte
  milliseconds margin{
      4'000};           // from the last byte to the commit; a claim lives for both and the call
  int max_unknown = 1;  // lost answers before a key is blocked; <0: takeover never

  milliseconds cool_down{2'000};  // of a key after a transient refusal that named no delay
  milliseconds permanent_cool_down{600'000};  // of a key that can never succeed as sent
  milliseconds fatal_cool_down{60'000};       // of a provider that refuses our account
  milliseconds patience{
      5'000};  // a provider that pauses for longer is passed over for the next one
  milliseconds longest_wait{
      120'000};  // and one that pauses for longer than this is not waited for at all

  /// A caller with a stale answer at hand waits this long for a fresh one; none: to its deadline.
  std::optional<milliseconds> soft_limit;

  std::size_t bulk_size = 100;        // lookups in one bulk call: what one lost answer costs
  milliseconds sweep_every{600'000};  // the memory, of answers whose life is over
  std::size_t read_threads = 2;
  std::optional<std::size_t> concurrency;  // in the place of each provider's own
  std::optional<double> rate_per_s;
};

/// Which of the providers are asked, where not all of them in order.
struct ChainOrders {
  std::optional<ChainOrder> standard;  // indices into the providers; empty: all, and no places
  std::map<Country, ChainOrder> countries;
};

struct ResolverParts {
  Store& store;
  MemoryTier& memory;
  Spool& spool;
  const Clock& clock;
  OwnerId owner;  // of the spool and the claims of this process incarnation
  std::vector<std::shared_ptr<Provider>>
      chain;            // paid providers in the order they are asked, at most 32
  bool places = false;  // the user's own points are asked before all of them: they are free
  LifeConfig life;
  AcceptConfig accept;
  ResolverOptions options;
  ChainOrders orders = {};
  const KeyRing* ring = &KeyRing::plain();  // what keys are made with
  Tier* shared = nullptr;        // that processes share, between memory and store; null: none
  const Heard* heard = nullptr;  // what others have ended; null: nobody does
};

/// What the request machine is told of all this.
RequestRules rules_of(const std::vector<std::shared_ptr<Provider>>& chain,
                      const LifeConfig& life,
                      const AcceptConfig& accept,
                      const ResolverOptions& options,
                      const OwnerId& owner,
                      const ChainOrders& orders,
                      const KeyRing& ring);

/// All parts outlive the resolver. Its destructor starts no calls any more and waits for those
/// under way.
std::unique_ptr<Resolver> open_resolver(ResolverParts parts);

}  // namespace geonce
