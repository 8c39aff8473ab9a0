#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace geonce {

/// Where output goes. A file grows under `.NAME.geonce-part` in its own folder and gets its name
/// when it is complete; until `finish` the name keeps what it had. Unfinished, the part stays for a
/// resume. Devices and pipes (`-`, /dev/stdout) are written as they are. No buffer: write whole
/// blocks.
class LineOut {
 public:
  /// Begins anew; an old part is overwritten.
  /// errors    io_failed  the folder is missing, not writable, …; another process writes this
  /// output
  static Result<LineOut> create(const std::string& path);
  /// Goes on behind `offset` bytes of the part and drops what follows them.
  /// errors    not_found  no part, or a shorter one: begin anew
  static Result<LineOut> resume(const std::string& path, std::uint64_t offset);
  /// The part's name; the path itself for what is written directly.
  static std::string part_name(const std::string& path);

  LineOut(LineOut&&) noexcept;
  LineOut& operator=(LineOut&&) noexcept;
  ~LineOut();

  /// errors    disk_full  says where the part is
  ///           io_failed  also: the reader of standard output went away
  Result<void> write(std::string_view bytes);
  /// What was written so far survives a power cut. No-op for pipes.
  Result<void> sync();
  /// sync, and the part takes the name.
  Result<void> finish();
  [[nodiscard]] std::uint64_t offset() const;
  /// It has a part that `resume` can go on with.
  [[nodiscard]] bool is_resumable() const;

 private:
  struct State;
  explicit LineOut(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace geonce
