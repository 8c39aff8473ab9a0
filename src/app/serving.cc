#include "app/serving.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <sys/resource.h>

#include "app/engine.h"
#include "app/second_reader.h"
#include "app/sweeper.h"
#include "gateway/gateway.h"
#include "io/http_server.h"

namespace geonce {
namespace {

/// Whether only this machine can come there.
bool is_local(const std::string& address) {
  return address.starts_with("unix:") || address.starts_with("127.") ||
         address.starts_with("localhost:") || address.starts_with("[::1]:");
}

/// errors    usage
Result<void> check(const ServeConfig& config) {
  if (config.listen.empty())
    return fail(ErrorCode::usage, "serve.listen names no address to listen to");
  if (config.open) return {};
  for (const std::string& address : config.listen)
    if (!is_local(address))
      return fail(ErrorCode::usage,
                  "{} can be reached by others, and whoever reaches it may spend: listen to "
                  "127.0.0.1 behind a proxy that checks who comes, or set serve.open = true",
                  address);
  return {};
}

/// A connection is a file descriptor, and the usual limit is low.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait(lock, stop, [] { return false; });
}

HttpServerOptions server_options_of(const ServeConfig& config) {
  HttpServerOptions options;
  options.listen = config.listen;
  options.loops = config.loops > 0
                      ? static_cast<int>(config.loops)
                      : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  options.limits.body = static_cast<std::size_t>(config.max_body_mib) << 20U;
  options.max_connections = static_cast<std::size_t>(config.max_connections);
  return options;
}

}  // namespace

Result<void> serve(const Config& config,
                   const std::stop_token& stop,
                   const std::function<void(const std::vector<std::string>& addresses)>& listening,
                   const std::function<void(const std::string&)>& notice) {
  if (auto checked = check(config.serve); !checked) return checked;
  raise_file_limit();
  const auto ring = key_ring_of(config);
  if (!ring) return fail(ring.error());
  const auto second = open_second_reader(config, stop);
  if (!second) return fail(second.error());
  auto engine = open_engine(config);
  if (!engine) return fail(engine.error());
  if (const auto note = (*engine)->takeover_note(); !note.empty()) notice(note);
  std::optional<Sweeper> sweeper(std::in_place, (*engine)->store(), config.sweep, notice);

  std::atomic<bool> is_draining = false;
  std::atomic<HttpServer*> running = nullptr;
  const auto gateway =
      open_gateway({(*engine)->resolver(),
                    *ring,
                    second->get(),
                    (*engine)->clock(),
                    {config.batch.default_country,
                     config.serve.deadline,
                     static_cast<std::size_t>(config.serve.max_queries)},
                    [&]() -> std::optional<std::string> {
                      if (is_draining) return "the gateway is stopping";
                      return std::nullopt;
                    },
                    [&] {
                      const HttpServer* server = running;
                      return server != nullptr ? server->stats() : HttpServerStats{};
                    }});
  const auto server =
      open_http_server(server_options_of(config.serve), [&] { return gateway->handler(); });
  if (!server) return fail(server.error());
  running = server->get();
  listening((*server)->addresses());

  wait_for(stop);
  is_draining = true;
  const auto deadline = Deadline::in(config.serve.drain, (*engine)->clock());
  (*server)->drain(deadline);
  // Whoever still waits is answered before the resolver ends, and only then the server may go.
  gateway->stop();
  (*engine)->resolver().drain(deadline);
  sweeper.reset();
  engine->reset();
  return {};
}

}  // namespace geonce
