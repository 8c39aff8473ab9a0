#include <cstdio>

#include <fmt/format.h>

#include "app/signals.h"
#include "app/sweeper.h"
#include "cli/session.h"

namespace geonce::cli {
namespace {

int sweep(const Globals& globals) {
  const StopSignals signals;
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  SweepPace pace;
  pace.share = 0.5;  // nothing else is waited for
  const auto swept = sweep_once(**store, make_uuid(system_clock()), pace, signals.token());
  if (!swept) return report(swept.error());
  if (swept->busy.count() > 0) fmt::print(stderr, "another process is erasing already\n");
  fmt::print(
      "erased {} entries, {} no-matches of single providers, {} stored batch parts, {} batches\n",
      swept->sum.entries,
      swept->sum.negatives,
      swept->sum.chunks,
      swept->sum.batches);
  if (signals.token().stop_requested()) return row(ErrorCode::interrupted).exit_code;
  if (const auto counted = (*store)->refresh_counts(Deadline::never()); !counted)
    return report(counted.error());
  return 0;
}

}  // namespace

void add_sweep(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("sweep", "Erase what has outlived the terms it was bought under");
  does(*command, program, [&program] { return sweep(program.globals); });
}

}  // namespace geonce::cli
