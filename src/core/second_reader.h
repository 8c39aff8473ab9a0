#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace geonce {

/// A run of words in a text and what a reader took it for.
struct TextPart {
  std::string label;  // `house_number`, `road`, `city`, …: the words of libpostal
  std::string words;  // as the reader spells them, which may be lossy
  friend bool operator==(const TextPart&, const TextPart&) = default;
};

/// Reads free text that the built-in rules leave in one piece. Any thread.
class SecondReader {
 public:
  virtual ~SecondReader() = default;
  /// What stands for it in the pre-image: `p:` and 16 hex digits. A reader that may say something
  /// else of the same text has another one.
  [[nodiscard]] virtual const std::string& backend() const = 0;
  /// Waits until every text is read or given up: one result per text, in their order. The parts
  /// stand in the order of the text and together hold all of it.
  /// errors    reader_unavailable  this text was not read; it may be when it is asked for again
  ///           interrupted         the process is stopping
  virtual std::vector<Result<std::vector<TextPart>>> read(std::span<const std::string> texts) = 0;
};

}  // namespace geonce
