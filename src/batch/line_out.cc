#include "batch/line_out.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/failpoint.h"

namespace geonce {
namespace {

namespace fs = std::filesystem;

// What is there and no regular file is written as it is; so is standard output.
bool is_direct(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  return path == "-" || (fs::exists(status) && !fs::is_regular_file(status));
}

// The file a chain of symbolic links leads to: the rename must not replace the link.
fs::path target_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : target;
}

fs::path part_of(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.geonce-part", target.filename().string());
}

Error io_error(const std::string& what, const std::string& part, int code) {
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  std::string message = fmt::format("{}: {}", what, std::generic_category().message(code));
  if (code == EPIPE) message = fmt::format("{}: its reader went away", what);
  if (is_full && !part.empty())
    message += fmt::format(
        "; what was written is kept in {}, free some space and run the same "
        "command again",
        part);
  return {is_full ? ErrorCode::disk_full : ErrorCode::io_failed, message, {}, {}, {}};
}

Error failed(const std::string& what, int code) { return io_error(what, {}, code); }

}  // namespace

struct LineOut::State {
  int fd = -1;
  bool is_direct = false;
  fs::path target, part;
  std::string name;  // for messages
  std::uint64_t offset = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (fd > STDERR_FILENO) ::close(fd);
  }

  // One writer per part: two would mix their rows.
  Result<void> open_part(int flags) {
    fd = ::open(part.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
    if (fd < 0 && errno == ENOENT && (flags & O_CREAT) == 0)
      return fail(ErrorCode::not_found, "there is no {} to go on with", part.string());
    if (fd < 0) return fail(failed(fmt::format("cannot open {}", part.string()), errno));
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno == EWOULDBLOCK)
      return fail(ErrorCode::io_failed,
                  "another geonce is writing {}; let it finish, or name another output",
                  name);
    return fail(error("lock"));
  }

  Result<void> cut(std::uint64_t size) {
    if (::ftruncate(fd, static_cast<off_t>(size)) != 0 ||
        ::lseek(fd, static_cast<off_t>(size), SEEK_SET) < 0)
      return fail(error("begin to write"));
    offset = size;
    return {};
  }

  [[nodiscard]] Error error(std::string_view deed) const {
    const int code = errno;
    return io_error(fmt::format("cannot {} {}", deed, name), part.string(), code);
  }
};

LineOut::LineOut(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineOut::LineOut(LineOut&&) noexcept = default;
LineOut& LineOut::operator=(LineOut&&) noexcept = default;
LineOut::~LineOut() = default;

std::string LineOut::part_name(const std::string& path) {
  return is_direct(path) ? path : part_of(target_of(path)).string();
}

Result<LineOut> LineOut::create(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path == "-" ? "standard output" : path;
  state->is_direct = is_direct(path);
  if (path == "-") {
    state->fd = STDOUT_FILENO;
    return LineOut(std::move(state));
  }
  if (state->is_direct) {
    state->fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (state->fd < 0) return fail(failed(fmt::format("cannot open {}", path), errno));
    return LineOut(std::move(state));
  }
  state->target = target_of(path);
  state->part = part_of(state->target);
  if (auto opened = state->open_part(O_CREAT); !opened) return fail(opened.error());
  if (auto cut = state->cut(0); !cut) return fail(cut.error());
  // A file that is there keeps its permissions.
  struct stat old {};
  if (::stat(state->target.c_str(), &old) == 0) (void)::fchmod(state->fd, old.st_mode & 07777);
  return LineOut(std::move(state));
}

Result<LineOut> LineOut::resume(const std::string& path, std::uint64_t offset) {
  if (is_direct(path))
    return fail(ErrorCode::not_found, "{} is no file that can be gone on with", path);
  auto state = std::make_unique<State>();
  state->name = path;
  state->target = target_of(path);
  state->part = part_of(state->target);
  if (auto opened = state->open_part(0); !opened) return fail(opened.error());
  struct stat status {};
  if (::fstat(state->fd, &status) != 0) return fail(state->error("look at"));
  if (static_cast<std::uint64_t>(status.st_size) < offset)
    return fail(ErrorCode::not_found,
                "{} is shorter than what was written to it; it has to be made anew",
                state->part.string());
  if (auto cut = state->cut(offset); !cut) return fail(cut.error());
  return LineOut(std::move(state));
}

Result<void> LineOut::write(std::string_view bytes) {
  const Fault fault = failpoint(FailPoint::output_write, [&] {
    // What could not be written at all is found by the call below.
    const ssize_t half = ::write(state_->fd, bytes.data(), bytes.size() / 2);
    if (half > 0) bytes.remove_prefix(static_cast<std::size_t>(half));
    if (half > 0) state_->offset += static_cast<std::uint64_t>(half);
  });
  if (fault.error != 0) {
    errno = fault.error;
    return fail(state_->error("write"));
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(state_->fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(state_->error("write"));
    bytes.remove_prefix(static_cast<std::size_t>(written));
    state_->offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> LineOut::sync() {
  if (!state_->is_direct && ::fsync(state_->fd) != 0) return fail(state_->error("sync"));
  return {};
}

Result<void> LineOut::finish() {
  State& s = *state_;
  if (s.is_direct) return {};
  if (auto synced = sync(); !synced) return synced;
  if (::rename(s.part.c_str(), s.target.c_str()) != 0) return fail(s.error("name"));
  failpoint(FailPoint::output_named);
  // The new name survives a power cut only when the folder is on disk as well.
  const fs::path folder = s.target.has_parent_path() ? s.target.parent_path() : fs::path(".");
  const int folder_fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) return {};  // a folder that can be written but not read: the rename stands
  const bool is_synced = ::fsync(folder_fd) == 0 || errno == EINVAL || errno == EROFS;
  const Error error = is_synced ? Error{} : s.error("sync the folder of");
  ::close(folder_fd);
  if (!is_synced) return fail(error);
  return {};
}

std::uint64_t LineOut::offset() const { return state_->offset; }
bool LineOut::is_resumable() const { return !state_->is_direct; }

}  // namespace geonce
