#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace geonce::cli {

/// What stands before the sub-command.
struct Globals {
  std::optional<std::filesystem::path> config_file;
  std::optional<std::string> store;
  std::vector<std::string> sets;  // `life.rooftop=90d`
};

/// The program around a command: global flags in, exit code out.
struct Program {
  Globals globals;
  int exit_code = 0;
};

/// Prints `geonce: …` to stderr and returns the error's exit code.
int report(const Error& error);

/// Makes `run` the deed of `command`; what it returns becomes the exit code.
void does(CLI::App& command, Program& program, std::function<int()> run);

/// Adds all commands of commands/, in the order of their file names.
void add_commands(CLI::App& app, Program& program);

}  // namespace geonce::cli
