#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "io/child.h"
#include "io/libpostal_helper.h"
#include "io/libpostal_talk.h"

namespace geonce {

/// One life of the process that holds libpostal. Nothing here waits; who uses it polls its socket.
/// Used by the thread that made it.
class LibpostalProcess {
 public:
  /// program   what is run with the words of `options`
  /// errors    io_failed
  static Result<LibpostalProcess> start(const std::string& program, LibpostalHelperOptions options);

  void say(PostalMessage::Kind kind, std::string_view body) { append_message(kind, body, out_); }
  [[nodiscard]] bool has_unsaid() const { return !out_.empty(); }
  [[nodiscard]] int socket() const { return child_.socket(); }
  /// Sends and receives what can be sent and received now.
  /// errors    io_failed  it is gone, or says what has no meaning; what it said before is in
  /// `heard`
  Result<void> exchange(std::vector<PostalMessage>& heard);
  /// As Child::end.
  std::string end(std::chrono::milliseconds grace) { return child_.end(grace); }

 private:
  explicit LibpostalProcess(Child child) : child_(std::move(child)) {}
  Child child_;
  std::string in_, out_;
};

}  // namespace geonce
