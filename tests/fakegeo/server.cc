#include "server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fakegeo {
namespace {

constexpr std::uint64_t kListener = 0;
constexpr std::uint64_t kSignals = 1;
constexpr auto kEndlessPause = std::chrono::milliseconds(10);

[[noreturn]] void stop(const char* what) {
  fmt::print(stderr, "fakegeo: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

void watch(int epoll, int file, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) != 0) stop("epoll_ctl");
}

/// Bytes that come are no event any more.
void watch_for_leaving(int epoll, int file, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLRDHUP;
  event.data.u64 = id;
  if (::epoll_ctl(epoll, EPOLL_CTL_MOD, file, &event) != 0) stop("epoll_ctl");
}

int open_listener(const Options& options) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) stop("socket");
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  if (::inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1) stop("host");
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) stop("bind");
  if (::listen(socket, 4096) != 0) stop("listen");
  return socket;
}

Answer plain(int status, std::string_view text) {
  return {.status = status,
          .content_type = "text/plain",
          .body = fmt::format("{}\n", text),
          .headers = {}};
}

Answer json_answer(std::string body) {
  Answer answer;
  answer.body = std::move(body);
  return answer;
}

std::uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) stop("getsockname");
  return ntohs(address.sin_port);
}

}  // namespace

Server::Server(Options options, Script script)
    : options_(std::move(options)),
      script_(std::move(script)),
      bill_(options_.bill_file),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      listener_(open_listener(options_)),
      port_(port_of(listener_)) {
  if (epoll_ < 0) stop("epoll_create1");
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  signals_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals_ < 0) stop("signalfd");
  watch(epoll_, listener_, kListener);
  watch(epoll_, signals_, kSignals);
}

Server::~Server() {
  for (const auto& [id, connection] : connections_) ::close(connection->socket);
  ::close(signals_);
  ::close(listener_);
  ::close(epoll_);
}

void Server::run() {
  std::array<epoll_event, 256> events{};
  for (;;) {
    std::optional<timespec> wait;
    if (!timers_.empty()) {
      const auto left = std::max(timers_.top().at - std::chrono::steady_clock::now(),
                                 std::chrono::steady_clock::duration::zero());
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
      wait = timespec{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    }
    const int ready = ::epoll_pwait2(
        epoll_, events.data(), static_cast<int>(events.size()), wait ? &*wait : nullptr, nullptr);
    if (ready < 0 && errno != EINTR) stop("epoll_pwait2");
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      if (event.data.u64 == kSignals) return;
      if (event.data.u64 == kListener) {
        accept_all();
      } else {
        on_ready(event.data.u64, event.events);
      }
    }
    const Time now = std::chrono::steady_clock::now();
    while (!timers_.empty() && timers_.top().at <= now) {
      const std::uint64_t id = timers_.top().connection;
      timers_.pop();
      on_timer(id);
    }
  }
}

void Server::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      stop("accept");  // out of files: better a clear end than connections that never answer
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::uint64_t id = next_id_++;
    auto connection = std::make_unique<Connection>();
    connection->socket = socket;
    connections_.emplace(id, std::move(connection));
    ++accepted_;
    watch(epoll_, socket, id);
  }
}

void Server::on_ready(std::uint64_t id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  if (connection.state == Connection::State::unread) {
    close(id);  // nothing else is watched for: the client has left
    return;
  }
  if (connection.state == Connection::State::fresh) {
    welcome(id, connection);
    if (connection.state != Connection::State::reading) return;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !read_some(connection)) {
    close(id);
    return;
  }
  if (connection.state == Connection::State::reading) {
    next_request(id, connection);
  } else if ((events & EPOLLOUT) != 0 && connection.state == Connection::State::writing) {
    write_some(id, connection);
  }
}

