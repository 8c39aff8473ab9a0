#include "core/uuid.h"

#include <cstring>
#include <mutex>

#include <openssl/rand.h>

#include "core/key.h"

namespace geonce {

Uuid make_uuid(const Clock& clock) {
  // 48 bits of time, then a counter's 12 bits so that ids of one millisecond still sort, then
  // chance.
  static std::mutex mutex;
  static UtcMs last_ms = 0;
  static std::uint16_t counter = 0;
  Uuid uuid;
  GEONCE_EXPECTS(RAND_bytes(uuid.bytes.data(), static_cast<int>(uuid.bytes.size())) == 1);
  UtcMs ms = clock.now_utc();
  std::uint16_t count = 0;
  {
    const std::lock_guard lock(mutex);
    if (ms <= last_ms) {
      if (++counter > 0xFFF) {
        counter = 0;
        ++last_ms;
      }
      ms = last_ms;
    } else {
      last_ms = ms;
      counter = 0;
    }
    count = counter;
  }
  for (std::size_t i = 0; i < 6; ++i)
    uuid.bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(ms) >> (8 * (5 - i)));
  uuid.bytes[6] = static_cast<std::uint8_t>(0x70U | (count >> 8U));
  uuid.bytes[7] = static_cast<std::uint8_t>(count & 0xFFU);
  uuid.bytes[8] = static_cast<std::uint8_t>(0x80U | (uuid.bytes[8] & 0x3FU));
  return uuid;
}

std::string to_string(const Uuid& uuid) {
  std::string hex = to_hex({reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()});
  for (const std::size_t at : {20U, 16U, 12U, 8U}) hex.insert(at, 1, '-');
  return hex;
}

Result<Uuid> parse_uuid(std::string_view text) {
  std::string hex;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return fail(ErrorCode::usage, "not a UUID");
    } else {
      hex += text[i];
    }
  }
  auto bytes = from_hex(hex);
  if (!bytes || bytes->size() != 16) return fail(ErrorCode::usage, "not a UUID");
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes->data(), uuid.bytes.size());
  return uuid;
}

}  // namespace geonce
