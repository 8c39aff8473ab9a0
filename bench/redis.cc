// How many keys a second come out of Redis, and how long another client of the same server waits
// meanwhile?
//
//   redis-server --port 7777 --save '' --appendonly no
//   bench_redis redis://127.0.0.1:7777 [KEYS [PER CALL]]
//   bench_redis redis+cluster://127.0.0.1:7001 …
//
// Fills KEYS (200,000) entries, then reads them all, PER CALL (4,096) at a time, for some seconds.
//
// 2026-11-30, virtual machine with 2 cores, redis-server 7.0.15 on it, values of 269 bytes, server
// and bench at real-time priority beside other work (load 12), two runs:
//
//   one server: filled                                  129,000 to 176,000 entries/s
//               read                                    749,000 to 929,000 keys/s
//               another client's GET meanwhile          p50 0.02, p99 0.7, longest 1.8 to 2.7 ms
//   three masters on the same two cores: read           635,000 to 744,000 keys/s
//               another client's GET meanwhile          p50 0.02, p99 0.4, p99.9 1.9 ms; longest
//               54,
//                                                       five real-time processes on two cores
//   bare MGETs of 500 with one TIME                     958,000 to 1,012,000 keys/s
//   … with a PTTL for each key                          650,000 to 698,000 keys/s
//
// At ordinary priority beside that load: 276,000 to 608,000 keys/s, the longest wait 10 to 21 ms,
// as long as an idle server's (8 to 13 ms).
//
// Compression, of 3,000 answers as the US Census gives them, mean of 118 bytes behind the head,
// each alone: zlib -1 to 109 bytes in 45 us, lz4 to 108 in 0.2 us, zstd -1 to 119 (none). With a
// trained dictionary of 16 KiB zstd comes to 63 in 0.6 us: 55 of the 280 bytes that Redis takes for
// such a key, and a dictionary that every reader must have. Not done.
#include "io/redis.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "tiers/redis_tier.h"
#include "tiers/redis_value.h"

