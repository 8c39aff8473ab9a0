#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "bill.h"
#include "delivery.h"
#include "script.h"

namespace fakegeo {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string port_file;
  std::string bill_file;
  std::string script_file;
  std::string default_country = "US";
  std::uint64_t seed = 1;
  Latency latency;
};

/// One thread, one epoll: a waiting reply is an entry in the timer queue and costs nothing else.
class Server {
 public:
  /// Stops the program when it cannot listen. SIGTERM and SIGINT must be blocked by the caller.
  Server(Options options, Script script);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Until SIGTERM or SIGINT.
  void run();

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Connection {
    enum class State { fresh, reading, waiting, writing, silent, unread };
    int socket = -1;
    State state = State::fresh;
    std::string in;
    Delivery delivery;
    std::size_t sent = 0;
    std::uint64_t calls = 0;  // billed requests so far
    bool is_billed = false;   // the request in hand is one of them
    bool sent_continue = false;
    bool wants_writable = false;
  };
  struct Timer {
    Time at;
    std::uint64_t connection;
    friend bool operator>(const Timer& a, const Timer& b) { return a.at > b.at; }
  };

  /// A client of /__fakegeo/wait and what it waits for.
  struct Waiter {
    std::uint64_t connection;
    std::uint64_t requests, items, in_flight;
    bool keep_alive;
  };

  void accept_all();
  void on_ready(std::uint64_t id, std::uint32_t events);
  void on_timer(std::uint64_t id);
  void welcome(std::uint64_t id, Connection& connection);
  bool read_some(Connection& connection);
  void next_request(std::uint64_t id, Connection& connection);
  void take_call(std::uint64_t id, Connection& connection, const Request& request, const Ask& ask);
  void control(std::uint64_t id, Connection& connection, const Request& request);
  void reply(std::uint64_t id, Connection& connection, const Answer& answer, bool keep_alive);
  void answer_waiters();
  void begin_writing(std::uint64_t id, Connection& connection);
  void write_some(std::uint64_t id, Connection& connection);
  void finish(std::uint64_t id, Connection& connection);
  void want_writable(std::uint64_t id, Connection& connection, bool wanted);
  void settle(Connection& connection);
  void close(std::uint64_t id, bool with_reset = false);
  std::string stats() const;

  Options options_;
  Script script_;
  Bill bill_;
  int epoll_ = -1;
  int listener_ = -1;
  int signals_ = -1;
  std::uint16_t port_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<Waiter> waiters_;
  std::uint64_t next_id_ = 2;  // below stand the listener and the signals

  std::uint64_t requests_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t unknown_ = 0;  // requests that no dialect knows; never billed
  std::uint64_t accepted_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t max_in_flight_ = 0;
};

}  // namespace fakegeo
