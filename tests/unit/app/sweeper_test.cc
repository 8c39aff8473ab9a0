// How a round of erasing goes about it, and that a process does rounds by itself.
#include "app/sweeper.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/faulty_store.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// Has so many portions to erase, each of which takes 100 ms, and may be behind.
class Heap : public FaultyStore {
 public:
  Heap(Store& store, FakeClock& clock) : FaultyStore(store), clock_(clock) {}
  Result<SweepReport> sweep(std::size_t limit, Deadline) override {
    ++calls;
    if (failures > 0) {
      --failures;
      return fail(ErrorCode::store_busy, "somebody else has it");
    }
    SweepReport report;
    if (portions == 0) return report;
    --portions;
    clock_.advance(100ms);
    report.entries = static_cast<std::int64_t>(limit);
    report.is_behind = is_behind;
    return report;
  }
  std::atomic<int> calls{0}, failures{0}, portions{0};
  bool is_behind = false;

 private:
  FakeClock& clock_;
};

class Sweeping : public testing::Test {
 protected:
  Sweeping() {
    SqliteOptions options;
    options.path = dir_.file("store.db");
    options.clock = &clock_;
    file_ = open_sqlite_store(options).value();
    heap_ = std::make_unique<Heap>(*file_, clock_);
  }
  Result<Swept> round(const SweepPace& pace) {
    return sweep_once(*heap_, owner_, clock_, pace, stop_.get_token(), [this](milliseconds span) {
      rests_.push_back(span);
      clock_.advance(span);
    });
  }

  TempDir dir_;
  FakeClock clock_;
  std::unique_ptr<Store> file_;
  std::unique_ptr<Heap> heap_;
  OwnerId owner_ = make_uuid(system_clock());
  std::stop_source stop_;
  std::vector<milliseconds> rests_;
};

TEST_F(Sweeping, a_quarter_of_the_time_is_work) {
  heap_->portions = 4;
  const auto swept = round({});
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->sum.entries, 4'000);
  EXPECT_THAT(rests_, ElementsAre(300ms, 300ms, 300ms, 300ms));
}

TEST_F(Sweeping, a_store_that_is_behind_is_left_time_but_terms_do_not_wait_for_ever) {
  heap_->portions = 200;
  heap_->is_behind = true;
  ASSERT_TRUE(round({}));
  ASSERT_THAT(rests_, SizeIs(200));
  EXPECT_EQ(std::ranges::count(rests_, 5'000ms), 120) << "ten minutes";
  EXPECT_EQ(rests_.back(), 300ms);
}

TEST_F(Sweeping, a_round_that_is_told_to_stop_gives_the_lease_back) {
  heap_->portions = 1'000;
  const auto stop_at_once = [this](milliseconds /*rest*/) { stop_.request_stop(); };
  ASSERT_TRUE(sweep_once(*heap_, owner_, clock_, {}, stop_.get_token(), stop_at_once));
  EXPECT_EQ(heap_->calls, 1);
  EXPECT_EQ(*file_->lease("sweep", make_uuid(clock_), 1s, Deadline::never()), 0s);
}

TEST_F(Sweeping, a_process_does_rounds_by_itself_and_two_share_them) {
  std::atomic<int> complaints{0};
  const auto complain = [&](const std::string& line) {
    EXPECT_THAT(line, HasSubstr("somebody else has it"));
    ++complaints;
  };
  heap_->failures = 1;
  {
    const Sweeper one(*heap_, {5min}, complain);
    while (heap_->calls < 1) std::this_thread::yield();
    while (complaints < 1) std::this_thread::yield();
  }
  // The round is over for five minutes, whoever asks.
  const auto left = file_->lease("sweep.round", owner_, 1s, Deadline::never());
  EXPECT_EQ(*left, 5min);
  { const Sweeper other(*heap_, {5min}, complain); }
  EXPECT_EQ(heap_->calls, 1);
  clock_.advance(5min);
  const Sweeper next(*heap_, {5min}, complain);
  while (heap_->calls < 2) std::this_thread::yield();
  EXPECT_EQ(complaints, 1);
}

TEST_F(Sweeping, where_it_is_switched_off_nothing_is_erased_by_itself) {
  { const Sweeper none(*heap_, {0min}, {}); }
  EXPECT_EQ(*file_->lease("sweep.round", owner_, 1s, Deadline::never()), 0s);
}

}  // namespace
}  // namespace geonce
