#include "app/shared_tier.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "io/redis.h"
#include "resolver/listener.h"
#include "tiers/redis_tier.h"

namespace geonce {
namespace {

constexpr std::chrono::milliseconds kPersonsPatience{2'000};
constexpr std::chrono::milliseconds kTellPatience{10'000};

/// nullopt: the address has it, or there is none.
Result<std::optional<std::string>> password_of(const RedisConfig& config) {
  if (!config.password_env.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets a variable
    const char* value = std::getenv(config.password_env.c_str());
    if (value == nullptr || *value == '\0')
      return fail(ErrorCode::invalid_config,
                  "redis.password_env names {}, which is not set",
                  config.password_env);
    return std::optional<std::string>(value);
  }
  if (config.password_file.empty()) return std::optional<std::string>();
  std::ifstream file(config.password_file);
  std::string line;
  if (!file || !std::getline(file, line) || line.empty())
    return fail(ErrorCode::invalid_config,
                "redis.password_file: no password in the first line of {}",
                config.password_file.string());
  if (line.back() == '\r') line.pop_back();
  return std::optional<std::string>(std::move(line));
}

Result<RedisOptions> options_of(const RedisConfig& config,
                                std::chrono::milliseconds patience,
                                std::function<void(const std::string&)> notice) {
  auto target = parse_redis_url(config.url);
  if (!target) return fail(target.error());
  auto password = password_of(config);
  if (!password) return fail(password.error());
  RedisOptions options;
  options.target = std::move(*target);
  if (*password) options.target.password = std::move(**password);
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

Result<std::string> examine_shared_tier(const Config& config, Deadline deadline) {
  if (config.redis.url.empty()) return std::string();
  auto redis =
      connect(config.redis, kPersonsPatience, [](const std::string& /*the result says it*/) {});
  if (!redis) return fail(redis.error());
  return (*redis)->describe(deadline);
}

}  // namespace geonce
