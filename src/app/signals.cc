#include "app/signals.h"

#include <csignal>
#include <ctime>

#include <unistd.h>

namespace geonce {
namespace {

// What the listener sends itself when it is to end.
constexpr int kEnd = SIGUSR2;

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, kEnd}) sigaddset(&set, signal);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  listener_ = std::jthread([this] {
    const sigset_t waited = stop_set();
    for (int signal = 0; sigwait(&waited, &signal) == 0 && signal != kEnd;) {
      if (stop_.stop_requested()) _exit(130);
      stop_.request_stop();
    }
  });
}

StopSignals::~StopSignals() {
  pthread_kill(listener_.native_handle(), kEnd);
  listener_.join();
}

}  // namespace geonce
