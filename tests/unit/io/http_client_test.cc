#include "io/http_client.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <list>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace geonce {
namespace {

using namespace std::chrono_literals;

/// One accepted connection, seen from the server: blocking reads and writes of bytes.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() { close(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// Head and body of the next request; empty when the peer closed first.
  std::string read_request() {
    std::string bytes;
    std::size_t wanted = std::string::npos;
    while (bytes.size() < wanted) {
      char buffer[65536];
      const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return {};
      bytes.append(buffer, static_cast<std::size_t>(got));
      const auto end = bytes.find("\r\n\r\n");
      if (wanted != std::string::npos || end == std::string::npos) continue;
      const auto at = bytes.find("Content-Length: ");
      const std::size_t body =
          at < end ? std::strtoul(bytes.c_str() + at + 16, nullptr, 10) : std::size_t{0};
      wanted = end + 4 + body;
    }
    return bytes;
  }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  bool answer(std::string_view body, std::string_view headers = "") {
    return write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
                 std::string(headers) + "\r\n" + std::string(body));
  }

  /// Writes one byte per `pause` until the peer goes away; false then.
  void drip(std::chrono::milliseconds pause) {
    pollfd watched{fd_, POLLIN, 0};
    while (::poll(&watched, 1, static_cast<int>(pause.count())) == 0)
      if (!write("x")) return;
  }

  void wait_for_close() {
    char buffer[4096];
    while (::recv(fd_, buffer, sizeof buffer, 0) > 0) {
    }
  }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void stop() { ::shutdown(fd_, SHUT_RDWR); }

 private:
  int fd_;
};

/// A TCP server on a free port of 127.0.0.1. `talk` runs on a thread of its own for each connection
/// and is told which it is, from 0 on.
class Server {
 public:
  explicit Server(std::function<void(Wire&, int)> talk) : talk_(std::move(talk)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 128), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (auto& wire : wires_) wire.stop();
    }
    for (auto& thread : threads_) thread.join();
    ::close(listener_);
  }

  [[nodiscard]] std::string url(std::string_view path, std::string_view scheme = "http") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }

  /// The next request of a connection, noted by its path.
  std::string read(Wire& wire) {
    std::string request = wire.read_request();
    if (!request.empty()) {
      const std::lock_guard lock(mutex_);
      const auto first = request.find(' ') + 1;
      paths_.push_back(request.substr(first, request.find(' ', first) - first));
      changed_.notify_all();
    }
    return request;
  }
  std::vector<std::string> paths() {
    const std::lock_guard lock(mutex_);
    return paths_;
  }
  void wait_for_requests(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return paths_.size() >= count; });
  }

 private:
  void accept_all() {
    for (int number = 0;; ++number) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      Wire& wire = wires_.emplace_back(fd);
      threads_.emplace_back([this, &wire, number] {
        talk_(wire, number);
        wire.stop();
      });
    }
  }

  std::function<void(Wire&, int)> talk_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> paths_;
  std::list<Wire> wires_;
  std::list<std::thread> threads_;
};

/// Answers every request by its path, on as many connections as the client likes.
std::function<void(Wire&, int)> echo(Server*& server) {
  return [&server](Wire& wire, int) {
    for (std::string request = server->read(wire); !request.empty(); request = server->read(wire)) {
      const auto first = request.find(' ') + 1;
      if (!wire.answer(request.substr(first, request.find(' ', first) - first))) return;
    }
  };
}

class HttpClientTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("no_proxy", "127.0.0.1,invalid", 1);
    open();
  }
  void open() {
    auto opened = open_http_client("geonce-test/1");
    ASSERT_TRUE(opened.has_value());
    client_ = std::move(*opened);
  }

  std::future<Transfer> start(HttpRequest request, std::function<bool()> sending = {}) {
    auto promise = std::make_shared<std::promise<Transfer>>();
    client_->start(std::move(request), std::move(sending), [promise](Transfer transfer) {
      promise->set_value(std::move(transfer));
    });
    return promise->get_future();
  }
  Transfer call(HttpRequest request, std::function<bool()> sending = {}) {
    return start(std::move(request), std::move(sending)).get();
  }
  static HttpRequest get(std::string url) {
    HttpRequest request;
    request.url = std::move(url);
    return request;
  }

  std::unique_ptr<HttpClient> client_;
};

