#pragma once

#include <memory>
#include <string_view>

#include "core/key.h"

namespace geonce {

/// The SHA-256 of bytes that come in pieces.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void add(std::string_view bytes);
  /// Of all that was added; nothing may be added any more.
  Key finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace geonce
