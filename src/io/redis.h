#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "io/redis_connection.h"
#include "io/redis_tls.h"
#include "io/redis_url.h"

namespace geonce {

struct RedisOptions {
  RedisTarget target;
  RedisTlsFiles tls;
  /// A Redis that gives no reply for so long has failed; nobody waits longer for one.
  std::chrono::milliseconds patience{50};
  /// One line for a person whenever a server stops working, or works again. From any thread.
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

/// When a server was read: `server_ms` of its own clock, not before `asked`.
struct RedisMoment {
  Mono asked;
  std::int64_t server_ms = 0;
};

/// One server as `geonce doctor` sees it.
struct RedisNodeState {
  std::string where;
  std::string why_not;          // it cannot be asked; empty: what follows is known
  std::string policy;           // of eviction: `allkeys-lfu`
  std::int64_t max_memory = 0;  // bytes; 0: no limit
  std::int64_t ahead_ms = 0;    // of this machine's clock
};

/// A script about any number of keys. What it does for one of them hangs on no other.
struct RedisScript {
  explicit RedisScript(std::string_view source);
  std::string text, sha1;
};

/// What a script is told (ARGV): first `common`, then for each key in turn as many words as for
/// every other.
struct RedisWords {
  using List = std::vector<std::string>;
  std::function<void(const RedisClock&, List&)> common;
  std::function<void(std::size_t index, const RedisClock&, List&)> of_key;
};

/// A Redis server, the master that sentinels name, or a cluster. Thread-safe. Commands about many
/// keys go in chunks of at most 500 keys or 256 KiB, two on their way per connection, all nodes of
/// a cluster at once; a script is given at most 50 keys or 32 KiB, and in a cluster one key, so
/// that other clients have their turn in between. What cannot be had from a node that is down is
/// left out.
class Redis {
 public:
  using Visit = std::function<void(std::size_t index, std::string_view value, RedisMoment)>;

  virtual ~Redis() = default;
  /// Visits each value that is there. The text is valid during the visit.
  /// errors    io_failed  the first reason why a key could not be read; the others were
  virtual Result<void> get(std::span<const std::string> keys, Deadline, const Visit& visit) = 0;
  /// Runs the script for all keys. It may run although an error is returned.
  /// errors    io_failed, as above
  virtual Result<void> run(const RedisScript& script,
                           std::span<const std::string> keys,
                           Deadline,
                           const RedisWords& words) = 0;
  /// Wakes those who listen to the channel (RedisListener), as far as they are listening.
  /// errors    io_failed
  virtual Result<void> call(std::string_view channel, Deadline) = 0;
  /// What a person wants to know: who is connected, since which version. Waits for a first
  /// connection.
  /// errors    io_failed
  virtual Result<std::string> describe(Deadline) = 0;
  /// Every server that keys are on.
  /// errors    io_failed  none is known
  virtual Result<std::vector<RedisNodeState>> examine(Deadline) = 0;
};

/// Returns at once; connects in the background.
/// errors    invalid_config  the TLS files
Result<std::unique_ptr<Redis>> open_redis(RedisOptions options, const Clock& clock);

}  // namespace geonce
