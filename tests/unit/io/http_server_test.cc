#include "io/http_server.h"

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A client that sees the bytes.
class Client {
 public:
  explicit Client(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::uint16_t port = 0;
    const auto colon = address.rfind(':') + 1;
    std::from_chars(address.data() + colon, address.data() + address.size(), port);
    to.sin_port = htons(port);
    const int failed = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    EXPECT_EQ(failed, 0);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void get(std::string_view path) const {
    send(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path));
  }
  /// Reads until `end` has come, or the other side has closed.
  std::string read_until(std::string_view end) {
    while (seen_.find(end) == std::string::npos) {
      std::array<char, 65'536> bytes{};
      const auto size = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (size <= 0) break;
      seen_.append(bytes.data(), static_cast<std::size_t>(size));
    }
    const auto at = seen_.find(end);
    const auto size = at == std::string::npos ? seen_.size() : at + end.size();
    auto taken = seen_.substr(0, size);
    seen_.erase(0, size);
    return taken;
  }
  std::string read_to_the_end() { return read_until("no such text"); }

 private:
  int socket_;
  std::string seen_;
};

/// `/now/…` is answered at once; anything else when it is told to.
class Later final {
 public:
  class Handler final : public HttpHandler {
   public:
    explicit Handler(Later& later) : later_(later) {}
    void handle(const ServerRequest& request, HttpReply reply) override {
      if (request.path.starts_with("/now")) {
        std::string body = "<" + std::string(request.path) + std::string(request.body) + ">";
        return reply.send({200, "text/plain", {}, std::move(body)});
      }
      if (request.path == "/large")
        return reply.send({200, "text/plain", {}, std::string(20'000'000, 'x') + "<end>"});
      if (request.path == "/lost") return;  // gives it up
      const std::lock_guard lock(later_.mutex_);
      later_.waiting_.emplace_back(std::string(request.path), std::move(reply));
      later_.changed_.notify_all();
    }

   private:
    Later& later_;
  };

  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() >= count; });
  }
  void answer_all() {
    const std::lock_guard lock(mutex_);
    for (auto& [path, reply] : waiting_) reply.send({200, "text/plain", {}, "<" + path + ">"});
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, HttpReply>> waiting_;
};

class Server : public testing::TestWithParam<int> {
 protected:
  void open(HttpServerOptions options = {}) {
    options.listen = {"127.0.0.1:0"};
    options.loops = GetParam();
    auto opened =
        open_http_server(options, [this] { return std::make_unique<Later::Handler>(later_); });
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }
  [[nodiscard]] std::string address() const { return server_->addresses().front(); }

  Later later_;
  std::unique_ptr<HttpServer> server_;
};

