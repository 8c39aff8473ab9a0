#include "io/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace geonce {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

// With the executor spelt out nothing is called through a table.
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>,
                                         Executor>;
using Task = asio::awaitable<void, Executor>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable_t<Executor>());

constexpr std::size_t kPiece = 64U << 10U;     // of a body, that `pace` is for
constexpr std::size_t kMostKept = 16U << 10U;  // of the memory of responses, for the next ones
constexpr milliseconds kTick{500};

struct Counters {
  std::atomic<std::int64_t> connections = 0, accepted = 0, turned_away = 0, requests = 0,
                            faults = 0, too_slow = 0;
  std::mutex mutex;
  std::condition_variable gone;  // of a connection
};

/// What stands in every response; made once a second.
class DateLine {
 public:
  const std::string& at(std::time_t now) {
    if (now == second_) return line_;
    second_ = now;
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 64> text{};
    const auto size = std::strftime(
        text.data(), text.size(), "Server: geonce\r\nDate: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    line_.assign(text.data(), size);
    return line_;
  }

 private:
  std::time_t second_ = -1;
  std::string line_;
};

class Connection;

/// One thread and its connections.
struct Loop {
  Loop(const HttpServerOptions& given, std::unique_ptr<HttpHandler> called, Counters& counted)
      : options(given), handler(std::move(called)), counters(counted) {}

  const HttpServerOptions& options;
  const std::unique_ptr<HttpHandler> handler;
  Counters& counters;
  std::unordered_set<Connection*> connections;
  Mono now = std::chrono::steady_clock::now();  // as good as kTick
  DateLine date;
  bool is_draining = false;
  asio::io_context context{1};  // ends before what its tasks use
  Timer ticks{context.get_executor()};
  std::vector<Acceptor> acceptors;
};

/// Whose handler runs on this thread: its response needs no way to the loop.
thread_local const Connection* answering = nullptr;

class Connection final : public HttpReply::Receiver,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(Loop& loop, Socket socket)
      : loop_(loop), socket_(std::move(socket)), reader_(loop.options.limits) {
    loop_.connections.insert(this);
    ++loop_.counters.connections;
  }
  ~Connection() override {
    loop_.connections.erase(this);
    const std::lock_guard lock(loop_.counters.mutex);
    --loop_.counters.connections;
    loop_.counters.gone.notify_all();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Task run() {
    while (!is_over_) {
      const auto room = reader_.room();
      const auto [error, size] =
          co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), kAwait);
      if (error) break;
      reader_.took(size);
      co_await answer_all();
      allow_time();
    }
    error_code ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

  void receive(ServerResponse response) override {
    if (answering == this) {
      response_ = std::move(response);
      return;
    }
    asio::post(loop_.context, [self = shared_from_this(), given = std::move(response)]() mutable {
      self->response_ = std::move(given);
      self->answered_.cancel();
    });
  }

