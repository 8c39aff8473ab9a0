#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string what, country;
};

int unpin(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto country = country_of("--country", arguments.country);
  if (!country) return report(country.error());
  const auto what = named(arguments.what, *country, *ring, globals);
  if (!what) return report(what.error());
  const auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  if (auto done = take_over_former_answers(**store, *ring, missing_of(*what), patience()); !done)
    return report(done.error());
  const auto entry = (*store)->entry(what->slot, patience());
  if (!entry) return report(entry.error());
  if (!*entry || !(*entry)->pinned) {
    const auto message =
        fmt::format("{} is not pinned; nothing was changed", ring->text(what->slot.key));
    return report({ErrorCode::not_found, message, {}, {}, {}});
  }
  const auto dropped = (*store)->invalidate(std::span(&what->slot, 1), patience());
  if (!dropped) return report(dropped.error());
  fmt::print("{} unpinned; the next question buys anew\n", ring->text(what->slot.key));
  tell_redis(globals, **store);
  return 0;
}

}  // namespace

void add_unpin(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("unpin", "Take back a correction of geonce pin");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("ADDRESS", arguments->what, "An address or a key (n1_…)")->required();
  command
      ->add_option(
          "--country", arguments->country, "The address's country: ISO 3166-1 code or name")
      ->type_name("CC");
  does(*command, program, [&program, arguments] { return unpin(program.globals, *arguments); });
}

}  // namespace geonce::cli
