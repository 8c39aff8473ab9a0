#include "io/redis_reply.h"

#include <hiredis/hiredis.h>

namespace geonce {

bool RedisReply::is_nil() const { return raw_ == nullptr || raw_->type == REDIS_REPLY_NIL; }
bool RedisReply::is_error() const { return raw_ != nullptr && raw_->type == REDIS_REPLY_ERROR; }
bool RedisReply::is_text() const { return raw_ != nullptr && raw_->type == REDIS_REPLY_STRING; }

std::optional<std::int64_t> RedisReply::integer() const {
  if (raw_ == nullptr || raw_->type != REDIS_REPLY_INTEGER) return std::nullopt;
  return raw_->integer;
}

std::string_view RedisReply::text() const {
  if (!is_text() && !is_error() && (raw_ == nullptr || raw_->type != REDIS_REPLY_STATUS)) return {};
  return {raw_->str, static_cast<std::size_t>(raw_->len)};
}

std::size_t RedisReply::size() const {
  return raw_ != nullptr && raw_->type == REDIS_REPLY_ARRAY ? raw_->elements : 0;
}

RedisReply RedisReply::at(std::size_t index) const {
  return RedisReply(index < size() ? raw_->element[index] : nullptr);
}

void HeldRedisReply::Free::operator()(redisReply* raw) const { freeReplyObject(raw); }
void RedisReplies::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisReplies::RedisReplies() : reader_(redisReaderCreate()) { GEONCE_EXPECTS(reader_ != nullptr); }

void RedisReplies::feed(std::string_view bytes) {
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
}

Result<std::optional<HeldRedisReply>> RedisReplies::next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK)
    return fail(ErrorCode::io_failed, "what answers there does not speak the Redis protocol");
  if (reply == nullptr) return std::optional<HeldRedisReply>();
  return std::optional<HeldRedisReply>(HeldRedisReply(static_cast<redisReply*>(reply)));
}

}  // namespace geonce
