#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "cli/session.h"
#include "providers/check.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string name, body, mode = "single", submitted;
  std::vector<std::string> headers;
  int status = 0;
};

Result<std::string> read_all(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error))
    return fail(ErrorCode::not_found, "cannot read {}", path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<Specs> specs_of(const Globals& globals) {
  auto loaded = load(globals);
  if (!loaded) return fail(loaded.error());
  return load_specs(loaded->config.specs);
}

Result<Spec> spec_of(const Globals& globals, const std::string& name) {
  auto specs = specs_of(globals);
  if (!specs) return fail(specs.error());
  const auto found = specs->find(name);
  if (found == specs->end())
    return fail(ErrorCode::not_found, "there is no provider {} (see geonce provider list)", name);
  return found->second;
}

Result<SavedResponse> response_of(const Arguments& arguments) {
  SavedResponse response;
  response.status = arguments.status;
  response.bulk = arguments.mode == "batch";
  if (!response.bulk && arguments.mode != "single")
    return fail(ErrorCode::usage, "--mode is single or batch");
  for (const std::string& line : arguments.headers) {
    auto header = parse_header(line);
    if (!header) return fail(ErrorCode::usage, R"(--header "{}" is not "Name: value")", line);
    response.headers.push_back(std::move(*header));
  }
  if (!arguments.submitted.empty()) {
    const auto json = read_all(arguments.submitted);
    if (!json) return fail(json.error());
    auto submitted = parse_submitted(*json);
    if (!submitted) return fail(submitted.error());
    response.submitted = std::move(*submitted);
  }
  auto body = read_all(arguments.body);
  if (!body) return fail(body.error());
  response.body = std::move(*body);
  return response;
}

int check_response(const Globals& globals, const Arguments& arguments) {
  const auto spec = spec_of(globals, arguments.name);
  if (!spec) return report(spec.error());
  const auto response = response_of(arguments);
  if (!response) return report(response.error());
  std::puts(check(*spec, *response).c_str());
  return 0;
}

}  // namespace

void add_provider(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand(
      "provider", "The providers that can be asked, and how their answers are read");
  command->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();

  auto* check_command = command->add_subcommand(
      "check", "Show what a provider's response would come to, without a network");
  check_command->add_option("NAME", arguments->name, "The provider")->required();
  check_command
      ->add_option("BODY", arguments->body, "File with the response's body; - for standard input")
      ->required();
  check_command->add_option("--status", arguments->status, "The response's HTTP status")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(100, 599));
  check_command
      ->add_option("--header", arguments->headers, "A header of the response; may be given again")
      ->type_name("'K: V'")
      ->allow_extra_args(false);
  check_command->add_option("--mode", arguments->mode, "single or batch")
      ->type_name("MODE")
      ->capture_default_str();
  check_command
      ->add_option("--submitted",
                   arguments->submitted,
                   "JSON array of the references or texts that were sent")
      ->type_name("FILE");
  does(*check_command, program, [&program, arguments] {
    return check_response(program.globals, *arguments);
  });

  auto* list_command = command->add_subcommand("list", "List the providers");
  does(*list_command, program, [&program] {
    const auto specs = specs_of(program.globals);
    if (!specs) return report(specs.error());
    std::fputs(list_text(*specs).c_str(), stdout);
    return 0;
  });

  auto* show_command = command->add_subcommand(
      "show", "Show a provider's spec, its terms, prices and limits on top");
  show_command->add_option("NAME", arguments->name, "The provider")->required();
  does(*show_command, program, [&program, arguments] {
    const auto spec = spec_of(program.globals, arguments->name);
    if (!spec) return report(spec.error());
    std::fputs(show_text(*spec).c_str(), stdout);
    return 0;
  });
}

}  // namespace geonce::cli
