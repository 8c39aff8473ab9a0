#include "app/engine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "app/shared_tier.h"
#include "io/http_client.h"
#include "ledger/spool.h"
#include "providers/engine.h"
#include "providers/spec.h"
#include "resolver/adopt.h"
#include "resolver/listener.h"
#include "resolver/live.h"
#include "tiers/memory_tier.h"

namespace geonce {
namespace {

constexpr std::string_view kPlaces = "places";

/// errors    invalid_config
Result<std::string> first_line(const std::filesystem::path& path, std::string_view setting) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line) || line.empty())
    return fail(
        ErrorCode::invalid_config, "{}: nothing in the first line of {}", setting, path.string());
  if (line.back() == '\r') line.pop_back();
  return line;
}

Result<std::string> secret_of(const std::string& name, const ProviderConfig& config) {
  if (!config.secret_env.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets a variable
    const char* value = std::getenv(config.secret_env.c_str());
    if (value == nullptr || *value == '\0')
      return fail(ErrorCode::invalid_config,
                  "providers.{}.secret_env names {}, which is not set",
                  name,
                  config.secret_env);
    return std::string(value);
  }
  if (config.secret_file.empty()) return std::string();
  return first_line(config.secret_file, fmt::format("providers.{}.secret_file", name));
}

Result<ProviderSettings> settings_of(const std::string& name, const ProviderConfig& config) {
  auto secret = secret_of(name, config);
  if (!secret) return fail(secret.error());
  ProviderSettings settings;
  settings.secret = std::move(*secret);
  settings.base_url = config.base_url;
  settings.user_agent = config.user_agent;
  settings.price_single = config.price_single;
  settings.price_bulk = config.price_bulk;
  settings.terms = config.terms();
  if (config.concurrency) settings.concurrency = static_cast<std::size_t>(*config.concurrency);
  settings.rate_per_s = config.rate_per_s;
  settings.timeout = config.timeout;
  settings.bulk_timeout = config.bulk_timeout;
  settings.bulk = config.bulk.value_or(true);
  return settings;
}

Result<std::shared_ptr<Provider>> make(const std::string& name,
                                       const Specs& specs,
                                       const Config& config,
                                       HttpClient& http) {
  const auto spec = specs.find(name);
  if (spec == specs.end())
    return fail(ErrorCode::invalid_config,
                "the chain names the provider {}, and there is no spec of that name (see geonce "
                "provider list)",
                name);
  const auto found = config.providers.find(name);
  auto settings =
      settings_of(name, found == config.providers.end() ? ProviderConfig{} : found->second);
  if (!settings) return fail(settings.error());
  if (!settings->timeout) settings->timeout = config.resolver.total_deadline;
  auto provider = make_provider(spec->second, std::move(*settings), http);
  if (!provider) return fail(provider.error());
  return std::shared_ptr<Provider>(std::move(*provider));
}

/// Every provider that any chain names, once, and in which order each chain asks them.
struct Chains {
  std::vector<std::shared_ptr<Provider>> providers;
  ChainOrders orders;
};

Result<Chains> make_chains(const Config& config, HttpClient& http) {
  auto specs = load_specs(config.specs);
  if (!specs) return fail(specs.error());
  Chains chains;
  std::map<std::string, std::size_t> made;
  const auto order_of = [&](const std::vector<std::string>& names) -> Result<ChainOrder> {
    ChainOrder order;
    for (const std::string& name : names) {
      if (name == kPlaces) {
        order.places = true;
        continue;
      }
      if (!made.contains(name)) {
        auto provider = make(name, *specs, config, http);
        if (!provider) return fail(provider.error());
        made[name] = chains.providers.size();
        chains.providers.push_back(std::move(*provider));
      }
      order.steps.push_back(made[name]);
    }
    return order;
  };
  auto standard = order_of(config.chain.standard);
  if (!standard) return fail(standard.error());
  chains.orders.standard = std::move(*standard);
  for (const auto& [country, names] : config.chain.countries) {
    auto order = order_of(names);
    if (!order) return fail(order.error());
    chains.orders.countries[country] = std::move(*order);
  }
  return chains;
}

