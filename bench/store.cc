// How many durable answers a second does a store take from callers who each wait for their own, and
// how fast does it find what a batch asks?
//
//   bench_store [rows] [seconds] [folder]      else 1000000, 5 s each, a new folder in TMPDIR
//   bench_store rows seconds postgres://…      an empty database
//
// The disk decides: a folder on tmpfs measures the CPU alone.
//
// 2026-11-30, virtual machine with 2 cores and an ext4 disk, `bench_store 1000000 1.5` at real-time
// priority beside other work (without it the machine was 8 to 10 times overcommitted):
//
//   found in the order stored, 4 or 16 MiB of cache    286,000 /s   3.0 us CPU each
//   found by chance over all rows, 16 MiB              185,000 /s   5.2 us: two page reads each
//   64 callers: commit                                  21,700 /s
//   64 callers: take and commit                         10,800 /s
//   16 callers: commit                                  14,800 /s
//   16 callers: take and commit                          7,700 /s
//   1 caller: commit                                     3,100 /s
//   1 caller: take and commit                            2,300 /s
//   filled, 4,096 a transaction (disturbed)             23,000 /s  11.7 us CPU each
//   398 bytes a row, peak memory 50 MiB
//
// 2026-11-30, Postgres 15 on the same machine and disk over TCP loopback, fsync on, `bench_store
// 200000 2 postgres://…` while other work kept the load at 13, so these are floors. The server's
// CPU, read off its process: 55-80 us a take, 105-117 us a commit in lists of 64, 3 us a key found.
//
//   found in the order stored / by chance               89,000 / 65,000 /s   0.8 us CPU each here
//   256 callers: commit; take and commit                 8,400 /s; 3,900 /s
//   64 callers: commit; take and commit                  5,000 /s; 2,100 /s
//   1 caller: commit; take and commit                      144 /s;   100 /s: the disk's sync
//   957 bytes a row with what was asked, all indexes, and the claims' free space
//
// The building key, since then: 34 bytes a row, and with a fifth of the rows in its index 43; on
// tmpfs 64 callers' commits went from 20.3-24.4 to 22.4-24.2 us of CPU. An index over all rows took
// them to 30.5-33.7 us.
#include "store/store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace geonce;
using Clock_ = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kChunk = 4096;

/// The n-th of a run's addresses, spread as digests are.
Slot slot_of(std::uint64_t n) {
  Slot slot;
  std::uint64_t state = n * 0x9E3779B97F4A7C15U + 1;
  for (std::size_t at = 0; at < slot.key.bytes.size(); at += sizeof state) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    mixed ^= mixed >> 31U;
    std::memcpy(slot.key.bytes.data() + at, &mixed, sizeof mixed);
  }
  return slot;
}

std::shared_ptr<const Answer> example(std::uint64_t number) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{41.88, -87.63};
  answer.precision = Precision::rooftop;
  answer.confidence = 0.9;
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

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

CommitRequest answer_for(std::uint64_t n) {
  CommitRequest request;
  request.slot = slot_of(n);
  request.gen = 1;
  request.answer = example(n);
  request.life = {
      std::chrono::hours{24 * 180}, std::chrono::hours{24 * 360}, std::chrono::hours{24 * 720}};
  request.query_json =
      R"({"text":"1234 West Example Boulevard, Chicago, IL 60612","country":"US"})";
  request.pre_image =
      "n1\0p\0us\0il\0"
      "60612\0chicago\0w example blvd\0"
      "1234\0\0\0";
  request.building_key = n % 5 == 0 ? slot_of(~n).key : request.slot.key;  // a fifth has a unit
  return request;
}

bool is_postgres(const std::string& path) { return path.starts_with("postgres://"); }

std::unique_ptr<Store> open(const std::string& path, std::size_t cache_bytes) {
  if (is_postgres(path)) {
    PostgresOptions options;
    options.uri = path;
    return must(open_postgres_store(options));
  }
  SqliteOptions options;
  options.path = path;
  options.cache_bytes = cache_bytes;
  return must(open_sqlite_store(options));
}

Seconds cpu() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

void report(const char* what, double count, Clock_::time_point start, Seconds cpu_start) {
  const Seconds span = Clock_::now() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-52s %9.0f /s  %5.2f us CPU each  peak %ld MiB\n",
              what,
              count / span.count(),
              (cpu() - cpu_start).count() * 1e6 / count,
              usage.ru_maxrss / 1024);
  std::fflush(stdout);
}

