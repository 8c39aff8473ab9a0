#include "gate.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "passage.h"

namespace faultgate {

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

std::optional<std::int64_t> number(std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < least)
    return std::nullopt;
  return value;
}

}  // namespace

Gate::Gate(asio::io_context& context, tcp::endpoint server, tcp::endpoint listen)
    : context_(context), server_(std::move(server)), acceptor_(context, listen) {}

Gate::~Gate() = default;

std::uint16_t Gate::port() const { return acceptor_.local_endpoint().port(); }

void Gate::start() {
  asio::co_spawn(
      context_, [this] { return accept(); }, asio::detached);
}

asio::awaitable<void> Gate::accept() {
  for (;;) {
    auto [failed, client] = co_await acceptor_.async_accept(kTuple);
    if (failed) continue;  // gone before it was taken
    if (weather_.refuses) {
      ++counts_.refused;
      boost::system::error_code ignored;
      client.set_option(asio::socket_base::linger(true, 0), ignored);
      client.close(ignored);
      continue;
    }
    ++counts_.connections;
    std::erase_if(passages_, [](const auto& passage) { return passage.expired(); });
    auto passage = std::make_shared<Passage>(*this, std::move(client));
    passages_.push_back(passage);
    passage->start();
  }
}

void Gate::change_weather() {
  for (const auto& weak : passages_)
    if (const auto passage = weak.lock()) passage->look_again();
}

void Gate::close_all(bool with_reset) {
  for (const auto& weak : passages_)
    if (const auto passage = weak.lock()) passage->close(with_reset);
}

void Gate::leave_half_open() {
  for (const auto& weak : passages_)
    if (const auto passage = weak.lock()) passage->leave_half_open();
}

bool Gate::take_turn() {
  ++counts_.turns;
  return turns_until_loss_ > 0 && --turns_until_loss_ == 0;
}

std::string Gate::obey(std::string_view line) {
  const std::size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  const std::string_view value = blank == std::string_view::npos ? "" : line.substr(blank + 1);
  const bool is_bare = value.empty();

  if (word == "pass" && is_bare) {
    weather_ = {};
    turns_until_loss_ = 0;
  } else if (word == "latency" && number(value, 0)) {
    weather_.latency = milliseconds{*number(value, 0)};
  } else if (word == "bandwidth" && number(value, 1)) {
    weather_.bytes_per_s = static_cast<std::size_t>(*number(value, 1));
  } else if (word == "slice" && number(value, 1)) {
    weather_.slice = static_cast<std::size_t>(*number(value, 1));
  } else if (word == "stall" && (is_bare || value == "up" || value == "down")) {
    weather_.stalls_up |= value != "down";
    weather_.stalls_down |= value != "up";
  } else if (word == "refuse" && is_bare) {
    weather_.refuses = true;
  } else if (word == "cut" && is_bare) {
    close_all(false);
  } else if (word == "reset" && is_bare) {
    close_all(true);
  } else if (word == "half-open" && is_bare) {
    leave_half_open();
  } else if (word == "drop-reply" && number(value, 1)) {
    turns_until_loss_ = *number(value, 1);
  } else if (word == "stats" && is_bare) {
    const auto open = std::count_if(
        passages_.begin(), passages_.end(), [](const auto& passage) { return !passage.expired(); });
    return fmt::format(
        R"({{"connections": {}, "open": {}, "refused": {}, "up": {}, "down": {}, "pieces": {}, "turns": {}}})",
        counts_.connections,
        open,
        counts_.refused,
        counts_.up,
        counts_.down,
        counts_.pieces,
        counts_.turns);
  } else {
    return fmt::format("error: \"{}\" is not understood; README.md lists the words", line);
  }
  change_weather();
  return "ok";
}

}  // namespace faultgate
