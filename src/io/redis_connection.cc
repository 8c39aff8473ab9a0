#include "io/redis_connection.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;

/// Waiting is measured by the real clock, whatever clock tells the lives.
Mono real_now() { return std::chrono::steady_clock::now(); }

int left_ms(Mono until) {
  const auto left = std::chrono::ceil<milliseconds>(until - real_now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left, 60'000));
}

std::string system_error(int code) {
  std::array<char, 128> text;
  return ::strerror_r(code, text.data(), text.size());
}

std::int64_t whole(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

}  // namespace

void append_redis_command_head(std::string& out, std::size_t words) {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", words);
}

void append_redis_word(std::string& out, std::string_view word) {
  fmt::format_to(std::back_inserter(out), "${}\r\n", word.size());
  out += word;
  out += "\r\n";
}

void append_redis_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_redis_command_head(out, words.size());
  for (const auto word : words) append_redis_word(out, word);
}

RedisConnection::~RedisConnection() {
  if (socket_ >= 0) ::close(socket_);
}

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const RedisEndpoint& endpoint,
                                                               const RedisLogin& login,
                                                               milliseconds patience,
                                                               const Clock& clock) {
  std::unique_ptr<RedisConnection> connection(new RedisConnection(clock));
  if (auto connected = connection->connect(endpoint, real_now() + patience); !connected)
    return fail(connected.error());
  if (login.tls != nullptr) {
    auto session = login.tls->session(endpoint.host);
    if (!session) return fail(session.error());
    connection->tls_ = std::move(*session);
    if (auto shaken = connection->shake(real_now() + patience); !shaken)
      return fail(shaken.error());
  }
  if (auto welcome = connection->introduce(login, patience); !welcome) return fail(welcome.error());
  return connection;
}

Result<void> RedisConnection::connect(const RedisEndpoint& endpoint, Mono until) {
  sockaddr_un local{};
  std::unique_ptr<addrinfo, FreeAddresses> list;
  if (endpoint.host.empty()) {
    local.sun_family = AF_UNIX;
    if (endpoint.path.size() >= sizeof local.sun_path)
      return fail(ErrorCode::io_failed, "the path of its socket is too long");
    std::memcpy(local.sun_path, endpoint.path.data(), endpoint.path.size());
  } else {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const auto port = std::to_string(endpoint.port);
    if (const int error = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
        error != 0)
      return fail(ErrorCode::io_failed, "its name is not known: {}", ::gai_strerror(error));
    list.reset(found);
  }
  std::string why = "it has no address";
  const auto try_one = [&](int family, const sockaddr* address, socklen_t size) {
    socket_ = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) {
      why = system_error(errno);
      return false;
    }
    if (::connect(socket_, address, size) == 0) return true;
    int error = errno;
    if (error == EINPROGRESS) {
      pollfd waiting{socket_, POLLOUT, 0};
      socklen_t length = sizeof error;
      error = ::poll(&waiting, 1, left_ms(until)) == 1 ? 0 : ETIMEDOUT;
      if (error == 0) ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length);
      if (error == 0) return true;
    }
    why = system_error(error);
    ::close(std::exchange(socket_, -1));
    return false;
  };
  if (endpoint.host.empty()) {
    if (!try_one(AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local))
      return fail(ErrorCode::io_failed, "cannot connect: {}", why);
    return {};
  }
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    if (!try_one(one->ai_family, one->ai_addr, one->ai_addrlen)) continue;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return {};
  }
  return fail(ErrorCode::io_failed, "cannot connect: {}", why);
}

Result<void> RedisConnection::wait(Mono until) {
  pollfd waiting{socket_, wanted_events(), 0};
  const int left = left_ms(until);
  if (left == 0 || ::poll(&waiting, 1, left) == 0)
    return fail(ErrorCode::io_failed, "no answer in time");
  return pump();
}

