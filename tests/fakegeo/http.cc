#include "http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include <fmt/format.h>

namespace fakegeo {
namespace {

constexpr std::size_t kMaxHead = 1 << 20;
constexpr std::size_t kMaxBody = std::size_t{64} << 20;

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (to_lower(c) >= 'a' && to_lower(c) <= 'f') return to_lower(c) - 'a' + 10;
  return -1;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Cuts the text up to `mark` off the front of `rest`; all of it when `mark` does not come.
std::string_view cut(std::string_view& rest, std::string_view mark) {
  const auto at = rest.find(mark);
  const std::string_view piece = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + mark.size());
  return piece;
}

Fields parse_query(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    std::string_view pair = cut(text, "&");
    if (pair.empty()) continue;
    const std::string_view name = cut(pair, "=");
    fields.emplace_back(percent_decoded(name, true), percent_decoded(pair, true));
  }
  return fields;
}

bool parse_head(std::string_view head, Request& out) {
  std::string_view line = cut(head, "\r\n");
  out.method = cut(line, " ");
  std::string_view target = cut(line, " ");
  if (out.method.empty() || !target.starts_with('/') || !line.starts_with("HTTP/1.")) return false;
  out.keep_alive = line != "HTTP/1.0";
  out.path = percent_decoded(cut(target, "?"), false);
  out.query = parse_query(target);
  out.headers.clear();
  while (!head.empty()) {
    std::string_view field = cut(head, "\r\n");
    if (field.find(':') == std::string_view::npos) return false;
    const std::string_view name = cut(field, ":");
    out.headers.emplace_back(lower_ascii(name), trimmed(field));
  }
  const std::string connection = lower_ascii(value_of(out.headers, "connection"));
  if (connection == "close") out.keep_alive = false;
  return true;
}

/// A parameter of a header such as `boundary` or `name`, without its quotes.
std::string_view parameter(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view piece = trimmed(cut(header, ";"));
    if (piece.size() <= name.size() || piece[name.size()] != '=') continue;
    if (lower_ascii(piece.substr(0, name.size())) != name) continue;
    piece.remove_prefix(name.size() + 1);
    if (piece.size() >= 2 && piece.front() == '"' && piece.back() == '"')
      piece = piece.substr(1, piece.size() - 2);
    return piece;
  }
  return {};
}

}  // namespace

std::string_view value_of(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return {};
}

ParseResult parse_request(std::string_view in, Request& out) {
  ParseResult result;
  const auto head_end = in.find("\r\n\r\n");
  if (head_end == std::string_view::npos) {
    if (in.size() > kMaxHead) result.state = Parsed::malformed;
    return result;
  }
  std::size_t length = 0;
  const bool good = parse_head(in.substr(0, head_end), out);
  const std::string_view declared = value_of(out.headers, "content-length");
  if (!declared.empty()) {
    const auto [end, error] =
        std::from_chars(declared.data(), declared.data() + declared.size(), length);
    if (error != std::errc{} || end != declared.data() + declared.size()) length = kMaxBody + 1;
  }
  if (!good || length > kMaxBody || !value_of(out.headers, "transfer-encoding").empty()) {
    result.state = Parsed::malformed;
    return result;
  }
  const std::size_t body_at = head_end + 4;
  if (in.size() < body_at + length) {
    result.wants_continue =
        in.size() == body_at && lower_ascii(value_of(out.headers, "expect")) == "100-continue";
    return result;
  }
  out.body = in.substr(body_at, length);
  result.state = Parsed::complete;
  result.consumed = body_at + length;
  return result;
}

std::string percent_decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

std::string upper_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_upper);
  return out;
}

std::optional<std::vector<Part>> parse_multipart(std::string_view content_type,
                                                 std::string_view body) {
  const std::string_view boundary = parameter(content_type, "boundary");
  if (!lower_ascii(content_type).starts_with("multipart/form-data") || boundary.empty())
    return std::nullopt;
  const std::string delimiter = fmt::format("\r\n--{}", boundary);
  if (!body.starts_with(std::string_view(delimiter).substr(2))) return std::nullopt;
  body.remove_prefix(delimiter.size() - 2);
  std::vector<Part> parts;
  while (!body.starts_with("--")) {
    if (!body.starts_with("\r\n")) return std::nullopt;
    body.remove_prefix(2);
    const auto head_end = body.find("\r\n\r\n");
    if (head_end == std::string_view::npos) return std::nullopt;
    std::string_view head = body.substr(0, head_end);
    body.remove_prefix(head_end + 4);
    const auto part_end = body.find(delimiter);
    if (part_end == std::string_view::npos) return std::nullopt;
    Part part;
    while (!head.empty()) {
      std::string_view field = cut(head, "\r\n");
      if (lower_ascii(cut(field, ":")) == "content-disposition")
        part.name = parameter(field, "name");
    }
    part.content = body.substr(0, part_end);
    parts.push_back(std::move(part));
    body.remove_prefix(part_end + delimiter.size());
  }
  return parts;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 402:
      return "Payment Required";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 413:
      return "Content Too Large";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Scripted";
  }
}

std::string http_date(long offset_s) {
  const std::time_t when = std::time(nullptr) + offset_s;
  std::tm utc{};
  gmtime_r(&when, &utc);
  // strftime would follow the locale; the header does not.
  static constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<std::size_t>(utc.tm_wday)),
                     utc.tm_mday,
                     kMonths.at(static_cast<std::size_t>(utc.tm_mon)),
                     utc.tm_year + 1900,
                     utc.tm_hour,
                     utc.tm_min,
                     utc.tm_sec);
}

std::string response_head(const Answer& answer,
                          std::optional<std::size_t> content_length,
                          bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\n",
                                 answer.status,
                                 reason_of(answer.status),
                                 http_date(0),
                                 answer.content_type);
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (content_length) head += fmt::format("Content-Length: {}\r\n", *content_length);
  if (!keep_alive) head += "Connection: close\r\n";
  return head + "\r\n";
}

}  // namespace fakegeo
