#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/command.h"

namespace {

int run(int argc, char** argv) {
  using namespace geonce::cli;
  Program program;
  CLI::App app("Geocodes addresses once: cached, idempotent, every purchase in a ledger.",
               "geonce");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Show the help of every command");
  app.add_option("--config", program.globals.config_file, "Read this configuration file")
      ->type_name("FILE");
  app.add_option("--store", program.globals.store, "Use this store")->type_name("PATH");
  app.add_option(
         "--set", program.globals.sets, "Set one configuration value, as in --set life.rooftop=90d")
      ->type_name("KEY=VALUE");
  app.fallthrough();
  add_commands(app, program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  return program.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  // A file beyond `ulimit -f` is a full disk: an error of write(2), which every writer handles.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nothing of ours throws; what a library throws after all still ends with a message and an exit
  // code.
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs("geonce: internal error: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputc('\n', stderr);
    return 1;
  }
}
