#include "io/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace geonce {
namespace {

/// What the child may see of our environment: where libraries lie, and how a checked build is to
/// behave. Secrets of providers stay here.
std::vector<char*> environment_of_child() {
  std::vector<char*> kept;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    if (name.starts_with("LD_") || name.ends_with("SAN_OPTIONS")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

/// pidfd_open(2), which the C library of Debian 12 declares for C alone. <0: there is none.
int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

class SpawnPlan {
 public:
  explicit SpawnPlan(int socket) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, socket, Child::kSocket);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&files_, standard, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addclosefrom_np(&files_, Child::kSocket + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// errno, or 0
  int run(const std::vector<std::string>& words, pid_t& pid) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const auto environment = environment_of_child();
    return posix_spawn(
        &pid, words.front().c_str(), &files_, &attributes_, arguments.data(), environment.data());
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& words) {
  std::array<int, 2> ends{-1, -1};
  const auto failed = [&words](int error) {
    return fail(ErrorCode::io_failed,
                "cannot start {}: {}",
                words.front(),
                std::generic_category().message(error));
  };
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return failed(errno);
  pid_t pid = -1;
  const int error = SpawnPlan(ends[1]).run(words, pid);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return failed(error);
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Child(pid, ends[0]);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::exchange(other.socket_, -1)) {}

Child::~Child() {
  end();
  if (socket_ >= 0) ::close(socket_);
}

std::string Child::end(std::chrono::milliseconds grace) {
  if (pid_ < 0) return {};
  if (const int door = grace.count() > 0 ? open_process(pid_) : -1; door >= 0) {
    pollfd ended{door, POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(grace.count()));
    ::close(door);
  }
  int status = 0;
  pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  const bool was_gone = ended != 0;
  if (!was_gone) {
    ::kill(pid_, SIGKILL);
    do {
      ended = ::waitpid(pid_, &status, 0);
    } while (ended < 0 && errno == EINTR);
  }
  pid_ = -1;
  if (ended < 0) return {};  // somebody else has waited for it
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  // It may have been on its way out already.
  if (!was_gone && WTERMSIG(status) == SIGKILL) return {};
  return "signal " + std::to_string(WTERMSIG(status));
}

bool live_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // it would hold addresses, and gigabytes
  return ::getppid() == parent;
}

}  // namespace geonce
