#include "io/libpostal_reader.h"

#include <array>
#include <future>
#include <mutex>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/libpostal_identity.h"
#include "io/libpostal_keeper.h"

namespace geonce {
namespace {

class LibpostalReader final : public SecondReader {
 public:
  explicit LibpostalReader(LibpostalOptions options) : options_(std::move(options)) {}
  ~LibpostalReader() override {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
    }
    wake();
    if (keeper_.joinable()) keeper_.join();
    if (bell_ >= 0) ::close(bell_);
  }

  Result<void> open() {
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell_ < 0) return fail(ErrorCode::io_failed, "there are no more file descriptors");
    std::promise<Result<std::string>> greeted;
    auto library = greeted.get_future();
    std::promise<void> named;
    auto name = named.get_future();
    // The process lives as long as the thread that starts it, so that thread does all of this.
    keeper_ = std::jthread([this, greeted = std::move(greeted), name = std::move(name)]() mutable {
      LibpostalKeeper keeper(options_, mutex_);
      auto path = keeper.greet();
      const bool is_there = path.has_value();
      greeted.set_value(std::move(path));
      name.wait();
      if (!is_there || backend_.empty()) return;
      keeper.expect(&identity_);
      keep(keeper);
    });
    auto path = library.get();
    Result<void> opened;
    if (!path)
      opened = fail(path.error());
    else
      opened = identify(*path);
    named.set_value();
    return opened;
  }

  [[nodiscard]] const std::string& backend() const override { return backend_; }

  std::vector<Result<std::vector<TextPart>>> read(std::span<const std::string> texts) override {
    PostalRound round(texts.size());
    if (texts.empty()) return {};
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < texts.size(); ++i) asked_.push_back({&texts[i], &round, i});
    }
    wake();
    std::unique_lock lock(mutex_);
    round.done.wait(lock, [&round] { return round.left == 0; });
    return std::move(round.said);
  }

 private:
  Result<void> identify(const std::string& library) {
    auto identity = LibpostalIdentity::of(library, options_.data, options_.cache, options_.notice);
    if (!identity) return fail(identity.error());
    identity_ = std::move(*identity);
    backend_ = identity_.backend();
    return {};
  }

  void keep(LibpostalKeeper& keeper) {
    const std::stop_callback on_stop(options_.stop, [this] { wake(); });
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (is_closing_) return;  // nobody waits: whoever does still needs this object
        for (const PostalQuestion& question : asked_) keeper.ask(question);
        asked_.clear();
      }
      if (options_.stop.stop_requested())
        keeper.give_up(
            {ErrorCode::interrupted, "stopped before this address was read", {}, {}, {}});
      else
        keeper.step(system_clock().now());
      wait(keeper);
    }
  }

  void wait(const LibpostalKeeper& keeper) {
    std::array<pollfd, 2> doors{{{bell_, POLLIN, 0}, {keeper.socket(), POLLIN, 0}}};
    if (keeper.wants_to_write()) doors[1].events = POLLIN | POLLOUT;
    const auto left = Deadline{keeper.due()}.left(system_clock());
    ::poll(doors.data(), doors.size(), static_cast<int>(left.count()) + 1);
    std::uint64_t rings = 0;
    while (::read(bell_, &rings, sizeof rings) > 0) continue;
  }

  void wake() const {
    const std::uint64_t ring = 1;
    if (bell_ >= 0) (void)!::write(bell_, &ring, sizeof ring);
  }

  LibpostalOptions options_;
  LibpostalIdentity identity_;
  std::string backend_;
  int bell_ = -1;  // wakes the keeper

  std::mutex mutex_;  // of all below, and of rounds
  std::vector<PostalQuestion> asked_;
  bool is_closing_ = false;

  std::jthread keeper_;
};

}  // namespace

Result<std::unique_ptr<SecondReader>> open_libpostal(LibpostalOptions options) {
  auto reader = std::make_unique<LibpostalReader>(std::move(options));
  if (auto opened = reader->open(); !opened) return fail(opened.error());
  return reader;
}

}  // namespace geonce