ResolverOptions options_of(const Config& config) {
  ResolverOptions options;
  options.send_window = config.resolver.send_window;
  options.margin = config.resolver.margin;
  options.max_unknown = config.resolver.takeover == Takeover::never
                            ? -1
                            : static_cast<int>(config.resolver.max_unknown_retries);
  options.cool_down = config.resolver.cool_down;
  options.permanent_cool_down = 30 * config.resolver.cool_down;
  options.soft_limit = config.resolver.soft_limit;
  options.bulk_size = static_cast<std::size_t>(config.resolver.bulk_size);
  return options;
}

class LiveEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const Config& config) {
    auto engine = std::make_unique<LiveEngine>();
    if (auto opened = engine->start(config); !opened) return fail(opened.error());
    return engine;
  }

  Store& store() override { return *store_; }
  Resolver& resolver() override { return *resolver_; }
  Clock& clock() override { return system_clock(); }
  [[nodiscard]] std::vector<ProviderTraits> chain() const override {
    std::vector<ProviderTraits> traits;
    for (const std::size_t step : chains_.orders.standard->steps)
      traits.push_back(chains_.providers[step]->traits());
    return traits;
  }
  [[nodiscard]] std::string takeover_note() const override { return takeover_note_; }

 private:
  Result<void> start(const Config& config) {
    auto ring = key_ring_of(config);
    if (!ring) return fail(ring.error());
    ring_ = std::move(*ring);
    auto http = open_http_client("geonce/" GEONCE_VERSION);
    if (!http) return fail(http.error());
    http_ = std::move(*http);
    auto chains = make_chains(config, *http_);
    if (!chains) return fail(chains.error());
    chains_ = std::move(*chains);
    auto store = open_store(config, true);
    if (!store) return fail(store.error());
    store_ = std::move(*store);
    heard_ =
        std::make_unique<Heard>(Heard::Options{.max_age = config.memory.max_age,
                                               .max_age_cut_off = config.memory.max_age_cut_off,
                                               .stale_cut_off = config.memory.stale_cut_off},
                                system_clock());
    memory_ = open_memory_tier(
        static_cast<std::size_t>(config.memory.max_mib) << 20U, system_clock(), heard_.get());
    auto shared = open_shared_tier(config, {}, heard_.get());
    if (!shared) return fail(shared.error());
    shared_ = std::move(*shared);
    const ResolverOptions options = options_of(config);
    if (auto adopted = take_over(config, options); !adopted) return adopted;
    const OwnerId owner = make_uuid(system_clock());
    auto spool = open_spool(config.spool.folder, owner, config.spool.sync);
    if (!spool) return fail(spool.error());
    spool_ = std::move(*spool);

    resolver_ = open_resolver({*store_,
                               *memory_,
                               *spool_,
                               system_clock(),
                               owner,
                               chains_.providers,
                               false,
                               config.life,
                               config.accept,
                               options,
                               chains_.orders,
                               &ring_,
                               shared_.get(),
                               heard_.get()});
    listener_ = std::make_unique<Listener>(ListenerParts{*store_,
                                                         *heard_,
                                                         *memory_,
                                                         *resolver_,
                                                         shared_.get(),
                                                         system_clock(),
                                                         config.memory.look_every});
    auto ear = open_shared_ear(config, [this] { listener_->hint(); });
    if (!ear) return fail(ear.error());
    ear_ = std::move(*ear);
    return {};
  }

  Result<void> take_over(const Config& config, const ResolverOptions& options) {
    const auto adopted = adopt(config.spool.folder,
                               {*store_,
                                system_clock(),
                                chains_.providers,
                                config.life,
                                config.accept,
                                options,
                                chains_.orders,
                                &ring_});
    // An answer of a provider that is no longer in the chain waits for a run that has it again.
    if (!adopted && adopted.error().code != ErrorCode::no_provider) return fail(adopted.error());
    if (!adopted) {
      takeover_note_ = adopted.error().message;
      return {};
    }
    if (adopted->spools > 0)
      takeover_note_ = fmt::format(
          "took over from {} killed {}: {} answers {} had received, {} calls whose answers are "
          "lost, {} that were never sent",
          adopted->spools,
          adopted->spools == 1 ? "run" : "runs",
          adopted->answered + adopted->refused,
          adopted->spools == 1 ? "it" : "they",
          adopted->unknown,
          adopted->voided);
    for (const std::string& note : adopted->notes) takeover_note_ += "\n" + note;
    return {};
  }

  // In this order: what is used is made before its users and ends after them.
  KeyRing ring_ = KeyRing::plain();
  std::unique_ptr<Store> store_;
  std::unique_ptr<Heard> heard_;
  std::unique_ptr<MemoryTier> memory_;
  std::unique_ptr<Tier> shared_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<HttpClient> http_;
  Chains chains_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<RedisListener> ear_;  // null: no Redis
  std::string takeover_note_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(const Config& config, bool create) {
  if (config.has_postgres_store()) {
    auto options = postgres_options_of(config);
    if (!options) return fail(options.error());
    options->create = create;
    return open_postgres_store(*options);
  }
  if (!create && !std::filesystem::exists(config.store))
    return fail(ErrorCode::not_found,
                "there is no store at {} yet; geonce batch, get and places load make it",
                config.store.string());
  if (create && config.store.has_parent_path()) {
    std::error_code error;
    std::filesystem::create_directories(config.store.parent_path(), error);
    if (error)
      return fail(ErrorCode::store_unavailable,
                  "cannot make the store's folder {}: {}",
                  config.store.parent_path().string(),
                  error.message());
  }
  SqliteOptions options;
  options.path = config.store.string();
  options.cache_bytes = std::size_t{4}
                        << 20U;  // the system caches the file; this is per connection
  options.create = create;
  return open_sqlite_store(options);
}

