#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "app/transfer.h"
#include "cli/session.h"

namespace geonce::cli {
namespace {

int import_from(const Globals& globals, const std::string& file) {
  const auto loaded = load(globals);
  if (!loaded) return report(loaded.error());
  const auto ring = key_ring_of(loaded->config);
  if (!ring) return report(ring.error());
  std::ifstream opened;
  if (file != "-") {
    opened.open(file);
    if (!opened)
      return report({ErrorCode::io_failed,
                     fmt::format("cannot read {}: {}", file, std::strerror(errno)),
                     {},
                     {},
                     {}});
  }
  auto store = open_store(loaded->config, true);
  if (!store) return report(store.error());
  const auto second = load_second_reader(globals);
  if (!second) return report(second.error());
  const auto done = import_answers(file == "-" ? std::cin : opened,
                                   **store,
                                   loaded->config,
                                   *ring,
                                   second->get(),
                                   Deadline::never());
  if (!done) return report(done.error());
  if (done->stored > 0) tell_redis(globals, **store);
  fmt::print(
      "{} answers: {} stored, {} not younger than what is here, {} whose lives are over, {} that "
      "the terms do not allow to keep, {} that cannot be read\n",
      done->answers,
      done->stored,
      done->older,
      done->expired,
      done->not_allowed,
      done->unreadable);
  for (const auto& [provider, count] : done->unknown_providers)
    fmt::print(stderr,
               "{} answers of \"{}\", whose terms are not known here: write a spec, or "
               "[providers.{}.terms]\n",
               count,
               provider,
               provider);
  if (done->unreadable > 0) fmt::print(stderr, "{}\n", done->first_unreadable);
  return done->unreadable + done->not_allowed > 0 ? row(ErrorCode::invalid_address).exit_code : 0;
}

}  // namespace

void add_import(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("import", "Take over the answers of a file that export wrote");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "Where from (- for standard input)")->required();
  does(*command, program, [&program, file] { return import_from(program.globals, *file); });
}

}  // namespace geonce::cli
