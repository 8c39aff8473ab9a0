#include "passage.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace faultgate {

namespace {

constexpr std::size_t kPiece = 64 * 1024;
// A sender that is faster than the gate is made to wait, as a slow network would do it.
constexpr std::size_t kMostHeld = 256 * 1024;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace

Passage::Passage(Gate& gate, tcp::socket client)
    : gate_(gate),
      client_(std::move(client)),
      server_(gate.context_),
      up_(gate.context_),
      down_(gate.context_) {}

void Passage::start() {
  asio::co_spawn(
      gate_.context_, [self = shared_from_this()] { return self->run(); }, asio::detached);
}

asio::awaitable<void> Passage::run() {
  const auto [failed] = co_await server_.async_connect(gate_.server_, kTuple);
  if (failed || is_closed_) {
    close(true);
    co_return;
  }
  boost::system::error_code ignored;
  client_.set_option(tcp::no_delay(true), ignored);
  server_.set_option(tcp::no_delay(true), ignored);
  for (const Way way : {Way::up, Way::down}) {
    asio::co_spawn(
        gate_.context_,
        [self = shared_from_this(), way] { return self->read(way); },
        asio::detached);
    asio::co_spawn(
        gate_.context_,
        [self = shared_from_this(), way] { return self->write(way); },
        asio::detached);
  }
}

void Passage::heard(Way way) {
  if (way == Way::down) {
    is_client_speaking_ = false;
  } else if (!is_client_speaking_) {
    is_client_speaking_ = true;
    if (gate_.take_turn()) loses_answer_ = true;
  }
}

asio::awaitable<void> Passage::read(Way way) {
  Line& line = this->line(way);
  std::array<char, kPiece> buffer;
  for (;;) {
    while (line.held >= kMostHeld && !is_closed_) co_await wait(line, std::nullopt);
    if (is_closed_) co_return;
    const auto [failed, size] = co_await from(way).async_read_some(asio::buffer(buffer), kTuple);
    if (is_closed_ || (is_half_open_ && way == Way::down)) co_return;
    if (failed && failed != asio::error::eof) {
      close(true);  // a reset is passed on as one
      co_return;
    }
    if (!failed) heard(way);
    if (way == Way::down && loses_answer_) {
      close(true);
      co_return;
    }
    const Time not_before = std::chrono::steady_clock::now() + gate_.weather_.latency;
    line.pieces.push_back({not_before, {buffer.data(), buffer.data() + size}});
    line.held += size;
    line.changed.cancel();
    if (failed) co_return;
  }
}

asio::awaitable<void> Passage::write(Way way) {
  Line& line = this->line(way);
  for (;;) {
    co_await hold(way);
    if (is_closed_) co_return;
    Piece& piece = line.pieces.front();
    if (piece.bytes.empty()) {
      boost::system::error_code ignored;
      to(way).shutdown(tcp::socket::shutdown_send, ignored);
      co_return;
    }
    const Weather& weather = gate_.weather_;
    std::size_t size = piece.bytes.size();
    if (weather.slice) size = std::min(size, *weather.slice);
    // Twenty pieces a second: slow, and still a trickle.
    if (weather.bytes_per_s)
      size = std::min(size, std::max<std::size_t>(1, *weather.bytes_per_s / 20));
    if (!(is_half_open_ && way == Way::up)) {
      const auto [failed, sent] =
          co_await asio::async_write(to(way), asio::buffer(piece.bytes.data(), size), kTuple);
      if (is_closed_) co_return;
      if (failed && !is_half_open_) {
        close(true);
        co_return;
      }
      (way == Way::up ? gate_.counts_.up : gate_.counts_.down) += static_cast<std::int64_t>(sent);
      ++gate_.counts_.pieces;
    }
    piece.bytes.erase(piece.bytes.begin(), piece.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    line.held -= size;
    const Time now = std::chrono::steady_clock::now();
    if (gate_.weather_.bytes_per_s)
      piece.not_before =
          now + std::chrono::microseconds(1'000'000 * size / *gate_.weather_.bytes_per_s);
    if (piece.bytes.empty()) {
      const Time next = piece.not_before;
      line.pieces.pop_front();
      // The pace holds across pieces too.
      if (!line.pieces.empty())
        line.pieces.front().not_before = std::max(line.pieces.front().not_before, next);
      line.changed.cancel();
    }
  }
}

asio::awaitable<void> Passage::hold(Way way) {
  Line& line = this->line(way);
  while (!is_closed_) {
    const Weather& weather = gate_.weather_;
    const bool is_stalled = way == Way::up ? weather.stalls_up : weather.stalls_down;
    if (line.pieces.empty() || is_stalled) {
      co_await wait(line, std::nullopt);
      continue;
    }
    const Time not_before = line.pieces.front().not_before;
    if (not_before <= std::chrono::steady_clock::now()) co_return;
    co_await wait(line, not_before);
  }
}

asio::awaitable<void> Passage::wait(Line& line, std::optional<Time> until) {
  line.changed.expires_at(until.value_or(Time::max()));
  co_await line.changed.async_wait(kTuple);
}

void Passage::look_again() {
  up_.changed.cancel();
  down_.changed.cancel();
}

void Passage::close(bool with_reset) {
  if (std::exchange(is_closed_, true)) return;
  boost::system::error_code ignored;
  for (tcp::socket* socket : {&client_, &server_}) {
    if (with_reset) socket->set_option(asio::socket_base::linger(true, 0), ignored);
    socket->close(ignored);
  }
  look_again();
}

void Passage::leave_half_open() {
  if (is_closed_) return;
  is_half_open_ = true;
  boost::system::error_code ignored;
  server_.close(ignored);
  look_again();
}

}  // namespace faultgate