/// What the script has in store for new connections; those that come to control the script are
/// always served, so their first bytes are looked at and left where they are.
void Server::welcome(std::uint64_t id, Connection& connection) {
  std::array<char, 32> buffer{};
  const ssize_t got = ::recv(connection.socket, buffer.data(), buffer.size(), MSG_PEEK);
  const std::string_view start(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const bool is_control = start.find(" /__fakegeo/") != std::string_view::npos;
  connection.state = Connection::State::reading;
  if (is_control || start.empty()) return;
  if (script_.welcome() == Welcome::never_read) {
    connection.state = Connection::State::unread;
    watch_for_leaving(epoll_, connection.socket, id);
  } else if (script_.welcome() == Welcome::cut) {
    connection.state = Connection::State::silent;
    (void)read_some(connection);  // so that the close is one, and no reset
    close(id);
  }
}

/// Takes what the socket holds. False when the client has left.
bool Server::read_some(Connection& connection) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::recv(connection.socket, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      connection.in.append(buffer.data(), static_cast<std::size_t>(got));
      if (static_cast<std::size_t>(got) < buffer.size()) return true;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      return got < 0 && errno == EAGAIN;
    }
  }
}

/// Looks for a whole request among the bytes read. Nothing is billed before the last byte of it:
/// a provider cannot charge for an upload that was cut.
void Server::next_request(std::uint64_t id, Connection& connection) {
  Request request;
  const ParseResult parsed = parse_request(connection.in, request);
  if (parsed.state == Parsed::incomplete) {
    if (parsed.wants_continue && !std::exchange(connection.sent_continue, true)) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      // Too few bytes for a full socket buffer; a client that left shows at the next read.
      (void)::send(connection.socket, kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
    }
    return;
  }
  connection.sent_continue = false;
  connection.in.erase(0, parsed.consumed);
  if (parsed.state == Parsed::malformed) {
    ++unknown_;
    reply(id, connection, plain(400, "bad request"), false);
  } else if (request.path.starts_with("/__fakegeo/")) {
    control(id, connection, request);
  } else if (const auto ask = read_ask(request, options_.default_country)) {
    take_call(id, connection, request, *ask);
  } else {
    ++unknown_;
    reply(id, connection, plain(404, "no dialect has this path"), request.keep_alive);
  }
}

void Server::take_call(std::uint64_t id,
                       Connection& connection,
                       const Request& request,
                       const Ask& ask) {
  bill_.record(++requests_, ask);  // before anything else can happen to it
  items_ += ask.items.size();
  max_in_flight_ = std::max(max_in_flight_, ++in_flight_);
  connection.is_billed = true;
  if (!waiters_.empty()) answer_waiters();
  const Verdict verdict = script_.judge(ask, connection.calls++ > 0);
  connection.delivery = deliver(ask, verdict.rule, request.keep_alive);
  if (verdict.delay.count() == 0) {
    begin_writing(id, connection);
  } else {
    connection.state = Connection::State::waiting;
    timers_.push({std::chrono::steady_clock::now() + verdict.delay, id});
  }
}

void Server::control(std::uint64_t id, Connection& connection, const Request& request) {
  if (request.method == "GET" && request.path == "/__fakegeo/stats") {
    reply(id, connection, json_answer(stats()), request.keep_alive);
  } else if (request.method == "GET" && request.path == "/__fakegeo/wait") {
    const auto minimum = [&](std::string_view name) {
      return std::strtoull(std::string(value_of(request.query, name)).c_str(), nullptr, 10);
    };
    connection.state = Connection::State::silent;
    waiters_.push_back({.connection = id,
                        .requests = minimum("requests"),
                        .items = minimum("items"),
                        .in_flight = minimum("in_flight"),
                        .keep_alive = request.keep_alive});
    answer_waiters();
  } else if (request.method == "POST" && request.path == "/__fakegeo/script") {
    auto script = Script::parse(request.body, options_.seed, options_.latency);
    if (script) script_ = std::move(*script);
    reply(
        id, connection, script ? plain(200, "ok") : plain(400, script.error()), request.keep_alive);
  } else {
    reply(id, connection, plain(404, "stats, wait or script"), request.keep_alive);
  }
}

