#include "core/key_ring.h"

#include <algorithm>

#include <openssl/evp.h>

namespace geonce {
namespace {

constexpr std::size_t kBlock = 64;  // bytes that SHA-256 takes at once
constexpr std::size_t kShortestSecret = 32;
constexpr std::size_t kLongestId = 16;

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

std::string present_version() { return fmt::format("n{}", kKeyVersion); }

/// `n1`: the second part of every version's pre-image. Empty: these bytes are none.
std::string_view version_of(std::string_view pre_image) {
  const auto begin = pre_image.find('\x1F');
  if (begin == std::string_view::npos) return {};
  const auto rest = pre_image.substr(begin + 1);
  return rest.substr(0, std::min(rest.find('\x1F'), rest.size()));
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && text != "plain" &&
         std::ranges::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

}  // namespace

/// A secret's two first blocks, hashed once for all keys.
class KeyRing::Secret {
 public:
  Secret(std::string id, std::string_view bytes) : id_(std::move(id)) {
    std::string block(bytes);
    if (block.size() > kBlock) {
      const Key digest = sha256(block);
      block.assign(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
    }
    block.resize(kBlock, '\0');
    inner_ = begun_with(block, 0x36);
    outer_ = begun_with(block, 0x5C);
  }

  [[nodiscard]] const std::string& id() const { return id_; }

  [[nodiscard]] Key key(std::string_view bytes) const {
    thread_local const Context work(EVP_MD_CTX_new());
    Key key;
    const bool done = EVP_MD_CTX_copy_ex(work.get(), inner_.get()) == 1 &&
                      EVP_DigestUpdate(work.get(), bytes.data(), bytes.size()) == 1 &&
                      EVP_DigestFinal_ex(work.get(), key.bytes.data(), nullptr) == 1 &&
                      EVP_MD_CTX_copy_ex(work.get(), outer_.get()) == 1 &&
                      EVP_DigestUpdate(work.get(), key.bytes.data(), key.bytes.size()) == 1 &&
                      EVP_DigestFinal_ex(work.get(), key.bytes.data(), nullptr) == 1;
    GEONCE_EXPECTS(done);
    return key;
  }

 private:
  static Context begun_with(std::string block, char pad) {
    for (char& c : block) c = static_cast<char>(c ^ pad);
    Context context(EVP_MD_CTX_new());
    GEONCE_EXPECTS(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1 &&
                   EVP_DigestUpdate(context.get(), block.data(), block.size()) == 1);
    return context;
  }

  std::string id_;
  Context inner_, outer_;
};

const KeyRing& KeyRing::plain() {
  static const KeyRing kPlain = [] {
    KeyRing ring;
    ring.secrets_.push_back(nullptr);
    ring.prefix_ = prefix(present_version(), nullptr);
    return ring;
  }();
  return kPlain;
}

Result<KeyRing> KeyRing::parse(std::string_view text) {
  KeyRing ring;
  std::size_t number = 0;
  const auto wrong = [&number](std::string_view what) {
    return fail(ErrorCode::invalid_config, "line {}: {}", number, what);
  };
  while (!text.empty()) {
    ++number;
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto trim = [](std::string_view words) {
      const auto first = words.find_first_not_of(" \t\r");
      if (first == std::string_view::npos) return std::string_view();
      return words.substr(first, words.find_last_not_of(" \t\r") - first + 1);
    };
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (!ring.secrets_.empty() && ring.secrets_.back() == nullptr)
      return wrong("plain is the oldest of all and stands last");
    if (line == "plain") {
      if (ring.secrets_.empty()) return wrong("a secret stands before plain");
      ring.secrets_.push_back(nullptr);
      continue;
    }
    const auto blank = line.find_first_of(" \t");
    const auto id = line.substr(0, blank);
    const auto secret =
        blank == std::string_view::npos ? std::string_view() : trim(line.substr(blank));
    if (!is_id(id)) return wrong("the secret's id comes first: 1 to 16 of a-z and 0-9");
    if (secret.size() < kShortestSecret || secret.find_first_of(" \t") != std::string_view::npos)
      return wrong("behind the id stands the secret: at least 32 characters without blanks");
    for (const auto& other : ring.secrets_)
      if (other->id() == id) return wrong("this id stands above already");
    ring.secrets_.push_back(std::make_shared<const Secret>(std::string(id), secret));
  }
  if (ring.secrets_.empty()) return fail(ErrorCode::invalid_config, "there is no secret in it");
  ring.prefix_ = prefix(present_version(), ring.secrets_.front().get());
  return ring;
}

Key KeyRing::made_with(const Secret* secret, std::string_view pre_image) {
  return secret == nullptr ? sha256(pre_image) : secret->key(pre_image);
}

Key KeyRing::key(std::string_view pre_image) const {
  return made_with(secrets_.front().get(), pre_image);
}

std::vector<Key> KeyRing::former(std::string_view pre_image) const {
  std::vector<Key> keys;
  for (std::size_t i = 1; i < secrets_.size(); ++i)
    keys.push_back(made_with(secrets_[i].get(), pre_image));
  return keys;
}

std::vector<Key> KeyRing::former(const QueryView& query,
                                 std::string_view pre_image,
                                 std::string_view built_in) const {
  std::vector<Key> keys = former(pre_image);
  const auto add = [&](std::string_view image) {
    for (const auto& secret : secrets_) keys.push_back(made_with(secret.get(), image));
  };
  if (built_in != pre_image) add(built_in);
  for (const std::string& older : former_pre_images(query)) add(older);
  return keys;
}

std::vector<std::string> KeyRing::former_pre_images(const QueryView& query) const {
  std::vector<std::string> images;
  for (const FormerRules& rules : rules_)
    if (auto image = rules.pre_image(query)) images.push_back(std::move(*image));
  return images;
}

KeyRing KeyRing::with_former_rules(std::span<const FormerRules> rules) const {
  KeyRing ring = *this;
  ring.rules_ = rules;
  return ring;
}

std::string KeyRing::prefix(std::string_view version, const Secret* secret) {
  return secret == nullptr ? fmt::format("{}_", version)
                           : fmt::format("{}.{}_", version, secret->id());
}

std::string KeyRing::prefix(const Key& key, std::string_view pre_image) const {
  const std::string_view version = version_of(pre_image);
  for (const auto& secret : secrets_)
    if (!version.empty() && made_with(secret.get(), pre_image) == key)
      return prefix(version, secret.get());
  return prefix_;
}

std::string KeyRing::text(const Key& key) const { return prefix_ + to_hex(key); }

}  // namespace geonce
