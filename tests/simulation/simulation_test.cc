#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/schedule.h"
#include "simulation/shrink.h"
#include "support/temp_dir.h"

// The promises hold in many schedules, and whoever breaks them is found out.

namespace geonce::sim {
namespace {

/// GEONCE_SCHEDULES: as many as that.
std::uint64_t schedules(std::uint64_t otherwise) {
  const char* text = std::getenv("GEONCE_SCHEDULES");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string told(const Report& report) {
  return fmt::format("seed {}: {}\n{}",
                     report.seed,
                     report.violation ? report.violation->rule : "no rule is broken",
                     fmt::join(report.story, "\n"));
}

/// The first schedule that breaks a promise, if there is one among so many.
std::optional<Report> first_broken(std::uint64_t count, const Play& how, Sums* sums = nullptr) {
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    Report report = play(seed, how);
    if (sums != nullptr) sums->add(report.sums);
    if (report.violation) return report;
  }
  return std::nullopt;
}

TEST(Simulation, every_promise_is_kept_in_every_schedule) {
  const std::uint64_t count = schedules(1'500);
  Sums sums;
  const auto broken = first_broken(count, {}, &sums);
  ASSERT_FALSE(broken) << told(shrink(*broken, {}));
  // … and the schedules reach what they are for.
  EXPECT_GT(sums.calls, count);
  EXPECT_GT(sums.kills, count / 5);
  EXPECT_GT(sums.pauses, count / 5);
  for (const auto& [name, member] : sum_rows()) EXPECT_GT(sums.*member, 0U) << name;
}

TEST(Simulation, the_embedded_store_keeps_them_as_the_model_does) {
  const TempDir folder;
  int number = 0;
  Play how;
  how.open_store = [&](Clock& clock) {
    SqliteOptions options;
    options.path = folder.file(std::to_string(++number));
    options.clock = &clock;
    auto store = open_sqlite_store(options);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  };
  const auto broken = first_broken(schedules(1'500) / 50, how);
  EXPECT_FALSE(broken) << broken->seed << broken->violation->text;
}

TEST(Simulation, a_seed_is_always_the_same_schedule) {
  for (const std::uint64_t seed : {7, 8, 9}) {
    const Report one = play(seed, {.tells_story = true});
    EXPECT_GT(one.story.size(), 10U);
    EXPECT_EQ(play(seed, {.tells_story = true}).story, one.story);
    EXPECT_EQ(play(seed, {.only = &one.taken, .tells_story = true}).story, one.story)
        << "what was harmless stays so when it is taken back";
  }
}

TEST(Simulation, without_trouble_and_callers_nothing_happens_but_the_end) {
  const std::vector<Choice> none;
  const Report quiet = play(1, {.only = &none});
  EXPECT_FALSE(quiet.violation);
  EXPECT_TRUE(quiet.taken.empty());
  EXPECT_EQ(quiet.sums.unknown + quiet.sums.kills, 0U);
}

TEST(Choices, are_written_as_they_are_read) {
  const std::vector<Choice> choices = play(3, {}).taken;
  ASSERT_FALSE(choices.empty());
  const auto read = parse_choices(to_string(choices));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, choices);
  for (const char* bad : {"ask", "ask.1", "ask.x.1", "nothing.1.2", "ask.1.2,,"})
    EXPECT_FALSE(parse_choices(bad)) << bad;
}

class Planted : public testing::TestWithParam<Defect> {};

std::string name_of(const testing::TestParamInfo<Defect>& info) {
  std::string name(info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

TEST_P(Planted, a_bug_is_found_and_shown_in_a_short_schedule) {
  const Play how{.defect = GetParam()};
  const auto broken = first_broken(100'000, how);
  ASSERT_TRUE(broken) << "nobody noticed";
  const Report small = shrink(*broken, GetParam());
  std::printf("%s: seed %llu breaks %s, %zu of %zu choices are enough\n",
              std::string(GetParam().name).c_str(),
              static_cast<unsigned long long>(broken->seed),
              small.violation->rule.c_str(),
              small.taken.size(),
              broken->taken.size());
  EXPECT_EQ(small.violation->rule, broken->violation->rule);
  EXPECT_LE(small.taken.size(), broken->taken.size());
  EXPECT_FALSE(small.story.empty());
  // What is printed leads to the same.
  const auto read = parse_choices(to_string(small.taken));
  ASSERT_TRUE(read);
  const Report again =
      play(small.seed, {.defect = GetParam(), .only = &*read, .tells_story = true});
  EXPECT_EQ(again.story, small.story);
  // … and without the bug the same schedule is clean.
  EXPECT_FALSE(play(small.seed, {.only = &*read}).violation);
}

INSTANTIATE_TEST_SUITE_P(bugs,
                         Planted,
                         testing::ValuesIn(defects().begin(), defects().end()),
                         name_of);

}  // namespace
}  // namespace geonce::sim
