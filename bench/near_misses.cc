// How long does it take to find the near misses among a million addresses, and in how much memory?
//
//   bench_near_misses [addresses]      else 1000000
//
// 2026-11-30, one of 2 cores shared with other builds, g++ 12.2 -O2:
//
//   streets of 4,000 towns, 125,000 pairs    added 0.3 s, found 2.4 s of CPU, peak 128 MiB
//
// `geonce report near-misses` over a store of 1,000,000 entries (bench_fill_known, in memory): 3.7
// s, peak 172 MiB. The worst that can be, a million words in one place: 21 s.
#include "core/near_misses.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

namespace {

using namespace geonce;

constexpr const char* kNames[] = {"maple",
                                  "oak",
                                  "cedar",
                                  "pine",
                                  "elm",
                                  "lake",
                                  "hill",
                                  "walnut",
                                  "spring",
                                  "ridge",
                                  "church",
                                  "willow",
                                  "sunset",
                                  "cherry",
                                  "highland",
                                  "dogwood",
                                  "juniper",
                                  "larkspur"};
constexpr const char* kTypes[] = {"st", "ave", "rd", "ln", "dr", "ct", "chs", "chase"};

/// Streets of 4,000 towns; `chs` and `chase` are the pair to be found, once in 8 addresses.
Canonical address(std::uint64_t i) {
  Canonical made;
  made.mode = Mode::parsed;
  made.country = Country('U', 'S');
  const std::uint64_t street = i / 8;
  const std::uint64_t town = street % 4'000;
  made.admin = "nv";
  made.postcode = std::to_string(10'000 + town);
  // Towns whose names are letters and unlike each other.
  made.locality = "port ";
  for (std::uint64_t rest = town + 400; rest > 0; rest /= 20)
    made.locality += std::string(2, static_cast<char>('a' + rest % 20));
  made.road = fmt::format("n {} {}", kNames[street / 4'000 % std::size(kNames)], kTypes[i % 8]);
  made.house = std::to_string(100 + street / 4'000 / std::size(kNames));
  return made;
}

long peak_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const auto cpu_s = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  NearMisses misses;
  const double start = cpu_s();
  for (std::uint64_t i = 0; i < count; ++i) misses.add(address(i));
  const double added = cpu_s();
  const NearMissReport found = misses.find();
  fmt::print("added {:.1f} s, found {:.1f} s of CPU, peak memory {} MiB: {} pairs in {} groups\n",
             added - start,
             cpu_s() - added,
             peak_mib(),
             found.pairs,
             found.groups.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(5, found.groups.size()); ++i)
    fmt::print("  {} {} {}\n", found.groups[i].a, found.groups[i].b, found.groups[i].pairs);
  return 0;
}
