#include "batch/places.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string file, map, source, country, city, region, postcode;
  std::string delimiter = "auto", encoding = "auto";
  bool add = false;
};

int load_file(const Globals& globals, const Arguments& arguments) {
  PlacesOptions options;
  options.input.path = arguments.file;
  options.map = arguments.map;
  options.add = arguments.add;
  options.source = !arguments.source.empty() ? arguments.source
                   : arguments.file == "-"
                       ? "stdin"
                       : std::filesystem::path(arguments.file).filename().string();
  const auto country = country_of("--country", arguments.country);
  if (!country) return report(country.error());
  options.country = *country;
  options.city = arguments.city;
  options.region = arguments.region;
  options.postcode = arguments.postcode;
  const auto encoding = parse_encoding_choice(arguments.encoding);
  if (!encoding) return report(encoding.error());
  options.input.encoding = *encoding;
  if (arguments.delimiter != "auto") {
    const auto delimiter = parse_delimiter(arguments.delimiter);
    if (!delimiter) return report(delimiter.error());
    options.input.dialect.delimiter = *delimiter;
  }
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  auto store = open_store(loaded->config, true);
  if (!store) return report(store.error());
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  const auto done = load_places(**store, options, [&](const PlacesReport& sofar) {
    if (shows_progress && sofar.loaded % 50'000 == 0)
      fmt::print(stderr, "\r{} points", sofar.loaded);
  });
  if (!done) return report(done.error());
  for (const auto& refusal : done->refusals)
    fmt::print(stderr, "row {}: {}\n", refusal.row, refusal.why);
  if (done->refused > static_cast<std::int64_t>(done->refusals.size()))
    fmt::print(stderr,
               "… and {} more rows\n",
               done->refused - static_cast<std::int64_t>(done->refusals.size()));
  fmt::print("{} of {} rows loaded as address points of \"{}\"\n",
             done->loaded,
             done->rows,
             options.source);
  return done->refused > 0 ? row(ErrorCode::invalid_address).exit_code : 0;
}

int stats(const Globals& globals) {
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  const auto stats = (*store)->places_stats(patience());
  if (!stats) return report(stats.error());
  fmt::print("{} address points under {} keys, last loaded {}\n",
             stats->points,
             stats->keys,
             utc_text(stats->loaded_at));
  for (const auto& [source, points] : stats->by_source) fmt::print("{:>12}  {}\n", points, source);
  return 0;
}

}  // namespace

void add_places(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("places", "Address points you own: answers for free");
  command->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();
  auto* load_command = command->add_subcommand(
      "load", "Load address points from a CSV file, replacing what its source had");
  load_command
      ->add_option(
          "FILE", arguments->file, "OpenAddresses columns, or see --map; - for standard input")
      ->required();
  load_command
      ->add_option("--map", arguments->map, "Which column is what: number=…,street=…,city=…")
      ->type_name("PART=COL,…");
  load_command
      ->add_option(
          "--source", arguments->source, "Keep the points under this name (default: the file's)")
      ->type_name("NAME");
  load_command
      ->add_option(
          "--country", arguments->country, "Of rows that name none: ISO 3166-1 code or name")
      ->type_name("CC");
  load_command->add_option("--city", arguments->city, "Of rows that name none")->type_name("CITY");
  load_command->add_option("--region", arguments->region, "Of rows that name none")
      ->type_name("REGION");
  load_command->add_option("--postcode", arguments->postcode, "Of rows that name none")
      ->type_name("CODE");
  load_command->add_option("--delimiter", arguments->delimiter, "auto, a character, or tab")
      ->type_name("CHAR")
      ->capture_default_str();
  load_command
      ->add_option("--encoding", arguments->encoding, "auto, utf-8, utf-16, windows-1252, …")
      ->type_name("NAME")
      ->capture_default_str();
  load_command->add_flag("--add", arguments->add, "Keep what the source had");
  does(*load_command, program, [&program, arguments] {
    return load_file(program.globals, *arguments);
  });
  auto* stats_command = command->add_subcommand("stats", "Count the points");
  does(*stats_command, program, [&program] { return stats(program.globals); });
}

}  // namespace geonce::cli
