#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <malloc.h>

#include "cli/command.h"
#include "io/failpoint.h"
#include "io/libpostal_helper.h"

namespace {

/// The command that was named, with the one below it: `geonce entry show`.
const CLI::App* command_of(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string path_of(const CLI::App* command) {
  const CLI::App* above = command->get_parent();
  return above == nullptr ? command->get_name()
                          : fmt::format("{} {}", path_of(above), command->get_name());
}

/// What is printed of a command line that cannot be read. The library's own words name neither an
/// unknown command nor the quotes that an address wants.
std::string complaint(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = command_of(app);
  const std::vector<std::string> extra = app->remaining(true);
  const bool is_incomplete =
      command->get_require_subcommand_min() > 0 && command->get_subcommands().empty();
  if (command == app && extra.empty() && is_incomplete) return app->help();
  std::string text = error.what();
  if (is_incomplete && extra.empty())
    text = "say what to do";
  else if (is_incomplete && !extra.empty() && !extra.front().starts_with('-'))
    text = fmt::format("there is no command {} {}", path_of(command), extra.front());
  else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    text = fmt::format("not expected: {}", fmt::join(extra, " "));
    if (command->get_option_no_throw("ADDRESS") != nullptr && !extra.empty() &&
        !extra.front().starts_with('-'))
      text += " (an address is one argument: put it in quotes)";
  }
  return fmt::format("geonce: {}\nSee {} --help.\n", text, path_of(command));
}

int run(int argc, char** argv) {
  using namespace geonce::cli;
  Program program;
  CLI::App app("Geocodes addresses once: cached, idempotent, every purchase in a ledger.",
               "geonce");
  app.require_subcommand(1);
  app.failure_message(complaint);
  app.set_help_all_flag("--help-all", "Show the help of every command");
  app.add_option(
         "--config", program.globals.config_file, "Read this configuration file and no other")
      ->type_name("FILE");
  app.add_option("--store", program.globals.store, "Use this store")->type_name("PATH");
  app.add_option(
         "--set", program.globals.sets, "Set one configuration value, as in --set life.rooftop=90d")
      ->type_name("KEY=VALUE");
  app.fallthrough();
  add_commands(app, program);
  if (const char* orders = std::getenv("GEONCE_FAILPOINTS"); orders != nullptr) {
    if (const auto set = geonce::set_failpoints(orders); !set) {
      fmt::print(stderr, "geonce: {}\n", set.error().message);
      return geonce::row(set.error().code).exit_code;
    }
  }
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
  // Whoever ignores the end of children hands that down, and then they cannot be waited for.
  std::signal(SIGCHLD, SIG_DFL);
  // Buffers of some MiB come and go with every chunk of a file. Given back to the system each time,
  // they would have to be cleared anew each time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // Not for people: the program runs itself so, to keep libpostal out of its own process.
  if (argc > 1 && argv[1] == geonce::kLibpostalHelper)
    return geonce::serve_libpostal({argv + 2, static_cast<std::size_t>(argc - 2)});
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