Result<void> RedisConnection::shake(Mono until) {
  for (;;) {
    const auto done = tls_->shake();
    tls_->drain(out_);
    if (!done) {
      ignore(pump(), "a last word to the peer: the handshake has failed");
      return fail(done.error());
    }
    came_ = false;
    if (auto pumped = pump(); !pumped) return pumped;
    if (*done) return {};
    // The peer may have answered already, and then waits for us.
    if (came_) continue;
    if (auto waited = wait(until); !waited) return waited;
  }
}

Result<void> RedisConnection::introduce(const RedisLogin& login, milliseconds patience) {
  std::string bytes;
  std::size_t count = 0;
  const auto add = [&](std::initializer_list<std::string_view> words) {
    append_redis_command(bytes, words);
    return count++;
  };
  if (!login.password.empty()) {
    if (login.user.empty())
      add({"AUTH", login.password});
    else
      add({"AUTH", login.user, login.password});
  }
  if (login.database != 0) add({"SELECT", std::to_string(login.database)});
  const std::size_t first = login.is_sentinel ? add({"PING"}) : add({"TIME"});
  const std::size_t role = login.must_be_master ? add({"ROLE"}) : 0;
  const auto replies = ask(bytes, count, patience);
  if (!replies) return fail(replies.error());
  for (const auto& reply : *replies) {
    // Redis names neither user nor password in what it says about them.
    if (reply.look().is_error())
      return fail(ErrorCode::io_failed, "it refuses us: {}", reply.look().text());
  }
  note_time((*replies)[first].look());
  if (login.must_be_master && (*replies)[role].look().at(0).text() != "master")
    return fail(ErrorCode::io_failed, "it is no master");
  return {};
}

void RedisConnection::send(std::string_view bytes) {
  if (!tls_) {
    out_ += bytes;
    return;
  }
  ignore(tls_->put(bytes), "the next pump finds the session broken");
  tls_->drain(out_);
}

short RedisConnection::wanted_events() const {
  return static_cast<short>(POLLIN | (out_.empty() ? 0 : POLLOUT));
}

Result<void> RedisConnection::pump() {
  std::size_t written = 0;
  while (written < out_.size()) {
    const auto size = ::send(socket_, out_.data() + written, out_.size() - written, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (size < 0)
      return fail(ErrorCode::io_failed, "the connection broke: {}", system_error(errno));
    written += static_cast<std::size_t>(size);
  }
  out_.erase(0, written);
  std::array<char, 65'536> buffer;
  for (;;) {
    const auto size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (size < 0)
      return fail(ErrorCode::io_failed, "the connection broke: {}", system_error(errno));
    if (size == 0) return fail(ErrorCode::io_failed, "the connection was closed");
    const std::string_view came(buffer.data(), static_cast<std::size_t>(size));
    came_ = true;
    if (!tls_) {
      replies_.feed(came);
    } else {
      plain_.clear();
      if (auto taken = tls_->take(came, plain_); !taken) return taken;
      replies_.feed(plain_);
      tls_->drain(out_);
    }
    // A short read has emptied the socket; the poll tells of more.
    if (came.size() < buffer.size()) return {};
  }
}

Result<std::vector<HeldRedisReply>> RedisConnection::ask(std::string_view bytes,
                                                         std::size_t replies,
                                                         milliseconds patience) {
  const Mono until = real_now() + patience;
  send(bytes);
  std::vector<HeldRedisReply> all;
  for (auto pumped = pump();; pumped = wait(until)) {
    while (all.size() < replies) {
      auto reply = next();
      if (!reply) return fail(reply.error());
      if (!*reply) break;
      all.push_back(std::move(**reply));
    }
    if (all.size() == replies) return all;
    if (!pumped) return fail(pumped.error());
  }
}

bool RedisConnection::is_quiet() const {
  pollfd waiting{socket_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

std::int64_t RedisConnection::note_time(RedisReply reply) {
  if (reply.size() != 2) return 0;
  const std::int64_t server = whole(reply.at(0).text()) * 1'000 + whole(reply.at(1).text()) / 1'000;
  // The server's clock was read before this moment, so by now it shows at least this.
  server_clock_ = {};
  server_clock_.ahead_ms = server - server_clock_.ms(clock_.now()) - 1;
  return server;
}

}  // namespace geonce
