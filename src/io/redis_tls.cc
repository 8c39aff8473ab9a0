#include "io/redis_tls.h"

#include <array>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace geonce {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};

std::string reason() {
  const auto code = ERR_peek_last_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return text == nullptr ? "no reason given" : text;
}

class Session final : public RedisTlsSession {
 public:
  explicit Session(std::unique_ptr<SSL, FreeSession> ssl) : ssl_(std::move(ssl)) {
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in_, out_);  // owns both from here on
    SSL_set_connect_state(ssl_.get());
  }

  Result<bool> shake() override {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done == 1) return true;
    const int why = SSL_get_error(ssl_.get(), done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
    if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK)
      return fail(ErrorCode::io_failed,
                  "its certificate is refused: {}",
                  X509_verify_cert_error_string(verdict));
    return fail(ErrorCode::io_failed, "TLS: {}", reason());
  }

  Result<void> take(std::string_view from_peer, std::string& plain) override {
    if (!from_peer.empty()) BIO_write(in_, from_peer.data(), static_cast<int>(from_peer.size()));
    if (SSL_is_init_finished(ssl_.get()) == 0) return {};
    std::array<char, 16'384> buffer;
    for (;;) {
      ERR_clear_error();
      const int size = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (size > 0) {
        plain.append(buffer.data(), static_cast<std::size_t>(size));
        continue;
      }
      const int why = SSL_get_error(ssl_.get(), size);
      if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return {};
      if (why == SSL_ERROR_ZERO_RETURN)
        return fail(ErrorCode::io_failed, "the connection was closed");
      return fail(ErrorCode::io_failed, "TLS: {}", reason());
    }
  }

  Result<void> put(std::string_view plain) override {
    while (!plain.empty()) {
      const auto part = static_cast<int>(std::min<std::size_t>(plain.size(), 16'384));
      ERR_clear_error();
      // A buffer in memory takes everything, so less than all of it is a fault.
      if (SSL_write(ssl_.get(), plain.data(), part) != part)
        return fail(ErrorCode::io_failed, "TLS: {}", reason());
      plain.remove_prefix(static_cast<std::size_t>(part));
    }
    return {};
  }

  void drain(std::string& to_peer) override {
    std::array<char, 16'384> buffer;
    for (int size = 0; (size = BIO_read(out_, buffer.data(), static_cast<int>(buffer.size()))) > 0;)
      to_peer.append(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  std::unique_ptr<SSL, FreeSession> ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

class Context final : public RedisTls {
 public:
  explicit Context(std::unique_ptr<SSL_CTX, FreeContext> context) : context_(std::move(context)) {}

  Result<std::unique_ptr<RedisTlsSession>> session(const std::string& host) override {
    std::unique_ptr<SSL, FreeSession> ssl(SSL_new(context_.get()));
    if (!ssl) return fail(ErrorCode::io_failed, "TLS: {}", reason());
    std::array<unsigned char, 16> address;
    const bool is_address = inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                            inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    const bool is_set =
        is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1
                   : SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
                         SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
    if (!is_set) return fail(ErrorCode::io_failed, "TLS: {}", reason());
    return std::make_unique<Session>(std::move(ssl));
  }

 private:
  std::unique_ptr<SSL_CTX, FreeContext> context_;
};

}  // namespace

Result<std::unique_ptr<RedisTls>> open_redis_tls(const RedisTlsFiles& files) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail(ErrorCode::invalid_config, "TLS: {}", reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const bool trusts = files.ca.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                                       : SSL_CTX_load_verify_locations(
                                             context.get(), files.ca.c_str(), nullptr) == 1;
  if (!trusts)
    return fail(
        ErrorCode::invalid_config, "redis.ca_file: no certificate in {}: {}", files.ca, reason());
  if (!files.cert.empty() &&
      SSL_CTX_use_certificate_chain_file(context.get(), files.cert.c_str()) != 1)
    return fail(ErrorCode::invalid_config,
                "redis.cert_file: no certificate in {}: {}",
                files.cert,
                reason());
  if (!files.key.empty() &&
      (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
       SSL_CTX_check_private_key(context.get()) != 1))
    return fail(ErrorCode::invalid_config,
                "redis.key_file: {} holds no key that fits redis.cert_file: {}",
                files.key,
                reason());
  return std::make_unique<Context>(std::move(context));
}

}  // namespace geonce