TEST_P(Server, answers_many_requests_of_one_connection_in_their_order) {
  open();
  Client client(address());
  client.send(
      "GET /now/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /later/2 HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /now/3 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
      "HEAD /now/4 HTTP/1.1\r\nHost: x\r\n\r\nGET /now/5 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_until(">"), StartsWith("HTTP/1.1 200 OK\r\n"));
  later_.wait_for(1);
  later_.answer_all();
  EXPECT_THAT(client.read_until(">"), EndsWith("\r\n\r\n</later/2>"));
  EXPECT_THAT(client.read_until(">"), EndsWith("</now/3ab>"));
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Content-Length: 8\r\n")) << "of HEAD";
  EXPECT_THAT(client.read_until(">"), EndsWith("</now/5>"));
  EXPECT_EQ(server_->stats().requests, 5);
}

TEST_P(Server, many_clients_are_answered_from_other_threads) {
  open();
  std::vector<std::unique_ptr<Client>> clients;
  for (int n = 0; n < 50; ++n) {
    clients.push_back(std::make_unique<Client>(address()));
    clients.back()->get("/later/" + std::to_string(n));
  }
  later_.wait_for(50);
  std::jthread answering([this] { later_.answer_all(); });
  for (int n = 0; n < 50; ++n)
    EXPECT_THAT(clients[static_cast<std::size_t>(n)]->read_until(">"),
                HasSubstr("</later/" + std::to_string(n) + ">"));
}

TEST_P(Server, a_request_whose_reply_is_given_up_is_answered) {
  open();
  Client client(address());
  client.get("/lost");
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 500 "));
  client.get("/now");
  EXPECT_THAT(client.read_until(">"), EndsWith("</now>")) << "the connection is as good as before";
}

TEST_P(Server, what_is_no_request_is_told_so_and_the_connection_closed) {
  open();
  Client client(address());
  client.send(
      "GET /now HTTP/1.1\r\nHost: x\r\n\r\nGET /now HTTP/1.1\r\n\r\nGET /now HTTP/1.1\r\nHost: "
      "x\r\n\r\n");
  const auto seen = client.read_to_the_end();
  EXPECT_THAT(seen, HasSubstr("</now>"));
  EXPECT_THAT(seen, HasSubstr("HTTP/1.1 400 Bad Request"));
  EXPECT_THAT(seen, HasSubstr("Connection: close"));
  EXPECT_THAT(seen, EndsWith("}")) << "nothing behind the fault is answered";
  EXPECT_EQ(server_->stats().faults, 1);
}

TEST_P(Server, a_client_that_waits_to_be_told_to_go_on_is_told) {
  open();
  Client client(address());
  client.send("POST /now HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("a");
  EXPECT_THAT(client.read_until(">"), EndsWith("</nowa>"));
}

TEST_P(Server, a_large_response_comes_whole) {
  open();
  Client client(address());
  client.get("/large");
  const auto head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 20000005\r\n"));
  EXPECT_EQ(client.read_until("<end>").size(), 20'000'005U);
}

TEST_P(Server, who_is_too_slow_is_cut) {
  HttpServerOptions options;
  options.head_time = options.idle = options.pace = milliseconds{1};
  open(options);
  Client idle(address());
  Client in_head(address());
  in_head.send("GET /no");
  Client in_body(address());
  in_body.send("POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
  Client does_not_read(address());
  for (int n = 0; n < 5; ++n) does_not_read.get("/large");
  for (Client* client : {&idle, &in_head, &in_body}) EXPECT_EQ(client->read_to_the_end(), "");
  while (server_->stats().connections > 0) std::this_thread::yield();
  EXPECT_EQ(server_->stats().too_slow, 3) << "all but the idle one";
}

TEST_P(Server, one_connection_too_many_is_turned_away) {
  HttpServerOptions options;
  options.max_connections = 1;
  open(options);
  Client first(address());
  first.get("/now");
  EXPECT_THAT(first.read_until(">"), EndsWith("</now>"));
  Client second(address());
  EXPECT_THAT(second.read_to_the_end(), StartsWith("HTTP/1.1 503 "));
  first.get("/now");
  EXPECT_THAT(first.read_until(">"), EndsWith("</now>"));
}

TEST_P(Server, a_drain_lets_requests_under_way_end) {
  open();
  Client waits(address());
  waits.get("/later");
  Client idle(address());
  idle.get("/now");
  idle.read_until(">");
  later_.wait_for(1);
  std::jthread draining([this] { server_->drain(Deadline::never()); });
  EXPECT_EQ(idle.read_to_the_end(), "");
  later_.answer_all();
  const auto seen = waits.read_to_the_end();
  EXPECT_THAT(seen, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(seen, EndsWith("</later>"));
}

TEST_P(Server, a_drain_does_not_wait_longer_than_it_may) {
  open();
  Client waits(address());
  waits.get("/later");
  later_.wait_for(1);
  server_->drain({std::chrono::steady_clock::now()});
  EXPECT_EQ(waits.read_to_the_end(), "");
  later_.answer_all();  // nobody is there any more
}

INSTANTIATE_TEST_SUITE_P(Loops, Server, testing::Values(1, 3));

TEST(HttpServer, an_address_that_is_none_is_named) {
  for (const char* address :
       {"", "here", "127.0.0.1", "127.0.0.1:70000", "127.0.0.1:x", "host.example:80", "unix:"}) {
    HttpServerOptions options;
    options.listen = {address};
    const auto opened = open_http_server(options, [] { return nullptr; });
    ASSERT_FALSE(opened) << address;
    EXPECT_EQ(opened.error().code, ErrorCode::usage) << address;
  }
}

TEST(HttpServer,
     a_socket_file_of_a_dead_process_does_not_stand_in_the_way_and_one_of_a_living_does) {
  const std::string path = testing::TempDir() + "geonce-http-" + std::to_string(::getpid());
  HttpServerOptions options;
  options.listen = {"unix:" + path};
  Later later;
  const auto make = [&later] { return std::make_unique<Later::Handler>(later); };
  const int left_over = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(left_over, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ::close(left_over);
  auto first = open_http_server(options, make);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(open_http_server(options, make)) << "the first is alive";
  first->reset();
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it takes its file along";
}

}  // namespace
}  // namespace geonce
