#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/result.h"

namespace geonce {

/// A process of our own at the other end of a socket. It has that socket as `kSocket`, no other
/// open file, nothing of our environment but what the loader of libraries reads, and a process
/// group of its own, so that a signal from the terminal is ours alone. It ends with this object at
/// the latest, and is waited for.
class Child {
 public:
  static constexpr int kSocket = 3;

  /// words     the program and its arguments
  /// errors    io_failed
  static Result<Child> start(const std::vector<std::string>& words);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Does not block. Ours: closed with this object.
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Ends it, and says how it had ended by itself: `signal 11`, `exit code 3`; empty: it had not.
  /// grace     how long one that is about to end may take for that
  std::string end(std::chrono::milliseconds grace = {});

 private:
  Child(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  pid_t pid_;
  int socket_;
};

/// In the child, first of all: it dies with the thread that started it, at once, and leaves no
/// core. false: its parent is gone already.
bool live_with_parent(pid_t parent);

}  // namespace geonce
