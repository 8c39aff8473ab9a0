#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/country.h"
#include "core/money.h"
#include "core/result.h"
#include "core/terms.h"
#include "ledger/spool.h"
#include "policy/acceptance.h"
#include "policy/life_policy.h"

namespace geonce {

/// `[key]`
struct KeyConfig {
  std::filesystem::path secret_file;  // empty: keys are plain SHA-256
};

/// `[postgres]`: how to come to a store that is a Postgres database.
struct PostgresConfig {
  std::filesystem::path password_file;  // its first line; empty: what libpq finds
  std::int64_t connections = 4;
};

/// `[normalize]`: who reads addresses that the built-in rules leave in one piece.
struct NormalizeConfig {
  std::string backend = "builtin";                   // nobody; or libpostal
  std::string library = "libpostal.so.1";            // as dlopen(3) takes it
  std::filesystem::path data;                        // the folder of libpostal's data
  std::chrono::milliseconds timeout{10'000};         // of one address
  std::chrono::milliseconds start_timeout{120'000};  // of reading the model
};

/// `[memory]`
struct MemoryConfig {
  std::int64_t max_mib = 32;
  std::chrono::milliseconds max_age{60'000};           // of an answer since it was read
  std::chrono::milliseconds max_age_cut_off{5'000};    // … while the store cannot be asked
  std::chrono::milliseconds stale_cut_off{3'600'000};  // … and marked stale
  std::chrono::milliseconds look_every{1'000};         // for what other processes have ended
};

/// `[redis]`: a cache that processes share.
struct RedisConfig {
  std::string url;                               // empty: none
  std::filesystem::path password_file;           // its first line, instead of a password in `url`
  std::string password_env;                      // or the value of this environment variable
  std::string sentinel_user;                     // of the sentinels' own ACL; empty: everybody
  std::filesystem::path sentinel_password_file;  // as above, of the sentinels
  std::string sentinel_password_env;
  std::filesystem::path ca_file, cert_file, key_file;  // of TLS, PEM
  std::string prefix = "geonce:";
  std::chrono::milliseconds timeout{50};
  std::chrono::minutes max_stay{24 * 60};
};

/// `[chain]`: the providers to ask, in order.
struct ChainConfig {
  std::vector<std::string> standard{"places"};            // `default`
  std::map<Country, std::vector<std::string>> countries;  // instead, for addresses in that country

  [[nodiscard]] const std::vector<std::string>& of(Country country) const {
    const auto found = countries.find(country);
    return found == countries.end() ? standard : found->second;
  }
};

/// `persist_days`: a number of days, or "unlimited".
struct PersistDays {
  std::optional<std::int64_t> days;  // nullopt: unlimited
  friend bool operator==(const PersistDays&, const PersistDays&) = default;
};

/// `[providers.<name>]`: what an operator may change of a provider; empty = what its spec says.
struct ProviderConfig {
  std::filesystem::path secret_file;  // the first line of this file is the secret
  std::string secret_env;             // or the value of this environment variable
  std::string base_url;  // scheme, host and port that replace those of the spec's addresses
  std::string user_agent;
  std::optional<std::int64_t> concurrency;
  std::optional<double> rate_per_s;
  std::optional<Money> price_single, price_bulk;
  std::optional<bool> bulk;  // false: never use the bulk endpoint
  std::optional<std::chrono::milliseconds> timeout, bulk_timeout;
  std::optional<PersistDays> persist_days;  // the operator's contract, instead of the spec's terms
  std::string terms_reason;                 // which contract; there whenever persist_days is

  /// The operator's terms; nullopt: the spec's hold.
  [[nodiscard]] std::optional<Terms> terms() const;
};

/// What happens to a key whose last call is in doubt: the next caller may buy again, counted, or
/// nobody may.
enum class Takeover : std::uint8_t { counted, never };

/// `[resolver]`
struct ResolverConfig {
  std::chrono::milliseconds send_window{2'000};     // from the claim to the first byte of the call
  std::chrono::milliseconds total_deadline{8'000};  // of one call
  std::chrono::milliseconds margin{4'000};          // from the last byte to the commit
  std::int64_t max_unknown_retries = 1;
  Takeover takeover = Takeover::counted;
  std::chrono::milliseconds cool_down{2'000};  // of a key after a refusal that names no delay
  std::optional<std::chrono::milliseconds> soft_limit;  // of waiting with a stale answer at hand
  std::int64_t bulk_size = 100;  // addresses in one bulk call, at most what the provider takes

  /// How long a claim lives.
  [[nodiscard]] std::chrono::milliseconds claim_life() const {
    return send_window + total_deadline + margin;
  }
};

/// `[spool]`
struct SpoolConfig {
  std::filesystem::path folder;  // of this machine, and of this store alone
  SpoolSync sync = SpoolSync::batch;
};

/// `[sweep]`: erasing what has outlived its terms beside other work.
struct SweepConfig {
  std::chrono::minutes every{5};  // 0: only `geonce sweep` erases
};

/// `[batch]`: defaults of the flags of the same name.
struct BatchConfig {
  std::string columns = "short";  // short, full
  std::string prefix = "geo_";
  std::string collision = "error";  // error, replace, suffix
  Country default_country;
  std::int64_t max_errors = 0;  // row errors that stop the run; 0: never
};

/// `[serve]`: the HTTP gateway.
struct ServeConfig {
  std::vector<std::string> listen{"127.0.0.1:8080"};
  bool open = false;       // whoever reaches a public address may ask
  std::int64_t loops = 0;  // threads; 0: one for each core
  std::chrono::milliseconds deadline{10'000};
  std::chrono::milliseconds drain{30'000};
  std::int64_t max_connections = 20'000;
  std::int64_t max_body_mib = 16;
  std::int64_t max_queries = 10'000;  // in one request
};

/// All that can be set; `geonce.toml` spells it the same way. The values here are the defaults.
struct Config {
  std::filesystem::path store;  // the embedded store's file, or postgres://…
  std::filesystem::path specs;  // a folder of own provider files; empty: none
  KeyConfig key;
  PostgresConfig postgres;
  NormalizeConfig normalize;
  MemoryConfig memory;
  RedisConfig redis;
  ChainConfig chain;
  std::map<std::string, ProviderConfig> providers;
  LifeConfig life;
  AcceptConfig accept;
  ResolverConfig resolver;
  SpoolConfig spool;
  SweepConfig sweep;
  BatchConfig batch;
  ServeConfig serve;

  [[nodiscard]] bool has_postgres_store() const;
};

/// Where values may come from. The later ones win: defaults, file, environment, flags.
struct ConfigSources {
  std::optional<std::filesystem::path> file;  // `--config`
  std::vector<std::pair<std::string, std::string>>
      flags;                                       // path and value, as in {"store", "x.db"}
  std::map<std::string, std::string> environment;  // of the process
};

/// The environment of this process.
std::map<std::string, std::string> process_environment();

/// `life.rooftop=90d`, the value of `--set`, as an entry of `ConfigSources::flags`.
/// errors    usage
Result<std::pair<std::string, std::string>> parse_setting(std::string_view text);

struct LoadedConfig {
  Config config;
  std::filesystem::path file;  // empty: none was found
  /// Path → `geonce.toml:7`, `GEONCE_STORE`, `flag`; absent: the default.
  std::map<std::string, std::string> origins;
};

/// Reads the file that `sources.file`, else `$GEONCE_CONFIG` names, else the first that exists of
/// `geonce.toml`, `$XDG_CONFIG_HOME/geonce/geonce.toml` and `/etc/geonce/geonce.toml`, then the
/// `GEONCE_…` variables, then the flags. Relative paths in a file start at the file's folder; `~/`
/// is the home folder.
/// errors    invalid_config  an unknown key, a wrong type, a value out of range: one line per
///                           finding, with file and line (or the variable, or the flag) and what
///                           is allowed
///           not_found       the file that was asked for does not exist
Result<LoadedConfig> load_config(const ConfigSources& sources);

/// The effective values as TOML that `load_config` reads again to the same effect; behind each a
/// comment that tells where it came from; passwords and query values in addresses masked.
std::string print_config(const LoadedConfig& loaded);

/// The table of docs/reference/config.md: one line of Markdown per value.
std::string config_reference();

}  // namespace geonce
