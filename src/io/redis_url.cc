#include "io/redis_url.h"

#include <charconv>
#include <optional>

#include <fmt/ranges.h>

namespace geonce {
namespace {

constexpr int kRedisPort = 6379;
constexpr int kSentinelPort = 26379;
constexpr std::string_view kForms =
    "redis://HOST:PORT/DB, rediss://…, unix:///PATH, redis+sentinel://HOST,HOST/NAME or "
    "redis+cluster://HOST,HOST";

std::optional<int> whole(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    return std::nullopt;
  return value;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0)
      return std::nullopt;
    out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
    i += 2;
  }
  return out;
}

/// Everything up to `mark`, which is taken away with it; the whole text where there is none.
std::string_view cut(std::string_view& rest, char mark) {
  const auto at = rest.find(mark);
  const auto head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return head;
}

Result<void> read_login(std::string_view& rest, RedisTarget& target) {
  // A password may hold an @ that nobody encoded; hosts and paths of ours hold none.
  const auto at = rest.rfind('@');
  if (at == std::string_view::npos) return {};
  auto login = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  const bool has_password = login.find(':') != std::string_view::npos;
  const auto user = decoded(cut(login, ':'));
  const auto password = decoded(login);
  if (!user || !password)
    return fail(ErrorCode::invalid_config,
                "the user or password of the Redis address is not "
                "percent-encoded: % must be written %25");
  target.user = has_password ? *user : "";
  target.password = has_password ? *password : *user;
  return {};
}

Result<void> read_database(std::string_view text, RedisTarget& target) {
  if (text.empty()) return {};
  const auto database = whole(text, 1'000'000);
  if (!database)
    return fail(ErrorCode::invalid_config, "the database of the Redis address is not a number");
  target.database = *database;
  return {};
}

}  // namespace

std::string to_text(const RedisEndpoint& endpoint) {
  if (endpoint.host.empty()) return endpoint.path;
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
               : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Result<RedisEndpoint> parse_redis_endpoint(std::string_view text, int standard_port) {
  RedisEndpoint endpoint;
  endpoint.port = standard_port;
  std::string_view port;
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    endpoint.host = std::string(cut(text, ']'));
    if (text.starts_with(':')) port = text.substr(1);
  } else {
    const auto colon = text.rfind(':');
    endpoint.host = std::string(text.substr(0, colon));
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (!port.empty()) {
    const auto number = whole(port, 65'535);
    if (!number || *number == 0)
      return fail(ErrorCode::invalid_config, "the port of the Redis address is not a port");
    endpoint.port = *number;
  }
  if (endpoint.host.empty())
    return fail(ErrorCode::invalid_config, "the Redis address names no host: write {}", kForms);
  return endpoint;
}

Result<RedisTarget> parse_redis_url(std::string_view url) {
  using Kind = RedisTarget::Kind;
  RedisTarget target;
  const auto mark = url.find("://");
  if (mark == std::string_view::npos)
    return fail(ErrorCode::invalid_config, "this is no Redis address: write {}", kForms);
  auto scheme = url.substr(0, mark);
  auto rest = url.substr(mark + 3);
  if (auto read = read_login(rest, target); !read) return fail(read.error());
  if (scheme == "unix") {
    target.endpoints.push_back({"", 0, std::string(cut(rest, '?'))});
    if (target.endpoints.front().path.empty())
      return fail(ErrorCode::invalid_config, "the Redis address names no socket: unix:///PATH");
    if (rest.starts_with("db=")) {
      if (auto read = read_database(rest.substr(3), target); !read) return fail(read.error());
    }
    return target;
  }
  target.tls = scheme.starts_with("rediss");
  scheme.remove_prefix(target.tls ? 6 : std::min<std::size_t>(scheme.size(), 5));
  if (!url.starts_with("redis") || (scheme != "" && scheme != "+sentinel" && scheme != "+cluster"))
    return fail(ErrorCode::invalid_config, "this is no Redis address: write {}", kForms);
  if (scheme == "+sentinel") target.kind = Kind::sentinel;
  if (scheme == "+cluster") target.kind = Kind::cluster;

  auto hosts = cut(rest, '/');
  do {
    auto endpoint = parse_redis_endpoint(
        cut(hosts, ','), target.kind == Kind::sentinel ? kSentinelPort : kRedisPort);
    if (!endpoint) return fail(endpoint.error());
    target.endpoints.push_back(std::move(*endpoint));
  } while (!hosts.empty());
  if (target.kind == Kind::standalone && target.endpoints.size() > 1)
    return fail(ErrorCode::invalid_config,
                "several Redis hosts are a redis+cluster:// or a redis+sentinel:// address");
  if (target.kind == Kind::sentinel) {
    target.master = std::string(cut(rest, '/'));
    if (target.master.empty())
      return fail(ErrorCode::invalid_config,
                  "the Redis address does not say which master the sentinels watch: "
                  "redis+sentinel://HOST,HOST/NAME");
  }
  if (auto read = read_database(rest, target); !read) return fail(read.error());
  if (target.kind == Kind::cluster && target.database != 0)
    return fail(ErrorCode::invalid_config, "a Redis cluster has only database 0");
  return target;
}

std::string to_text(const RedisTarget& target) {
  std::vector<std::string> hosts;
  for (const RedisEndpoint& endpoint : target.endpoints) hosts.push_back(to_text(endpoint));
  const auto all = fmt::format("{}", fmt::join(hosts, ","));
  switch (target.kind) {
    case RedisTarget::Kind::sentinel:
      return fmt::format("{} by the sentinels {}", target.master, all);
    case RedisTarget::Kind::cluster:
      return "cluster " + all;
    case RedisTarget::Kind::standalone:
      break;
  }
  return all;
}

}  // namespace geonce
