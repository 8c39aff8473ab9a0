#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string what, country;
};

/// What a killed run received and did not file would be filed by the next one: it is filed now, to
/// be forgotten with the rest.
void take_over_spools(const Config& config) {
  if (const auto engine = open_engine(config); !engine)
    fmt::print(stderr,
               "geonce: what killed runs may have left in {} was not looked at: {}\n",
               config.spool.folder.string(),
               engine.error().message);
}

std::string several(std::int64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

int forget(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto what = named(arguments.what, arguments.country, *ring, globals);
  if (!what) return report(what.error());
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  const auto store = open_store(loaded->config, false);
  if (!store) return report(store.error());
  take_over_spools(loaded->config);
  const auto missing = missing_of(*what);
  if (auto done = take_over_former_answers(**store, *ring, missing, patience()); !done)
    return report(done.error());
  ForgetRequest request{what->slot, {}};
  if (!missing.empty()) request.former = former_keys(*ring, missing.front());
  const auto forgotten = (*store)->forget(request, patience());
  if (!forgotten) return report(forgotten.error());
  LedgerFilter filter;
  filter.slot = what->slot;
  const auto ledger = (*store)->ledger(filter, patience());
  if (!ledger) return report(ledger.error());
  fmt::print("{} forgotten: {}, {}, {}, {}\n",
             ring->text(what->slot.key),
             several(forgotten->entries, "answer", "answers"),
             several(forgotten->negatives, "no-match of a provider", "no-matches of providers"),
             several(forgotten->claims, "open question", "open questions"),
             several(forgotten->chunks, "part of a batch", "parts of batches"));
  fmt::print("{} of the ledger stay, without the address\n",
             several(static_cast<std::int64_t>(ledger->size()), "row", "rows"));
  tell_redis(globals, **store);
  return 0;
}

}  // namespace

void add_forget(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("forget", "Erase what is known of an address");
  auto arguments = std::make_shared<Arguments>();
  add_address(*command, arguments->what, arguments->country);
  does(*command, program, [&program, arguments] { return forget(program.globals, *arguments); });
}

}  // namespace geonce::cli
