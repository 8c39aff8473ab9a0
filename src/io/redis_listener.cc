#include "io/redis_listener.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/redis_topology.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectPatience{250};  // the end of the process may have to wait for it
constexpr milliseconds kRetryEvery{2'000};

class Ear final : public RedisListener {
 public:
  Ear(RedisOptions options,
      std::unique_ptr<RedisTls> tls,
      std::string channel,
      std::function<void()> called,
      const Clock& clock)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        channel_(std::move(channel)),
        called_(std::move(called)),
        manner_(manner_of(clock)),
        scout_(options_.target, manner_, tls_.get()),
        thread_([this](const std::stop_token& stop) { listen(stop); }) {}
  ~Ear() override {
    thread_.request_stop();
    const std::uint64_t one = 1;
    (void)!::write(stopped_, &one, sizeof one);
    thread_.join();
    ::close(stopped_);
  }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

 private:
  [[nodiscard]] milliseconds patience() const {
    return std::max(options_.patience, kConnectPatience);
  }
  RedisManner manner_of(const Clock& clock) const {
    RedisManner manner;
    const RedisTarget& target = options_.target;
    manner.login.user = target.user;
    manner.login.password = target.password;
    manner.login.must_be_master = target.kind == RedisTarget::Kind::sentinel;
    manner.login.tls = tls_.get();
    manner.patience = patience();
    manner.notice = [](const std::string& /*others tell of their connections*/) {};
    manner.call_keeper = [] {};
    manner.clock = &clock;
    return manner;
  }

  void listen(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (auto connection = connect()) hear(*connection, stop);
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kRetryEvery, [] { return false; });
    }
  }

  /// null: it is tried again.
  std::unique_ptr<RedisConnection> connect() {
    const auto topology = scout_.look(nullptr);
    if (!topology) return nullptr;
    auto connection = RedisConnection::open(
        (*topology)->nodes.front()->endpoint(), manner_.login, patience(), *manner_.clock);
    if (!connection) return nullptr;
    std::string bytes;
    append_redis_command(bytes, {"SUBSCRIBE", channel_});
    const auto reply = (*connection)->ask(bytes, 1, patience());
    if (!reply || reply->front().look().is_error()) return nullptr;
    return std::move(*connection);
  }

  void hear(RedisConnection& connection, const std::stop_token& stop) {
    called_();
    while (!stop.stop_requested()) {
      std::array<pollfd, 2> waiting{pollfd{connection.socket(), connection.wanted_events(), 0},
                                    pollfd{stopped_, POLLIN, 0}};
      if (::poll(waiting.data(), waiting.size(), -1) <= 0) continue;
      const auto pumped = connection.pump();
      bool is_called = false;
      for (auto reply = connection.next(); reply && *reply; reply = connection.next())
        is_called = true;
      if (is_called) called_();
      if (!pumped) return;
    }
  }

  const RedisOptions options_;
  const std::unique_ptr<RedisTls> tls_;
  const std::string channel_;
  const std::function<void()> called_;
  const RedisManner manner_;
  RedisScout scout_;
  const int stopped_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last, because it uses all of the above
};

}  // namespace

Result<std::unique_ptr<RedisListener>> open_redis_listener(RedisOptions options,
                                                           std::string channel,
                                                           std::function<void()> called,
                                                           const Clock& clock) {
  std::unique_ptr<RedisTls> tls;
  if (options.target.tls) {
    auto opened = open_redis_tls(options.tls);
    if (!opened) return fail(opened.error());
    tls = std::move(*opened);
  }
  return std::make_unique<Ear>(
      std::move(options), std::move(tls), std::move(channel), std::move(called), clock);
}

}  // namespace geonce
