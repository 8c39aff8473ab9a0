// faultgate: a TCP proxy that breaks on command. README.md lists the commands.

#include <csignal>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "gate.h"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

asio::awaitable<void> listen_to(tcp::socket client, faultgate::Gate& gate) {
  std::string in;
  for (;;) {
    const auto [failed, size] =
        co_await asio::async_read_until(client, asio::dynamic_buffer(in, 4096), '\n', kTuple);
    if (failed) co_return;
    const std::string answer = gate.obey(std::string_view(in).substr(0, size - 1)) + "\n";
    in.erase(0, size);
    const auto [failed_too, sent] =
        co_await asio::async_write(client, asio::buffer(answer), kTuple);
    if (failed_too) co_return;
  }
}

asio::awaitable<void> control(tcp::acceptor& acceptor, faultgate::Gate& gate) {
  for (;;) {
    auto [failed, client] = co_await acceptor.async_accept(kTuple);
    if (!failed)
      asio::co_spawn(acceptor.get_executor(), listen_to(std::move(client), gate), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string to;
  std::uint16_t port = 0, control_port = 0;
  CLI::App app(
      "A TCP proxy that breaks on command. Prints its port and its control port once it listens.");
  app.add_option("--to", to, "HOST:PORT of the server behind it")->required();
  app.add_option("--port", port, "0 takes a free one");
  app.add_option("--control-port", control_port, "0 takes a free one");
  CLI11_PARSE(app, argc, argv);

  asio::io_context context(1);
  const std::size_t colon = to.rfind(':');
  boost::system::error_code failed;
  tcp::resolver resolver(context);
  const auto found =
      colon == std::string::npos
          ? tcp::resolver::results_type{}
          : resolver.resolve(tcp::v4(), to.substr(0, colon), to.substr(colon + 1), failed);
  if (failed || found.empty()) {
    fmt::print(stderr, "faultgate: --to {}: not the HOST:PORT of a server\n", to);
    return 2;
  }
  try {
    const asio::ip::address loopback = asio::ip::address_v4::loopback();
    faultgate::Gate gate(context, found.begin()->endpoint(), {loopback, port});
    tcp::acceptor acceptor(context, {loopback, control_port});
    gate.start();
    asio::co_spawn(context, control(acceptor, gate), asio::detached);
    asio::signal_set signals(context, SIGTERM, SIGINT);
    signals.async_wait([&](auto, auto) { context.stop(); });
    std::cout << gate.port() << ' ' << acceptor.local_endpoint().port() << std::endl;
    context.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "faultgate: {}\n", error.what());
    return 1;
  }
}
