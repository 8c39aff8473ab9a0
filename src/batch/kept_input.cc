#include "batch/kept_input.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace geonce {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;

std::string because(int code) { return std::generic_category().message(code); }

/// Turns a request to stop into a descriptor that becomes readable, to wait for beside another one.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop) : on_stop_(stop, Signal{event_.file}) {}

  /// Waits until `file` has something to read, or its end. False: the stop came first.
  [[nodiscard]] bool wait_for(int file) const {
    std::array waited{pollfd{event_.file, POLLIN, 0}, pollfd{file, POLLIN, 0}};
    while (::poll(waited.data(), waited.size(), -1) < 0 && errno == EINTR)
      ;
    return (waited[0].revents & POLLIN) == 0;
  }

 private:
  struct Event {
    int file = ::eventfd(0, EFD_CLOEXEC);
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { ::close(file); }
  };
  struct Signal {
    int event;
    void operator()() const { (void)::eventfd_write(event, 1); }
  };
  Event event_;  // closed when nobody writes to it any more
  std::stop_callback<Signal> on_stop_;
};

Result<void> write_all(int file, const char* bytes, std::size_t size, const std::string& folder) {
  while (size > 0) {
    const ssize_t put = ::write(file, bytes, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
      return fail(is_full ? ErrorCode::disk_full : ErrorCode::io_failed,
                  "keeping standard input in {} failed: {}",
                  folder,
                  because(errno));
    }
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return {};
}

}  // namespace

Result<KeptInput> KeptInput::of(const std::string& path,
                                const std::filesystem::path& temp_folder,
                                const std::stop_token& stop) {
  if (path != "-") return KeptInput(path, -1);
  std::string name = temp_folder / "geonce-input-XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0)
    return fail(ErrorCode::io_failed,
                "cannot keep standard input in {}: {} (set TMPDIR to a folder that can be written)",
                temp_folder.string(),
                because(errno));
  ::unlink(name.c_str());
  KeptInput kept(fmt::format("/proc/self/fd/{}", file), file);
  const StopEvent stopped(stop);
  std::vector<char> block(kBlock);
  for (;;) {
    if (!stopped.wait_for(STDIN_FILENO))
      return fail(ErrorCode::interrupted,
                  "interrupted while standard input was read; nothing was asked or paid");
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(ErrorCode::io_failed, "reading standard input failed: {}", because(errno));
    if (got == 0) return kept;
    auto put = write_all(file, block.data(), static_cast<std::size_t>(got), temp_folder.string());
    if (!put) return fail(put.error());
  }
}

KeptInput::~KeptInput() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace geonce
