// How many addresses get a key in a second on one core? Beside it, of the same lines: their SHA-256
// alone, a copy in small letters, and the key of a published Python recipe (bench/recipe_key.py).
//
// 2026-11-30, AMD EPYC, one of 2 cores shared with other builds (load 4.6), g++ 12.2 -O2, CPU time,
// medians of 5:
//
//                    us, mean 42 bytes   world, mean 46 bytes, most with letters beyond ASCII
//   key              2.06 M/s            0.91 M/s
//   SHA-256 alone    21.3 M/s            20.1 M/s
//   small letters    51.4 M/s            49.6 M/s
//   recipe, CPython  0.46 M/s            0.42 M/s
//
//   us_fields        2.05 M/s
//   worst_case       96 to 112 MB/s at 256 to 2,048 bytes: time per byte does not grow
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/normalize.h"

namespace geonce {
namespace {

struct Line {
  Country country;
  std::string text;
};

/// `US`: lines of text. Else the country stands before a tab.
std::vector<Line> read_lines(const std::string& name, bool with_country) {
  std::ifstream file(GEONCE_SOURCE_DIR "/bench/addresses/" + name);
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    if (with_country)
      lines.push_back({Country(text[0], text[1]), text.substr(3)});
    else
      lines.push_back({Country('U', 'S'), text});
  }
  GEONCE_EXPECTS(!lines.empty());
  return lines;
}
const std::vector<Line>& us_lines() {
  static const std::vector<Line> kLines = read_lines("us.txt", false);
  return kLines;
}
const std::vector<Line>& world_lines() {
  static const std::vector<Line> kLines = read_lines("world.tsv", true);
  return kLines;
}

template <class Work>
void each_line(benchmark::State& state, const std::vector<Line>& lines, Work work) {
  std::size_t i = 0;
  for (auto _ : state) {
    work(lines[i]);
    i = i + 1 == lines.size() ? 0 : i + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

void keys(benchmark::State& state, const std::vector<Line>& lines) {
  Normalizer normalizer;
  QueryView query;
  each_line(state, lines, [&](const Line& line) {
    query.text = line.text;
    query.country = line.country;
    auto keyed = normalizer.key(query);
    benchmark::DoNotOptimize(keyed);
  });
}
void hashes(benchmark::State& state, const std::vector<Line>& lines) {
  each_line(state, lines, [](const Line& line) {
    auto key = sha256(line.text);
    benchmark::DoNotOptimize(key);
  });
}
void small_letters(benchmark::State& state, const std::vector<Line>& lines) {
  std::string copy;
  each_line(state, lines, [&copy](const Line& line) {
    copy.resize(line.text.size());
    std::ranges::transform(line.text, copy.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    benchmark::DoNotOptimize(copy.data());
    benchmark::ClobberMemory();
  });
}

void us(benchmark::State& state) { keys(state, us_lines()); }
void us_hash_alone(benchmark::State& state) { hashes(state, us_lines()); }
void us_small_letters(benchmark::State& state) { small_letters(state, us_lines()); }
void world(benchmark::State& state) { keys(state, world_lines()); }
void world_hash_alone(benchmark::State& state) { hashes(state, world_lines()); }
void world_small_letters(benchmark::State& state) { small_letters(state, world_lines()); }

void us_fields(benchmark::State& state) {
  Normalizer normalizer;
  QueryView query;
  query.house_number = "123";
  query.road = "North Main Street";
  query.unit = "Suite 200";
  query.city = "Reno";
  query.state = "NV";
  query.postcode = "89501";
  query.country = Country('U', 'S');
  for (auto _ : state) {
    auto keyed = normalizer.key(query);
    benchmark::DoNotOptimize(keyed);
  }
  state.SetItemsProcessed(state.iterations());
}

/// The longest text, of words that could be anything: time per byte must not grow with the length.
void worst_case(benchmark::State& state) {
  std::string text;
  while (text.size() + 12 < static_cast<std::size_t>(state.range(0))) text += "st ave n 5 ";
  Normalizer normalizer;
  QueryView query;
  query.text = text;
  query.country = Country('U', 'S');
  for (auto _ : state) {
    auto keyed = normalizer.key(query);
    benchmark::DoNotOptimize(keyed);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK(us);
BENCHMARK(us_hash_alone);
BENCHMARK(us_small_letters);
BENCHMARK(us_fields);
BENCHMARK(world);
BENCHMARK(world_hash_alone);
BENCHMARK(world_small_letters);
BENCHMARK(worst_case)->Arg(256)->Arg(1024)->Arg(2048);

}  // namespace
}  // namespace geonce

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::cout.flush();
  // A program of its own, so that the interpreter is what its users have.
  return std::system("python3 " GEONCE_SOURCE_DIR "/bench/recipe_key.py") == 0 ? 0 : 1;
}
