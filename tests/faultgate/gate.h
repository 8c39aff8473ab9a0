#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace faultgate {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

/// Up: from the client to the server. Down: what the server says.
enum class Way : std::uint8_t { up, down };

/// What is done to every connection, the ones there are and the next ones.
struct Weather {
  milliseconds latency{0};                 // each way
  std::optional<std::size_t> bytes_per_s;  // each way of a connection
  std::optional<std::size_t> slice;        // bytes in one piece at most
  bool stalls_up = false, stalls_down = false;
  bool refuses = false;
};

struct Counts {
  std::int64_t connections = 0;  // accepted since the start
  std::int64_t refused = 0;
  std::int64_t up = 0, down = 0;  // bytes that went through
  std::int64_t pieces = 0;        // in so many
  std::int64_t turns = 0;         // times a client spoke after the server had
};

class Passage;

/// Passes connections on to one server, and the bytes in them, as the weather lets it. One thread.
class Gate {
 public:
  Gate(asio::io_context& context, tcp::endpoint server, tcp::endpoint listen);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  void start();

  /// One line of the control connection; returns the line to answer. README.md lists the words.
  std::string obey(std::string_view line);

 private:
  friend class Passage;
  asio::awaitable<void> accept();
  void change_weather();  // whoever waits for it looks again
  void close_all(bool with_reset);
  void leave_half_open();
  /// A client began to speak: is this the one whose answer is to be lost?
  bool take_turn();

  asio::io_context& context_;
  tcp::endpoint server_;
  tcp::acceptor acceptor_;
  Weather weather_;
  Counts counts_;
  std::int64_t turns_until_loss_ = 0;  // 0: none is lost
  std::list<std::weak_ptr<Passage>> passages_;
};

}  // namespace faultgate
