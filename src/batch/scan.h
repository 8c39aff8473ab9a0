#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace geonce {

/// 64 bytes at once: bit i answers for byte i.
inline constexpr std::size_t kBlock = 64;

#if defined(__SSE2__)
template <class Compare>
std::uint64_t block_mask(const char* block, Compare compare) {
  std::uint64_t mask = 0;
  for (std::size_t part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + part * 16));
    const auto bits = static_cast<std::uint16_t>(_mm_movemask_epi8(compare(bytes)));
    mask |= std::uint64_t{bits} << (part * 16);
  }
  return mask;
}
inline std::uint64_t equal_mask(const char* block, char wanted) {
  const __m128i pattern = _mm_set1_epi8(wanted);
  return block_mask(block, [pattern](__m128i bytes) { return _mm_cmpeq_epi8(bytes, pattern); });
}
inline std::uint64_t beyond_ascii_mask(const char* block) {
  return block_mask(block, [](__m128i bytes) { return bytes; });
}
#else
inline std::uint64_t equal_mask(const char* block, char wanted) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kBlock; ++i) mask |= std::uint64_t{block[i] == wanted ? 1U : 0U} << i;
  return mask;
}
inline std::uint64_t beyond_ascii_mask(const char* block) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    mask |= std::uint64_t{static_cast<unsigned char>(block[i]) >> 7U} << i;
  return mask;
}
#endif

/// A block that may be cut: `load` gives 64 readable bytes, `only` drops the bits of those beyond
/// the end.
class CutBlock {
 public:
  const char* load(std::string_view bytes, std::size_t at) {
    size_ = bytes.size() - at;
    if (size_ >= kBlock) return bytes.data() + at;
    std::memcpy(copy_.data(), bytes.data() + at, size_);
    std::memset(copy_.data() + size_, 0, kBlock - size_);
    return copy_.data();
  }
  [[nodiscard]] std::uint64_t only(std::uint64_t mask) const {
    return size_ >= kBlock ? mask : mask & ((std::uint64_t{1} << size_) - 1);
  }

 private:
  std::size_t size_ = 0;
  std::array<char, kBlock> copy_;
};

}  // namespace geonce
