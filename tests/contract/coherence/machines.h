#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/guarded.h"
#include "io/redis_listener.h"
#include "resolver/listener.h"
#include "resolver/live.h"
#include "support/fake_provider.h"
#include "support/faulty_store.h"
#include "support/memory_spool.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"
#include "tiers/redis_tier.h"

namespace geonce::coherence {

using namespace std::chrono_literals;

/// GEONCE_CAMPAIGN: how many, instead of the slice that every run does.
inline int campaign(int slice) {
  const char* text = std::getenv("GEONCE_CAMPAIGN");
  return text == nullptr ? slice : std::atoi(text);
}

/// The system's clock for a machine whose wall clock is wrong.
class SkewedClock final : public Clock {
 public:
  explicit SkewedClock(milliseconds ahead) : ahead_(ahead) {}
  [[nodiscard]] UtcMs now_utc() const override { return system_clock().now_utc() + ahead_.count(); }
  [[nodiscard]] Mono now() const override { return system_clock().now(); }

 private:
  const milliseconds ahead_;
};

/// A random delay, now and then: somebody else had the processor.
class Stalls {
 public:
  explicit Stalls(std::uint64_t seed) : random_(seed) {}
  void maybe(milliseconds most) {
    const auto span = random_.with([&](auto& random) {
      const bool does = std::uniform_int_distribution<int>(0, 3)(random) == 0;
      return milliseconds{
          does ? std::uniform_int_distribution<int>(0, static_cast<int>(most.count()))(random) : 0};
    });
    if (span > 0ms) std::this_thread::sleep_for(span);
  }

 private:
  Guarded<std::mt19937_64> random_;
};

/// What it has read arrives late.
class SlowStore final : public FaultyStore {
 public:
  SlowStore(Store& store, Stalls& stalls) : FaultyStore(store), stalls_(stalls) {}
  Result<std::vector<std::optional<Found>>> find(std::span<const Slot> slots, Deadline d) override {
    auto found = FaultyStore::find(slots, d);
    stalls_.maybe(20ms);
    return found;
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> r, Deadline d) override {
    auto committed = FaultyStore::commit(r, d);
    stalls_.maybe(5ms);
    return committed;
  }

 private:
  Stalls& stalls_;
};

/// What is carried to it or from it arrives late.
class SlowTier final : public Tier {
 public:
  SlowTier(Tier& tier, Stalls& stalls) : tier_(tier), stalls_(stalls) {}
  Result<std::vector<std::optional<Cached>>> find(std::span<const Slot> slots,
                                                  Deadline d) override {
    auto found = tier_.find(slots, d);
    stalls_.maybe(10ms);
    return found;
  }
  Result<void> store(std::span<const Remembered> entries, Deadline d) override {
    stalls_.maybe(20ms);
    return tier_.store(entries, d);
  }
  Result<void> forget(std::span<const Ended> windows, Deadline d) override {
    return tier_.forget(windows, d);
  }

 private:
  Tier& tier_;
  Stalls& stalls_;
};

/// One store on a disk or a server that several processes share.
class World {
 public:
  explicit World(bool is_postgres) : is_postgres_(is_postgres) {
    if (is_postgres_) database_ = PostgresServer::the().make_database();
  }
  ~World() {
    if (is_postgres_) PostgresServer::the().drop_database(database_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  [[nodiscard]] std::unique_ptr<Store> open() const {
    PostgresOptions postgres;
    if (is_postgres_) postgres.uri = PostgresServer::the().uri(database_);
    SqliteOptions sqlite;
    sqlite.path = dir_.file("store.db");
    auto store = is_postgres_ ? open_postgres_store(postgres) : open_sqlite_store(sqlite);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }

 private:
  const bool is_postgres_;
  std::string database_;
  TempDir dir_;
};

struct MachineOptions {
  std::string redis;  // its address; empty: none
  milliseconds ahead{0};
  milliseconds look_every{10};
  std::uint64_t seed = 1;
  LifeConfig life = {};
};

/// All that a process has of its own.
class Machine {
 public:
  Machine(const World& world, const MachineOptions& options)
      : clock_(options.ahead),
        stalls_(options.seed),
        provider_(std::make_shared<FakeProvider>("alpha")),
        durable_(world.open()),
        store_(*durable_, stalls_),
        heard_({}, clock_),
        memory_(open_memory_tier(8U << 20U, clock_, &heard_)) {
    if (!options.redis.empty()) {
      RedisOptions redis;
      redis.target = *parse_redis_url(options.redis);
      redis.patience = 10s;
      auto opened = open_redis(std::move(redis), clock_);
      EXPECT_TRUE(opened);
      RedisTierOptions tier;
      tier.heard = &heard_;
      redis_ = open_redis_tier(std::move(*opened), tier, clock_);
      shared_ = std::make_unique<SlowTier>(*redis_, stalls_);
    }
    provider_->before_sending = [this] { stalls_.maybe(10ms); };
    ResolverParts parts{.store = store_,
                        .memory = *memory_,
                        .spool = spool_,
                        .clock = clock_,
                        .owner = make_uuid(system_clock()),
                        .chain = {provider_},
                        .life = options.life,
                        .accept = {},
                        .options = {},
                        .shared = shared_.get(),
                        .heard = &heard_};
    resolver_ = open_resolver(std::move(parts));
    listener_ = std::make_unique<Listener>(ListenerParts{
        store_, heard_, *memory_, *resolver_, shared_.get(), clock_, options.look_every});
    if (!options.redis.empty()) {
      RedisOptions redis;
      redis.target = *parse_redis_url(options.redis);
      ear_ = *open_redis_listener(
          std::move(redis),
          redis_channel("geonce:"),
          [this] {
            ++calls_;
            listener_->hint();
          },
          clock_);
    }
  }

  Resolved ask(const Ask& question) {
    return resolver_->resolve({question}, Deadline::in(60s, clock_)).front();
  }
  [[nodiscard]] bool has_heard(Mono until) const { return heard_.heard_until() > until; }
  [[nodiscard]] int calls() const { return calls_; }
  Store& store() { return *durable_; }
  Tier* shared() { return redis_.get(); }

 private:
  const SkewedClock clock_;
  Stalls stalls_;
  std::shared_ptr<FakeProvider> provider_;
  std::unique_ptr<Store> durable_;
  SlowStore store_;
  Heard heard_;
  std::unique_ptr<MemoryTier> memory_;
  std::unique_ptr<Tier> redis_;
  std::unique_ptr<SlowTier> shared_;
  MemorySpool spool_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Listener> listener_;
  std::atomic<int> calls_{0};
  std::unique_ptr<RedisListener> ear_;
};

inline Ask question(std::size_t n) {
  Query query;
  query.text = std::to_string(n + 1) + " Sample St, Springfield, IL 62701";
  query.country = Country('U', 'S');
  Normalizer normalizer;
  const auto keyed = normalizer.key(query.view());
  EXPECT_TRUE(keyed);
  Ask ask;
  ask.slot.key = keyed->key;
  ask.query = std::move(query);
  return ask;
}

/// The kind of store, and whether there is a Redis.
struct Kind {
  const char* name;
  bool is_postgres, has_redis;
};
inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

}  // namespace geonce::coherence
