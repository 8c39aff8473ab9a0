// fakegeo: a geocoding provider that counts. README.md describes what it speaks and how it breaks.

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "server.h"

namespace {

/// Written under another name first: whoever sees the file sees a whole number.
void write_port_file(const std::string& path, std::uint16_t port) {
  const std::string part = path + ".part";
  std::ofstream(part) << port << '\n';
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    fmt::print(stderr, "fakegeo: cannot write {}\n", path);
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fakegeo::Options options;
  std::vector<double> latency;
  CLI::App app("A geocoding provider for tests: it answers from the text and writes a bill.");
  app.add_option("--host", options.host, "IPv4 address to listen on");
  app.add_option("--port", options.port, "0 takes a free one");
  app.add_option("--port-file", options.port_file, "where to write the port");
  app.add_option("--bill", options.bill_file, "bill log, appended")->required();
  app.add_option("--script", options.script_file, "JSON, see README.md");
  app.add_option("--seed", options.seed, "for probabilities and drawn latencies");
  app.add_option("--country", options.default_country, "where a request names none");
  app.add_option("--latency-ms", latency, "MS, or LOW HIGH")->expected(1, 2);
  CLI11_PARSE(app, argc, argv);
  if (!latency.empty()) options.latency = {latency.front(), latency.back()};

  std::string source = "{}";
  if (!options.script_file.empty()) {
    std::ifstream file(options.script_file);
    if (!file) {
      fmt::print(stderr, "fakegeo: cannot read {}\n", options.script_file);
      return 2;
    }
    source.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto script = fakegeo::Script::parse(source, options.seed, options.latency);
  if (!script) {
    fmt::print(stderr, "fakegeo: {}: {}\n", options.script_file, script.error());
    return 2;
  }

  // Before the first thread and the first connection; the server reads them as events.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  fakegeo::Server server(options, std::move(*script));
  if (!options.port_file.empty()) write_port_file(options.port_file, server.port());
  fmt::print("{}\n", server.port());
  std::fflush(stdout);
  server.run();
}
