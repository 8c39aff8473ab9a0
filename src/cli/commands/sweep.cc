#include <cstdio>

#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {

void add_sweep(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("sweep", "Erase what has outlived the terms it was bought under");
  does(*command, program, [&program] {
    auto store = open_existing_store(program.globals);
    if (!store) return report(store.error());
    SweepReport sum;
    for (;;) {
      const auto swept = (*store)->sweep(1'000, patience());
      if (!swept) return report(swept.error());
      sum.entries += swept->entries;
      sum.chunks += swept->chunks;
      sum.batches += swept->batches;
      sum.negatives += swept->negatives;
      if (swept->entries + swept->chunks + swept->batches + swept->negatives == 0) break;
    }
    fmt::print(
        "erased {} entries, {} no-matches of single providers, {} stored batch parts, {} batches\n",
        sum.entries,
        sum.negatives,
        sum.chunks,
        sum.batches);
    return 0;
  });
}

}  // namespace geonce::cli