TEST_F(HttpClientTest, an_answer_has_its_status_headers_and_body) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int) {
    self->read(wire);
    wire.write(
        "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n"
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After:  7 \r\nX-Empty:\r\nContent-Length: "
        "5\r\n\r\nhello");
  });
  self = &server;
  const auto transfer = call(get(server.url("/x")));
  ASSERT_EQ(transfer.end, TransferEnd::complete) << transfer.error;
  EXPECT_EQ(transfer.response.status, 429);
  EXPECT_EQ(transfer.response.body, "hello");
  EXPECT_EQ(transfer.response.header("retry-after"), "7");
  EXPECT_EQ(transfer.response.header("x-empty"), "");
  EXPECT_EQ(transfer.response.header("x-interim"), "");
}

TEST_F(HttpClientTest, a_request_carries_method_headers_body_and_user_agent) {
  Server* self = nullptr;
  std::string seen;
  Server server([&](Wire& wire, int) {
    seen = self->read(wire);
    wire.answer("ok");
  });
  self = &server;
  HttpRequest request = get(server.url("/a%20b?q=1%2C5"));
  request.method = "POST";
  request.headers = {{"Content-Type", "application/json"}, {"X-Blank", ""}};
  request.body = std::string(2U << 20U, 'y');
  ASSERT_EQ(call(request).end, TransferEnd::complete);
  EXPECT_TRUE(seen.starts_with("POST /a%20b?q=1%2C5 HTTP/1.1\r\n"));
  EXPECT_NE(seen.find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_NE(seen.find("X-Blank:"), std::string::npos);
  EXPECT_NE(seen.find("User-Agent: geonce-test/1\r\n"), std::string::npos);
  EXPECT_EQ(seen.find("Expect"), std::string::npos) << "an Expect header invites a second request";
  EXPECT_TRUE(seen.ends_with(request.body));
}

TEST_F(HttpClientTest, a_path_of_dots_is_sent_as_it_is) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int n) { echo(self)(wire, n); });
  self = &server;
  EXPECT_EQ(call(get(server.url("/a/../b/./c"))).response.body, "/a/../b/./c");
}

TEST_F(HttpClientTest, connections_are_kept_and_used_again) {
  std::atomic<int> connections = 0;
  Server* self = nullptr;
  Server server([&](Wire& wire, int n) {
    ++connections;
    echo(self)(wire, n);
  });
  self = &server;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(get(server.url("/x"))).end, TransferEnd::complete);
  EXPECT_EQ(connections, 1);
}

