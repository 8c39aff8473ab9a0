// How many calls a second does the resolver keep going against a slow provider, and how many asks a
// second does it answer when all is known?
//
//   bench_resolver [known] [paid] [folder]     default 1000000 known, 12800 paid, a new folder in
//   TMPDIR
//
// The provider answers after 50 ms and takes 64 calls at once: 1,280 calls/s is all there can be.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "ledger/spool.h"
#include "resolver/live.h"
#include "store/store.h"
#include "tiers/memory_tier.h"

namespace {

using namespace geonce;
using namespace std::chrono_literals;

constexpr std::size_t kGroup = 4096;

/// Answers everything 50 ms later, on one thread as the HTTP client does.
class SlowProvider : public Provider {
 public:
  SlowProvider() {
    traits_.name = "slow";
    traits_.terms.keep = Terms::Keep::unlimited;
    traits_.concurrency = 64;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~SlowProvider() override {
    thread_.request_stop();
    wake_.notify_one();
  }
  const ProviderTraits& traits() const override { return traits_; }
  Result<void> call(std::span<const ProviderAsk>,
                    bool,
                    Deadline,
                    std::function<bool()> sending,
                    std::function<void(Transfer)> done) override {
    if (!sending()) {
      Transfer transfer;
      transfer.end = TransferEnd::not_sent;
      done(transfer);
      return {};
    }
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({system_clock().now() + 50ms, std::move(done)});
    }
    wake_.notify_one();
    return {};
  }
  std::vector<Outcome> decode(const Transfer&,
                              std::span<const ProviderAsk> asks,
                              bool) const override {
    Outcome outcome;
    outcome.kind = OutcomeKind::match;
    outcome.answer.at = LatLng{41.88, -87.63};
    outcome.answer.precision = Precision::rooftop;
    outcome.answer.formatted = "1 W Example Boulevard, Chicago, IL 60612, USA";
    outcome.billed = Billed::yes;
    return std::vector<Outcome>(asks.size(), outcome);
  }

 private:
  struct Waiting {
    Mono due;
    std::function<void(Transfer)> done;
  };
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (waiting_.empty()) {
        wake_.wait_for(lock, 100ms);
        continue;
      }
      if (waiting_.front().due > system_clock().now()) {
        wake_.wait_until(lock, waiting_.front().due);
        continue;
      }
      const Waiting first = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      Transfer transfer;
      transfer.end = TransferEnd::complete;
      transfer.response.status = 200;
      transfer.response.body.assign(500, 'x');
      first.done(std::move(transfer));
      lock.lock();
    }
  }
  ProviderTraits traits_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  std::jthread thread_;
};

Ask ask_for(std::uint64_t n) {
  Ask ask;
  std::uint64_t state = n * 0x9E3779B97F4A7C15U + 1;
  for (std::size_t at = 0; at < ask.slot.key.bytes.size(); at += sizeof state) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed ^= mixed >> 31U;
    std::memcpy(ask.slot.key.bytes.data() + at, &mixed, sizeof mixed);
  }
  ask.query.text = fmt::format("{} W Example Boulevard, Chicago, IL 60612", n);
  ask.query.country = Country('U', 'S');
  return ask;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Asks for `count` addresses from `first` on, at most `groups` groups of 4,096 under way.
double ask_all(Resolver& resolver, std::uint64_t first, std::uint64_t count, std::size_t groups) {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t under_way = 0, errors = 0;
  const auto begin = system_clock().now();
  for (std::uint64_t at = first; at < first + count; at += kGroup) {
    std::vector<Ask> asks;
    asks.reserve(kGroup);
    for (std::uint64_t n = at; n < std::min(at + kGroup, first + count); ++n)
      asks.push_back(ask_for(n));
    auto left = std::make_shared<std::atomic<std::size_t>>(asks.size());
    {
      std::unique_lock lock(mutex);
      ended.wait(lock, [&] { return under_way < groups; });
      ++under_way;
    }
    resolver.start(
        std::move(asks), Deadline::never(), [&, left](std::size_t, const Resolved& resolved) {
          if (!resolved.answer) {
            const std::lock_guard lock(mutex);
            if (++errors == 1) fmt::print(stderr, "{}\n", resolved.error->message);
          }
          if (--*left > 0) return;
          const std::lock_guard lock(mutex);
          --under_way;
          ended.notify_one();
        });
  }
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return under_way == 0; });
  if (errors > 0) fmt::print(stderr, "{} asks failed\n", errors);
  return std::chrono::duration<double>(system_clock().now() - begin).count();
}

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}

