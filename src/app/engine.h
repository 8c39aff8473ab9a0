#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/config.h"
#include "core/key_ring.h"
#include "core/result.h"
#include "providers/provider.h"
#include "resolver/resolver.h"
#include "store/store.h"

namespace geonce {

/// Opens the store that the config names, making it (and a file's folder) when `create`.
/// errors    store_…, and not_found when it is not there and not to be made
Result<std::unique_ptr<Store>> open_store(const Config& config, bool create);

/// Makes the store or brings its schema up to this program's. Opening does so by itself for a file;
/// in a database it makes what is not there at all, and leaves changing what others use to this.
/// Returns the names of the steps it added.
/// errors    store_…
Result<std::vector<std::string>> migrate_store(const Config& config);

/// Running objects out of a config: store, tiers, spool, providers, resolver. What dead processes
/// of this machine left in the spool is taken over first.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual Store& store() = 0;
  virtual Resolver& resolver() = 0;
  virtual Clock& clock() = 0;
  /// The paid providers of the default chain, in order.
  [[nodiscard]] virtual std::vector<ProviderTraits> chain() const = 0;
  /// What was taken over, for a person; empty: nothing.
  [[nodiscard]] virtual std::string takeover_note() const = 0;
};

/// errors    invalid_config  a chain names a provider that there is no spec for, a secret is
/// missing, …
Result<std::unique_ptr<Engine>> open_engine(const Config& config);

/// How to come to the store that is a Postgres database.
/// errors    invalid_config  `postgres.password_file` cannot be read
Result<PostgresOptions> postgres_options_of(const Config& config);

/// What keys are made with.
/// errors    invalid_config  `key.secret_file` cannot be read, or is none
Result<KeyRing> key_ring_of(const Config& config);

/// The paid providers of all chains as they would be asked, without opening anything.
/// errors    invalid_config
Result<std::vector<ProviderTraits>> examine_chain(const Config& config);

/// Everything that decides which answer is accepted from whom: part of a batch's identity.
std::string answer_context(const Config& config);

}  // namespace geonce
