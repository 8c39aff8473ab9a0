// libFuzzer: a value as it may stand in Redis. Whatever is read must be written back as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tiers/redis_value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto value = geonce::decode_redis_value(bytes);
  if (!value) return 0;
  if (geonce::gen_of_redis_value(bytes) != value->gen) std::abort();
  const std::string again = value->answer ? geonce::encode(value->gen,
                                                           value->dead_at_ms,
                                                           value->answered_at,
                                                           value->expires_at,
                                                           *value->answer)
                                          : geonce::encode_ended(value->gen);
  const auto second = geonce::decode_redis_value(again);
  if (!second || second->gen != value->gen || second->dead_at_ms != value->dead_at_ms ||
      (second->answer == nullptr) != (value->answer == nullptr))
    std::abort();
  return 0;
}
