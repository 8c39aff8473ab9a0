#include "cli/session.h"

#include <array>
#include <charconv>
#include <ctime>

#include <fmt/format.h>

#include "app/shared_tier.h"
#include "batch/line_out.h"
#include "core/normalize.h"
#include "io/failpoint.h"

namespace geonce::cli {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Result<LoadedConfig> load(const Globals& globals) {
  ConfigSources sources;
  sources.file = globals.config_file;
  sources.environment = process_environment();
  for (const std::string& set : globals.sets) {
    auto setting = parse_setting(set);
    if (!setting) return fail(setting.error());
    sources.flags.push_back(std::move(*setting));
  }
  if (globals.store) sources.flags.emplace_back("store", *globals.store);
  return load_config(sources);
}

Result<std::unique_ptr<Store>> open_existing_store(const Globals& globals) {
  auto loaded = load(globals);
  if (!loaded) return fail(loaded.error());
  return open_store(loaded->config, false);
}

Result<KeyRing> load_key_ring(const Globals& globals) {
  const auto loaded = load(globals);
  if (!loaded) return fail(loaded.error());
  return key_ring_of(loaded->config);
}

Result<std::unique_ptr<SecondReader>> load_second_reader(const Globals& globals) {
  const auto loaded = load(globals);
  if (!loaded) return fail(loaded.error());
  return open_second_reader(loaded->config);
}

void add_address(CLI::App& command,
                 std::string& address,
                 std::string& country,
                 const std::string& what) {
  command.add_option("ADDRESS", address, what)->required();
  command.add_option("--country", country, "The address's country: ISO 3166-1 code or name")
      ->type_name("CC");
}

Result<Named> named(std::string_view key_or_address,
                    std::string_view country,
                    const KeyRing& ring,
                    const Globals& globals) {
  const auto hint = country_of("--country", country);
  if (!hint) return fail(hint.error());
  Named named;
  if (auto key = parse_key(key_or_address)) {
    named.slot.key = *key;
    return named;
  }
  const auto second = load_second_reader(globals);
  if (!second) return fail(second.error());
  Normalizer normalizer(ring, second->get());
  QueryView query;
  query.text = key_or_address;
  query.country = *hint;
  auto keyed = normalizer.key(query);
  if (!keyed) return fail(keyed.error());
  named.slot.key = keyed->key;
  named.query = Query::from(query);
  named.pre_image = std::move(keyed->pre_image);
  return named;
}

std::vector<Missing> missing_of(const Named& what) {
  if (!what.query) return {};
  return {{what.slot, what.query->view(), what.pre_image}};
}

void tell_redis(const Globals& globals, Store& store) {
  failpoint(FailPoint::window_ended);
  const auto loaded = load(globals);
  const auto told =
      loaded ? tell_shared_tier(loaded->config, store) : Result<void>(fail(loaded.error()));
  if (!told)
    fmt::print(stderr,
               "geonce: {}; other processes hear of it from the store, and the next of them tells "
               "Redis\n",
               told.error().message);
}

Result<Country> country_of(std::string_view flag, std::string_view text) {
  auto country = parse_country(text);
  if (!country)
    return fail(ErrorCode::usage,
                "{} \"{}\" is no country: write an ISO 3166-1 code or an English name",
                flag,
                text);
  return country;
}

Result<Money> parse_dollars(std::string_view text) {
  const auto point = text.find('.');
  const auto dollars = whole(text.substr(0, point));
  std::string decimals(point == std::string_view::npos ? "" : text.substr(point + 1));
  const bool bad_decimals =
      point != std::string_view::npos && (decimals.empty() || decimals.size() > 6);
  decimals.resize(6, '0');
  const auto micro = whole(decimals);
  if (!dollars || !micro || bad_decimals || *dollars > 1'000'000'000)
    return fail(ErrorCode::usage, "\"{}\" is no amount: write dollars, as in 12.50", text);
  return Money{*dollars * 1'000'000 + *micro};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  auto out = LineOut::create(path);
  if (!out) return fail(out.error());
  if (auto written = out->write(text); !written) return written;
  return out->finish();
}

Deadline patience() { return Deadline::in(std::chrono::minutes{1}, system_clock()); }

}  // namespace geonce::cli
