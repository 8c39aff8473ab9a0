#include <atomic>

#include "contract/coherence/machines.h"

// Answers whose lives end in a moment are carried to memory and Redis by processes whose clocks are
// a day ahead or behind. The clock of the Postgres server, which is this machine's, is the true
// one.

namespace geonce::coherence {
namespace {

constexpr std::size_t kAtOnce = 20;

/// Files one answer for each question, with lives of a few milliseconds. Returns when they end.
struct Ends {
  UtcMs fresh_until = 0, erase_after = 0;
};
std::vector<Ends> file(Store& store, const std::vector<Ask>& questions, std::mt19937_64& random) {
  static const auto kChain = std::make_shared<const std::vector<std::string>>(1, "alpha");
  std::vector<TakeRequest> takes;
  for (const Ask& question : questions) {
    TakeRequest take;
    take.slot = question.slot;
    take.intent = make_uuid(system_clock());
    take.chain = kChain;
    take.query_json = to_json(question.query);
    takes.push_back(take);
  }
  const auto taken = store.take(takes, Deadline::never());
  EXPECT_TRUE(taken) << taken.error().message;
  std::vector<CommitRequest> commits;
  for (std::size_t i = 0; i < takes.size(); ++i) {
    CommitRequest commit;
    commit.slot = takes[i].slot;
    commit.fence = (*taken)[i].fence;
    commit.gen = (*taken)[i].gen;
    commit.call = CallRecord{};
    commit.call->intent = takes[i].intent;
    commit.call->provider = "alpha";
    Answer answer;
    answer.kind = AnswerKind::match;
    answer.at = LatLng{1, 2};
    answer.provider = "alpha";
    commit.answer = std::make_shared<const Answer>(answer);
    const milliseconds fresh{20 + random() % 150};
    const milliseconds more{random() % 60};
    commit.life = {fresh, fresh + more, fresh + more};
    commit.query_json = takes[i].query_json;
    commits.push_back(std::move(commit));
  }
  EXPECT_TRUE(store.commit(commits, Deadline::never()));
  std::vector<Ends> ends;
  for (const Ask& question : questions) {
    const auto entry = store.entry(question.slot, Deadline::never());
    EXPECT_TRUE(entry);
    ends.push_back(*entry ? Ends{(*entry)->fresh_until, (*entry)->erase_after} : Ends{});
  }
  return ends;
}

TEST(Expiry, nothing_is_fresh_after_its_end_and_nothing_at_all_after_it_has_to_be_erased) {
  const int wanted = campaign(160);
  RedisServer redis;
  const World world(true);
  std::vector<std::unique_ptr<Machine>> machines;
  for (const milliseconds ahead : {milliseconds{0}, milliseconds{24h}, milliseconds{-24h}}) {
    MachineOptions options;
    options.seed = machines.size() + 1;
    options.ahead = ahead;
    options.redis = "redis://127.0.0.1:" + std::to_string(redis.port());
    machines.push_back(std::make_unique<Machine>(world, options));
  }
  const auto command = world.open();
  std::mt19937_64 random(11);
  std::atomic<std::int64_t> asked{0}, fresh{0}, stale{0}, too_late{0}, after_erasure{0};
  std::array<std::atomic<std::int64_t>, 3> from{};  // memory, Redis, store
  std::atomic<std::int64_t> latest_ms{INT64_MIN};
  for (int filed = 0; filed < wanted; filed += static_cast<int>(kAtOnce)) {
    std::vector<Ask> questions;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      questions.push_back(question(static_cast<std::size_t>(filed) + i));
      questions.back().options.cache_only = true;
    }
    const auto ends = file(*command, questions, random);
    UtcMs last = 0;
    for (const Ends& end : ends) last = std::max(last, end.erase_after);
    std::vector<std::jthread> askers;
    for (std::size_t thread = 0; thread < 6; ++thread)
      askers.emplace_back([&, thread, seed = random()] {
        std::mt19937_64 dice(seed);
        while (system_clock().now_utc() < last + 50) {
          const std::size_t n = dice() % kAtOnce;
          const UtcMs began = system_clock().now_utc();
          const Resolved resolved = machines[thread % 3]->ask(questions[n]);
          ++asked;
          if (!resolved.answer) continue;
          if (began > ends[n].erase_after) ++after_erasure;
          if (resolved.source == AnswerSource::stale) {
            ++stale;
            continue;
          }
          ++fresh;
          if (resolved.source == AnswerSource::l1) ++from[0];
          if (resolved.source == AnswerSource::redis) ++from[1];
          if (resolved.source == AnswerSource::db) ++from[2];
          const std::int64_t late = began - ends[n].fresh_until;
          if (late > 1'000) ++too_late;
          for (std::int64_t seen = latest_ms;
               late > seen && !latest_ms.compare_exchange_weak(seen, late);) {
          }
        }
      });
  }
  EXPECT_EQ(too_late, 0);
  EXPECT_EQ(after_erasure, 0);
  EXPECT_GT(from[0], 0) << "from memory";
  EXPECT_GT(from[1], 0) << "from Redis";
  EXPECT_GT(from[2], 0) << "from the store";
  fmt::print(
      "{} answers with clocks a day ahead and behind: {} asked, {} fresh ({} memory, {} Redis, {} "
      "store), {} stale; "
      "fresh after its end by {} ms at the most, {} by more than a second; {} after erasure\n",
      wanted,
      asked.load(),
      fresh.load(),
      from[0].load(),
      from[1].load(),
      from[2].load(),
      stale.load(),
      latest_ms.load(),
      too_late.load(),
      after_erasure.load());
}

}  // namespace
}  // namespace geonce::coherence
