#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "io/http_message.h"
#include "io/http_reader.h"

namespace geonce {

/// Takes the response to one request. Any thread, once; given up unused it answers with 500. The
/// request's views hold until then.
class HttpReply {
 public:
  /// Whoever waits for the response.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void receive(ServerResponse response) = 0;
  };

  explicit HttpReply(std::shared_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&&) noexcept = delete;
  HttpReply(const HttpReply&) = delete;
  HttpReply& operator=(const HttpReply&) = delete;
  ~HttpReply() {
    if (receiver_) std::exchange(receiver_, nullptr)->receive({500, {}, {}, {}});
  }
  void send(ServerResponse response) {
    std::exchange(receiver_, nullptr)->receive(std::move(response));
  }

 private:
  std::shared_ptr<Receiver> receiver_;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Called on the loop of the connection, and must not block: what takes time is answered later,
  /// from elsewhere. A client that goes away meanwhile is not told of.
  virtual void handle(const ServerRequest& request, HttpReply reply) = 0;
};

struct HttpServerOptions {
  std::vector<std::string> listen;  // `127.0.0.1:8080`, `[::1]:8080`, `unix:/run/geonce.sock`;
                                    // port 0: any that is free
  int loops = 1;                    // threads, each with connections of its own
  HttpLimits limits;
  std::size_t max_connections = 20'000;
  std::chrono::milliseconds idle{75'000};  // between two requests
  std::chrono::milliseconds head_time{
      10'000};  // from the first byte of a request to the end of its head
  std::chrono::milliseconds pace{20'000};  // for each further 64 KiB of a body, in or out
};

struct HttpServerStats {
  std::int64_t connections = 0;  // now
  std::int64_t accepted = 0, turned_away = 0, requests = 0;
  std::int64_t faults = 0;    // requests that were none
  std::int64_t too_slow = 0;  // connections cut for it
};

/// An HTTP/1.1 server: keep-alive, pipelining, requests of one connection answered in their order.
class HttpServer {
 public:
  virtual ~HttpServer() = default;
  /// Where it listens, with the ports it was given.
  [[nodiscard]] virtual std::vector<std::string> addresses() const = 0;
  [[nodiscard]] virtual HttpServerStats stats() const = 0;
  /// Accepts nothing from here on, closes connections that wait for a request, and those at work
  /// after their response. Returns when none is left, or cuts them at the deadline.
  virtual void drain(Deadline deadline) = 0;
};

/// make      called once for each loop: what a handler keeps for itself needs no lock. What
/// handlers
///           have not answered yet must be answered before the server ends
/// errors    usage      an address that is none
///           io_failed  it cannot be listened to
Result<std::unique_ptr<HttpServer>> open_http_server(
    HttpServerOptions options, const std::function<std::unique_ptr<HttpHandler>()>& make);

}  // namespace geonce
