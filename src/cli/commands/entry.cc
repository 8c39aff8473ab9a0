#include <cstdio>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/session.h"
#include "core/normalize.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string what, country, provider, kind, building;
  std::size_t limit = 100;
  bool pinned = false;
};

boost::json::object json_of(const EntryRow& entry, const KeyRing& ring) {
  const std::string prefix = ring.prefix(entry.slot.key, entry.pre_image);
  boost::json::object object{{"key", prefix + to_hex(entry.slot.key)},
                             {"gen", entry.gen},
                             {"answered_at", utc_text(entry.answered_at)},
                             {"fresh_until", utc_text(entry.fresh_until)},
                             {"stale_until", utc_text(entry.stale_until)},
                             {"erase_after", utc_text(entry.erase_after)},
                             {"pinned", entry.pinned},
                             {"no_match_streak", entry.no_match_streak}};
  if (entry.building_key) object["building_key"] = prefix + to_hex(*entry.building_key);
  if (entry.intent) object["intent"] = to_string(*entry.intent);
  if (!entry.answer) {
    object["kind"] = "dropped";
    return object;
  }
  const Answer& answer = *entry.answer;
  object["kind"] = to_string(answer.kind);
  object["provider"] = answer.provider;
  if (answer.at) {
    object["lat"] = answer.at->lat_deg;
    object["lng"] = answer.at->lng_deg;
  }
  if (answer.kind == AnswerKind::match || answer.kind == AnswerKind::rejected)
    object["precision"] = to_string(answer.precision);
  if (answer.confidence) object["confidence"] = *answer.confidence;
  if (answer.partial) object["partial"] = true;
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const std::string*>>{
           {"formatted", &answer.formatted},
           {"place_id", &answer.place_id},
           {"reason", &answer.reason}})
    if (!text->empty()) object[name] = *text;
  if (answer.country.is_known()) object["country"] = answer.country.code();
  if (!entry.query_json.empty()) {
    boost::system::error_code error;
    auto query = boost::json::parse(entry.query_json, error);
    if (!error) object["query"] = std::move(query);
  }
  return object;
}

/// One member a line: a person reads it, and it is still JSON.
void print(const boost::json::object& object) {
  std::string text = "{\n";
  for (std::size_t i = 0; const auto& [name, value] : object)
    text += fmt::format("  {}: {}{}\n",
                        boost::json::serialize(boost::json::string(name)),
                        json_text(value),
                        ++i < object.size() ? "," : "");
  std::fputs((text + "}\n").c_str(), stdout);
}

int show(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto what = named(arguments.what, arguments.country, *ring, globals);
  if (!what) return report(what.error());
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  const auto entry = (*store)->entry(what->slot, patience());
  if (!entry) return report(entry.error());
  if (*entry) {
    print(json_of(**entry, *ring));
    return 0;
  }
  const auto former = find_former_answers(**store, *ring, missing_of(*what), patience());
  if (!former) return report(former.error());
  if (former->empty())
    return report(
        {ErrorCode::not_found,
         fmt::format(
             "nothing is remembered under {} (address points of your own answer without that)",
             ring->text(what->slot.key)),
         {},
         {},
         {}});
  print(json_of(former->front().entry, *ring));
  return 0;
}

int drop(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto what = named(arguments.what, arguments.country, *ring, globals);
  if (!what) return report(what.error());
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  if (auto done = take_over_former_answers(**store, *ring, missing_of(*what), patience()); !done)
    return report(done.error());
  const auto dropped = (*store)->invalidate(std::span(&what->slot, 1), patience());
  if (!dropped) return report(dropped.error());
  fmt::print("{} {}\n",
             ring->text(what->slot.key),
             *dropped > 0 ? "dropped; the next question buys anew" : "was not remembered");
  tell_redis(globals, **store);
  return 0;
}

Result<Key> building_of_arguments(const Globals& globals,
                                  const Arguments& arguments,
                                  const KeyRing& ring) {
  if (auto key = parse_key(arguments.building)) return *key;
  auto country = country_of("--country", arguments.country);
  if (!country) return fail(country.error());
  const auto second = load_second_reader(globals);
  if (!second) return fail(second.error());
  Normalizer normalizer(ring, second->get());
  QueryView query;
  query.text = arguments.building;
  query.country = *country;
  const auto canonical = normalizer.normalize(query);
  if (!canonical) return fail(canonical.error());
  return ring.key(building_pre_image(*canonical));
}

int list(const Globals& globals, const Arguments& arguments) {
  EntryFilter filter;
  filter.pinned = arguments.pinned;
  if (!arguments.provider.empty()) filter.provider = arguments.provider;
  if (!arguments.kind.empty()) {
    for (const auto kind :
         {AnswerKind::match, AnswerKind::no_match, AnswerKind::ambiguous, AnswerKind::rejected})
      if (to_string(kind) == arguments.kind) filter.kind = kind;
    if (!filter.kind)
      return report(
          {ErrorCode::usage, "--kind is match, no_match, ambiguous or rejected", {}, {}, {}});
  }
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  if (!arguments.building.empty()) {
    const auto building = building_of_arguments(globals, arguments, *ring);
    if (!building) return report(building.error());
    filter.building = Slot{kDefaultPool, *building};
  }
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  for (std::size_t left = arguments.limit; left > 0;) {
    filter.limit = std::min<std::size_t>(left, 1'000);
    const auto entries = (*store)->entries(filter, patience());
    if (!entries) return report(entries.error());
    for (const EntryRow& entry : *entries) std::puts(json_text(json_of(entry, *ring)).c_str());
    if (entries->size() < filter.limit) break;
    left -= entries->size();
    filter.after = entries->back().slot;
  }
  return 0;
}

}  // namespace

void add_entry(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("entry", "Look at what is remembered, or drop it");
  command->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();

  auto* show_command = command->add_subcommand("show", "Show the entry of a key or an address");
  auto* drop_command = command->add_subcommand(
      "drop", "Drop the entry of a key or an address: the next question buys anew");
  for (auto* sub : {show_command, drop_command})
    add_address(*sub, arguments->what, arguments->country, "A key (n1_…) or an address");
  does(*show_command, program, [&program, arguments] { return show(program.globals, *arguments); });
  does(*drop_command, program, [&program, arguments] { return drop(program.globals, *arguments); });

  auto* list_command =
      command->add_subcommand("list", "List entries, one JSON object a line, in key order");
  list_command->add_option("--provider", arguments->provider, "Only answers of this provider")
      ->type_name("NAME");
  list_command->add_option("--kind", arguments->kind, "Only match, no_match, ambiguous or rejected")
      ->type_name("KIND");
  list_command->add_flag("--pinned", arguments->pinned, "Only corrections of geonce pin");
  list_command
      ->add_option("--building",
                   arguments->building,
                   "Only this building: any address in it, or its building key")
      ->type_name("ADDRESS");
  list_command
      ->add_option(
          "--country", arguments->country, "The building's country: ISO 3166-1 code or name")
      ->type_name("CC");
  list_command->add_option("--limit", arguments->limit, "At most so many")
      ->type_name("N")
      ->capture_default_str();
  does(*list_command, program, [&program, arguments] { return list(program.globals, *arguments); });
}

}  // namespace geonce::cli
