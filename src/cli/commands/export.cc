#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "app/transfer.h"
#include "cli/session.h"

namespace geonce::cli {
namespace {

int export_to(const Globals& globals, const std::string& file) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  auto out = LineOut::create(file);
  if (!out) return report(out.error());
  const auto done = export_answers(**store, *ring, system_clock(), *out);
  if (!done) return report(done.error());
  if (auto finished = out->finish(); !finished) return report(finished.error());
  fmt::print(stderr,
             "{} answers written, {} left out because their lives are over\n",
             done->written,
             done->expired);
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("export", "Write what is remembered to a file that import reads");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "Where to (- for standard output)")->required();
  does(*command, program, [&program, file] { return export_to(program.globals, *file); });
}

}  // namespace geonce::cli
