#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "io/http_message.h"

namespace geonce {

struct HttpLimits {
  std::size_t head = 16 << 10U;  // bytes of request line and fields
  std::size_t body = 16 << 20U;  // bytes
};

/// Why a request is not taken: it is answered so, and the connection closed.
struct HttpFault {
  int status = 400;
  std::string_view why;  // for a person
};

/// Finds HTTP/1.1 and /1.0 requests in bytes as they come (RFC 9112), and is strict where two
/// readers may differ on where a request ends: what is not one request without doubt is a fault.
///
///     const auto room = reader.room(); reader.took(read(fd, room));
///     for (auto step = reader.next(); step == Step::complete; step = reader.next()) {
///       … reader.request() …; reader.drop();
///     }
class HttpReader {
 public:
  enum class Step : std::uint8_t {
    more,      // the request is not all there
    complete,  // request()
    fault,     // fault(); nothing can be read after it
  };

  explicit HttpReader(HttpLimits limits = {});
  ~HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  /// Where further bytes are to be put; never empty. Not while a request is complete.
  std::span<char> room();
  void took(std::size_t bytes);
  Step next();
  [[nodiscard]] const ServerRequest& request() const;
  [[nodiscard]] HttpFault fault() const;
  /// Whether the connection may be used for another request.
  [[nodiscard]] bool keeps_alive() const;
  /// Whether that has to be said, since HTTP/1.0 closes by itself.
  [[nodiscard]] bool is_http_1_0() const;
  /// Whether the client waits for `100 Continue` before it sends its body; once per request.
  bool take_expectation();
  /// Whether a request has begun to come.
  [[nodiscard]] bool has_begun() const;
  /// Bytes of its body so far.
  [[nodiscard]] std::size_t body_size() const;
  [[nodiscard]] bool has_head() const;
  /// The request is answered: its bytes go, and what came behind it is the next.
  void drop();

 private:
  struct State;
  void drop_front();
  bool find_head();
  void read_head();
  void read_body();
  std::size_t feed(std::size_t size);
  void stop(HttpFault fault);

  HttpLimits limits_;
  std::unique_ptr<char[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): is not set to zero first
  std::size_t capacity_ = 0, size_ = 0;
  std::size_t front_ = 0;       // what is before this has been read
  std::size_t scanned_ = 0;     // from there on: no head ends in so many bytes
  std::size_t line_begin_ = 0;  // … and the line that comes begins here
  std::unique_ptr<State> state_;
};

}  // namespace geonce
