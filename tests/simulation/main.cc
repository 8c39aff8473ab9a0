#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "simulation/schedule.h"
#include "simulation/shrink.h"

// Many schedules of the request machine; tests/simulation/README.md.

namespace geonce::sim {
namespace {

constexpr std::string_view kUsage =
    "usage: simulate [--schedules N] [--seed S] [--plant DEFECT]\n"
    "       simulate --replay SEED[:CHOICES] [--plant DEFECT]\n"
    "       simulate --defects\n";

struct Arguments {
  std::uint64_t schedules = 10'000, seed = 1;
  std::string replay;
  Defect defect;
};

[[noreturn]] void give_up(std::string_view why) {
  std::fprintf(stderr, "simulate: %s\n%s", std::string(why).c_str(), std::string(kUsage).c_str());
  std::exit(2);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    give_up(fmt::format("'{}' is no number", text));
  return value;
}

Arguments arguments(int count, char** words) {
  Arguments read;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--defects") {
      for (const Defect& defect : defects()) std::puts(std::string(defect.name).c_str());
      std::exit(0);
    }
    if (i + 1 == count) give_up(fmt::format("{} wants a value", word));
    const std::string_view value = words[++i];
    if (word == "--schedules")
      read.schedules = number(value);
    else if (word == "--seed")
      read.seed = number(value);
    else if (word == "--replay")
      read.replay = value;
    else if (word == "--plant" && defect_named(value))
      read.defect = *defect_named(value);
    else
      give_up(fmt::format("'{} {}' is not understood", word, value));
  }
  return read;
}

std::string command(const Report& report, const Defect& defect) {
  std::string text = fmt::format("simulate --replay {}", report.seed);
  if (!report.taken.empty()) text += ":" + to_string(report.taken);
  if (!defect.name.empty()) text += fmt::format(" --plant {}", defect.name);
  return text;
}

void show(const Report& report, const Defect& defect) {
  for (const std::string& line : report.story) std::puts(line.c_str());
  if (report.violation)
    std::printf("%s: %s\n", report.violation->rule.c_str(), report.violation->text.c_str());
  else
    std::puts("every promise was kept");
  std::printf("again: %s\n", command(report, defect).c_str());
}

int replay(const Arguments& args) {
  const std::string_view text = args.replay;
  const std::size_t colon = text.find(':');
  const std::uint64_t seed = number(text.substr(0, colon));
  std::vector<Choice> only;
  if (colon != std::string_view::npos) {
    auto choices = parse_choices(text.substr(colon + 1));
    if (!choices) give_up(choices.error().message);
    only = std::move(*choices);
  }
  const bool is_whole = colon == std::string_view::npos;
  const Report report =
      play(seed, {.defect = args.defect, .only = is_whole ? nullptr : &only, .tells_story = true});
  show(report, args.defect);
  return report.violation ? 1 : 0;
}

void print(const Sums& sums) {
  for (const auto& [name, member] : sum_rows())
    std::puts(fmt::format("{:>12} {}", sums.*member, name).c_str());
}

int run(const Arguments& args) {
  Sums sums;
  for (std::uint64_t seed = args.seed; seed < args.seed + args.schedules; ++seed) {
    const Report report = play(seed, {.defect = args.defect});
    sums.add(report.sums);
    if (!report.violation) continue;
    const Report small = shrink(report, args.defect);
    std::printf("schedule %llu breaks a promise; %zu of its %zu choices are enough:\n",
                static_cast<unsigned long long>(seed),
                small.taken.size(),
                report.taken.size());
    show(small, args.defect);
    return 1;
  }
  print(sums);
  return 0;
}

}  // namespace
}  // namespace geonce::sim

int main(int count, char** words) {
  const auto args = geonce::sim::arguments(count, words);
  return args.replay.empty() ? geonce::sim::run(args) : geonce::sim::replay(args);
}
