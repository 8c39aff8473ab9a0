#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "gate.h"

namespace faultgate {

/// One client's connection and the one to the server that belongs to it.
class Passage : public std::enable_shared_from_this<Passage> {
 public:
  Passage(Gate& gate, tcp::socket client);

  void start();
  /// The weather is another: what is held back may go on.
  void look_again();
  /// Both ends are closed: in order, or with a reset.
  void close(bool with_reset);
  /// The server's end is closed, and the client hears nothing of it.
  void leave_half_open();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Piece {
    Time not_before;
    std::vector<char> bytes;  // none: the sender has closed
  };
  struct Line {
    explicit Line(asio::io_context& context) : changed(context) {}
    std::deque<Piece> pieces;
    std::size_t held = 0;        // bytes in `pieces`
    asio::steady_timer changed;  // cancelled whenever something about the line changes
  };

  asio::awaitable<void> run();
  asio::awaitable<void> read(Way way);
  asio::awaitable<void> write(Way way);
  asio::awaitable<void> hold(Way way);  // until the weather lets the first piece pass
  asio::awaitable<void> wait(Line& line, std::optional<Time> until);
  void heard(Way way);
  Line& line(Way way) { return way == Way::up ? up_ : down_; }
  tcp::socket& from(Way way) { return way == Way::up ? client_ : server_; }
  tcp::socket& to(Way way) { return way == Way::up ? server_ : client_; }

  Gate& gate_;
  tcp::socket client_, server_;
  Line up_, down_;
  bool is_client_speaking_ = false;
  bool loses_answer_ = false;
  bool is_half_open_ = false;
  bool is_closed_ = false;
};

}  // namespace faultgate
