#include "batch/distinct.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace geonce {
namespace {

// A key is a digest: 15 of its bytes tell 10⁹ keys apart with a chance of error below 10⁻¹⁸.
struct Item {
  std::array<std::uint8_t, 15> head;
  std::uint8_t kind;
  friend auto operator<=>(const Item&, const Item&) = default;
};
static_assert(sizeof(Item) == 16);

constexpr std::size_t kFiles = 64;
constexpr std::size_t kBuffered = 512;  // items a file: 8 KiB

class SpilledKeys final : public DistinctKeys {
 public:
  explicit SpilledKeys(std::array<int, kFiles> files) : files_(files) {
    for (auto& buffer : buffers_) buffer.reserve(kBuffered);
  }
  ~SpilledKeys() override {
    for (const int file : files_) ::close(file);
  }
  SpilledKeys(const SpilledKeys&) = delete;
  SpilledKeys& operator=(const SpilledKeys&) = delete;

  Result<void> add(const Key& key, std::uint8_t kind) override {
    GEONCE_EXPECTS(kind < kClasses);
    const std::size_t file = key.bytes[31] % kFiles;
    Item item{{}, kind};
    std::memcpy(item.head.data(), key.bytes.data(), item.head.size());
    buffers_.at(file).push_back(item);
    if (buffers_.at(file).size() < kBuffered) return {};
    return flush(file);
  }

  Result<std::array<std::int64_t, kClasses>> count() override {
    std::array<std::int64_t, kClasses> counts{};
    for (std::size_t file = 0; file < kFiles; ++file) {
      if (auto flushed = flush(file); !flushed) return fail(flushed.error());
      auto items = read_back(file);
      if (!items) return fail(items.error());
      std::sort(items->begin(), items->end());
      const auto last = std::unique(items->begin(), items->end());
      std::for_each(items->begin(), last, [&](const Item& item) { ++counts.at(item.kind); });
    }
    return counts;
  }

 private:
  Result<std::vector<Item>> read_back(std::size_t file) {
    const auto bytes = ::lseek(files_.at(file), 0, SEEK_END);
    if (bytes < 0) return io_error("lseek");
    std::vector<Item> items(static_cast<std::size_t>(bytes) / sizeof(Item));
    auto* out = reinterpret_cast<char*>(items.data());
    for (off_t done = 0; done < bytes;) {
      const auto got =
          ::pread(files_.at(file), out + done, static_cast<std::size_t>(bytes - done), done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return io_error("pread");
      done += got;
    }
    return items;
  }

  Result<void> flush(std::size_t file) {
    auto& buffer = buffers_.at(file);
    const auto* bytes = reinterpret_cast<const char*>(buffer.data());
    std::size_t left = buffer.size() * sizeof(Item);
    while (left > 0) {
      const auto put = ::write(files_.at(file), bytes, left);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return io_error("write");
      bytes += put;
      left -= static_cast<std::size_t>(put);
    }
    buffer.clear();
    return {};
  }

  static tl::unexpected<Error> io_error(const char* what) {
    return fail(errno == ENOSPC ? ErrorCode::disk_full : ErrorCode::io_failed,
                "counting distinct addresses: {} on a temporary file failed: {}",
                what,
                std::generic_category().message(errno));
  }

  std::array<int, kFiles> files_;
  std::array<std::vector<Item>, kFiles> buffers_;
};

}  // namespace

Result<std::unique_ptr<DistinctKeys>> DistinctKeys::open(const std::filesystem::path& folder) {
  std::array<int, kFiles> files{};
  for (std::size_t i = 0; i < kFiles; ++i) {
    std::string name = folder / "geonce-distinct-XXXXXX";
    files.at(i) = ::mkstemp(name.data());
    if (files.at(i) < 0) {
      const int error = errno;
      for (const int file : std::span(files).first(i)) ::close(file);
      return fail(
          error == ENOSPC ? ErrorCode::disk_full : ErrorCode::io_failed,
          "cannot make a temporary file in {}: {} (set TMPDIR to a folder that can be written)",
          folder.string(),
          std::generic_category().message(error));
    }
    ::unlink(name.c_str());
  }
  return std::make_unique<SpilledKeys>(files);
}

}  // namespace geonce
