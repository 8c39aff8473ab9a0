#include "tiers/redis_tier.h"

#include <algorithm>
#include <utility>

#include "tiers/redis_value.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

/// How long it is remembered that a window is over: longer than anybody may carry an entry of it
/// from the store to Redis.
constexpr milliseconds kGuard{60'000};
/// … which is this, whatever deadline the caller names.
constexpr milliseconds kLongestWay{10'000};
/// What of a value tells whether it is still the one that was read.
constexpr std::size_t kSampleBytes = 64;

// ARGV: the moment after which nothing must come in any more, 0 for none; the guard and the longest
// stay, in milliseconds; then for each key the value, its gen, and its end by this server's clock,
// 0 for the end of a window. Numbers stay below 2^53. What is there stays where it is newer, or
// ends no later. An error about one key is told when the others are done.
const RedisScript& keep_script() {
  static const RedisScript kScript(R"(local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local by, guard, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if by > 0 and now > by then return 0 end
local function is_older(head, gen, dead)
  if #head < 20 or string.sub(head, 1, 2) ~= 'gn' then return true end
  local old_gen, old_dead = struct.unpack('>I8I8', head, 5)
  if old_gen > 9007199254740992 then return true end
  return old_gen < gen or (old_gen == gen and old_dead > dead)
end
local why
for i, key in ipairs(KEYS) do
  local value, gen, dead = ARGV[3 * i + 1], tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3])
  local there = redis.pcall('GETRANGE', key, 0, 19)
  if type(there) == 'string' and is_older(there, gen, dead) then
    local stay = math.max(math.min(dead - now, longest), guard)
    there = redis.pcall('SET', key, value, 'PX', stay)
  end
  if type(there) == 'table' and there.err then why = why or there end
end
return why or 1
)");
  return kScript;
}

// Takes away values that nobody can read, where they are still there. ARGV: the guard; then for
// each key the value's size, its first bytes, and what keeps its window, or nothing.
const RedisScript& clear_script() {
  static const RedisScript kScript(R"(for i, key in ipairs(KEYS) do
  local size, sample, instead = tonumber(ARGV[3 * i - 1]), ARGV[3 * i], ARGV[3 * i + 1]
  if redis.call('STRLEN', key) == size and redis.call('GETRANGE', key, 0, 63) == sample then
    if instead == '' then
      redis.call('DEL', key)
    else
      redis.call('SET', key, instead, 'PX', tonumber(ARGV[1]))
    end
  end
end
return 1
)");
  return kScript;
}

class RedisTier final : public Tier {
 public:
  RedisTier(std::unique_ptr<Redis> redis, RedisTierOptions options, const Clock& clock)
      : clock_(clock), options_(std::move(options)), redis_(std::move(redis)) {}

  Result<std::vector<std::optional<Cached>>> find(std::span<const Slot> slots,
                                                  Deadline deadline) override {
    std::vector<std::optional<Cached>> found(slots.size());
    if (options_.heard != nullptr && !options_.heard->trusts_shared()) return found;
    std::vector<Unreadable> unreadable;
    const auto keys = keys_of(slots, [](const Slot& slot) { return slot; });
    const UtcMs now_utc = clock_.now_utc();
    std::size_t count = 0;
    const auto visit = [&](std::size_t index, std::string_view bytes, RedisMoment when) {
      ++count;
      auto value = decode_redis_value(bytes);
      if (!value) {
        unreadable.push_back(unreadable_of(keys[index], bytes));
        return;
      }
      if (value->answer && !is_over(slots[index], value->gen, when.asked))
        found[index] = cached_of(*value, when, now_utc);
    };
    const auto got = redis_->get(keys, deadline, visit);
    if (!unreadable.empty()) clear(unreadable, deadline);
    if (!got && count == 0) return fail(got.error());
    return found;
  }

  Result<void> store(std::span<const Remembered> entries, Deadline deadline) override {
    const Mono now = clock_.now();
    std::vector<const Remembered*> alive;
    for (const Remembered& entry : entries) {
      GEONCE_EXPECTS(entry.cached.answer != nullptr);
      if (entry.cached.fresh_until > now) alive.push_back(&entry);
    }
    const auto keys = keys_of(alive, [](const Remembered* entry) { return entry->slot; });
    const Mono by = std::min(deadline.at, now + kLongestWay);
    RedisWords words;
    words.common = [&](const RedisClock& clock, RedisWords::List& out) {
      out.push_back(std::to_string(clock.ms(by)));
      out.push_back(std::to_string(kGuard.count()));
      out.push_back(std::to_string(options_.max_stay.count()));
    };
    words.of_key = [&](std::size_t index, const RedisClock& clock, RedisWords::List& out) {
      const Cached& cached = alive[index]->cached;
      const auto dead_at = clock.ms(cached.fresh_until);
      out.push_back(
          encode(cached.gen, dead_at, cached.answered_at, cached.expires_at, *cached.answer));
      out.push_back(std::to_string(cached.gen));
      out.push_back(std::to_string(dead_at));
    };
    return redis_->run(keep_script(), keys, deadline, words);
  }

