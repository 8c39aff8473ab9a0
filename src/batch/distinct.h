#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "core/key.h"
#include "core/result.h"

namespace geonce {

/// Counts distinct keys, each with a class of its own, in memory that does not grow with their
/// number: keys are spread over files of a temporary folder and counted file by file at the end.
class DistinctKeys {
 public:
  static constexpr std::size_t kClasses = 8;

  /// folder    must exist; the files in it have no name left once they are open
  static Result<std::unique_ptr<DistinctKeys>> open(const std::filesystem::path& folder);
  virtual ~DistinctKeys() = default;

  /// kind      < kClasses; the same for every time a key is added
  /// errors    disk_full, io_failed
  virtual Result<void> add(const Key& key, std::uint8_t kind) = 0;
  /// How many distinct keys of each class were added. Ends the counting.
  virtual Result<std::array<std::int64_t, kClasses>> count() = 0;
};

}  // namespace geonce