TEST_F(HttpClientTest,
       a_kept_connection_that_closes_without_an_answer_never_sends_a_request_twice) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int connection) {
    if (connection > 0) return echo(self)(wire, connection);
    self->read(wire);
    wire.answer("first");
    self->read(wire);  // the second request arrives: it may have been worked on and billed
  });
  self = &server;
  ASSERT_EQ(call(get(server.url("/a"))).end, TransferEnd::complete);
  std::atomic<int> sendings = 0;
  const auto transfer = call(get(server.url("/b")), [&] { return ++sendings > 0; });
  EXPECT_EQ(transfer.end, TransferEnd::lost);
  EXPECT_EQ(sendings, 1);
  EXPECT_EQ(server.paths(), (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(HttpClientTest, a_kept_connection_closed_before_the_next_request_is_replaced) {
  Server* self = nullptr;
  std::promise<void> closed;
  Server server([&](Wire& wire, int connection) {
    if (connection > 0) return echo(self)(wire, connection);
    self->read(wire);
    wire.answer("first");
    wire.stop();
    closed.set_value();
  });
  self = &server;
  ASSERT_EQ(call(get(server.url("/a"))).end, TransferEnd::complete);
  closed.get_future().wait();
  const auto transfer = call(get(server.url("/b")));
  // The close may still have been on its way: then the call is lost, but it was never sent twice.
  if (transfer.end == TransferEnd::complete) {
    EXPECT_EQ(server.paths(), (std::vector<std::string>{"/a", "/b"}));
  } else {
    EXPECT_EQ(server.paths(), (std::vector<std::string>{"/a"}));
  }
}

TEST_F(HttpClientTest, a_post_on_a_closing_connection_is_not_sent_twice_either) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int connection) {
    if (connection > 0) return echo(self)(wire, connection);
    self->read(wire);
    wire.answer("first");
    self->read(wire);
  });
  self = &server;
  ASSERT_EQ(call(get(server.url("/a"))).end, TransferEnd::complete);
  HttpRequest request = get(server.url("/b"));
  request.method = "POST";
  request.body = "[\"x\"]";
  EXPECT_EQ(call(request).end, TransferEnd::lost);
  EXPECT_EQ(server.paths(), (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(HttpClientTest, sending_comes_once_and_before_the_first_byte) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int n) { echo(self)(wire, n); });
  self = &server;
  std::atomic<int> sendings = 0;
  const auto transfer = call(get(server.url("/x")), [&] {
    EXPECT_TRUE(server.paths().empty());
    ++sendings;
    return true;
  });
  EXPECT_EQ(transfer.end, TransferEnd::complete);
  EXPECT_EQ(sendings, 1);
}

TEST_F(HttpClientTest, a_call_held_back_reaches_nobody) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int n) { echo(self)(wire, n); });
  self = &server;
  const auto transfer = call(get(server.url("/held")), [] { return false; });
  EXPECT_EQ(transfer.end, TransferEnd::not_sent);
  EXPECT_EQ(call(get(server.url("/next"))).end, TransferEnd::complete);
  EXPECT_EQ(server.paths(), (std::vector<std::string>{"/next"}));
}

TEST_F(HttpClientTest, what_fails_before_the_first_byte_is_not_sent) {
  std::string closed_port;
  {
    const Server gone([](Wire&, int) {});
    closed_port = gone.url("/x?key=SECRET");
  }
  Server plain([](Wire& wire, int) { wire.write("this is no TLS\r\n\r\n"); });
  HttpRequest header = get(plain.url("/x"));
  header.headers = {{"X-Key", "a\r\nX-Injected: b"}};
  HttpRequest late = get(plain.url("/x"));
  late.total_timeout = 0ms;
  HttpRequest no_host = get("http://nowhere.invalid/x?key=SECRET");
  no_host.connect_timeout = 500ms;

  const std::vector<std::pair<std::string, HttpRequest>> rows{
      {"nobody listens", get(closed_port)},
      {"no such host", no_host},
      {"the peer speaks no TLS", get(plain.url("/x?key=SECRET", "https"))},
      {"no URL", get("")},
      {"a URL with a line break", get(plain.url("/x\r\nX-Injected: b"))},
      {"another protocol", get("file:///etc/passwd")},
      {"a header with a line break", header},
      {"the deadline has passed", late}};
  for (const auto& [name, request] : rows) {
    std::atomic<int> sendings = 0;
    const auto transfer = call(request, [&] { return ++sendings > 0; });
    EXPECT_EQ(transfer.end, TransferEnd::not_sent) << name;
    EXPECT_EQ(sendings, 0) << name;
    EXPECT_FALSE(transfer.error.empty()) << name;
    EXPECT_EQ(transfer.error.find("SECRET"), std::string::npos) << transfer.error;
    EXPECT_EQ(transfer.error.find("nowhere"), std::string::npos) << transfer.error;
  }
}

std::string bits_to_bytes(const std::vector<bool>& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (1 << (i % 8)));
  return bytes;
}

