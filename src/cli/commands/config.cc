#include <cstdio>

#include "cli/session.h"

namespace geonce::cli {

void add_config(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand(
      "config", "Print the effective configuration and where each value came from");
  does(*command, program, [&program] {
    const auto loaded = load(program.globals);
    if (!loaded) return report(loaded.error());
    std::fputs(print_config(*loaded).c_str(), stdout);
    return 0;
  });
}

}  // namespace geonce::cli
