#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace geonce {

/// Where one Redis process listens.
struct RedisEndpoint {
  std::string host;  // a name or an address; empty: `path`
  int port = 6379;
  std::string path;  // of a Unix socket
  friend bool operator==(const RedisEndpoint&, const RedisEndpoint&) = default;
};
std::string to_text(const RedisEndpoint& endpoint);
/// `HOST:PORT` as a cluster writes it: the port stands behind the last colon.
/// errors    invalid_config
Result<RedisEndpoint> parse_redis_endpoint(std::string_view text, int standard_port);

/// What an address of the configuration says.
struct RedisTarget {
  enum class Kind { standalone, sentinel, cluster };
  Kind kind = Kind::standalone;
  bool tls = false;
  std::vector<RedisEndpoint> endpoints;  // at least one
  std::string user, password;            // of an ACL; empty: none
  int database = 0;
  std::string master;                            // sentinel: the name of the watched master …
  std::string sentinel_user, sentinel_password;  // … and who asks for it; no address has these
};

/// `redis://USER:PASSWORD@HOST:PORT/DB`, `rediss://…` (TLS), `unix:///PATH?db=N`,
/// `redis+sentinel://HOST,HOST/NAME/DB`, `redis+cluster://HOST,HOST`; the last two also as
/// `rediss+…`. User and password may be percent-encoded.
/// errors    invalid_config  without the address: it may carry a password
Result<RedisTarget> parse_redis_url(std::string_view url);

/// The target for a person: no user, no password.
std::string to_text(const RedisTarget& target);

}  // namespace geonce
