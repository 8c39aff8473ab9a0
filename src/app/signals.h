#pragma once

#include <stop_token>
#include <thread>

namespace geonce {

/// Turns SIGINT and SIGTERM into a request to stop, from its making to its end; a second one ends
/// the process at once. Make it before any other thread, so that these leave the signals to it.
/// SIGPIPE is ignored for the life of the process: a closed pipe is an error of write(2).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread listener_;
};

}  // namespace geonce
