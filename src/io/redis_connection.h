#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "io/redis_reply.h"
#include "io/redis_tls.h"
#include "io/redis_url.h"

namespace geonce {

/// Appends a command in the form Redis reads.
void append_redis_command(std::string& out, std::initializer_list<std::string_view> words);
void append_redis_command_head(std::string& out, std::size_t words);
void append_redis_word(std::string& out, std::string_view word);

/// The clock of a server as a client knows it: never ahead of the true one, so that lives told by
/// it come out too short and never too long.
struct RedisClock {
  std::int64_t ahead_ms = 0;  // of the monotonic clock
  [[nodiscard]] std::int64_t ms(Mono at) const {
    return std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count() + ahead_ms;
  }
};

/// How a connection introduces itself.
struct RedisLogin {
  std::string user, password;  // empty: none
  int database = 0;
  bool must_be_master = false;  // asked by ROLE: a sentinel may speak of the past
  bool is_sentinel = false;     // which has no clock to be asked for
  RedisTls* tls = nullptr;
};

/// One connection whose socket never blocks. One thread at a time.
class RedisConnection {
 public:
  /// Connects, and ends the handshake. Looks up the name, which may take longer than `patience`.
  /// errors    io_failed  nobody answers, the password is refused, it is no master, …
  static Result<std::unique_ptr<RedisConnection>> open(const RedisEndpoint& endpoint,
                                                       const RedisLogin& login,
                                                       std::chrono::milliseconds patience,
                                                       const Clock& clock);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  void send(std::string_view bytes);
  /// Writes and reads what goes without waiting.
  Result<void> pump();
  Result<std::optional<HeldRedisReply>> next() { return replies_.next(); }

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] short wanted_events() const;

  /// The commands of `bytes`, and their replies when all are there.
  /// errors    io_failed
  Result<std::vector<HeldRedisReply>> ask(std::string_view bytes,
                                          std::size_t replies,
                                          std::chrono::milliseconds patience);

  /// Nothing has come since the last reply, not even the end.
  [[nodiscard]] bool is_quiet() const;

  /// By the last reply to TIME.
  [[nodiscard]] RedisClock server_clock() const { return server_clock_; }
  /// A reply to TIME that has just come. Returns the server's clock in milliseconds.
  std::int64_t note_time(RedisReply reply);

 private:
  explicit RedisConnection(const Clock& clock) : clock_(clock) {}
  Result<void> connect(const RedisEndpoint& endpoint, Mono until);
  Result<void> shake(Mono until);
  Result<void> introduce(const RedisLogin& login, std::chrono::milliseconds patience);
  Result<void> wait(Mono until);

  const Clock& clock_;
  bool came_ = false;  // the last pump has read something
  int socket_ = -1;
  std::unique_ptr<RedisTlsSession> tls_;  // null: plain
  std::string out_;                       // waits for the socket
  std::string plain_;                     // came through TLS
  RedisReplies replies_;
  RedisClock server_clock_;
};

}  // namespace geonce
