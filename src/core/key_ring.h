#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/former_rules.h"
#include "core/key.h"
#include "core/query.h"
#include "core/result.h"

namespace geonce {

/// What keys are made with, now and before. Without a secret a key is the SHA-256 of its pre-image,
/// and anybody can make it; addresses are few enough to try them all. With one it is HMAC-SHA-256
/// (RFC 2104), and its text names the secret: `n1.k2_…`. Immutable, any thread.
class KeyRing {
 public:
  /// No secret.
  static const KeyRing& plain();

  /// text   of a secret file: one secret a line, the newest first, as `ID SECRET`. ID: 1 to 16 of
  ///        a-z and 0-9; SECRET: at least 32 characters without blanks. A line `plain` at the end
  ///        stands for the keys of the time before secrets. `#` begins a comment.
  /// errors invalid_config   with the line's number and never a secret
  static Result<KeyRing> parse(std::string_view text);

  [[nodiscard]] Key key(std::string_view pre_image) const;
  /// What the key of these bytes was under the older secrets, the youngest of them first.
  [[nodiscard]] std::vector<Key> former(std::string_view pre_image) const;
  /// All keys that an address may have had, but for its present one: of its pre-image under the
  /// older secrets; of what the built-in rules alone make of it, where a second reader read it, and
  /// of what each older version of the rules made of it, under every secret.
  [[nodiscard]] std::vector<Key> former(const QueryView& query,
                                        std::string_view pre_image,
                                        std::string_view built_in) const;
  /// What each older version makes of it, the youngest first; not those that give it no key.
  [[nodiscard]] std::vector<std::string> former_pre_images(const QueryView& query) const;
  [[nodiscard]] bool has_former() const { return secrets_.size() > 1 || !rules_.empty(); }
  /// The same secrets with other older rules than former_rules().
  [[nodiscard]] KeyRing with_former_rules(std::span<const FormerRules> rules) const;
  [[nodiscard]] bool has_secret() const { return secrets_.front() != nullptr; }
  /// Stands before the hex digits of a key: `n1_`, `n1.k2_`.
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  /// The same for a key that older rules, or an older secret, may have made of `pre_image`.
  [[nodiscard]] std::string prefix(const Key& key, std::string_view pre_image) const;
  /// `n1.k2_` and 64 hex digits.
  [[nodiscard]] std::string text(const Key& key) const;

 private:
  class Secret;
  KeyRing() = default;
  static Key made_with(const Secret* secret, std::string_view pre_image);
  static std::string prefix(std::string_view version, const Secret* secret);

  std::vector<std::shared_ptr<const Secret>> secrets_;  // newest first; nullptr: none
  std::span<const FormerRules> rules_ = former_rules();
  std::string prefix_;
};

}  // namespace geonce
