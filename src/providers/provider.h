#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "core/query.h"
#include "core/terms.h"
#include "io/http_client.h"

namespace geonce {

/// What the rest of the program needs to know of a provider without knowing which it is.
struct ProviderTraits {
  std::string name;
  Terms terms;
  Money price_single, price_bulk;  // of one lookup
  std::size_t bulk_max = 0;        // addresses in one call; 0: no bulk endpoint
  std::size_t concurrency = 8;     // calls at once
  double rate_per_s = 0;           // lookups a second; 0: no limit known
  std::vector<Country> countries;  // empty: all
  bool wants_user_agent = false;   // must be identified by the operator
  int no_match_rechecks = 0;       // ask again this often before a no-match counts (flaky services)
  // From name look-up to last byte; a call is cut there or at its own deadline, whichever is first.
  std::chrono::milliseconds single_timeout{8'000}, bulk_timeout{60'000};
};

struct ProviderAsk {
  std::string ref;  // joins answer and question in bulk calls; unique within a call
  Query query;
};

/// One provider, ready to be asked: a spec, its secret and an HTTP client. Thread-safe.
class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual const ProviderTraits& traits() const = 0;
  /// Whether this query may go through the bulk endpoint. A row that is too long, or that lacks a
  /// field which only the bulk form needs, may spoil or fail a whole call: it goes by the single
  /// endpoint.
  [[nodiscard]] virtual bool takes_bulk(const Query& query) const {
    return traits().bulk_max > 0 && !query.one_line().empty();
  }
  /// Starts one HTTP call: one ask by the single endpoint, or up to `bulk_max` asks when `bulk`.
  /// sending, done: as in HttpClient. An error means that nothing was started and `done` is not
  /// called.
  virtual Result<void> call(std::span<const ProviderAsk> asks,
                            bool bulk,
                            Deadline deadline,
                            std::function<bool()> sending,
                            std::function<void(Transfer)> done) = 0;
  /// One outcome per ask, in the order of the asks, joined by what the spec names. Pure: the same
  /// bytes from the spool give the same outcomes.
  [[nodiscard]] virtual std::vector<Outcome> decode(const Transfer& transfer,
                                                    std::span<const ProviderAsk> asks,
                                                    bool bulk) const = 0;
};

}  // namespace geonce
