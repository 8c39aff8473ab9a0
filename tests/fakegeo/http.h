#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fakegeo {

/// Names and values in the order received; a name may come more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// The first value under `name`, or "".
std::string_view value_of(const Fields& fields, std::string_view name);

struct Request {
  std::string method;
  std::string path;  // percent-decoded
  Fields query;      // percent-decoded, `+` is a blank
  Fields headers;    // names in lower case
  std::string body;
  bool keep_alive = true;
};

enum class Parsed { incomplete, complete, malformed };

struct ParseResult {
  Parsed state = Parsed::incomplete;
  std::size_t consumed = 0;  // bytes of `in` that the complete request took
  bool wants_continue =
      false;  // the head is here, asks for `100 Continue`, and the body is not here
};

/// Reads one HTTP/1.x request from the front of `in`. A body needs Content-Length.
ParseResult parse_request(std::string_view in, Request& out);

std::string percent_decoded(std::string_view text, bool plus_is_blank);
std::string lower_ascii(std::string_view text);
std::string upper_ascii(std::string_view text);

struct Part {
  std::string name;
  std::string content;
};

/// The parts of a multipart/form-data body, or nothing when it is malformed.
std::optional<std::vector<Part>> parse_multipart(std::string_view content_type,
                                                 std::string_view body);

struct Answer {
  int status = 200;
  std::string content_type = "application/json; charset=UTF-8";
  std::string body;
  Fields headers;  // beyond Content-Type, Content-Length, Date and Connection
};

std::string_view reason_of(int status);
/// Now plus `offset_s` seconds in the form of RFC 9110 §5.6.7.
std::string http_date(long offset_s);
/// A response head with its empty line. No Content-Length when `content_length` is empty.
std::string response_head(const Answer& answer,
                          std::optional<std::size_t> content_length,
                          bool keep_alive);

}  // namespace fakegeo
