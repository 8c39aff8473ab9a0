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
  const auto what = named(arguments.what, arguments.country, *ring, globals);
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
  add_address(*command, arguments->what, arguments->country);
  does(*command, program, [&program, arguments] { return unpin(program.globals, *arguments); });
}

}  // namespace geonce::cli
