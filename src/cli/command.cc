#include "cli/command.h"

#include <cstdio>

namespace geonce::cli {

int report(const Error& error) {
  std::fprintf(stderr, "geonce: %s\n", error.message.c_str());
  return row(error.code).exit_code;
}

void does(CLI::App& command, Program& program, std::function<int()> run) {
  command.callback([&program, run = std::move(run)] { program.exit_code = run(); });
}

}  // namespace geonce::cli
