#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/answer.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/result.h"

namespace geonce {

/// What a tier remembers of an entry. Instants are monotonic: they were computed from durations
/// that the store's clock gave, and can only shorten on the way.
struct Cached {
  std::shared_ptr<const Answer> answer;
  std::int64_t gen = 0;
  Mono fresh_until;
  UtcMs answered_at = 0;  // for display and `Age` only
  UtcMs expires_at = 0;   // of the same clock as `answered_at`; 0: not known. Lengthens nothing.
  Mono as_of = {};        // when whoever had it was asked: it is no younger than this
};

struct Remembered {
  Slot slot;
  Cached cached;
};

/// Windows that are over, whatever is left of their answers' lives: `gen` and all before it.
struct Ended {
  Slot slot;
  std::int64_t gen = 0;
};

/// Remembers answers. Never the truth. Every method may be called from several threads at once.
class Tier {
 public:
  virtual ~Tier() = default;
  /// One place per slot, in the order asked. Empty = a miss; a miss is not an error. Never an entry
  /// past its `fresh_until`.
  virtual Result<std::vector<std::optional<Cached>>> find(std::span<const Slot>, Deadline) = 0;
  /// Replaces what is older by `gen`; keeps what is newer, and lengthens nothing of the same
  /// window. May forget at any time. What is not remembered by the deadline never is, so that no
  /// entry read from the store before a window ended comes in after it is forgotten that it ended.
  virtual Result<void> store(std::span<const Remembered>, Deadline) = 0;
  /// Takes out what is no newer than the windows that are over. May be said late and again.
  virtual Result<void> forget(std::span<const Ended>, Deadline) = 0;
};

}  // namespace geonce
