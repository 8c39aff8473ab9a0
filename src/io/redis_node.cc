#include "io/redis_node.h"

namespace geonce {
namespace {

/// Waiting is measured by the real clock, whatever clock tells the lives.
Mono real_now() { return std::chrono::steady_clock::now(); }

}  // namespace

Error RedisNode::down_error() const {
  return {ErrorCode::io_failed,
          fmt::format("redis {}: {}", to_text(endpoint_), why_down_),
          "redis",
          {},
          {}};
}

Result<std::unique_ptr<RedisConnection>> RedisNode::borrow() {
  std::unique_lock lock(mutex_);
  while (health_ != Health::down) {
    while (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->is_quiet()) return connection;
      --open_;  // it has ended while nobody looked
    }
    if (!wanted_since_) wanted_since_ = real_now();
    const Mono until = *wanted_since_ + manner_.patience;
    ++waiting_;
    manner_.call_keeper();
    const bool is_late =
        real_now() >= until || changed_.wait_until(lock, until) == std::cv_status::timeout;
    --waiting_;
    if (is_late && idle_.empty() && health_ != Health::down)
      return fail(ErrorCode::io_failed, "redis {}: no connection yet", to_text(endpoint_));
  }
  return fail(down_error());
}

void RedisNode::give_back(std::unique_ptr<RedisConnection> connection) {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
  if (health_ != Health::up) {
    --open_;
    return;
  }
  idle_.push_back(std::move(connection));
  wanted_since_.reset();
  changed_.notify_one();
}

void RedisNode::failed(const Error& why, bool is_down) {
  std::unique_lock lock(mutex_);
  --open_;
  if (health_ == Health::down) return;
  if (++failures_ >= kTrips || is_down) return go_down(lock, why);
  lock.unlock();
  manner_.call_keeper();
}

void RedisNode::go_down(std::unique_lock<std::mutex>& lock, const Error& why) {
  health_ = Health::down;
  why_down_ = why.message;
  retry_at_ = real_now() + kRetryEvery;
  open_ -= idle_.size();
  idle_.clear();
  changed_.notify_all();
  lock.unlock();
  manner_.notice(fmt::format(
      "redis {}: {}; it is left alone until it works again", to_text(endpoint_), why.message));
  manner_.call_keeper();
  lock.lock();
}

bool RedisNode::is_down() const {
  const std::lock_guard lock(mutex_);
  return health_ == Health::down;
}

Result<std::unique_ptr<RedisConnection>> RedisNode::open(bool must_prove_itself) const {
  auto connection =
      RedisConnection::open(endpoint_, manner_.login, kConnectPatience, *manner_.clock);
  if (!connection || !must_prove_itself) return connection;
  std::string ping;
  append_redis_command(ping, {"PING"});
  const auto pong = (*connection)->ask(ping, 1, manner_.patience);
  if (!pong) return fail(pong.error());
  if (pong->front().look().is_error())
    return fail(ErrorCode::io_failed, "{}", pong->front().look().text());
  return connection;
}

Mono RedisNode::tend() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool was_down = health_ == Health::down;
    if (was_down && real_now() < retry_at_) return retry_at_;
    const bool is_wanted =
        was_down || open_ == 0 || (waiting_ > idle_.size() && open_ < kMostConnections);
    if (!is_wanted) return Mono::max();
    lock.unlock();
    auto connection = open(was_down);
    lock.lock();
    if (!connection) {
      if (health_ == Health::down)
        retry_at_ = real_now() + kRetryEvery;
      else
        go_down(lock, connection.error());
      return retry_at_;
    }
    health_ = Health::up;
    wanted_since_.reset();
    if (was_down) failures_ = 0;
    ++open_;
    idle_.push_back(std::move(*connection));
    changed_.notify_one();
    if (!was_down) continue;
    lock.unlock();
    manner_.notice(fmt::format("redis {} works again", to_text(endpoint_)));
    lock.lock();
  }
}

}  // namespace geonce
