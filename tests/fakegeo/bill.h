#pragma once

#include <cstdint>
#include <string>

#include "dialects.h"

namespace fakegeo {

/// The bill: what reached the provider, whatever became of the answer. Each request is one write(2)
/// to a file opened with O_APPEND, so a line is whole or absent even when this process is killed.
class Bill {
 public:
  /// Stops the program when the file cannot be opened.
  explicit Bill(const std::string& path);
  ~Bill();
  Bill(const Bill&) = delete;
  Bill& operator=(const Bill&) = delete;

  /// One line per address: monotonic ns, request number, dialect, mode, item index, text.
  /// Stops the program when it cannot write: a call without a line would make every sum wrong.
  void record(std::uint64_t request, const Ask& ask);

 private:
  int file_ = -1;
};

}  // namespace fakegeo
