#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/guarded.h"
#include "support/redis_server.h"
#include "tiers/memory_tier.h"
#include "tiers/redis_tier.h"

namespace geonce {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// As evenly spread as digests are (splitmix64).
inline Slot slot_of(std::uint64_t number, Pool pool = kDefaultPool) {
  Slot slot;
  slot.pool = pool;
  for (std::size_t i = 0; i < slot.key.bytes.size(); i += 8) {
    std::uint64_t word = (number * 4 + i / 8 + 1) * 0x9E3779B97F4A7C15U;
    word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
    word ^= word >> 31U;
    std::memcpy(slot.key.bytes.data() + i, &word, sizeof word);
  }
  return slot;
}

inline std::shared_ptr<const Answer> answer_of(const std::string& name) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{41.5, -87.25};
  answer.precision = Precision::rooftop;
  answer.confidence = 0.9;
  answer.provider = "example";
  answer.formatted = "12 Example Street, Exampletown, EX 12345, with a tail of usual length";
  answer.place_id = name;
  return std::make_shared<const Answer>(std::move(answer));
}

inline Cached cached_of(const std::string& name,
                        std::int64_t gen = 1,
                        milliseconds life = minutes{10}) {
  const Clock& clock = system_clock();
  return {
      answer_of(name), gen, clock.now() + life, clock.now_utc(), clock.now_utc() + life.count()};
}

/// Long enough for the slowest of machines; tests of the patience set their own.
inline constexpr milliseconds kPatience{10'000};
inline Deadline soon() { return Deadline::in(seconds{30}, system_clock()); }

/// A Redis tier and what it said of its servers.
struct OpenedTier {
  std::shared_ptr<Guarded<std::vector<std::string>>> notices;
  std::unique_ptr<Tier> tier;
  Tier* operator->() const { return tier.get(); }
  [[nodiscard]] std::size_t noticed(std::string_view word) const {
    return notices->with([&](const auto& lines) {
      return static_cast<std::size_t>(
          std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.find(word) != std::string::npos;
          }));
    });
  }
  [[nodiscard]] std::string all() const {
    return notices->with([](const auto& lines) {
      std::string text;
      for (const auto& line : lines) text += line + "\n";
      return text;
    });
  }
};

inline OpenedTier open_tier(RedisTarget target,
                            milliseconds patience = kPatience,
                            RedisTierOptions options = {},
                            RedisTlsFiles tls = {}) {
  OpenedTier opened;
  opened.notices = std::make_shared<Guarded<std::vector<std::string>>>();
  RedisOptions redis_options;
  redis_options.target = std::move(target);
  redis_options.tls = std::move(tls);
  redis_options.patience = patience;
  redis_options.notice = [notices = opened.notices](const std::string& line) {
    notices->with([&](auto& lines) { lines.push_back(line); });
  };
  auto redis = open_redis(std::move(redis_options), system_clock());
  EXPECT_TRUE(redis) << redis.error().message;
  opened.tier = open_redis_tier(std::move(*redis), std::move(options), system_clock());
  return opened;
}

inline OpenedTier open_tier(const std::string& url,
                            milliseconds patience = kPatience,
                            RedisTierOptions options = {},
                            RedisTlsFiles tls = {}) {
  auto target = parse_redis_url(url);
  EXPECT_TRUE(target) << target.error().message;
  return open_tier(std::move(*target), patience, std::move(options), std::move(tls));
}

inline std::string id(const std::optional<Cached>& found) {
  return found ? found->answer->place_id : "-";
}

/// `-` for a miss, `!` for an error.
inline std::string look_up(Tier& tier, const Slot& slot) {
  const auto found = tier.find(std::span(&slot, 1), soon());
  return found ? id(found->front()) : "!";
}
inline Result<void> keep(Tier& tier,
                         const Slot& slot,
                         const Cached& cached,
                         Deadline deadline = soon()) {
  const Remembered entry{slot, cached};
  return tier.store(std::span(&entry, 1), deadline);
}
inline Result<void> end(Tier& tier, const Slot& slot, std::int64_t gen) {
  const Ended ended{slot, gen};
  return tier.forget(std::span(&ended, 1), soon());
}

}  // namespace geonce
