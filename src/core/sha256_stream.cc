#include "core/sha256_stream.h"

#include <openssl/evp.h>

namespace geonce {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct Sha256Stream::State {
  std::unique_ptr<EVP_MD_CTX, FreeContext> context{EVP_MD_CTX_new()};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  GEONCE_EXPECTS(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::add(std::string_view bytes) {
  GEONCE_EXPECTS(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

Key Sha256Stream::finish() {
  Key key;
  GEONCE_EXPECTS(EVP_DigestFinal_ex(state_->context.get(), key.bytes.data(), nullptr) == 1);
  return key;
}

}  // namespace geonce
