#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "io/redis_connection.h"

namespace geonce {

/// What all nodes of a client have in common. Outlives them.
struct RedisManner {
  RedisLogin login;
  std::chrono::milliseconds patience{50};  // with one that works, for one reply
  std::function<void(const std::string&)> notice;
  std::function<void()> call_keeper;  // something is to be done by `tend`
  const Clock* clock = nullptr;
};

/// One Redis process and the connections to it. Callers borrow connections that stand already; one
/// thread, the keeper, opens them. So a Redis that is down, or whose name nobody knows, costs
/// callers nothing: three failures in a row, or one attempt in vain to connect, and nobody asks it
/// until the keeper, who tries every two seconds, has had an answer. Each such change is noticed
/// once.
class RedisNode {
 public:
  RedisNode(RedisEndpoint endpoint, const RedisManner& manner)
      : endpoint_(std::move(endpoint)), manner_(manner) {}

  [[nodiscard]] const RedisEndpoint& endpoint() const { return endpoint_; }

  /// Waits for a connection at most until one has been wanted for as long as the patience.
  /// errors    io_failed
  Result<std::unique_ptr<RedisConnection>> borrow();
  void give_back(std::unique_ptr<RedisConnection> connection);
  /// A borrowed connection is of no more use. is_down: and a new one would not be either.
  void failed(const Error& why, bool is_down = false);

  /// By the keeper only: opens what is wanted. Returns when it wants to be called again.
  Mono tend();
  [[nodiscard]] bool is_down() const;

 private:
  enum class Health { starting, up, down };
  static constexpr int kTrips = 3;
  static constexpr std::size_t kMostConnections = 8;
  static constexpr std::chrono::milliseconds kRetryEvery{2'000};
  static constexpr std::chrono::milliseconds kConnectPatience{1'000};

  [[nodiscard]] Result<std::unique_ptr<RedisConnection>> open(bool must_prove_itself) const;
  void go_down(std::unique_lock<std::mutex>& lock, const Error& why);
  [[nodiscard]] Error down_error() const;

  const RedisEndpoint endpoint_;
  const RedisManner& manner_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Health health_ = Health::starting;
  std::vector<std::unique_ptr<RedisConnection>> idle_;
  std::size_t open_ = 0;  // idle ones and borrowed ones
  std::size_t waiting_ = 0;
  std::optional<Mono> wanted_since_;  // a connection, which nobody has brought yet
  int failures_ = 0;                  // in a row
  Mono retry_at_;
  std::string why_down_;
};

}  // namespace geonce
