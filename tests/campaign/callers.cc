// callers: one process of many clients that ask for made-up addresses, and what each of them got.
// README.md tells what the campaigns do with it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "app/config.h"
#include "app/engine.h"
#include "core/clock.h"
#include "core/country.h"
#include "core/normalize.h"

namespace {

using namespace geonce;
using std::chrono::milliseconds;

struct Options {
  std::string config, history;
  int callers = 64;
  std::int64_t keys = 100'000;
  double zipf = 1.0;
  std::uint64_t seed = 1;
  double seconds = 10;
  std::int64_t pause_ms = 50, deadline_ms = 10'000;
  bool hasty = false;
};

std::atomic<bool> is_over = false;

/// Key number 0 is asked for most, number n as often as (n + 1)^-s of that.
class Zipf {
 public:
  Zipf(std::int64_t keys, double s) {
    sums_.reserve(static_cast<std::size_t>(keys));
    double sum = 0;
    for (std::int64_t n = 1; n <= keys; ++n) sums_.push_back(sum += std::pow(n, -s));
  }
  std::int64_t draw(std::mt19937_64& chance) const {
    const double at = std::uniform_real_distribution<double>{0, sums_.back()}(chance);
    return std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin();
  }

 private:
  std::vector<double> sums_;
};

/// The number of the key is the number of the house, so that it can be read off the bill.
Ask ask_for(std::int64_t key, Normalizer& normalizer) {
  const std::string text = fmt::format("{} Oak St, Springfield, IL 62701", key + 1);
  QueryView query;
  query.text = text;
  query.country = *parse_country("US");
  const auto keyed = normalizer.key(query);
  if (!keyed) {
    fmt::print(stderr, "callers: {}\n", keyed.error().message);
    std::_Exit(1);
  }
  Ask ask;
  ask.slot.key = keyed->key;
  ask.pre_image = keyed->pre_image;
  ask.query = Query::from(query);
  ask.quality = keyed->quality;
  return ask;
}

/// A line an answer, each in one write: what was told before a kill is there after it.
class History {
 public:
  explicit History(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) {
      std::perror("callers: --history");
      std::exit(1);
    }
  }
  void add(std::int64_t key, Mono begun, Mono ended, const Resolved& resolved) {
    const std::string line = fmt::format(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
        begun.time_since_epoch().count(),
        ended.time_since_epoch().count(),
        key,
        resolved.answer ? to_string(resolved.answer->kind) : to_string(resolved.error->code),
        resolved.answer ? to_string(resolved.source) : "error",
        resolved.gen,
        resolved.calls,
        resolved.answer && resolved.answer->at
            ? fmt::format(
                  "{:.7f},{:.7f}", resolved.answer->at->lat_deg, resolved.answer->at->lng_deg)
            : "");
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      std::perror("callers: history");
      std::_Exit(1);
    }
  }

 private:
  int file_;
};

void call(const Options& options,
          const Zipf& zipf,
          std::uint64_t seed,
          Resolver& resolver,
          History& history) {
  std::mt19937_64 chance{seed};
  Normalizer normalizer(KeyRing::plain());
  while (!is_over) {
    const std::int64_t key = zipf.draw(chance);
    Ask ask = ask_for(key, normalizer);
    ask.options.waits_for_store = !options.hasty;
    const Mono begun = system_clock().now();
    const auto resolved =
        resolver.resolve({ask}, Deadline::in(milliseconds{options.deadline_ms}, system_clock()));
    history.add(key, begun, system_clock().now(), resolved.front());
    // From half of the pause to one and a half.
    const std::int64_t pause_us = options.pause_ms * 1'000;
    std::this_thread::sleep_for(std::chrono::microseconds{
        std::uniform_int_distribution<std::int64_t>{pause_us / 2, pause_us * 3 / 2}(chance)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Many clients that ask for made-up addresses; writes what each of them got.");
  app.add_option("--config", options.config, "geonce.toml")->required();
  app.add_option("--history", options.history, "where to write, appended")->required();
  app.add_option("--callers", options.callers, "clients at once");
  app.add_option("--keys", options.keys, "addresses there are");
  app.add_option("--zipf", options.zipf, "how uneven; 0: all alike");
  app.add_option("--seed", options.seed, "of what is asked for");
  app.add_option("--seconds", options.seconds, "how long; SIGTERM ends it too");
  app.add_option("--pause-ms", options.pause_ms, "of a client between two questions, on average");
  app.add_option("--deadline-ms", options.deadline_ms, "of a question");
  app.add_flag("--hasty", options.hasty, "nobody waits for a store that is known to be away");
  CLI11_PARSE(app, argc, argv);

  std::signal(SIGTERM, [](int) { is_over = true; });
  std::signal(SIGPIPE, SIG_IGN);
  ConfigSources sources;
  sources.file = options.config;
  sources.environment = process_environment();
  const auto loaded = load_config(sources);
  if (!loaded) {
    fmt::print(stderr, "callers: {}\n", loaded.error().message);
    return 1;
  }
  auto engine = open_engine(loaded->config);
  if (!engine) {
    fmt::print(stderr, "callers: {}\n", engine.error().message);
    return 1;
  }
  History history(options.history);
  const Zipf zipf(options.keys, options.zipf);
  std::vector<std::thread> callers;
  for (int n = 0; n < options.callers; ++n)
    callers.emplace_back([&, n] {
      call(options,
           zipf,
           options.seed * 1'000 + static_cast<std::uint64_t>(n),
           (*engine)->resolver(),
           history);
    });
  const Mono end =
      system_clock().now() + milliseconds{static_cast<std::int64_t>(options.seconds * 1'000)};
  while (!is_over && system_clock().now() < end) std::this_thread::sleep_for(milliseconds{10});
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  (*engine)->resolver().drain(Deadline::in(milliseconds{30'000}, system_clock()));
}
