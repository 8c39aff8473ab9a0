#include "ledger/spool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <concepts>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/failpoint.h"

namespace geonce {
namespace {

namespace fs = std::filesystem;

// docs/formats/spool.md. Integers are little-endian.
static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kMagic = "geoncesp";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFileHead = 52;
constexpr std::size_t kRecordHead = 16;
constexpr std::string_view kSuffix = ".spool";
constexpr std::string_view kRewriteSuffix = ".spool.new";
constexpr std::uint64_t kRewriteAt = std::uint64_t{16} << 20U;
constexpr int kMostLive = 4;  // a rewrite pays when it drops three quarters of the file
// Room that is set aside for each answer that is on its way: what one took so far, between these.
constexpr std::uint64_t kLeastRoom = 4'096, kMostRoom = 65'536;
constexpr std::uint64_t kRoomStep = 262'144;  // so many bytes more, for the calls to come

enum class RecordType : std::uint8_t { mark = 1, response = 2 };

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78).
std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
      table[i] = crc;
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xFFU] ^ (crc >> 8U);
  return ~crc;
}

// --- bytes
// -------------------------------------------------------------------------------------------

template <std::integral T>
void put(std::string& out, T value) {
  std::array<char, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void put(std::string& out, const Uuid& uuid) {
  out.append(reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size());
}

void put(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

void put(std::string& out, std::span<const IntentId> intents) {
  put(out, static_cast<std::uint32_t>(intents.size()));
  for (const IntentId& intent : intents) put(out, intent);
}

struct Reader {
  std::string_view rest;
  bool ok = true;

  std::string_view bytes(std::size_t size) {
    if (rest.size() < size) {
      ok = false;
      return {};
    }
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  template <class T>
  T number() {
    T value{};
    if (const auto from = bytes(sizeof value); ok) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  Uuid uuid() {
    Uuid uuid;
    if (const auto from = bytes(uuid.bytes.size()); ok)
      std::memcpy(uuid.bytes.data(), from.data(), uuid.bytes.size());
    return uuid;
  }
  std::string text() { return std::string(bytes(number<std::uint32_t>())); }
  std::vector<IntentId> intents() {
    std::vector<IntentId> list;
    for (auto left = number<std::uint32_t>(); ok && left > 0; --left) list.push_back(uuid());
    return list;
  }
};

std::string encode(const SpooledResponse& response) {
  std::string out;
  out.reserve(64 + 16 * response.intents.size() + response.body.size());
  put(out, std::span<const IntentId>(response.intents));
  put(out, response.provider);
  put(out, static_cast<std::uint8_t>(response.bulk));
  put(out, static_cast<std::int32_t>(response.http_status));
  put(out, static_cast<std::uint32_t>(response.headers.size()));
  for (const auto& [name, value] : response.headers) {
    put(out, name);
    put(out, value);
  }
  put(out, response.body);
  return out;
}

std::optional<SpooledResponse> decode_response(std::string_view bytes) {
  Reader in{bytes};
  SpooledResponse response;
  response.intents = in.intents();
  response.provider = in.text();
  response.bulk = in.number<std::uint8_t>() != 0;
  response.http_status = in.number<std::int32_t>();
  for (auto left = in.number<std::uint32_t>(); in.ok && left > 0; --left) {
    std::string name = in.text();
    response.headers.emplace_back(std::move(name), in.text());
  }
  response.body = in.text();
  if (!in.ok || !in.rest.empty()) return std::nullopt;
  return response;
}

/// One record with its head, ready for one write(2).
std::string record_of(RecordType type, std::string_view payload) {
  std::string out;
  out.reserve(kRecordHead + payload.size());
  put(out, static_cast<std::uint32_t>(payload.size()));
  put(out, static_cast<std::uint32_t>(type));
  put(out, crc32c(payload));
  put(out, crc32c(out));
  out += payload;
  return out;
}

// --- files
// -------------------------------------------------------------------------------------------

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

tl::unexpected<Error> fail_errno(int error, std::string_view deed, const fs::path& path) {
  // EFBIG: the process's own limit on file size; to whoever waits it is a full disk.
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return fail(full ? ErrorCode::disk_full : ErrorCode::io_failed,
              "cannot {} {}: {}",
              deed,
              path.string(),
              std::generic_category().message(error));
}

/// 0 or errno. One write(2), and more only where the kernel took less.
int write_all(int fd, std::string_view bytes) {
  const Fault fault = failpoint(FailPoint::spool_write, [&] {
    const ssize_t half = ::write(fd, bytes.data(), bytes.size() / 2);
    if (half > 0) bytes.remove_prefix(static_cast<std::size_t>(half));
  });
  if (fault.error != 0) return fault.error;
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

/// 0 or errno
int sync_file(int fd) {
  if (const Fault fault = failpoint(FailPoint::spool_sync); fault.error != 0) return fault.error;
  return ::fdatasync(fd) == 0 ? 0 : errno;
}

/// 0 or errno; shorter than asked at the end of the file.
int read_at(int fd, std::uint64_t offset, std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return 0;
}

/// 0 or errno: blocks for the `size` bytes from `offset` on, which may lie behind the file's end.
int set_aside(int fd, std::uint64_t offset, std::uint64_t size) {
  while (::fallocate(
             fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

int sync_folder(const fs::path& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? 0 : errno;
}

bool has_a_name(const Fd& fd) {
  struct stat status {};
  return ::fstat(fd.get(), &status) == 0 && status.st_nlink > 0;
}

/// The lock belongs to the open file and dies with the last process that has it open. False:
/// somebody else's, or the file has lost its name (its owner or another adopter was done with it).
bool try_lock(const Fd& fd) { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && has_a_name(fd); }

/// A file that nobody has had before, locked.
Result<Fd> create_locked(const fs::path& path) {
  for (;;) {
    Fd fd(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return fail_errno(errno, "create", path);
    while (::flock(fd.get(), LOCK_EX) != 0)
      if (errno != EINTR) return fail_errno(errno, "lock", path);
    // An adopter may have been between the two steps, and removed the file as the empty one it was.
    if (has_a_name(fd)) return fd;
  }
}

/// Tells one start of the machine from another; empty where the kernel does not say.
std::array<char, 16> boot_id() {
  std::array<char, 16> id{};
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string text;
  if (std::getline(in, text))
    if (const auto uuid = parse_uuid(text)) std::memcpy(id.data(), uuid->bytes.data(), id.size());
  return id;
}

std::string file_head(const OwnerId& owner, SpoolSync sync) {
  std::string out(kMagic);
  put(out, kVersion);
  put(out, static_cast<std::uint32_t>(sync == SpoolSync::none ? 0 : 1));
  put(out, owner);
  const auto boot = boot_id();
  out.append(boot.data(), boot.size());
  put(out, crc32c(out));
  return out;
}

// --- writing
// -----------------------------------------------------------------------------------------

struct UuidHash {
  std::size_t operator()(const Uuid& uuid) const {
    std::size_t tail = 0;  // the end of an UUIDv7 is chance
    std::memcpy(&tail, uuid.bytes.data() + 8, sizeof tail);
    return tail;
  }
};

class FileSpool final : public Spool {
 public:
  FileSpool(fs::path folder, const OwnerId& owner, SpoolSync sync, Fd fd)
      : folder_(std::move(folder)),
        path_(folder_ / (to_string(owner) + std::string(kSuffix))),
        owner_(owner),
        sync_(sync),
        fd_(std::move(fd)) {}

  ~FileSpool() override {
    if (records_.empty() && !broken_) ::unlink(path_.c_str());
  }
  FileSpool(const FileSpool&) = delete;
  FileSpool& operator=(const FileSpool&) = delete;

  Result<void> mark_sent(std::span<const IntentId> intents) override {
    if (intents.empty()) return {};
    std::string payload;
    put(payload, intents);
    const std::string bytes = record_of(RecordType::mark, payload);
    std::unique_lock lock(mutex_);
    if (broken_) return fail(*broken_);
    if (auto room = make_room(bytes.size(), intents.size()); !room) return room;
    waiting_.insert(intents.begin(), intents.end());
    auto added = add(bytes, intents, sync_ != SpoolSync::none, lock);
    if (!added)
      for (const IntentId& intent : intents) waiting_.erase(intent);
    return added;
  }

  Result<void> append(const SpooledResponse& response) override {
    const std::string payload = encode(response);
    if (payload.size() > UINT32_MAX)
      return fail(
          ErrorCode::io_failed, "an answer of {} bytes is too large to keep", payload.size());
    const std::string bytes = record_of(RecordType::response, payload);
    std::unique_lock lock(mutex_);
    if (broken_) return fail(*broken_);
    auto added = add(bytes, response.intents, sync_ == SpoolSync::always, lock);
    had_no_room_for_ = added ? 0 : bytes.size();
    for (const IntentId& intent : response.intents) waiting_.erase(intent);
    const std::uint64_t each = bytes.size() / std::max<std::size_t>(response.intents.size(), 1);
    room_for_one_ = std::clamp(each, room_for_one_, kMostRoom);
    return added;
  }

  Result<void> settled(std::span<const IntentId> intents) override {
    std::unique_lock lock(mutex_);
    for (const IntentId& intent : intents) {
      waiting_.erase(intent);
      const auto open = open_.find(intent);
      if (open == open_.end()) continue;
      for (const std::uint64_t number : open->second) {
        const auto record = records_.find(number);
        if (--record->second.open > 0) continue;
        live_ -= record->second.size;
        records_.erase(record);
      }
      open_.erase(open);
    }
    if (broken_) return fail(*broken_);
    if (records_.empty() && size_ > kFileHead) return cut_back(kFileHead);
    if (size_ >= rewrite_at_ && live_ * kMostLive <= size_) return rewrite(lock);
    return {};
  }

 private:
  struct Record {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::size_t open = 0;  // its intents that are not settled
  };

  /// Sees to it that `more` calls whose mark takes `bytes` will find room for their answers, beside
  /// all that are on their way. Without it a small mark finds the room that an answer does not, and
  /// what is then bought is lost. Where a file system cannot promise room, an answer that found
  /// none stops the calls until as much can be written again.
  Result<void> make_room(std::uint64_t bytes, std::size_t more) {
    if (had_no_room_for_ > 0) {
      std::string trial = record_of(RecordType::response, std::string(had_no_room_for_, '\0'));
      trial.pop_back();  // to a reader a record that was cut off, and so nothing
      const int error = write_all(fd_.get(), trial);
      if (auto cut = cut_back(size_); !cut) return cut;
      if (error != 0) return fail_errno(error, "write to", path_);
      had_no_room_for_ = 0;
    }
    const std::uint64_t wanted = bytes + (waiting_.size() + more) * room_for_one_;
    if (size_ + wanted <= room_end_) return {};
    int error = 0;
    for (const std::uint64_t size : {wanted + kRoomStep, wanted}) {
      error = set_aside(fd_.get(), size_, size);
      if (error == 0) {
        room_end_ = size_ + size;
        return {};
      }
    }
    if (error == EOPNOTSUPP || error == ENOSYS) return {};
    // A part of it may have been given, which the store needs more.
    if (auto cut = cut_back(size_); !cut) return cut;
    return fail_errno(error, "set aside room in", path_);
  }

  /// Appends one record, under the lock.
  Result<void> add(std::string_view bytes,
                   std::span<const IntentId> intents,
                   bool waits_for_disk,
                   std::unique_lock<std::mutex>& lock) {
    if (const int error = write_all(fd_.get(), bytes); error != 0) {
      if (auto cut = cut_back(size_); !cut) return cut;
      return fail_errno(error, "write to", path_);
    }
    const std::uint64_t number = ++written_;
    Record& record = records_[number];
    record = {size_, bytes.size(), 0};
    for (const IntentId& intent : intents) {
      auto& of_intent = open_[intent];
      if (!of_intent.empty() && of_intent.back() == number) continue;  // named twice in one record
      of_intent.push_back(number);
      ++record.open;
    }
    size_ += bytes.size();
    live_ += bytes.size();
    if (record.open == 0) {  // nobody will ever settle it
      live_ -= bytes.size();
      records_.erase(number);
    }
    return waits_for_disk ? make_durable(number, lock) : Result<void>();
  }

  /// Returns when record `number` is on disk.
  Result<void> make_durable(std::uint64_t number, std::unique_lock<std::mutex>& lock) {
    if (sync_ == SpoolSync::always) return sync_now();
    // One thread syncs, outside the lock; who comes meanwhile waits for the next round and shares
    // it.
    while (durable_ < number && !broken_) {
      if (syncing_) {
        synced_.wait(lock);
        continue;
      }
      syncing_ = true;
      const std::uint64_t upto = written_;
      lock.unlock();
      const int error = sync_file(fd_.get());
      lock.lock();
      syncing_ = false;
      if (error == 0)
        durable_ = upto;
      else
        break_with(fail_errno(error, "sync", path_).value());
      synced_.notify_all();
    }
    if (durable_ < number) return fail(*broken_);
    return {};
  }

  Result<void> sync_now() {
    const int error = sync_file(fd_.get());
    if (error == 0) return {};
    break_with(fail_errno(error, "sync", path_).value());
    return fail(*broken_);
  }

  Result<void> cut_back(std::uint64_t size) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
      break_with(fail_errno(errno, "cut back", path_).value());
      return fail(*broken_);
    }
    size_ = size;
    hold_room();
    return {};
  }

  /// A file that was cut or written anew has lost the room of the calls on their way.
  void hold_room() {
    const std::uint64_t room = waiting_.size() * room_for_one_;
    room_end_ = room > 0 && set_aside(fd_.get(), size_, room) == 0 ? size_ + room : size_;
  }

  /// After a failed sync the kernel may have dropped the pages and the next sync says all is well;
  /// after a failed cut a record would follow half of another. Both end this file.
  void break_with(Error error) {
    error.code = ErrorCode::io_failed;
    broken_ = std::move(error);
  }

  /// Puts what is still open into a new file under the same name. The old one stays whole until
  /// then.
  Result<void> rewrite(std::unique_lock<std::mutex>& lock) {
    synced_.wait(lock, [this] { return !syncing_; });
    if (broken_) return fail(*broken_);
    rewrite_at_ = size_ * 2;  // should this fail: later again, not at every call
    const fs::path path = folder_ / (to_string(owner_) + std::string(kRewriteSuffix));
    auto fd = write_open_records(path);
    if (!fd) {
      ::unlink(path.c_str());
      return fail(fd.error());
    }
    fd_ = std::move(*fd);  // whoever waits at the old file's lock finds it without a name
    size_ = kFileHead;
    for (auto& [number, record] : records_) {
      record.offset = size_;
      size_ += record.size;
    }
    hold_room();
    rewrite_at_ = kRewriteAt;
    if (sync_ == SpoolSync::none) return {};
    if (const int error = sync_folder(folder_); error != 0) {
      break_with(fail_errno(error, "sync", folder_).value());
      return fail(*broken_);
    }
    durable_ = written_;
    return {};
  }

  Result<Fd> write_open_records(const fs::path& path) {
    auto fd = create_locked(path);
    if (!fd) return fd;
    if (const int error = write_all(fd->get(), file_head(owner_, sync_)); error != 0)
      return fail_errno(error, "write to", path);
    std::string bytes;
    for (const auto& [number, record] : records_) {
      bytes.resize(record.size);
      if (const int error = read_at(fd_.get(), record.offset, bytes); error != 0)
        return fail_errno(error, "read", path_);
      GEONCE_EXPECTS(bytes.size() == record.size);
      if (const int error = write_all(fd->get(), bytes); error != 0)
        return fail_errno(error, "write to", path);
    }
    if (sync_ != SpoolSync::none && ::fdatasync(fd->get()) != 0)
      return fail_errno(errno, "sync", path);
    if (::rename(path.c_str(), path_.c_str()) != 0) return fail_errno(errno, "rename", path);
    return fd;
  }

  const fs::path folder_;
  const fs::path path_;
  const OwnerId owner_;
  const SpoolSync sync_;

  std::mutex mutex_;
  Fd fd_;
  std::uint64_t size_ = kFileHead;
  std::uint64_t live_ = 0;              // bytes of records with an open intent
  std::uint64_t room_end_ = kFileHead;  // up to here no write finds the disk full
  std::uint64_t room_for_one_ = kLeastRoom;
  std::uint64_t had_no_room_for_ = 0;               // the last answer, if it could not be written
  std::unordered_set<IntentId, UuidHash> waiting_;  // marked, and without an answer here
  std::uint64_t rewrite_at_ = kRewriteAt;
  std::uint64_t written_ = 0, durable_ = 0;  // counts of records
  std::map<std::uint64_t, Record> records_;  // open ones, in the order written
  std::unordered_map<IntentId, std::vector<std::uint64_t>, UuidHash> open_;
  std::optional<Error> broken_;
  bool syncing_ = false;
  std::condition_variable synced_;
};

// --- reading
// -----------------------------------------------------------------------------------------

struct FileHead {
  bool is_torn = false;  // the process died before the head was whole: nothing was sent
  bool is_foreign = false;
  std::uint32_t version = 0;
  bool synced = false;
  OwnerId owner;
  std::array<char, 16> boot{};
  bool is_whole = false;
};

FileHead read_head(std::string_view file) {
  FileHead head;
  if (file.size() < kFileHead && file.substr(0, kMagic.size()) == kMagic.substr(0, file.size())) {
    head.is_torn = true;
    return head;
  }
  Reader in{file};
  head.is_foreign = in.bytes(kMagic.size()) != kMagic;
  head.version = in.number<std::uint32_t>();
  head.synced = in.number<std::uint32_t>() != 0;
  head.owner = in.uuid();
  const auto boot = in.bytes(head.boot.size());
  std::copy(boot.begin(), boot.end(), head.boot.begin());
  head.is_whole = in.number<std::uint32_t>() == crc32c(file.substr(0, kFileHead - 4)) && in.ok;
  return head;
}

/// Everything up to the first byte that cannot be trusted.
DeadSpool read_records(const OwnerId& owner, std::string_view file) {
  DeadSpool dead;
  dead.owner = owner;
  std::vector<IntentId> marked;
  std::unordered_set<IntentId, UuidHash> answered;
  Reader in{file};
  in.bytes(kFileHead);
  while (!in.rest.empty()) {
    const std::size_t at = file.size() - in.rest.size();
    const std::string_view head = in.rest.substr(0, kRecordHead);
    const auto size = in.number<std::uint32_t>();
    const auto type = in.number<std::uint32_t>();
    const auto crc = in.number<std::uint32_t>();
    const auto head_crc = in.number<std::uint32_t>();
    if (in.ok && head_crc != crc32c(head.substr(0, kRecordHead - 4))) {
      dead.complete = false;
      dead.damage = fmt::format("unreadable from byte {} of {}", at, file.size());
      break;
    }
    const std::string_view payload = in.bytes(size);
    if (!in.ok) {
      dead.damage = fmt::format("cut off in the record at byte {} of {}", at, file.size());
      break;
    }
    bool is_good = crc == crc32c(payload);
    if (is_good && type == static_cast<std::uint32_t>(RecordType::mark)) {
      Reader mark{payload};
      const auto intents = mark.intents();
      is_good = mark.ok && mark.rest.empty();
      if (is_good) marked.insert(marked.end(), intents.begin(), intents.end());
    } else if (is_good && type == static_cast<std::uint32_t>(RecordType::response)) {
      auto response = decode_response(payload);
      is_good = response.has_value();
      if (is_good) {
        answered.insert(response->intents.begin(), response->intents.end());
        dead.responses.push_back(std::move(*response));
      }
    } else {
      is_good = false;
    }
    if (!is_good) {
      // Its length is right, so the next record may be too: each one saved is a call not paid for
      // again.
      dead.complete = false;
      if (dead.damage.empty())
        dead.damage = fmt::format("a bad record at byte {} of {}", at, file.size());
    }
  }
  std::unordered_set<IntentId, UuidHash> seen;
  for (const IntentId& intent : marked)
    if (!answered.contains(intent) && seen.insert(intent).second) dead.marked.push_back(intent);
  return dead;
}

/// nothing: its process lives, another adopter has it, or nothing was ever written to it.
enum class Found { adopted, nothing, foreign };

Result<Found> adopt_one(const fs::path& path,
                        const OwnerId& owner,
                        const std::function<Result<void>(const DeadSpool&)>& adopt) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return Found::nothing;  // another adopter was faster
  if (!fd && errno == ELOOP) return Found::foreign;
  if (!fd) return fail_errno(errno, "open", path);
  if (!try_lock(fd)) return Found::nothing;

  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "read", path);
  if (!S_ISREG(status.st_mode)) return Found::foreign;
  std::string file(static_cast<std::size_t>(status.st_size), '\0');
  if (const int error = read_at(fd.get(), 0, file); error != 0)
    return fail_errno(error, "read", path);

  const FileHead head = read_head(file);
  if (!head.is_torn) {
    if (head.is_foreign || (head.is_whole && head.version != kVersion)) return Found::foreign;
    DeadSpool dead;
    if (head.is_whole && head.owner == owner) {
      dead = read_records(owner, file);
      if (!head.synced && head.boot != boot_id()) dead.complete = false;
    } else {
      dead.owner = owner;
      dead.complete = false;
      dead.damage = "the head of the file is unreadable";
    }
    if (auto done = adopt(dead); !done) return fail(done.error());
  }
  if (::unlink(path.c_str()) != 0) return fail_errno(errno, "remove", path);
  return head.is_torn ? Found::nothing : Found::adopted;
}

/// What a rewrite left that did not come to its end: the file it was to replace is there and whole.
void remove_dead_rewrite(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat here {};
  struct stat named {};
  if (fd && try_lock(fd) && ::fstat(fd.get(), &here) == 0 && ::stat(path.c_str(), &named) == 0 &&
      here.st_ino == named.st_ino)
    ::unlink(path.c_str());
}

/// The owner in a name like `<uuid>.spool`.
std::optional<OwnerId> owner_of(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  const auto owner = parse_uuid(name.substr(0, name.size() - suffix.size()));
  if (!owner) return std::nullopt;
  return *owner;
}

}  // namespace

Result<std::unique_ptr<Spool>> open_spool(const fs::path& folder,
                                          const OwnerId& owner,
                                          SpoolSync sync) {
  std::error_code error;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && (errno != EEXIST || !fs::is_directory(folder, error)))
    return fail_errno(errno, "make the folder", folder);

  const fs::path path = folder / (to_string(owner) + std::string(kSuffix));
  auto fd = create_locked(path);
  if (!fd) return fail(fd.error());
  int failed = write_all(fd->get(), file_head(owner, sync));
  if (failed == 0 && sync != SpoolSync::none)
    failed = ::fsync(fd->get()) == 0 ? sync_folder(folder) : errno;
  if (failed != 0) {
    ::unlink(path.c_str());
    return fail_errno(failed, "write to", path);
  }
  return std::unique_ptr<Spool>(std::make_unique<FileSpool>(folder, owner, sync, std::move(*fd)));
}

Result<Adopted> adopt_dead_spools(const fs::path& folder,
                                  const std::function<Result<void>(const DeadSpool&)>& adopt) {
  Adopted adopted;
  std::optional<Error> first_error;
  std::error_code error;
  std::vector<fs::path> paths;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
       at.increment(error))
    paths.push_back(at->path());
  if (error == std::errc::no_such_file_or_directory) return adopted;  // nobody has spooled here yet
  if (error) return fail_errno(error.value(), "read the folder", folder);
  std::sort(paths.begin(), paths.end());  // oldest first: the names begin with the time

  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    if (owner_of(name, kRewriteSuffix)) {
      remove_dead_rewrite(path);
      continue;
    }
    const auto owner = owner_of(name, kSuffix);
    Result<Found> found = owner ? adopt_one(path, *owner, adopt) : Result<Found>(Found::foreign);
    if (!found) {
      if (!first_error) first_error = found.error();
    } else if (*found == Found::adopted) {
      ++adopted.spools;
    } else if (*found == Found::foreign) {
      adopted.notes.push_back(
          fmt::format("{} is no spool of this version; left as it is", path.string()));
    }
  }
  if (first_error) return fail(*first_error);
  return adopted;
}

}  // namespace geonce
