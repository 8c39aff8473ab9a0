#pragma once

#include <csignal>
#include <functional>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace geonce {

/// A forked copy of the test program that runs `body` and ends; killed with the test if it still
/// runs. What it expects in vain fails the parent's `join`. Fork before any thread is started.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() {
    if (pid_ > 0) kill();
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  /// Waits for its end. true: it ended by itself and nothing failed in it.
  bool join() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t pid_;
};

/// A pipe between a test and its children.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) std::abort();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    close_writing();
  }
  /// In the parent, once the children have theirs: `read` then ends with the last child.
  void close_writing() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  template <class T>
  void write(const T& value) {
    if (::write(ends_[1], &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
  }
  /// false: all writers are gone.
  template <class T>
  bool read(T& value) {
    return ::read(ends_[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
  }

 private:
  int ends_[2]{-1, -1};
};

}  // namespace geonce
