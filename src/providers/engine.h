#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/http_client.h"
#include "providers/provider.h"
#include "providers/spec.h"

namespace geonce {

/// What the operator says about one provider; empty = as the spec says.
struct ProviderSettings {
  std::string secret;
  std::string base_url;  // scheme, host, port and perhaps a path, instead of scheme, host and port
  std::string user_agent;
  std::optional<Money> price_single, price_bulk;
  std::optional<Terms> terms;
  std::optional<std::size_t> concurrency;
  std::optional<double> rate_per_s;
  std::optional<std::chrono::milliseconds> timeout, bulk_timeout;  // of one call
  bool bulk = true;  // false: never use the bulk endpoint
};

/// `http` is used and outlives the provider.
/// errors    invalid_config  a secret or a user agent is wanted and not there
Result<std::unique_ptr<Provider>> make_provider(Spec spec,
                                                ProviderSettings settings,
                                                HttpClient& http);

/// The HTTP request for one ask, or for many by the bulk endpoint. Pure: equal asks give equal
/// bytes. errors    invalid_address  there is nothing to send
Result<HttpRequest> build_request(const Spec& spec,
                                  const ProviderSettings& settings,
                                  std::span<const ProviderAsk> asks,
                                  bool bulk);

/// Whether a query may go by the bulk endpoint; false for specs that have none.
bool takes_bulk(const Spec& spec, const Query& query);

}  // namespace geonce
