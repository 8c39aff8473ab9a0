#include "app/shared_tier.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "io/redis.h"
#include "resolver/listener.h"
#include "tiers/redis_tier.h"

namespace geonce {
namespace {

constexpr std::chrono::milliseconds kPersonsPatience{2'000};
constexpr std::chrono::milliseconds kMostApart{1'000};
constexpr std::chrono::milliseconds kTellPatience{10'000};

/// nullopt: neither says one.
/// name  of the settings without `_env` and `_file`
Result<std::optional<std::string>> password_of(std::string_view name,
                                               const std::string& variable,
                                               const std::filesystem::path& path) {
  if (!variable.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets a variable
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0')
      return fail(ErrorCode::invalid_config, "{}_env names {}, which is not set", name, variable);
    return std::optional<std::string>(value);
  }
  if (path.empty()) return std::optional<std::string>();
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line) || line.empty())
    return fail(ErrorCode::invalid_config,
                "{}_file: no password in the first line of {}",
                name,
                path.string());
  if (line.back() == '\r') line.pop_back();
  return std::optional<std::string>(std::move(line));
}

Result<RedisOptions> options_of(const RedisConfig& config,
                                std::chrono::milliseconds patience,
                                std::function<void(const std::string&)> notice) {
  auto target = parse_redis_url(config.url);
  if (!target) return fail(target.error());
  auto password = password_of("redis.password", config.password_env, config.password_file);
  if (!password) return fail(password.error());
  auto of_sentinels = password_of(
      "redis.sentinel_password", config.sentinel_password_env, config.sentinel_password_file);
  if (!of_sentinels) return fail(of_sentinels.error());
  RedisOptions options;
  options.target = std::move(*target);
  if (*password) options.target.password = std::move(**password);
  options.target.sentinel_user = config.sentinel_user;
  if (*of_sentinels) options.target.sentinel_password = std::move(**of_sentinels);
  options.tls = {config.ca_file.string(), config.cert_file.string(), config.key_file.string()};
  options.patience = std::max(patience, config.timeout);
  options.notice = std::move(notice);
  return options;
}

Result<std::unique_ptr<Redis>> connect(const RedisConfig& config,
                                       std::chrono::milliseconds patience,
                                       std::function<void(const std::string&)> notice) {
  auto options = options_of(config, patience, std::move(notice));
  if (!options) return fail(options.error());
  return open_redis(std::move(*options), system_clock());
}

std::vector<std::string> complaints_of(const std::vector<RedisNodeState>& states) {
  std::vector<std::string> complaints;
  for (const RedisNodeState& state : states) {
    const auto say = [&](const std::string& what) {
      complaints.push_back(fmt::format("redis {}: {}", state.where, what));
    };
    if (!state.why_not.empty()) {
      say(fmt::format("cannot be asked ({}); its keys are read from the store", state.why_not));
      continue;
    }
    if (state.max_memory == 0)
      say("has no maxmemory, so it grows until the machine has no more: set one, and "
          "maxmemory-policy "
          "allkeys-lfu");
    else if (state.policy != "allkeys-lfu" && state.policy != "allkeys-lru")
      say(
          fmt::format("its maxmemory-policy is {}: with allkeys-lfu (or allkeys-lru) what is asked "
                      "rarely goes first",
                      state.policy));
    if (std::abs(state.ahead_ms) > kMostApart.count())
      say(fmt::format("its clock is {} ms {} this machine's; let both keep time (NTP)",
                      std::abs(state.ahead_ms),
                      state.ahead_ms > 0 ? "ahead of" : "behind"));
  }
  return complaints;
}

}  // namespace

Result<std::unique_ptr<Tier>> open_shared_tier(const Config& config,
                                               std::chrono::milliseconds patience,
                                               const Heard* heard) {
  if (config.redis.url.empty()) return std::unique_ptr<Tier>();
  auto redis = connect(config.redis, patience, [](const std::string& line) {
    std::fprintf(stderr, "geonce: %s\n", line.c_str());
  });
  if (!redis) return fail(redis.error());
  RedisTierOptions options;
  options.prefix = config.redis.prefix;
  options.max_stay = config.redis.max_stay;
  options.heard = heard;
  return open_redis_tier(std::move(*redis), std::move(options), system_clock());
}

Result<void> tell_shared_tier(const Config& config, Store& store) {
  const auto shared = open_shared_tier(config, kPersonsPatience);
  if (!shared) return fail(shared.error());
  if (!*shared) return {};
  const auto told = hand_over(store, **shared, Deadline::in(kTellPatience, system_clock()));
  if (!told) return fail(told.error());
  return {};
}

Result<std::unique_ptr<RedisListener>> open_shared_ear(const Config& config,
                                                       std::function<void()> called) {
  if (config.redis.url.empty()) return std::unique_ptr<RedisListener>();
  auto options = options_of(config.redis, {}, [](const std::string& /*the tier tells*/) {});
  if (!options) return fail(options.error());
  return open_redis_listener(
      std::move(*options), redis_channel(config.redis.prefix), std::move(called), system_clock());
}

Result<SharedTierHealth> examine_shared_tier(const Config& config, Deadline deadline) {
  SharedTierHealth health;
  if (config.redis.url.empty()) return health;
  const auto redis =
      connect(config.redis, kPersonsPatience, [](const std::string& /*the result says it*/) {});
  if (!redis) return fail(redis.error());
  auto description = (*redis)->describe(deadline);
  if (!description) return fail(description.error());
  health.description = std::move(*description);
  if (const auto states = (*redis)->examine(deadline)) health.complaints = complaints_of(*states);
  return health;
}

}  // namespace geonce
