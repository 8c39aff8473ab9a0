#include <cstdio>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/session.h"
#include "core/normalize.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string address, country;
  bool json = false, cache_only = false, refresh = false;
};

boost::json::object json_of(const std::string& key, const Error& error) {
  return {{"key", key},
          {"status", "error"},
          {"error", to_string(error.code)},
          {"reason", error.message}};
}

boost::json::object json_of(const std::string& key, const Resolved& resolved) {
  const Answer& answer = *resolved.answer;
  boost::json::object object{{"key", key},
                             {"status", to_string(answer.kind)},
                             {"cache", to_string(resolved.source)},
                             {"provider", answer.provider}};
  if (answer.at && answer.kind == AnswerKind::match) {
    object["lat"] = answer.at->lat_deg;
    object["lng"] = answer.at->lng_deg;
    object["precision"] = to_string(answer.precision);
  }
  if (answer.confidence) object["confidence"] = *answer.confidence;
  if (!answer.formatted.empty()) object["formatted"] = answer.formatted;
  if (answer.country.is_known()) object["country"] = answer.country.code();
  if (!answer.reason.empty()) object["reason"] = answer.reason;
  if (resolved.error) object["error"] = to_string(resolved.error->code);  // why it is stale
  object["calls"] = resolved.calls;
  object["cost_microusd"] = resolved.cost.micro_usd;
  if (resolved.expires_at != 0) object["expires_at"] = utc_text(resolved.expires_at);
  return object;
}

void print_text(const Resolved& resolved) {
  const Answer& answer = *resolved.answer;
  if (answer.kind == AnswerKind::match && answer.at)
    fmt::print("{:.7f},{:.7f}  {}  {}\n",
               answer.at->lat_deg,
               answer.at->lng_deg,
               to_string(answer.precision),
               answer.formatted);
  else
    fmt::print(
        "{}{}{}\n", to_string(answer.kind), answer.reason.empty() ? "" : ": ", answer.reason);
  const auto source = to_string(resolved.source);
  fmt::print(stderr,
             "{}{}, {} {}, {}\n",
             source,
             answer.provider.empty() || answer.provider == source ? "" : " by " + answer.provider,
             resolved.calls,
             resolved.calls == 1 ? "call" : "calls",
             to_string(resolved.cost));
  if (resolved.error)
    fmt::print(stderr,
               "an old answer of {}, because: {}\n",
               utc_text(resolved.answered_at),
               resolved.error->message);
}

int get(const Globals& globals, const Arguments& arguments) {
  const auto country = country_of("--country", arguments.country);
  if (!country) return report(country.error());
  QueryView query;
  query.text = arguments.address;
  query.country = *country;
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  const auto ring = key_ring_of(loaded->config);
  if (!ring) return report(ring.error());
  const auto second = open_second_reader(loaded->config);
  if (!second) return report(second.error());
  Normalizer normalizer(*ring, second->get());
  const auto keyed = normalizer.key(query);
  if (!keyed) return report(keyed.error());
  auto engine = open_engine(loaded->config);
  if (!engine) return report(engine.error());
  Ask ask;
  ask.slot.key = keyed->key;
  ask.pre_image = keyed->pre_image;
  ask.query = Query::from(query);
  ask.query.country = keyed->country;
  ask.quality = keyed->quality;
  ask.options.cache_only = arguments.cache_only;
  ask.options.refresh_before = arguments.refresh ? kRefreshAll : 0;
  const auto resolved = (*engine)->resolver().resolve({ask}, patience());
  if (!resolved.front().answer) {
    if (arguments.json)
      std::puts(json_text(json_of(ring->text(keyed->key), *resolved.front().error)).c_str());
    return report(*resolved.front().error);
  }
  if (arguments.json)
    std::puts(json_text(json_of(ring->text(keyed->key), resolved.front())).c_str());
  else
    print_text(resolved.front());
  if (resolved.front().answer->kind == AnswerKind::match) return 0;
  if (!keyed->country.is_known())
    fmt::print(stderr, "the address names no country; it may be found with --country\n");
  return 6;
}

}  // namespace

void add_get(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("get", "Geocode one address");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option(
          "ADDRESS", arguments->address, "The address, as you would write it on an envelope")
      ->required();
  command->add_option("--country", arguments->country, "Its country: ISO 3166-1 code or name")
      ->type_name("CC");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_flag("--cache-only", arguments->cache_only, "Never pay");
  command->add_flag("--refresh", arguments->refresh, "Buy anew, even if the answer is known");
  does(*command, program, [&program, arguments] { return get(program.globals, *arguments); });
}

}  // namespace geonce::cli
