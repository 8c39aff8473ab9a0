#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"

namespace geonce {

/// One file, as the file system tells it from others and from itself before a change.
struct FileMark {
  std::string path;
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t changed_ns = 0, modified_ns = 0;  // since 1970
  friend bool operator==(const FileMark&, const FileMark&) = default;
};

/// Which libpostal reads, by the bytes of the library and of the data it parses with:
/// docs/formats/key.md. Another model or another build divides addresses in another way.
class LibpostalIdentity {
 public:
  /// library   its file
  /// data      the folder that holds address_expansions, address_parser, numex and transliteration
  /// cache     where hashes of files are remembered, by name, size, times and inode; empty: nowhere
  /// notice    told before a long reading of files
  /// errors    invalid_config  the folder is not that, or cannot be read
  static Result<LibpostalIdentity> of(const std::string& library,
                                      const std::filesystem::path& data,
                                      const std::filesystem::path& cache,
                                      const std::function<void(const std::string&)>& notice = {});

  /// `p:` and 16 hex digits.
  [[nodiscard]] const std::string& backend() const { return backend_; }
  /// The files are still those that were hashed.
  [[nodiscard]] bool is_current() const;

 private:
  std::string backend_;
  std::vector<FileMark> files_;
  std::filesystem::path data_;
};

}  // namespace geonce
