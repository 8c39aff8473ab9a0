#include <cstdio>

#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {

void add_migrate(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("migrate", "Make the store, or bring its schema up to this version");
  does(*command, program, [&program] {
    const auto loaded = load(program.globals);
    if (!loaded) return report(loaded.error());
    const auto added = migrate_store(loaded->config);
    if (!added) return report(added.error());
    for (const auto& step : *added) fmt::print("added {}\n", step);
    if (added->empty()) fmt::print("the schema is up to date\n");
    return 0;
  });
}

}  // namespace geonce::cli