void Server::answer_waiters() {
  const auto due = std::partition(waiters_.begin(), waiters_.end(), [this](const Waiter& waiter) {
    return requests_ < waiter.requests || items_ < waiter.items || in_flight_ < waiter.in_flight;
  });
  const std::vector<Waiter> ready(due, waiters_.end());
  waiters_.erase(due, waiters_.end());
  for (const Waiter& waiter : ready) {
    const auto found = connections_.find(waiter.connection);
    if (found != connections_.end())
      reply(waiter.connection, *found->second, json_answer(stats()), waiter.keep_alive);
  }
}

void Server::reply(std::uint64_t id,
                   Connection& connection,
                   const Answer& answer,
                   bool keep_alive) {
  connection.delivery = deliver(answer, keep_alive);
  begin_writing(id, connection);
}

void Server::on_timer(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  if (connection.state == Connection::State::waiting)
    begin_writing(id, connection);
  else if (connection.state == Connection::State::writing)
    write_some(id, connection);
}

void Server::begin_writing(std::uint64_t id, Connection& connection) {
  connection.state = Connection::State::writing;
  connection.sent = 0;
  write_some(id, connection);
}

void Server::write_some(std::uint64_t id, Connection& connection) {
  const Delivery& delivery = connection.delivery;
  const bool is_slow = delivery.bytes_per_s > 0;
  while (connection.sent < delivery.bytes.size()) {
    const std::size_t size = is_slow ? 1 : delivery.bytes.size() - connection.sent;
    const ssize_t put =
        ::send(connection.socket, delivery.bytes.data() + connection.sent, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      want_writable(id, connection, true);
      return;
    }
    if (put < 0) {
      close(id);
      return;
    }
    connection.sent += static_cast<std::size_t>(put);
    if (is_slow && connection.sent < delivery.bytes.size()) {
      const std::chrono::duration<double> pause(1 / delivery.bytes_per_s);
      timers_.push({std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::nanoseconds>(pause),
                    id});
      return;
    }
  }
  want_writable(id, connection, false);
  finish(id, connection);
}

/// The bytes are out; what becomes of the connection?
void Server::finish(std::uint64_t id, Connection& connection) {
  switch (connection.delivery.end) {
    case Delivery::End::keep:
      settle(connection);
      connection.state = Connection::State::reading;
      // A pipelined request may be here already, and no event will tell.
      if (!connection.in.empty()) next_request(id, connection);
      return;
    case Delivery::End::close:
      close(id);
      return;
    case Delivery::End::reset:
      close(id, true);
      return;
    case Delivery::End::silent:
      connection.state = Connection::State::silent;
      return;
    case Delivery::End::repeat:
      connection.delivery.bytes = connection.delivery.tail;
      connection.sent = 0;
      timers_.push({std::chrono::steady_clock::now() + kEndlessPause, id});
      return;
  }
}

void Server::want_writable(std::uint64_t id, Connection& connection, bool wanted) {
  if (std::exchange(connection.wants_writable, wanted) == wanted) return;
  epoll_event event{};
  event.events = EPOLLIN | (wanted ? EPOLLOUT : 0U);
  event.data.u64 = id;
  if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket, &event) != 0) stop("epoll_ctl");
}

/// The request in hand is over, answered or not.
void Server::settle(Connection& connection) {
  if (std::exchange(connection.is_billed, false)) --in_flight_;
}

void Server::close(std::uint64_t id, bool with_reset) {
  const auto found = connections_.find(id);
  settle(*found->second);
  if (with_reset) {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(found->second->socket, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  ::close(found->second->socket);
  connections_.erase(found);
}

std::string Server::stats() const {
  return fmt::format(
      R"({{"requests":{},"billed_items":{},"unknown_requests":{},"connections":{},"open":{},)"
      R"("in_flight":{},"max_in_flight":{}}})",
      requests_,
      items_,
      unknown_,
      accepted_,
      connections_.size(),
      in_flight_,
      max_in_flight_);
}

}  // namespace fakegeo
