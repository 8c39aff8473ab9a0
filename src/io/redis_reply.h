#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/result.h"

struct redisReply;
struct redisReader;

namespace geonce {

/// A look at a reply or at a part of one. Valid while the reply is held.
class RedisReply {
 public:
  explicit RedisReply(const redisReply* raw) : raw_(raw) {}
  [[nodiscard]] bool is_nil() const;
  [[nodiscard]] bool is_error() const;
  [[nodiscard]] bool is_text() const;  // a value, not a status
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  /// Of values, statuses and errors; empty for all else.
  [[nodiscard]] std::string_view text() const;
  /// Of lists; 0 for all else.
  [[nodiscard]] std::size_t size() const;
  /// Past the end of a list: nil.
  [[nodiscard]] RedisReply at(std::size_t index) const;

 private:
  const redisReply* raw_;  // null: nil
};

/// A whole reply.
class HeldRedisReply {
 public:
  explicit HeldRedisReply(redisReply* raw) : raw_(raw) {}
  [[nodiscard]] RedisReply look() const { return RedisReply(raw_.get()); }

 private:
  struct Free {
    void operator()(redisReply* raw) const;
  };
  std::unique_ptr<redisReply, Free> raw_;
};

/// Takes bytes as they come and gives replies (RESP2), by hiredis.
class RedisReplies {
 public:
  RedisReplies();
  void feed(std::string_view bytes);
  /// nullopt: not whole yet.
  /// errors    io_failed  this is not the protocol of Redis
  Result<std::optional<HeldRedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace geonce