void fill(Store& store, std::uint64_t count) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{41.88, -87.63};
  answer.precision = Precision::rooftop;
  answer.provider = "slow";
  answer.formatted = "1 W Example Boulevard, Chicago, IL 60612, USA";
  const auto shared = std::make_shared<const Answer>(answer);
  std::vector<CommitRequest> commits;
  for (std::uint64_t n = 0; n < count; ++n) {
    CommitRequest commit;
    commit.slot = ask_for(n).slot;
    commit.gen = 1;
    commit.answer = shared;
    commit.life = {24h * 180, 24h * 360, 24h * 720};
    commits.push_back(std::move(commit));
    if (commits.size() < 20'000 && n + 1 < count) continue;
    must(store.commit(commits, Deadline::never()));
    commits.clear();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t known = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::uint64_t paid = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 12'800;
  std::filesystem::path folder = argc > 3 ? std::filesystem::path(argv[3])
                                          : std::filesystem::temp_directory_path() /
                                                fmt::format("bench-resolver-{}", ::getpid());
  std::filesystem::create_directories(folder);
  {
    SqliteOptions options;
    options.path = (folder / "store.db").string();
    auto store = must(open_sqlite_store(options));
    fill(*store, known);
    auto memory = open_memory_tier(8U << 20U, system_clock());
    const OwnerId owner = make_uuid(system_clock());
    auto spool = must(open_spool(folder / "spool", owner, SpoolSync::batch));
    auto resolver = open_resolver({.store = *store,
                                   .memory = *memory,
                                   .spool = *spool,
                                   .clock = system_clock(),
                                   .owner = owner,
                                   .chain = {std::make_shared<SlowProvider>()},
                                   .places = false,
                                   .life = {},
                                   .accept = {},
                                   .options = {}});
    const double making = [&] {
      const auto begin = system_clock().now();
      for (std::uint64_t n = 0; n < known; ++n) (void)ask_for(n);
      return std::chrono::duration<double>(system_clock().now() - begin).count();
    }();
    double cpu = cpu_seconds();
    const double from_store = ask_all(*resolver, 0, known, 8);
    fmt::print(
        "known, from the store: {:.0f} asks/s, {:.2f} µs CPU each ({:.2f} of them to make the "
        "ask)\n",
        static_cast<double>(known) / from_store,
        (cpu_seconds() - cpu) * 1e6 / static_cast<double>(known),
        making * 1e6 / static_cast<double>(known));
    ask_all(*resolver, 0, kGroup, 1);
    double from_memory = 0;
    for (int i = 0; i < 50; ++i) from_memory += ask_all(*resolver, 0, kGroup, 1);
    fmt::print("known, from memory: {:.0f} asks/s\n", 50.0 * kGroup / from_memory);
    cpu = cpu_seconds();
    const double buying = ask_all(*resolver, known, paid, 4);
    fmt::print("paid: {:.0f} calls/s, {:.1f} % of 1,280, {:.0f} µs CPU each\n",
               static_cast<double>(paid) / buying,
               static_cast<double>(paid) / buying / 12.8,
               (cpu_seconds() - cpu) * 1e6 / static_cast<double>(paid));
    const auto stats = resolver->stats();
    fmt::print("l1 {} db {} paid {} errors {} calls {} unknown {}\n",
               stats.l1,
               stats.db,
               stats.paid,
               stats.errors,
               stats.calls,
               stats.unknown);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
