#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/result.h"

namespace geonce {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::milliseconds connect_timeout{2'000};
  std::chrono::milliseconds total_timeout{8'000};  // name look-up to last byte
  std::size_t max_body = 64U << 20U;               // after decompression
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // lower-case names
  std::string body;
  /// The first value of a header, or empty.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

/// How a transfer ended, from the point of view of the bill.
enum class TransferEnd {
  complete,  // status, headers and the whole body were read. A gzip stream that ends early inside a
             // whole body is not noticed here: the reader of the body must be able to tell a cut
             // one.
  not_sent,  // no byte of the request reached the peer
  lost,      // anything else: the peer may have worked and billed
};

struct Transfer {
  TransferEnd end = TransferEnd::lost;
  HttpResponse response;  // of complete
  std::string error;      // of the others; no URL, no secret
};

/// Runs calls on one thread of its own with libcurl's multi interface. Thread-safe. Never sends a
/// request twice: a reused connection that closes is `lost`, not retried (CURLOPT_PREREQFUNCTION
/// guard).
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// sending   called on the client's thread right before the first byte; false = do not send
  /// done      called once, on the client's thread; must not block
  virtual void start(HttpRequest request,
                     std::function<bool()> sending,
                     std::function<void(Transfer)> done) = 0;
};

/// On destruction, transfers in flight end as `lost` or `not_sent` and their `done` is called.
Result<std::unique_ptr<HttpClient>> open_http_client(std::string user_agent);

}  // namespace geonce
