#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/normalize.h"
#include "core/second_reader.h"

namespace geonce {

/// Turns addresses in one piece into addresses in fields, by what a second reader says of them.
///
/// The reader only says where the words are divided. The words themselves stay ours, because a
/// reader may drop what tells two addresses apart (libpostal reads `Fürth` as `furth`); they go
/// through the same rules as fields that a caller has named. What it is asked depends on the
/// canonical address alone, so spellings that share a key without the reader share one with it.
///
/// Keeps its buffers: one per thread.
class SecondReading {
 public:
  /// reader   outlives this
  explicit SecondReading(SecondReader& reader);
  ~SecondReading();
  SecondReading(const SecondReading&) = delete;
  SecondReading& operator=(const SecondReading&) = delete;

  /// One result per address, in their order: in fields and with the reader's name as `backend`, or
  /// as it was where there is no reading to rely on.
  /// errors   those of SecondReader::read
  std::vector<Result<Canonical>> read(std::span<const Canonical> unparsed);

 private:
  struct Rules;
  [[nodiscard]] std::optional<Canonical> fields_of(const Canonical& unparsed,
                                                   const std::string& line,
                                                   const std::vector<TextPart>& parts);
  SecondReader* reader_;
  std::unique_ptr<Rules> rules_;
};

}  // namespace geonce
