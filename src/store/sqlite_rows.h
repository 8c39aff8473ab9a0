#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "io/sqlite.h"
#include "store/store.h"

namespace geonce {

// What several files of the SQLite store know about its rows.

/// Far enough to be never, near enough that sums with it do not overflow: 9999-12-31.
inline constexpr UtcMs kNever = 253'402'300'799'000;
/// The longest life that leaves the store, so that it can be added to any clock.
inline constexpr milliseconds kLongest{std::chrono::hours{24} * 36'525};
/// How long an invalidated key remembers its gen, and how old a call may be to still fill a window.
/// Equal, so that a call begun before an invalidation finds either the tombstone or itself too old.
inline constexpr milliseconds kTombstoneLife{std::chrono::hours{24} * 30};

inline constexpr int kTombstone = 0;  // entry.kind beside the values of AnswerKind

inline SqliteBlob blob(const Key& key) {
  return {{reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()}};
}
inline SqliteBlob blob(const Uuid& uuid) {
  return {{reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()}};
}
inline Key key_from(std::string_view bytes) {
  Key key;
  if (bytes.size() == key.bytes.size()) std::memcpy(key.bytes.data(), bytes.data(), bytes.size());
  return key;
}
inline Uuid uuid_from(std::string_view bytes) {
  Uuid uuid;
  if (bytes.size() == uuid.bytes.size()) std::memcpy(uuid.bytes.data(), bytes.data(), bytes.size());
  return uuid;
}

/// The end of a span that begins now.
inline UtcMs after(UtcMs now, milliseconds span) {
  return now + std::clamp(span, milliseconds{0}, kLongest).count();
}
inline milliseconds left(UtcMs until, UtcMs now) {
  return std::min(milliseconds{until - now}, kLongest);
}

/// The columns that `found_from` reads, from the first on.
inline constexpr std::string_view kFoundColumns =
    "gen, kind, answered_at, fresh_until, stale_until, erase_after, pinned, payload";

/// Empty: a tombstone, past its life, or damaged. A damaged payload is a miss, so that one new
/// answer heals it; a payload of a newer kind cannot be met, because its schema step would be
/// unknown.
std::optional<Found> found_from(const SqliteStatement& row, UtcMs now);

}  // namespace geonce