  Result<void> forget(std::span<const Ended> ended, Deadline deadline) override {
    const auto keys = keys_of(ended, [](const Ended& one) { return one.slot; });
    RedisWords words;
    words.common = [](const RedisClock&, RedisWords::List& out) {
      out.emplace_back("0");
      out.push_back(std::to_string(kGuard.count()));
      out.emplace_back("0");
    };
    words.of_key = [&](std::size_t index, const RedisClock&, RedisWords::List& out) {
      out.push_back(encode_ended(ended[index].gen));
      out.push_back(std::to_string(ended[index].gen));
      out.emplace_back("0");
    };
    auto told = redis_->run(keep_script(), keys, deadline, words);
    if (told && !ended.empty())
      ignore(redis_->call(redis_channel(options_.prefix), deadline),
             "a hint: who does not hear it hears of it at his next look");
    return told;
  }

 private:
  struct Unreadable {
    std::string key;
    std::size_t size = 0;
    std::string sample;
    std::string instead;
  };

  template <class List, class SlotOf>
  std::vector<std::string> keys_of(const List& list, const SlotOf& slot_of) const {
    std::vector<std::string> keys;
    keys.reserve(list.size());
    for (const auto& one : list) keys.push_back(redis_key(options_.prefix, slot_of(one)));
    return keys;
  }

  static std::optional<Cached> cached_of(RedisValue& value, RedisMoment when, UtcMs now_utc) {
    milliseconds left{value.dead_at_ms - when.server_ms};
    if (value.expires_at != 0) {
      // More than was ever given: the clock of the server has been set back since.
      if (left > milliseconds{value.expires_at - value.answered_at}) return std::nullopt;
      left = std::min(left, milliseconds{value.expires_at - now_utc});
    }
    if (left <= milliseconds{0}) return std::nullopt;
    return Cached{std::move(value.answer),
                  value.gen,
                  when.asked + left,
                  value.answered_at,
                  value.expires_at,
                  when.asked};
  }

  [[nodiscard]] bool is_over(const Slot& slot, std::int64_t gen, Mono asked) const {
    return options_.heard != nullptr && options_.heard->is_over(slot, gen, asked);
  }

  static Unreadable unreadable_of(const std::string& key, std::string_view bytes) {
    Unreadable one;
    one.key = key;
    one.size = bytes.size();
    one.sample = bytes.substr(0, kSampleBytes);
    // Its own window may be filled anew, those before it stay over.
    if (const auto gen = gen_of_redis_value(bytes); gen && *gen > 0)
      one.instead = encode_ended(*gen - 1);
    return one;
  }

  void clear(const std::vector<Unreadable>& unreadable, Deadline deadline) {
    std::vector<std::string> keys;
    keys.reserve(unreadable.size());
    for (const Unreadable& one : unreadable) keys.push_back(one.key);
    RedisWords words;
    words.common = [](const RedisClock&, RedisWords::List& out) {
      out.push_back(std::to_string(kGuard.count()));
    };
    words.of_key = [&](std::size_t index, const RedisClock&, RedisWords::List& out) {
      const Unreadable& one = unreadable[index];
      out.push_back(std::to_string(one.size));
      out.push_back(one.sample);
      out.push_back(one.instead);
    };
    ignore(redis_->run(clear_script(), keys, deadline, words),
           "it is a miss either way, and the next reader tries again");
  }

  const Clock& clock_;
  const RedisTierOptions options_;
  const std::unique_ptr<Redis> redis_;
};

}  // namespace

std::string redis_channel(std::string_view prefix) { return std::string(prefix) + "ended"; }

std::unique_ptr<Tier> open_redis_tier(std::unique_ptr<Redis> redis,
                                      RedisTierOptions options,
                                      const Clock& clock) {
  return std::make_unique<RedisTier>(std::move(redis), std::move(options), clock);
}

}  // namespace geonce
