#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace geonce {

/// SHA-256 of an address's pre-image: cache identity and primary key. Text form `n1_` + 64 lower
/// hex.
struct Key {
  std::array<std::uint8_t, 32> bytes{};
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// The version of the canonical form that keys are made of.
inline constexpr int kKeyVersion = 1;

std::string to_text(const Key& key);

/// The SHA-256 of some bytes.
Key sha256(std::string_view bytes);

/// errors    invalid_address  not `n1_` or `n1.ID_` and 64 lower-case hex digits
Result<Key> parse_key(std::string_view text);

/// Callers who share answers. 1 unless the operator says otherwise.
using Pool = std::uint32_t;
inline constexpr Pool kDefaultPool = 1;

/// What an entry, a claim or a flight is filed under.
struct Slot {
  Pool pool = kDefaultPool;
  Key key;
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

/// A key is a digest already: its first bytes are a good hash.
struct SlotHash {
  std::size_t operator()(const Slot& slot) const {
    std::uint64_t head = 0;
    std::memcpy(&head, slot.key.bytes.data(), sizeof head);
    return head ^ (std::uint64_t{slot.pool} * 0x9E3779B97F4A7C15U);
  }
};

std::string to_hex(std::string_view bytes);
std::string to_hex(const Key& key);
/// errors    invalid_address  an odd number of digits, or a character that is none
Result<std::string> from_hex(std::string_view hex);

}  // namespace geonce