void fill(Store& store, std::uint64_t rows) {
  const auto start = Clock_::now();
  const auto cpu_start = cpu();
  for (std::uint64_t first = 0; first < rows; first += kChunk) {
    std::vector<CommitRequest> requests;
    for (std::uint64_t n = first; n < std::min(rows, first + kChunk); ++n)
      requests.push_back(answer_for(n));
    (void)must(store.commit(requests, Deadline::never()));
  }
  report("filled, 4,096 a transaction", static_cast<double>(rows), start, cpu_start);
}

/// Chunks of 4,096 keys, by chance over all rows or in the order they were stored in.
void read(Store& store, std::uint64_t rows, bool in_order, Seconds span) {
  std::mt19937_64 chance(7);
  std::vector<Slot> slots(kChunk);
  std::uint64_t next = 0;
  double count = 0;
  const auto start = Clock_::now();
  const auto cpu_start = cpu();
  while (Clock_::now() - start < span) {
    for (Slot& slot : slots) slot = slot_of(in_order ? next++ % rows : chance() % rows);
    for (const auto& found : must(store.find(slots, Deadline::never())))
      if (!found) std::abort();
    count += kChunk;
  }
  report(
      in_order ? "found, chunks of 4,096 in the order stored" : "found, chunks of 4,096 by chance",
      count,
      start,
      cpu_start);
}

/// `threads` callers, each waiting for its own answer to be durable before it goes on to the next.
void write(Store& store, std::uint64_t first, unsigned threads, bool with_take, Seconds span) {
  std::atomic<std::uint64_t> next{first};
  const auto chain = std::make_shared<const std::vector<std::string>>(1, "example");
  const auto start = Clock_::now();
  const auto cpu_start = cpu();
  {
    std::vector<std::jthread> running;
    for (unsigned t = 0; t < threads; ++t)
      running.emplace_back([&] {
        while (Clock_::now() - start < span) {
          auto request = answer_for(next++);
          if (with_take) {
            TakeRequest ask;
            ask.slot = request.slot;
            ask.intent = make_uuid(system_clock());
            ask.chain = chain;
            ask.query_json = request.query_json;
            ask.pre_image = request.pre_image;
            const auto taken = must(store.take({&ask, 1}, Deadline::never())).front();
            if (taken.verdict != Taken::Verdict::send) std::abort();
            request.fence = taken.fence;
            request.gen = taken.gen;
            request.call =
                CallRecord{ask.intent, "example", 200, "", "", Billed::yes, 1, Money{5'000}};
          }
          if (!must(store.commit({&request, 1}, Deadline::never())).front().stored) std::abort();
        }
      });
  }
  const auto label = std::to_string(threads) + (with_take ? " callers: take and commit, durable"
                                                          : " callers: commit, durable");
  report(label.c_str(), static_cast<double>(next - first), start, cpu_start);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const Seconds span{argc > 2 ? std::atof(argv[2]) : 5};
  const std::string place = argc > 3 ? argv[3] : std::filesystem::temp_directory_path().string();
  const auto folder = std::filesystem::path(place) / ("geonce-bench-" + std::to_string(::getpid()));
  const auto path = is_postgres(place) ? place : (folder / "geonce.db").string();
  if (!is_postgres(place)) std::filesystem::create_directories(folder);
  {
    auto store = open(path, 16U << 20U);
    fill(*store, rows);
    const auto bytes = static_cast<double>(must(store->stats(Deadline::never())).bytes);
    std::printf("%.0f bytes a row\n", bytes / static_cast<double>(rows));
  }
  for (const std::size_t mib : {4U, 16U}) {
    if (is_postgres(path) && mib == 4U) continue;
    auto store = open(path, mib << 20U);
    if (!is_postgres(path)) std::printf("cache %zu MiB a connection\n", mib);
    read(*store, rows, false, span);
    read(*store, rows, true, span);
  }
  auto store = open(path, 16U << 20U);
  std::uint64_t first = rows;
  for (const unsigned threads : {1U, 16U, 64U, 256U})
    for (const bool with_take : {false, true}) {
      write(*store, first, threads, with_take, span);
      first += 100'000'000;
    }
  store.reset();
  if (!is_postgres(place)) std::filesystem::remove_all(folder);
}
