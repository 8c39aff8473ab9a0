#include <cstdio>

#include "cli/command.h"
#include "core/key.h"

namespace geonce::cli {

void add_version(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("version", "Print the version");
  does(*command, program, [] {
    std::printf("geonce %s (keys n%d)\n", GEONCE_VERSION, kKeyVersion);
    return 0;
  });
}

}  // namespace geonce::cli