namespace {

using namespace geonce;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPatience{5'000};
constexpr seconds kSpan{5};

double seconds_since(Mono start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Slot> make_slots(std::size_t count) {
  std::mt19937_64 chance(1);
  std::vector<Slot> slots(count);
  for (Slot& slot : slots)
    for (auto& byte : slot.key.bytes) byte = static_cast<std::uint8_t>(chance());
  return slots;
}

std::shared_ptr<const Answer> answer_of(std::size_t n) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{41.0 + static_cast<double>(n % 1'000) / 999.0, -87.5};
  answer.precision = Precision::rooftop;
  answer.confidence = 0.97;
  answer.provider = "google";
  answer.house_number = std::to_string(n % 9'999);
  answer.street = "North Martin Luther King Junior Drive";
  answer.city = "Springfield Township";
  answer.state = "Illinois";
  answer.postcode = std::to_string(10'000 + n % 89'999);
  answer.country = Country('U', 'S');
  answer.formatted = fmt::format("{} {}, {}, {} {}, USA",
                                 answer.house_number,
                                 answer.street,
                                 answer.city,
                                 answer.state,
                                 answer.postcode);
  answer.place_id = fmt::format("ChIJ{:020}", n * 7'919);
  return std::make_shared<const Answer>(std::move(answer));
}

/// Another client, that GETs one key after the other.
class Bystander {
 public:
  Bystander(const RedisEndpoint& endpoint, const RedisLogin& login, std::string key)
      : thread_([this, endpoint, login, key = std::move(key)](const std::stop_token& stop) {
          auto connection = RedisConnection::open(endpoint, login, kPatience, system_clock());
          if (!connection) return;
          std::string get;
          append_redis_command(get, {"GET", key});
          while (!stop.stop_requested()) {
            const Mono start = std::chrono::steady_clock::now();
            if (!(*connection)->ask(get, 1, kPatience)) return;
            waits_.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                    .count());
          }
        }) {}
  std::string result() {
    thread_.request_stop();
    thread_.join();
    if (waits_.empty()) return "no other client";
    std::sort(waits_.begin(), waits_.end());
    const auto at = [&](double share) {
      return waits_[static_cast<std::size_t>(share * static_cast<double>(waits_.size() - 1))];
    };
    return fmt::format(
        "another client's GET: p50 {:.2f}, p99 {:.2f}, p99.9 {:.2f}, longest {:.2f} ms",
        at(0.5),
        at(0.99),
        at(0.999),
        waits_.back());
  }

 private:
  std::vector<double> waits_;
  std::jthread thread_;
};

void fill(Tier& tier, std::span<const Slot> slots) {
  const Clock& clock = system_clock();
  const Mono start = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < slots.size(); at += 1'000) {
    std::vector<Remembered> entries;
    for (std::size_t i = at; i < std::min(at + 1'000, slots.size()); ++i)
      entries.push_back({slots[i],
                         {answer_of(i),
                          1,
                          clock.now() + std::chrono::hours{24},
                          clock.now_utc(),
                          clock.now_utc() + 86'400'000}});
    if (const auto stored = tier.store(entries, Deadline::never()); !stored)
      std::printf("%s\n", stored.error().message.c_str());
  }
  fmt::print("filled: {:.0f} entries/s, {} bytes each\n",
             static_cast<double>(slots.size()) / seconds_since(start),
             encode(1, 1, 1, 1, *answer_of(1)).size());
}

void read(Tier& tier, std::span<const Slot> slots, std::size_t per_call) {
  const Mono start = std::chrono::steady_clock::now();
  std::size_t keys = 0, hits = 0;
  for (std::size_t at = 0; seconds_since(start) < kSpan.count(); at += per_call) {
    if (at + per_call > slots.size()) at = 0;
    const auto found = tier.find(slots.subspan(at, per_call), Deadline::never());
    keys += per_call;
    if (found)
      hits += static_cast<std::size_t>(
          std::count_if(found->begin(), found->end(), [](const auto& one) { return one; }));
  }
  fmt::print("read: {:.0f} keys/s, {} of {} there, {} a call\n",
             static_cast<double>(keys) / seconds_since(start),
             hits,
             keys,
             per_call);
}

/// The same read on the bare connection, with TIME once or with PTTL for each key.
void compare(const RedisEndpoint& endpoint, const RedisLogin& login, std::span<const Slot> slots) {
  auto connection = RedisConnection::open(endpoint, login, kPatience, system_clock());
  if (!connection) return;
  for (const bool by_key : {false, true}) {
    const Mono start = std::chrono::steady_clock::now();
    std::size_t keys = 0;
    for (std::size_t at = 0; seconds_since(start) < 2; at = (at + 500) % (slots.size() - 500)) {
      std::string bytes;
      if (!by_key) append_redis_command(bytes, {"TIME"});
      append_redis_command_head(bytes, 501);
      append_redis_word(bytes, "MGET");
      for (std::size_t i = at; i < at + 500; ++i)
        append_redis_word(bytes, redis_key("geonce:", slots[i]));
      for (std::size_t i = at; by_key && i < at + 500; ++i)
        append_redis_command(bytes, {"PTTL", redis_key("geonce:", slots[i])});
      if (!(*connection)->ask(bytes, by_key ? 501 : 2, kPatience)) return;
      keys += 500;
    }
    fmt::print("bare MGETs of 500 with {}: {:.0f} keys/s\n",
               by_key ? "a PTTL for each key" : "one TIME",
               static_cast<double>(keys) / seconds_since(start));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200'000;
  const std::size_t per_call = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 4'096;
  auto target = parse_redis_url(argv[1]);
  if (!target || count < per_call || count < 1'001) return 2;
  RedisOptions options;
  options.target = *target;
  options.patience = kPatience;
  options.notice = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  auto redis = open_redis(std::move(options), system_clock());
  if (!redis) return 1;
  const auto tier = open_redis_tier(std::move(*redis), {}, system_clock());
  const auto slots = make_slots(count);
  const RedisLogin login{.user = target->user, .password = target->password, .database = 0};
  fill(*tier, slots);
  const RedisEndpoint& first = target->endpoints.front();
  {
    Bystander bystander(first, login, "a key that is not there");
    std::this_thread::sleep_for(seconds{2});
    fmt::print("idle: {}\n", bystander.result());
  }
  read(*tier, slots, per_call);
  {
    Bystander bystander(first, login, "a key that is not there");
    read(*tier, slots, per_call);
    fmt::print("      {}\n", bystander.result());
  }
  if (target->kind == RedisTarget::Kind::standalone) compare(first, login, slots);
  return 0;
}
