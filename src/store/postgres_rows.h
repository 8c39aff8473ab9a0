#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "core/answer_bytes.h"
#include "io/postgres.h"
#include "store/store.h"

namespace geonce {

// What several files of the Postgres store know about its rows.

/// The longest life that goes to the server, so that it can be added to any clock; the longest that
/// leaves the store.
inline constexpr milliseconds kLongestLife{std::chrono::hours{24} * 36'525};

inline PgBytes bytes_of(const Key& key) {
  return {{reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()}};
}
inline PgBytes bytes_of(const Uuid& uuid) {
  return {{reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()}};
}
inline std::optional<PgBytes> bytes_of(const std::optional<Key>& key) {
  return key ? std::optional(bytes_of(*key)) : std::nullopt;
}

/// Of a digest or a UUID; all zero where the column has another size.
template <class T>
T digest_from(std::string_view bytes) {
  T value;
  if (bytes.size() == value.bytes.size())
    std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
  return value;
}

/// A span as the server adds it to its clock.
inline std::int64_t span_of(milliseconds span) {
  return std::clamp(span, milliseconds{0}, kLongestLife).count();
}
inline milliseconds left_of(UtcMs until, UtcMs now) {
  return std::min(milliseconds{until - now}, kLongestLife);
}

/// The columns `t, gen, kind, answered_at, fresh_until, stale_until, erase_after, pinned, payload`
/// from `first` on. Empty: the payload is damaged, which is a miss, so that one new answer heals
/// it.
inline std::optional<Found> found_from(const PgRows& rows, int row, int first) {
  auto answer = decode_shared_answer(rows.bytes(row, first + 8));
  if (!answer) return std::nullopt;
  const UtcMs now = rows.integer(row, first);
  Found found;
  found.gen = rows.integer(row, first + 1);
  found.answer = std::move(answer);
  found.answered_at = rows.integer(row, first + 3);
  found.fresh_until = rows.integer(row, first + 4);
  found.fresh_left = left_of(found.fresh_until, now);
  found.stale_left = left_of(rows.integer(row, first + 5), now);
  found.erase_left = left_of(rows.integer(row, first + 6), now);
  found.pinned = rows.integer(row, first + 7) != 0;
  return found;
}

}  // namespace geonce