const std::string kGzipHead("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);

/// Zeros, 258 for each 13 bits (RFC 1951: a literal, then copies of length 258 at distance 1).
std::string gzip_bomb(std::size_t copies) {
  std::vector<bool> bits;
  const auto put = [&](std::string_view text) {
    for (const char c : text) bits.push_back(c == '1');
  };
  put("1");         // last block
  put("10");        // fixed Huffman codes
  put("00110000");  // literal 0
  for (std::size_t i = 0; i < copies; ++i) put("1100010100000");
  put("0000000");
  return kGzipHead + bits_to_bytes(bits) + std::string(8, '\0');
}

TEST_F(HttpClientTest, a_compressed_body_arrives_unpacked) {
  Server* self = nullptr;
  // "hello" in a stored block; its CRC-32 is 3610a686.
  const std::string packed = kGzipHead + std::string("\x01\x05\0\xfa\xff", 5) + "hello" +
                             std::string("\x86\xa6\x10\x36\x05\0\0\0", 8);
  std::string seen;
  Server server([&](Wire& wire, int) {
    seen = self->read(wire);
    wire.answer(packed, "Content-Encoding: gzip\r\n");
  });
  self = &server;
  const auto transfer = call(get(server.url("/x")));
  ASSERT_EQ(transfer.end, TransferEnd::complete) << transfer.error;
  EXPECT_EQ(transfer.response.body, "hello");
  EXPECT_NE(seen.find("Accept-Encoding: gzip\r\n"), std::string::npos);
}

TEST_F(HttpClientTest, what_goes_wrong_after_the_first_byte_is_lost) {
  struct Row {
    std::string name;
    std::function<void(Wire&)> reply;
  };
  const std::vector<Row> rows{
      {"closed without an answer", [](Wire&) {}},
      {"cut inside the head", [](Wire& w) { w.write("HTTP/1.1 200 OK\r\nContent-Le"); }},
      {"cut inside the body",
       [](Wire& w) { w.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"); }},
      {"chunks without an end",
       [](Wire& w) {
         w.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
       }},
      {"no HTTP at all", [](Wire& w) { w.write("banner of another protocol\r\n"); }},
      {"a gzip bomb", [](Wire& w) { w.answer(gzip_bomb(40'000), "Content-Encoding: gzip\r\n"); }},
      {"a body over the bound", [](Wire& w) { w.answer(std::string((1U << 20U) + 1, 'x')); }},
      {"a head over the bound",
       [](Wire& w) {
         w.write("HTTP/1.1 200 OK\r\n");
         for (int i = 0; i < 100; ++i)
           w.write("X-" + std::to_string(i) + ": " + std::string(9'000, 'h') + "\r\n");
         w.write("\r\n");
       }},
      {"one endless header line",
       [](Wire& w) { w.write("HTTP/1.1 200 OK\r\nX: " + std::string(1U << 20U, 'h')); }},
      {"one byte at a time",
       [](Wire& w) {
         w.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
         w.drip(20ms);
       }},
      {"silence", [](Wire& w) { w.wait_for_close(); }},
  };
  for (const auto& [name, reply] : rows) {
    Server* self = nullptr;
    Server server([&](Wire& wire, int) {
      self->read(wire);
      reply(wire);
    });
    self = &server;
    HttpRequest request = get(server.url("/x?key=SECRET"));
    request.max_body = 1U << 20U;
    request.total_timeout = 400ms;
    const auto begun = std::chrono::steady_clock::now();
    const auto transfer = call(request);
    EXPECT_EQ(transfer.end, TransferEnd::lost) << name;
    EXPECT_TRUE(transfer.response.body.empty()) << name;
    EXPECT_FALSE(transfer.error.empty()) << name;
    EXPECT_EQ(transfer.error.find("SECRET"), std::string::npos) << transfer.error;
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s) << name;
    EXPECT_EQ(server.paths().size(), 1U) << name;
  }
}

TEST_F(HttpClientTest, a_slow_body_inside_the_deadline_is_complete) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int) {
    self->read(wire);
    wire.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 50; ++i) wire.write("1\r\nz\r\n");
    wire.write("0\r\n\r\n");
  });
  self = &server;
  const auto transfer = call(get(server.url("/x")));
  ASSERT_EQ(transfer.end, TransferEnd::complete) << transfer.error;
  EXPECT_EQ(transfer.response.body, std::string(50, 'z'));
}

TEST_F(HttpClientTest, a_redirect_is_an_answer_and_is_not_followed) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int) {
    self->read(wire);
    wire.write("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
    self->read(wire);
  });
  self = &server;
  HttpRequest request = get(server.url("/x"));
  request.headers = {{"Authorization", "Bearer SECRET"}};
  const auto transfer = call(request);
  EXPECT_EQ(transfer.end, TransferEnd::complete);
  EXPECT_EQ(transfer.response.status, 302);
  EXPECT_EQ(server.paths(), (std::vector<std::string>{"/x"}));
}

TEST_F(HttpClientTest, a_proxy_from_the_environment_is_used) {
  Server* self = nullptr;
  std::string seen;
  Server proxy([&](Wire& wire, int) {
    seen = self->read(wire);
    wire.answer("by proxy");
  });
  self = &proxy;
  ::setenv("http_proxy", proxy.url("").c_str(), 1);
  const auto transfer = call(get("http://geo.example/x?q=1"));
  ::unsetenv("http_proxy");
  ASSERT_EQ(transfer.end, TransferEnd::complete) << transfer.error;
  EXPECT_EQ(transfer.response.body, "by proxy");
  EXPECT_TRUE(seen.starts_with("GET http://geo.example/x?q=1 HTTP/1.1\r\n")) << seen;
}

TEST_F(HttpClientTest, a_proxy_that_refuses_the_tunnel_was_sent_nothing_of_the_request) {
  Server* self = nullptr;
  Server proxy([&](Wire& wire, int) {
    self->read(wire);
    wire.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  });
  self = &proxy;
  ::setenv("https_proxy", proxy.url("").c_str(), 1);
  std::atomic<int> sendings = 0;
  const auto transfer = call(get("https://geo.example/x?q=1"), [&] { return ++sendings > 0; });
  ::unsetenv("https_proxy");
  EXPECT_EQ(transfer.end, TransferEnd::not_sent);
  EXPECT_EQ(sendings, 0);
  EXPECT_EQ(proxy.paths(), (std::vector<std::string>{"geo.example:443"})) << "the CONNECT only";
}

TEST_F(HttpClientTest, many_calls_at_once_all_end) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int n) { echo(self)(wire, n); });
  self = &server;
  std::vector<std::future<Transfer>> calls;
  for (int i = 0; i < 300; ++i) calls.push_back(start(get(server.url("/" + std::to_string(i)))));
  for (int i = 0; i < 300; ++i) {
    const auto transfer = calls[static_cast<std::size_t>(i)].get();
    ASSERT_EQ(transfer.end, TransferEnd::complete) << transfer.error;
    EXPECT_EQ(transfer.response.body, "/" + std::to_string(i));
  }
  EXPECT_EQ(server.paths().size(), 300U);
}

TEST_F(HttpClientTest, closing_the_client_ends_every_call) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int) {
    self->read(wire);
    wire.wait_for_close();
  });
  self = &server;
  Server mute([](Wire& wire, int) { wire.wait_for_close(); });  // never gets as far as TLS
  auto sent = start(get(server.url("/x")));
  auto unsent = start(get(mute.url("/x", "https")));
  server.wait_for_requests(1);
  client_.reset();
  EXPECT_EQ(sent.get().end, TransferEnd::lost);
  EXPECT_EQ(unsent.get().end, TransferEnd::not_sent);
}

TEST_F(HttpClientTest, a_call_started_by_the_end_of_another_also_ends) {
  Server* self = nullptr;
  Server server([&](Wire& wire, int n) { echo(self)(wire, n); });
  self = &server;
  std::promise<Transfer> second;
  client_->start(get(server.url("/a")), {}, [&](Transfer) {
    client_->start(get(server.url("/b")), {}, [&](Transfer transfer) {
      second.set_value(std::move(transfer));
    });
  });
  EXPECT_EQ(second.get_future().get().response.body, "/b");
}

}  // namespace
}  // namespace geonce