Result<PostgresOptions> postgres_options_of(const Config& config) {
  PostgresOptions options;
  options.uri = config.store.string();
  options.connections = static_cast<std::size_t>(config.postgres.connections);
  if (!config.postgres.password_file.empty()) {
    auto password = first_line(config.postgres.password_file, "postgres.password_file");
    if (!password) return fail(password.error());
    options.password = std::move(*password);
  }
  return options;
}

Result<std::vector<std::string>> migrate_store(const Config& config) {
  if (config.has_postgres_store()) {
    auto options = postgres_options_of(config);
    if (!options) return fail(options.error());
    return migrate_postgres_store(*options);
  }
  if (auto opened = open_store(config, true); !opened) return fail(opened.error());
  return std::vector<std::string>{};
}

Result<KeyRing> key_ring_of(const Config& config) {
  if (config.key.secret_file.empty()) return KeyRing::plain();
  std::ifstream file(config.key.secret_file);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file)
    return fail(ErrorCode::invalid_config,
                "key.secret_file: cannot read {}",
                config.key.secret_file.string());
  auto ring = KeyRing::parse(text);
  if (!ring)
    return fail(ErrorCode::invalid_config,
                "key.secret_file: {}, {}",
                config.key.secret_file.string(),
                ring.error().message);
  return ring;
}

Result<std::unique_ptr<Engine>> open_engine(const Config& config) {
  return LiveEngine::open(config);
}

Result<std::vector<ProviderTraits>> examine_chain(const Config& config) {
  auto http = open_http_client("geonce/" GEONCE_VERSION);
  if (!http) return fail(http.error());
  const auto chains = make_chains(config, **http);
  if (!chains) return fail(chains.error());
  std::vector<ProviderTraits> traits;
  for (const auto& provider : chains->providers) traits.push_back(provider->traits());
  return traits;
}

std::string answer_context(const Config& config) {
  std::string text = fmt::format("chain {}\n", fmt::join(config.chain.standard, ","));
  for (const auto& [country, chain] : config.chain.countries)
    text += fmt::format("{} {}\n", country.code(), fmt::join(chain, ","));
  text += fmt::format("floor {}, confidence {}, partial {}, zero {}\n",
                      to_string(config.accept.floor),
                      config.accept.min_confidence,
                      config.accept.partial_is_street,
                      config.accept.allow_zero_zero);
  return text;
}

}  // namespace geonce
