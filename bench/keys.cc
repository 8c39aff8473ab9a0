// How many addresses get a key in a second on one core?
//
// 2026-11-30, AMD EPYC, one of 2 cores shared with other builds, g++ 12.2 -O2, CPU time:
//
//   us                 1.55 M/s   one line with commas, mean 34 bytes; one of twelve is read twice
//   us_without_commas  1.25 M/s
//   us_fields          1.61 M/s
//   beyond_ascii       0.50 M/s   other countries, four scripts
//   only_the_hash      9.8 M/s    90 bytes
//   worst_case         20 to 25 MB/s at 256 to 2,048 bytes: time per byte does not grow
#include <array>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/normalize.h"

namespace geonce {
namespace {

constexpr std::array<std::string_view, 12> kUs{
    "48 Bramble Court, Dayton, OH 45402",
    "902 Pinecone St, Salem, OR 97301",
    "123 North Main Street, Suite 200, Reno, NV 89501",
    "1600 PENNSYLVANIA AVE NW, WASHINGTON, DC 20500",
    "350 Fifth Avenue, New York, NY 10118",
    "640 Quail Rd NE, Mesa, AZ 85201",
    "9 Maple Row, Apt 4B, Erie, PA 16501",
    "1300 US Highway 30, Ely, NV 89301",
    "PO Box 311, Minot, ND 58701",
    "77 Rosebud Ln, St. Cloud, MN 56301",
    "5 Otter Creek Pkwy, Ames, IA 50010",
    "3 Park Ave S, Elko, NV 89801-1234",
};
constexpr std::array<std::string_view, 3> kUsWithoutCommas{
    "48 Bramble Court Dayton OH 45402",
    "123 North Main Street Suite 200 Reno NV 89501",
    "1300 US Highway 30 Ely NV 89301",
};
constexpr std::array<std::string_view, 4> kBeyondAscii{
    "Lindenstraße 8, 01067 Dresden",
    "9 av. de l’Étoile, 69003 Lyon",
    "東京都大田区蒲田５丁目１３番１４号",
    "улица Садовая, 3, Томск",
};

template <std::size_t count>
void keys(benchmark::State& state,
          const std::array<std::string_view, count>& texts,
          Country country) {
  Normalizer normalizer;
  QueryView query;
  query.country = country;
  std::size_t i = 0;
  for (auto _ : state) {
    query.text = texts[i];
    auto keyed = normalizer.key(query);
    benchmark::DoNotOptimize(keyed);
    i = i + 1 == count ? 0 : i + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

void us(benchmark::State& state) { keys(state, kUs, Country('U', 'S')); }
void us_without_commas(benchmark::State& state) {
  keys(state, kUsWithoutCommas, Country('U', 'S'));
}
void beyond_ascii(benchmark::State& state) { keys(state, kBeyondAscii, Country('D', 'E')); }

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

void only_the_hash(benchmark::State& state) {
  const std::string bytes(90, 'x');
  for (auto _ : state) {
    auto key = sha256(bytes);
    benchmark::DoNotOptimize(key);
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
BENCHMARK(us_without_commas);
BENCHMARK(us_fields);
BENCHMARK(beyond_ascii);
BENCHMARK(only_the_hash);
BENCHMARK(worst_case)->Arg(256)->Arg(1024)->Arg(2048);

}  // namespace
}  // namespace geonce

BENCHMARK_MAIN();
