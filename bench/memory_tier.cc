// How fast does the memory tier answer, small and hot or with a million entries, and from several
// threads?
//
//   bench_memory_tier [entries] [seconds]
//
// 2026-11-30, 2 cores of an AMD EPYC (32 MB of L3 shared with strangers), Debian 12, g++ 12.2 -O2,
// other builds running on both cores; CPU time of the asking thread:
//   store       1000000 entries, 714 bytes each, 354 ns each
//   find_one    among    1000, 1 threads:   58 ns each, 17.1 M/s together
//   find_one    among    1000, 2 threads:   60 ns each, 33.3 M/s together
//   find_one    among 1000000, 1 threads:  620 to 750 ns each: three or four waits for memory
//
#include "tiers/memory_tier.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <time.h>

namespace {

using namespace geonce;
using Seconds = std::chrono::duration<double>;

std::shared_ptr<const Answer> example(std::uint64_t number) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{41.88, -87.63};
  answer.precision = Precision::rooftop;
  answer.provider = "example";
  answer.country = Country('U', 'S');
  answer.house_number = std::to_string(number % 9'999);
  answer.street = "W Example Boulevard";
  answer.city = "Chicago";
  answer.state = "IL";
  answer.postcode = "60612";
  answer.formatted = answer.house_number + " W Example Boulevard, Chicago, IL 60612, USA";
  answer.place_id = "ChIJ-example-" + std::to_string(number);
  return std::make_shared<const Answer>(std::move(answer));
}

/// Of this thread alone, so that other load on the machine counts only through the caches.
std::chrono::nanoseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// Asks for slots[0, among) by chance for a while. Returns the time of one ask on one thread.
Seconds time_of_one(MemoryTier& tier,
                    const std::vector<Slot>& slots,
                    std::size_t among,
                    unsigned threads,
                    Seconds span) {
  std::atomic<std::uint64_t> asks{0};
  std::atomic<std::int64_t> spent_ns{0};
  {
    std::vector<std::jthread> running;
    for (unsigned t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        std::minstd_rand chance(t + 1);
        std::uint64_t mine = 0;
        std::chrono::nanoseconds spent{0};
        const auto end = std::chrono::steady_clock::now() + span;
        while (std::chrono::steady_clock::now() < end) {
          // A caller has just computed its key: it is in the CPU's cache, which a table of keys is
          // not.
          std::array<Slot, 256> asked;
          for (Slot& slot : asked) slot = slots[chance() % among];
          const auto start = cpu_time();
          for (const Slot& slot : asked)
            if (!tier.find_one(slot)) std::abort();
          spent += cpu_time() - start;
          mine += asked.size();
        }
        asks += mine;
        spent_ns += spent.count();
      });
    }
  }
  return Seconds(static_cast<double>(spent_ns) * 1e-9 / static_cast<double>(asks));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t entries = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  const Seconds span{argc > 2 ? std::strtod(argv[2], nullptr) : 2.0};
  std::mt19937_64 chance(1);
  std::vector<Slot> slots(entries);
  for (Slot& slot : slots)
    for (std::size_t i = 0; i < 32; i += 8) {
      const std::uint64_t word = chance();
      std::memcpy(slot.key.bytes.data() + i, &word, sizeof word);
    }

  auto tier = open_memory_tier(entries * 2'048, system_clock());
  const Mono until = system_clock().now() + std::chrono::hours{1};
  std::vector<Cached> cached;
  for (std::size_t i = 0; i < entries; ++i) cached.push_back({example(i), 1, until, 0, 0});
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < entries; ++i) tier->store_one(slots[i], cached[i]);
  const Seconds stored = std::chrono::steady_clock::now() - start;
  cached.clear();
  const auto stats = tier->stats();
  std::printf("store       %9zu entries, %zu bytes each, %.0f ns each\n",
              stats.entries,
              stats.bytes / stats.entries,
              stored.count() * 1e9 / static_cast<double>(entries));

  for (const std::size_t among : {std::min<std::size_t>(1'000, entries), entries}) {
    for (const unsigned threads : {1U, 2U}) {
      const double one_ns = time_of_one(*tier, slots, among, threads, span).count() * 1e9;
      std::printf("find_one    among %7zu, %u threads: %4.0f ns each, %5.2f M/s together\n",
                  among,
                  threads,
                  one_ns,
                  threads * 1e3 / one_ns);
    }
  }
}
