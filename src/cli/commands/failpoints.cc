#include <cstdio>

#include <fmt/format.h>

#include "cli/command.h"
#include "io/failpoint.h"

namespace geonce::cli {

void add_failpoints(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("failpoints", "List the places where it can be made to die, wait or fail");
  does(*command, program, [] {
    for (const FailPointRow& row : fail_points())
      fmt::print("{:<15}  {:<4}  {:<27}  {:<20}  {}\n",
                 row.name,
                 row.crash_point.empty() ? "-" : row.crash_point,
                 row.can,
                 row.where,
                 row.what);
    return 0;
  });
}

}  // namespace geonce::cli
