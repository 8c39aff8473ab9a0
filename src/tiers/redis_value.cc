#include "tiers/redis_value.h"

#include "core/answer_bytes.h"

namespace geonce {
namespace {

// Mark, codec, kind, gen, dead_at: the head, which stays as it is in every codec, because the
// script that compares windows reads it. Behind it the codec's own.
constexpr std::string_view kMark = "gn";
constexpr char kCodec = 1;
constexpr char kEnded = 0;
constexpr char kAnswer = 1;
constexpr std::size_t kGenAt = 4;
constexpr std::size_t kHeadSize = 20;
constexpr std::size_t kAnswerAt = 36;

void put(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8)
    out += static_cast<char>((bits >> static_cast<unsigned>(shift)) & 0xFFU);
}

std::int64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i)
    bits = (bits << 8U) | static_cast<std::uint8_t>(bytes[at + i]);
  return static_cast<std::int64_t>(bits);
}

std::string head(char kind, std::int64_t gen, std::int64_t dead_at_ms) {
  std::string out(kMark);
  out += kCodec;
  out += kind;
  put(out, gen);
  put(out, dead_at_ms);
  return out;
}

}  // namespace

std::string redis_key(std::string_view prefix, const Slot& slot) {
  std::string key(prefix);
  for (int shift = 24; shift >= 0; shift -= 8)
    key += static_cast<char>((slot.pool >> static_cast<unsigned>(shift)) & 0xFFU);
  key.append(reinterpret_cast<const char*>(slot.key.bytes.data()), slot.key.bytes.size());
  return key;
}

std::string encode(std::int64_t gen,
                   std::int64_t dead_at_ms,
                   UtcMs answered_at,
                   UtcMs expires_at,
                   const Answer& answer) {
  std::string out = head(kAnswer, gen, dead_at_ms);
  put(out, answered_at);
  put(out, expires_at);
  append_encoded(answer, out);
  return out;
}

std::string encode_ended(std::int64_t gen) { return head(kEnded, gen, 0); }

std::optional<std::int64_t> gen_of_redis_value(std::string_view bytes) {
  if (bytes.size() < kHeadSize || !bytes.starts_with(kMark)) return std::nullopt;
  const std::int64_t gen = number_at(bytes, kGenAt);
  // The script reads numbers as doubles, and no store counts that far.
  if (gen < 0 || gen > (std::int64_t{1} << 53)) return std::nullopt;
  return gen;
}

std::optional<RedisValue> decode_redis_value(std::string_view bytes) {
  const auto gen = gen_of_redis_value(bytes);
  if (!gen || bytes[2] != kCodec) return std::nullopt;
  RedisValue value;
  value.gen = *gen;
  value.dead_at_ms = number_at(bytes, kGenAt + 8);
  if (bytes[3] == kEnded && bytes.size() == kHeadSize && value.dead_at_ms == 0) return value;
  if (bytes[3] != kAnswer || bytes.size() < kAnswerAt || value.dead_at_ms <= 0) return std::nullopt;
  value.answered_at = number_at(bytes, kHeadSize);
  value.expires_at = number_at(bytes, kHeadSize + 8);
  value.answer = decode_shared_answer(bytes.substr(kAnswerAt));
  if (!value.answer) return std::nullopt;
  return value;
}

}  // namespace geonce
