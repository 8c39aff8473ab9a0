#include "io/libpostal_identity.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/key.h"
#include "core/sha256_stream.h"

namespace geonce {
namespace {

namespace fs = std::filesystem;

/// Grows when the same answers of the library become other addresses.
constexpr std::string_view kAdapter = "geonce libpostal 1\n";
constexpr std::array<std::string_view, 4> kFolders{
    "address_expansions", "address_parser", "numex", "transliteration"};
constexpr std::string_view kCacheName = "libpostal-files";
constexpr std::uint64_t kMuch = std::uint64_t{256} << 20U;  // bytes; reading them takes a moment

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_;
};

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileMark mark_of(const std::string& path, const struct stat& status) {
  return {path,
          status.st_dev,
          status.st_ino,
          static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_ctim),
          nanoseconds(status.st_mtim)};
}

tl::unexpected<Error> unreadable(const std::string& path) {
  return fail(ErrorCode::invalid_config,
              "cannot read {}: {}",
              path,
              std::generic_category().message(errno));
}

Result<FileMark> mark_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return unreadable(path);
  return mark_of(path, status);
}

/// The library, and then the data by name: bytewise, so that no locale has a say.
Result<std::vector<FileMark>> marks_of(const std::string& library, const fs::path& data) {
  auto first = mark_of(library);
  if (!first) return fail(first.error());
  std::vector<FileMark> marks{std::move(*first)};
  for (const auto folder : kFolders) {
    std::error_code error;
    std::vector<std::string> names;
    const fs::path below = data / folder;
    for (fs::recursive_directory_iterator
             it(below, fs::directory_options::follow_directory_symlink, error),
         end;
         !error && it != end;
         it.increment(error))
      if (it->is_regular_file(error)) names.push_back(it->path().string());
    if (error || names.empty())
      return fail(ErrorCode::invalid_config,
                  "the folder {} is none of libpostal's data: there is nothing to read in {} (it "
                  "holds the folders {})",
                  data.string(),
                  below.string(),
                  fmt::join(kFolders, ", "));
    std::ranges::sort(names);
    for (const std::string& name : names) {
      auto mark = mark_of(name);
      if (!mark) return fail(mark.error());
      marks.push_back(std::move(*mark));
    }
  }
  return marks;
}

/// The hash of a file's bytes, which were those of `mark` before and after.
Result<std::string> hash_of(const FileMark& mark) {
  const OpenFile file(mark.path);
  if (file.get() < 0) return unreadable(mark.path);
  Sha256Stream stream;
  std::vector<char> bytes(std::size_t{1} << 20U);
  for (;;) {
    const auto got = ::read(file.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(mark.path);
    if (got == 0) break;
    stream.add({bytes.data(), static_cast<std::size_t>(got)});
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || mark_of(mark.path, status) != mark)
    return fail(ErrorCode::invalid_config, "{} changes while it is read; try again", mark.path);
  const Key digest = stream.finish();
  return to_hex({reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()});
}

/// Hashes of files that have been read before. A line per file: hash, mark, path.
class HashCache {
 public:
  explicit HashCache(const fs::path& folder)
      : file_(folder.empty() ? folder : folder / kCacheName) {
    if (file_.empty()) return;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string hash;
      FileMark mark;
      words >> hash >> mark.device >> mark.inode >> mark.size >> mark.changed_ns >>
          mark.modified_ns;
      if (!words || hash.size() != 64 || words.get() != ' ' || !std::getline(words, mark.path))
        continue;
      known_[mark.path] = {mark, hash};
    }
  }

  [[nodiscard]] std::optional<std::string> find(const FileMark& mark) const {
    const auto found = known_.find(mark.path);
    if (found == known_.end() || found->second.first != mark) return std::nullopt;
    return found->second.second;
  }

  /// A file that was written this moment may be written again without a trace in its times.
  void add(const FileMark& mark, const std::string& hash) {
    constexpr std::int64_t kSettled = 2'000'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (nanoseconds(now) - mark.changed_ns < kSettled || mark.path.find('\n') != std::string::npos)
      return;
    known_[mark.path] = {mark, hash};
    has_news_ = true;
  }

  /// What cannot be remembered is read again next time.
  void save() const {
    if (file_.empty() || !has_news_) return;
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    const fs::path part = file_.string() + "." + std::to_string(::getpid());
    {
      std::ofstream out(part, std::ios::trunc);
      for (const auto& [path, known] : known_) {
        const auto& [mark, hash] = known;
        out << hash << ' ' << mark.device << ' ' << mark.inode << ' ' << mark.size << ' '
            << mark.changed_ns << ' ' << mark.modified_ns << ' ' << path << '\n';
      }
      out.close();
      if (!out) error = std::make_error_code(std::errc::io_error);
    }
    if (!error) fs::rename(part, file_, error);
    if (error) fs::remove(part, error);
  }

 private:
  fs::path file_;
  std::map<std::string, std::pair<FileMark, std::string>> known_;
  bool has_news_ = false;
};

}  // namespace

Result<LibpostalIdentity> LibpostalIdentity::of(
    const std::string& library,
    const fs::path& data,
    const fs::path& cache,
    const std::function<void(const std::string&)>& notice) {
  auto marks = marks_of(library, data);
  if (!marks) return fail(marks.error());
  HashCache hashes(cache);
  std::uint64_t unknown = 0;
  for (const FileMark& mark : *marks)
    if (!hashes.find(mark)) unknown += mark.size;
  if (unknown >= kMuch && notice)
    notice(
        fmt::format("reading {} MiB of its files once, for the name of its keys", unknown >> 20U));
  std::string text(kAdapter);
  for (const FileMark& mark : *marks) {
    auto hash = hashes.find(mark);
    if (!hash) {
      auto read = hash_of(mark);
      if (!read) return fail(read.error());
      hashes.add(mark, *read);
      hash = std::move(*read);
    }
    const bool is_library = &mark == &marks->front();
    text += *hash + "  " +
            (is_library ? "library" : mark.path.substr((data / "").string().size())) + "\n";
  }
  hashes.save();
  constexpr std::size_t kDigits = 16;
  const Key digest = sha256(text);
  LibpostalIdentity identity;
  identity.backend_ =
      "p:" + to_hex({reinterpret_cast<const char*>(digest.bytes.data()), kDigits / 2});
  identity.files_ = std::move(*marks);
  identity.data_ = data;
  return identity;
}

bool LibpostalIdentity::is_current() const {
  const auto marks = marks_of(files_.front().path, data_);
  return marks && *marks == files_;
}

}  // namespace geonce
