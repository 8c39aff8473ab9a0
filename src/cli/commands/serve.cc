#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "app/serving.h"
#include "app/signals.h"
#include "cli/session.h"

namespace geonce::cli {
namespace {

int run(const Globals& globals, const std::vector<std::string>& listen) {
  const StopSignals signals;
  auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  if (!listen.empty()) loaded->config.serve.listen = listen;
  const auto done = serve(
      loaded->config,
      signals.token(),
      [](const std::vector<std::string>& addresses) {
        for (const std::string& address : addresses)
          fmt::print(stderr,
                     "geonce: listening on {}{}\n",
                     address.starts_with("unix:") ? "" : "http://",
                     address);
      },
      [](const std::string& line) { fmt::print(stderr, "geonce: {}\n", line); });
  return done ? 0 : report(done.error());
}

}  // namespace

void add_serve(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("serve", "Answer HTTP requests");
  auto listen = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("--listen",
                   *listen,
                   "Where: HOST:PORT, [::1]:PORT, *:PORT or unix:PATH; may be given again")
      ->type_name("ADDRESS");
  does(*command, program, [&program, listen] { return run(program.globals, *listen); });
}

}  // namespace geonce::cli
