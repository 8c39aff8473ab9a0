#include "batch/run.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace geonce {
namespace {

/// Keeps every question until it is told to answer, whatever else happens meanwhile.
class SlowResolver final : public Resolver {
 public:
  void start(std::vector<Ask> asks,
             Deadline /*deadline*/,
             std::function<void(std::size_t, Resolved)> done) override {
    const std::lock_guard lock(mutex_);
    open_.emplace_back(asks.size(), std::move(done));
    changed_.notify_all();
  }
  std::optional<Resolved> remembered(const Slot& /*slot*/, const AskOptions& /*o*/) override {
    return {};
  }
  std::vector<Resolved> resolve(std::vector<Ask> /*asks*/, Deadline /*deadline*/) override {
    return {};
  }
  std::vector<Resolved> peek(std::span<const Ask> /*asks*/, Deadline /*deadline*/) override {
    return {};
  }
  [[nodiscard]] ResolverStats stats() const override { return {}; }
  void have_ended(std::span<const Ended> /*windows*/) override {}
  void may_have_ended() override {}
  void drain(Deadline /*deadline*/) override {  // which passes while calls are on their way
    const std::lock_guard lock(mutex_);
    has_drained_ = true;
    changed_.notify_all();
  }

  void wait_until_drained() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_drained_ && !open_.empty(); });
  }
  void answer_all() {
    std::unique_lock lock(mutex_);
    const auto open = std::exchange(open_, {});
    lock.unlock();
    for (const auto& [count, done] : open) {
      for (std::size_t i = 0; i < count; ++i) {
        Resolved resolved;
        resolved.error = Error{ErrorCode::interrupted, "too late", {}, {}, {}};
        done(i, std::move(resolved));
      }
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::size_t, std::function<void(std::size_t, Resolved)>>> open_;
  bool has_drained_ = false;
};

TEST(Run, that_ends_with_an_error_outlives_the_calls_on_their_way) {
  const TempDir folder;
  std::string rows = "note,address\n";
  while (rows.size() < (std::size_t{3} << 20U))  // few rows, and more than one chunk
    rows += std::string(10'000, 'x') + ",12 Oak St Reno NV 89501\n";
  rows += "2,\"a quote that never ends\n";
  auto store = open_sqlite_store({.path = folder.file("geonce.db")});
  ASSERT_TRUE(store) << store.error().message;
  BatchOptions options;
  options.input.path = folder.write("in.csv", rows);
  options.mapping.address = "address";
  options.output.path = folder.file("out.csv");
  options.temp_folder = folder.path();
  options.window = 1'000;  // to the end of the file, without an answer
  SlowResolver resolver;

  auto run = std::async(std::launch::async, [&] {
    return run_batch(**store, resolver, system_clock(), options, {}, [](const BatchCounts&) {});
  });
  resolver.wait_until_drained();
  using namespace std::chrono_literals;
  // Who was asked answers into the run's memory: it has to be there still.
  EXPECT_EQ(run.wait_for(300ms), std::future_status::timeout);
  while (run.wait_for(1ms) != std::future_status::ready) resolver.answer_all();
  const auto done = run.get();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::bad_csv) << done.error().message;
}

}  // namespace
}  // namespace geonce
