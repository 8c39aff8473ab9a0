#include "core/explain.h"

#include <cstdio>
#include <memory>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string address, country;
  bool json = false;
};

int show(const Arguments& arguments) {
  const auto country = parse_country(arguments.country);
  if (!country) return report(country.error());
  QueryView query;
  query.text = arguments.address;
  query.country = *country;
  Normalizer normalizer;
  const auto read = normalizer.normalize(query);
  if (arguments.json)
    std::puts(explain_json(read).c_str());
  else if (read)
    std::fputs(explain(query, read).c_str(), stdout);
  if (read) return 0;
  return arguments.json ? row(read.error().code).exit_code : report(read.error());
}

}  // namespace

void add_explain(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("explain", "Show what an address is taken for, and its key");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option(
          "ADDRESS", arguments->address, "The address, as you would write it on an envelope")
      ->required();
  command->add_option("--country", arguments->country, "Its country, ISO 3166-1")->type_name("CC");
  command->add_flag("--json", arguments->json, "Print JSON");
  does(*command, program, [arguments] { return show(*arguments); });
}

}  // namespace geonce::cli