  /// Cuts it when it is too slow.
  void look_at_time() {
    if (loop_.now < until_) return;
    if (reader_.has_begun() || is_writing_) ++loop_.counters.too_slow;
    cut();
  }
  /// It ends after the response that it works at, at once if there is none.
  void end_soon() {
    is_ending_ = true;
    if (!is_busy_ && !reader_.has_begun()) cut();
  }
  void cut() {
    is_over_ = true;
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Task answer_all() {
    for (;;) {
      const auto step = reader_.next();
      if (step == HttpReader::Step::more) {
        if (reader_.take_expectation()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        break;
      }
      if (step == HttpReader::Step::fault) {
        refuse(reader_.fault());
        break;
      }
      is_busy_ = true;
      co_await answer_one();
      is_busy_ = false;
      reader_.drop();
      if (is_over_ || is_last_) break;
      if (out_.size() >= kPiece) co_await flush();
    }
    co_await flush();
    if (is_last_) is_over_ = true;
  }

  Task answer_one() {
    ++loop_.counters.requests;
    until_ = Mono::max();  // the handler has its own limits
    answering = this;
    loop_.handler->handle(reader_.request(), HttpReply(shared_from_this()));
    answering = nullptr;
    if (!response_) {
      co_await flush();  // of the requests before
      while (!response_) {
        answered_.expires_at(Mono::max());
        co_await answered_.async_wait(kAwait);
      }
    }
    is_last_ = is_ending_ || !reader_.keeps_alive();
    put(*response_, reader_.request().method == HttpMethod::head);
    response_.reset();
    next_piece_ = 0;
    is_in_head_ = false;
  }

  void refuse(const HttpFault& fault) {
    ++loop_.counters.faults;
    is_last_ = true;
    ServerResponse response;
    response.status = fault.status;
    response.content_type = "application/problem+json";
    response.body =
        fmt::format(R"({{"type":"/problems/bad-request","title":"{}","status":{},"detail":"{}"}})",
                    reason_phrase(fault.status),
                    fault.status,
                    fault.why);
    put(response, false);
  }

  void put(const ServerResponse& response, bool is_head) {
    const auto at = std::back_inserter(out_);
    fmt::format_to(at, "HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
    out_ += loop_.date.at(std::time(nullptr));
    if (!response.content_type.empty())
      out_.append("Content-Type: ").append(response.content_type).append("\r\n");
    out_ += response.fields;
    if (is_last_)
      out_ += "Connection: close\r\n";
    else if (reader_.is_http_1_0())
      out_ += "Connection: keep-alive\r\n";
    if (response.status == 204 || response.status == 304)
      out_ += "\r\n";
    else
      fmt::format_to(at, "Content-Length: {}\r\n\r\n", response.body.size());
    if (!is_head && response.status != 204 && response.status != 304) out_ += response.body;
  }

  Task flush() {
    is_writing_ = true;
    for (std::size_t from = 0; from < out_.size() && !is_over_; from += kPiece) {
      until_ = loop_.now + loop_.options.pace;
      const auto [error, size] = co_await asio::async_write(
          socket_, asio::buffer(out_.data() + from, std::min(kPiece, out_.size() - from)), kAwait);
      if (error) is_over_ = true;
    }
    is_writing_ = false;
    out_.clear();
    if (out_.capacity() > kMostKept) out_.shrink_to_fit();
  }

  /// How long the client may take over what comes next.
  void allow_time() {
    if (!reader_.has_begun()) {
      until_ = loop_.now + loop_.options.idle;
      is_in_head_ = false;
    } else if (!reader_.has_head()) {
      if (!std::exchange(is_in_head_, true)) until_ = loop_.now + loop_.options.head_time;
    } else if (is_in_head_ || reader_.body_size() >= next_piece_) {
      is_in_head_ = false;
      next_piece_ = reader_.body_size() + kPiece;
      until_ = loop_.now + loop_.options.pace;
    }
  }

  Loop& loop_;
  Socket socket_;
  HttpReader reader_;
  std::string out_;
  std::optional<ServerResponse> response_;
  Timer answered_{loop_.context.get_executor()};
  Mono until_ = loop_.now + loop_.options.head_time;
  std::size_t next_piece_ = 0;
  bool is_in_head_ = false, is_busy_ = false, is_writing_ = false;
  bool is_last_ = false, is_ending_ = false, is_over_ = false;
};

using Endpoint = asio::generic::stream_protocol::endpoint;

/// errors    usage
Result<Endpoint> endpoint_of(const std::string& address) {
  constexpr std::string_view kUnix = "unix:";
  if (address.starts_with(kUnix)) {
    const auto path = address.substr(kUnix.size());
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
      return fail(ErrorCode::usage, "{}: no path that a socket can have", address);
    return Endpoint(asio::local::stream_protocol::endpoint(path));
  }
  const auto colon = address.rfind(':');
  auto host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  int port = -1;
  if (colon != std::string::npos) {
    const char* end = address.data() + address.size();
    const auto read = std::from_chars(address.data() + colon + 1, end, port);
    if (read.ptr != end || read.ec != std::errc()) port = -1;
  }
  if (host == "*") host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  error_code error;
  const auto ip = asio::ip::make_address(host, error);
  if (error || port < 0 || port > 65'535)
    return fail(ErrorCode::usage,
                "{}: no address to listen to, such as 127.0.0.1:8080, [::1]:8080, *:8080 or "
                "unix:/run/geonce.sock",
                address);
  return Endpoint(asio::ip::tcp::endpoint(ip, static_cast<std::uint16_t>(port)));
}

bool is_unix(const Endpoint& endpoint) { return endpoint.protocol().family() == AF_UNIX; }

std::string text_of(const Endpoint& endpoint) {
  if (is_unix(endpoint))
    return std::string("unix:") + reinterpret_cast<const sockaddr_un*>(endpoint.data())->sun_path;
  asio::ip::tcp::endpoint ip;
  ip.resize(endpoint.size());
  std::memcpy(ip.data(), endpoint.data(), endpoint.size());
  return fmt::format(fmt::runtime(ip.address().is_v6() ? "[{}]:{}" : "{}:{}"),
                     ip.address().to_string(),
                     ip.port());
}

/// A socket file of a process that is no more stands in the way; one that somebody answers does not
/// go.
void clear_way(const Endpoint& endpoint) {
  asio::io_context context;
  Socket probe(context);
  error_code error;
  probe.connect(endpoint, error);
  if (error == asio::error::connection_refused)
    ::unlink(reinterpret_cast<const sockaddr_un*>(endpoint.data())->sun_path);
}

class LiveServer final : public HttpServer {
 public:
  explicit LiveServer(HttpServerOptions options) : options_(std::move(options)) {}

  ~LiveServer() override {
    for (const auto& loop : loops_) loop->context.stop();
    threads_.clear();  // joins
    for (const auto& path : unix_paths_) ::unlink(path.c_str());
  }
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  Result<void> open(const std::function<std::unique_ptr<HttpHandler>()>& make) {
    for (int n = 0; n < options_.loops; ++n)
      loops_.push_back(std::make_unique<Loop>(options_, make(), counters_));
    for (const std::string& address : options_.listen) {
      auto endpoint = endpoint_of(address);
      if (!endpoint) return fail(endpoint.error());
      if (auto listening = listen(*endpoint); !listening) return listening;
    }
    for (const auto& loop : loops_) {
      asio::co_spawn(loop->context, tick(*loop), asio::detached);
      for (Acceptor& acceptor : loop->acceptors)
        asio::co_spawn(loop->context, accept(*loop, acceptor), asio::detached);
      threads_.emplace_back([&loop = *loop] { loop.context.run(); });
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> addresses() const override { return addresses_; }

  [[nodiscard]] HttpServerStats stats() const override {
    return {counters_.connections,
            counters_.accepted,
            counters_.turned_away,
            counters_.requests,
            counters_.faults,
            counters_.too_slow};
  }

  void drain(Deadline deadline) override {
    in_each_loop([](Loop& loop) {
      loop.is_draining = true;
      error_code ignored;
      for (Acceptor& acceptor : loop.acceptors) acceptor.close(ignored);
      const auto all = loop.connections;
      for (Connection* connection : all) connection->end_soon();
    });
    std::unique_lock lock(counters_.mutex);
    const auto none_is_left = [this] { return counters_.connections == 0; };
    if (deadline.at == Mono::max())
      counters_.gone.wait(lock, none_is_left);
    else if (!counters_.gone.wait_until(lock, deadline.at, none_is_left))
      in_each_loop([](Loop& loop) {
        const auto all = loop.connections;
        for (Connection* connection : all) connection->cut();
      });
  }

 private:
  /// Every loop hears of connections to a TCP port, and the kernel deals them out; a socket file
  /// has one listener, which deals them out itself.
  Result<void> listen(Endpoint endpoint) {
    const bool is_file = is_unix(endpoint);
    if (is_file) clear_way(endpoint);
    for (const auto& loop : loops_) {
      error_code error;
      Acceptor acceptor(loop->context);
      acceptor.open(endpoint.protocol(), error);
      if (!error && !is_file) {
        acceptor.set_option(asio::socket_base::reuse_address(true), error);
        const int on = 1;
        ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        if (endpoint.protocol().family() == AF_INET6)
          ::setsockopt(acceptor.native_handle(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
      }
      if (!error) acceptor.bind(endpoint, error);
      if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
      if (error)
        return fail(ErrorCode::io_failed,
                    "{}: cannot be listened to ({})",
                    text_of(endpoint),
                    error.message());
      endpoint = acceptor.local_endpoint(error);  // the port that it was given
      loop->acceptors.push_back(std::move(acceptor));
      if (is_file) break;
    }
    addresses_.push_back(text_of(endpoint));
    if (is_file) unix_paths_.push_back(addresses_.back().substr(5));
    return {};
  }

  Task accept(Loop& own, Acceptor& acceptor) {
    const bool is_file = acceptor.local_endpoint().protocol().family() == AF_UNIX;
    for (std::size_t next = 0; !own.is_draining; ++next) {
      Loop& loop = is_file ? *loops_[next % loops_.size()] : own;
      Socket socket(loop.context);
      const auto [error] = co_await acceptor.async_accept(socket, kAwait);
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // as when there are no file descriptors left: connections wait in the kernel
        Timer pause(own.context, milliseconds{50});
        co_await pause.async_wait(kAwait);
        continue;
      }
      ++counters_.accepted;
      if (!is_file) {
        const int on = 1;
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      }
      if (counters_.connections >= static_cast<std::int64_t>(options_.max_connections))
        turn_away(socket);
      else if (&loop == &own)
        begin(loop, std::move(socket));
      else
        asio::post(loop.context,
                   [&loop, taken = std::move(socket)]() mutable { begin(loop, std::move(taken)); });
    }
  }

  static void begin(Loop& loop, Socket socket) {
    auto connection = std::make_shared<Connection>(loop, std::move(socket));
    asio::co_spawn(
        loop.context, [connection]() -> Task { co_await connection->run(); }, asio::detached);
  }

  void turn_away(Socket& socket) {
    ++counters_.turned_away;
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kFull), ignored);
  }

  static Task tick(Loop& loop) {
    for (;;) {
      loop.ticks.expires_after(kTick);
      const auto [error] = co_await loop.ticks.async_wait(kAwait);
      if (error) co_return;
      loop.now = std::chrono::steady_clock::now();
      const std::vector<Connection*> all(loop.connections.begin(), loop.connections.end());
      for (Connection* connection : all) connection->look_at_time();
    }
  }

  template <class F>
  void in_each_loop(F f) {
    for (const auto& loop : loops_) asio::post(loop->context, [&loop = *loop, f] { f(loop); });
  }

  HttpServerOptions options_;
  Counters counters_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::string> addresses_, unix_paths_;
  std::vector<std::jthread> threads_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> open_http_server(
    HttpServerOptions options, const std::function<std::unique_ptr<HttpHandler>()>& make) {
  auto server = std::make_unique<LiveServer>(std::move(options));
  if (auto opened = server->open(make); !opened) return fail(opened.error());
  return server;
}

}  // namespace geonce
