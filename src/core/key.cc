#include "core/key.h"

#include <algorithm>
#include <memory>

#include <openssl/sha.h>

namespace geonce {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

// OpenSSL 3 would rather have EVP used, which takes memory and gives it back for each digest: half
// as long again for the two blocks of an address. Both run the same code (SHA-NI where there is).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
Key sha256(std::string_view bytes) {
  Key key;
  SHA256_CTX context;
  const bool done = SHA256_Init(&context) == 1 &&
                    SHA256_Update(&context, bytes.data(), bytes.size()) == 1 &&
                    SHA256_Final(key.bytes.data(), &context) == 1;
  GEONCE_EXPECTS(done);
  return key;
}
#pragma GCC diagnostic pop

std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

std::string to_hex(const Key& key) {
  return to_hex({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()});
}

Result<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return fail(ErrorCode::invalid_address, "an odd number of hex digits");
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = nibble(hex[2 * i]);
    const int low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return fail(ErrorCode::invalid_address, "not a lower-case hex digit");
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string to_text(const Key& key) { return fmt::format("n{}_{}", kKeyVersion, to_hex(key)); }

Result<Key> parse_key(std::string_view text) {
  // n1_…, or n1.k2_… with the id of the secret it was made with. Of whatever version: an answer may
  // still stand under an older key.
  const auto digits = std::min(text.find('_'), text.size());
  auto head = text.substr(0, digits);
  const auto version = std::min(head.find('.'), head.size());
  bool is_head = version > 1 && head.front() == 'n' &&
                 std::all_of(head.begin() + 1, head.begin() + version, is_digit);
  head.remove_prefix(version);
  if (!head.empty()) {
    is_head = is_head && head.size() > 1 && head.front() == '.' &&
              std::all_of(head.begin() + 1, head.end(), [](char c) {
                return (c >= 'a' && c <= 'z') || is_digit(c);
              });
  }
  if (!is_head || text.size() != digits + 1 + 64)
    return fail(
        ErrorCode::invalid_address,
        "a key is n1_ (n1.ID_ where it was made with a secret) and 64 lower-case hex digits");
  auto bytes = from_hex(text.substr(digits + 1));
  if (!bytes) return fail(bytes.error());
  Key key;
  std::memcpy(key.bytes.data(), bytes->data(), key.bytes.size());
  return key;
}

}  // namespace geonce
