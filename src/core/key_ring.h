#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "core/result.h"

namespace geonce {

/// What keys are made with. Without a secret a key is the SHA-256 of its pre-image, and anybody can
/// make it; addresses are few enough to try them all. With one it is HMAC-SHA-256 (RFC 2104), and
/// its text names the secret: `n1.k2_…`. Immutable, any thread.
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
  [[nodiscard]] bool has_former() const { return secrets_.size() > 1; }
  [[nodiscard]] bool has_secret() const { return secrets_.front() != nullptr; }
  /// Stands before the hex digits of a key: `n1_`, `n1.k2_`.
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  /// `n1.k2_` and 64 hex digits.
  [[nodiscard]] std::string text(const Key& key) const;

 private:
  class Secret;
  KeyRing() = default;
  static Key made_with(const Secret* secret, std::string_view pre_image);

  std::vector<std::shared_ptr<const Secret>> secrets_;  // newest first; nullptr: none
  std::string prefix_;
};

}  // namespace geonce
