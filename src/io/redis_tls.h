#pragma once

#include <memory>
#include <string>

#include "core/result.h"

namespace geonce {

struct RedisTlsFiles {
  std::string ca;         // PEM; empty: the certificates this system trusts
  std::string cert, key;  // PEM, of this client; empty: none
};

/// One TLS session as a filter without a socket: bytes in, bytes out.
class RedisTlsSession {
 public:
  virtual ~RedisTlsSession() = default;
  /// Goes on with the handshake. true: it is done.
  /// errors    io_failed  the certificate is not trusted or not of this host, …
  virtual Result<bool> shake() = 0;
  /// What came from the peer becomes plain text at the end of `plain`.
  virtual Result<void> take(std::string_view from_peer, std::string& plain) = 0;
  virtual Result<void> put(std::string_view plain) = 0;
  /// What has to go to the peer, at the end of `to_peer`.
  virtual void drain(std::string& to_peer) = 0;
};

/// Certificates and settings of all sessions; TLS 1.2 and later, the peer always verified.
class RedisTls {
 public:
  virtual ~RedisTls() = default;
  /// host  what the peer's certificate must be for: a name or an address
  virtual Result<std::unique_ptr<RedisTlsSession>> session(const std::string& host) = 0;
};

/// errors    invalid_config  a file that cannot be read, a key that is not the certificate's
Result<std::unique_ptr<RedisTls>> open_redis_tls(const RedisTlsFiles& files);

}  // namespace geonce
