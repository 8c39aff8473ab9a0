#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace geonce {

enum class HttpMethod : std::uint8_t { get, head, post, put, del, patch, options, other };
std::string_view to_string(HttpMethod method);

struct HttpField {
  std::string_view name, value;  // the name as it was sent; the value without blanks around it
};

/// A request as it came (RFC 9110, 9112). The views hold until it is answered.
struct ServerRequest {
  HttpMethod method = HttpMethod::other;
  std::string_view path, query;   // in front of the target's first `?` and behind it, as sent
  std::vector<HttpField> fields;  // in their order
  std::string_view body;          // whole, without the marks of chunks

  /// The first field of that name, in any case; nullopt: there is none.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
};

struct ServerResponse {
  int status = 200;
  std::string_view content_type;  // a literal; empty: no such field
  std::string fields;             // further ones, each with CRLF at its end
  std::string body;

  /// value  on one line: a line break in it would be another field, and stops the process
  void add(std::string_view name, std::string_view value);
};

/// `Not Found`, what stands behind the number in a status line.
std::string_view reason_phrase(int status);

/// Whether a list such as `keep-alive, TE` has this word, in any case.
bool has_token(std::string_view list, std::string_view token);

/// Equal but for the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b);

}  // namespace geonce
