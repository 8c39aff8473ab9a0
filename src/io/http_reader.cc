#include "io/http_reader.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>

#include "core/error.h"

namespace geonce {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::size_t kFirstRoom = 2048;  // holds the usual request
constexpr std::size_t kLeastRoom = 512;
constexpr std::size_t kMostKept = 64U << 10U;  // of the memory of a body, for the next one

std::string_view view(string_view text) { return {text.data(), text.size()}; }

HttpMethod method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return HttpMethod::get;
    case http::verb::head:
      return HttpMethod::head;
    case http::verb::post:
      return HttpMethod::post;
    case http::verb::put:
      return HttpMethod::put;
    case http::verb::delete_:
      return HttpMethod::del;
    case http::verb::patch:
      return HttpMethod::patch;
    case http::verb::options:
      return HttpMethod::options;
    default:
      return HttpMethod::other;
  }
}

bool is_part_of(std::string_view part, std::string_view whole) {
  return std::less_equal<>{}(whole.data(), part.data()) &&
         std::less_equal<>{}(part.data() + part.size(), whole.data() + whole.size());
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether a request line ends with an HTTP version other than 1: the library does not tell it from
/// one that ends with anything.
bool is_of_other_version(std::string_view head) {
  const auto line = head.substr(0, head.find('\r'));
  if (line.size() < 8) return false;
  const auto version = line.substr(line.size() - 8);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.starts_with("HTTP/") && is_digit(version[5]) && version[5] != '1' &&
         version[6] == '.' && is_digit(version[7]);
}

HttpFault fault_of(const error_code& error, std::string_view head) {
  if (error == http::error::header_limit) return {431, "the fields are too large"};
  if (error == http::error::body_limit) return {413, "the body is too large"};
  if (error == http::error::bad_version && is_of_other_version(head))
    return {505, "this server speaks HTTP/1.1"};
  return {400, "this is no HTTP/1.1 request"};
}

/// What is known of a request so far; what it has allocated serves the next one.
struct Reading {
  std::string_view head;
  std::string kept_head;
  ServerRequest request;
  std::string body;
  std::optional<HttpFault> fault;
  bool is_1_1 = true, wants_continue = false;

  void begin(std::string_view bytes) {
    head = bytes;
    request.fields.clear();
    request.body = {};
    wants_continue = false;
  }

  /// The request's views point to a copy from now on: the body is read to where the head was.
  void keep_head() {
    kept_head.assign(head);
    const auto moved = [this](std::string_view& view) {
      if (is_part_of(view, head))
        view = {kept_head.data() + (view.data() - head.data()), view.size()};
    };
    moved(request.path);
    moved(request.query);
    for (HttpField& field : request.fields) {
      moved(field.name);
      moved(field.value);
    }
    head = kept_head;
  }

  void drop() {
    if (body.capacity() > kMostKept) std::string().swap(body);
    body.clear();
  }
};

/// Beast's parser, and a no to what it lets pass and another server in front may read otherwise.
class Parser final : public http::basic_parser<true> {
 public:
  Parser(Reading& reading, const HttpLimits& limits) : reading_(reading) {
    header_limit(static_cast<std::uint32_t>(limits.head));
    body_limit(limits.body);
  }

 private:
  void stop(int status, std::string_view why, error_code& error) {
    reading_.fault = HttpFault{status, why};
    error = http::error::bad_value;
  }

  void on_request_impl(http::verb verb,
                       string_view /*name*/,
                       string_view sent,
                       int version,
                       error_code& error) override {
    reading_.is_1_1 = version == 11;
    ServerRequest& request = reading_.request;
    request.method = method_of(verb);
    if (verb == http::verb::unknown) return stop(501, "there is no such method", error);
    auto target = view(sent);
    // As a proxy is asked; RFC 9112, 3.2.2 has every server take it.
    for (const std::string_view scheme : {"http://", "https://"})
      if (same_word(target.substr(0, scheme.size()), scheme))
        target.remove_prefix(std::min(target.find_first_of("/?", scheme.size()), target.size()));
    if (target.find('#') != std::string_view::npos)
      return stop(400, "a target has no fragment", error);
    const auto mark = target.find('?');
    request.path = target.substr(0, mark);
    request.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
    if (request.path.empty() && !same_word(view(sent).substr(0, 4), "http"))
      return stop(400, "the target is no path", error);
    if (request.path.empty()) request.path = "/";
    if (request.path.front() != '/' &&
        !(request.path == "*" && request.method == HttpMethod::options))
      stop(400, "the target is no path", error);
  }

  void on_field_impl(http::field name,
                     string_view sent_name,
                     string_view sent,
                     error_code& error) override {
    if (is_in_trailer_) return;  // nothing there is of use to anybody
    const auto value = view(sent);
    switch (name) {
      case http::field::transfer_encoding:
        if (encodings_++ > 0) return stop(400, "Transfer-Encoding stands there twice", error);
        if (!same_word(value, "chunked"))
          return stop(501, "the only transfer encoding is chunked", error);
        break;
      case http::field::content_length:
        if (!is_number(value) || lengths_++ > 0)
          return stop(400, "Content-Length is not one number", error);
        break;
      case http::field::host:
        if (hosts_++ > 0) return stop(400, "Host stands there twice", error);
        break;
      case http::field::expect:
        if (!same_word(value, "100-continue"))
          return stop(417, "nothing but 100-continue can be expected", error);
        reading_.wants_continue = reading_.is_1_1;
        break;
      default:
        break;
    }
    reading_.request.fields.push_back({view(sent_name), value});
  }

  void on_header_impl(error_code& error) override {
    is_in_trailer_ = true;
    if (reading_.is_1_1 && hosts_ == 0) return stop(400, "Host is missing", error);
    if (!reading_.is_1_1 && encodings_ > 0)
      return stop(400, "HTTP/1.0 has no transfer encoding", error);
    const HttpMethod method = reading_.request.method;
    if ((method == HttpMethod::get || method == HttpMethod::head) &&
        (encodings_ > 0 || content_length().value_or(0) > 0))
      stop(400, "GET and HEAD have no body", error);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length,
                         error_code& /*error*/) override {
    // No more on its word: it costs the sender nothing.
    if (length) reading_.body.reserve(std::min<std::uint64_t>(*length, 64U << 10U));
  }
  std::size_t on_body_impl(string_view bytes, error_code& /*error*/) override {
    reading_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/,
                            string_view /*extensions*/,
                            error_code& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*left*/,
                                 string_view bytes,
                                 error_code& error) override {
    return on_body_impl(bytes, error);
  }
  void on_finish_impl(error_code& /*error*/) override { reading_.request.body = reading_.body; }
  void on_response_impl(int /*code*/,
                        string_view /*reason*/,
                        int /*version*/,
                        error_code& /*error*/) override {}

  Reading& reading_;
  int encodings_ = 0, lengths_ = 0, hosts_ = 0;
  bool is_in_trailer_ = false;
};

}  // namespace

struct HttpReader::State {
  Reading reading;
  std::optional<Parser> parser;  // of the request whose head is there
};

HttpReader::HttpReader(HttpLimits limits) : limits_(limits), state_(std::make_unique<State>()) {}
HttpReader::~HttpReader() = default;

std::span<char> HttpReader::room() {
  drop_front();
  if (capacity_ - size_ < kLeastRoom) {
    const std::size_t capacity = std::max(kFirstRoom, 2 * capacity_);
    auto larger =
        std::make_unique_for_overwrite<char[]>(capacity);  // NOLINT(modernize-avoid-c-arrays)
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  return {bytes_.get() + size_, capacity_ - size_};
}

void HttpReader::took(std::size_t bytes) { size_ += bytes; }

/// What has been read goes; the rest moves to where it was.
void HttpReader::drop_front() {
  if (front_ == 0) return;
  size_ -= front_;
  if (size_ > 0) std::memmove(bytes_.get(), bytes_.get() + front_, size_);
  front_ = 0;
}

HttpReader::Step HttpReader::next() {
  Reading& reading = state_->reading;
  if (!reading.fault && !state_->parser && find_head()) read_head();
  if (!reading.fault && state_->parser) read_body();
  if (reading.fault) return Step::fault;
  return state_->parser && state_->parser->is_done() ? Step::complete : Step::more;
}

/// Whether the whole head is there. The parser is not shown a part of one: its views would point
/// to where the bytes have been.
bool HttpReader::find_head() {
  const char* const begin = bytes_.get() + front_;
  const std::size_t size = size_ - front_;
  while (scanned_ < size) {
    const void* found = std::memchr(begin + scanned_, '\n', size - scanned_);
    if (found == nullptr) {
      scanned_ = size;
      break;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - begin);
    if (at == 0 || begin[at - 1] != '\r') {
      stop({400, "a line ends without a carriage return"});
      return false;
    }
    if (line_begin_ > 0 && (begin[line_begin_] == ' ' || begin[line_begin_] == '\t')) {
      stop({400, "a field goes over two lines"});
      return false;
    }
    scanned_ = line_begin_ = at + 1;
    if (at == 1) {  // a blank line in front of a request, from a client of long ago (RFC 9112, 2.2)
      front_ += 2;
      scanned_ = line_begin_ = 0;
      return find_head();
    }
    if (begin[at - 2] == '\n') return true;
  }
  if (size > limits_.head) stop({431, "the fields are too large"});
  return false;
}

void HttpReader::read_head() {
  if (scanned_ > limits_.head) return stop({431, "the fields are too large"});
  Reading& reading = state_->reading;
  reading.begin({bytes_.get() + front_, scanned_});
  state_->parser.emplace(reading, limits_);
  feed(scanned_);
  scanned_ = line_begin_ = 0;
  if (reading.fault || state_->parser->is_done()) return;
  if (!state_->parser->is_header_done())  // too short for the library to say what is wrong
    return stop({400, "this is no HTTP/1.1 request"});
  reading.keep_head();
}

void HttpReader::read_body() {
  // A chunked body ends with five bytes, and the parser cannot bear to be shown fewer.
  const std::size_t least = state_->parser->chunked() ? 5 : 1;
  while (!state_->reading.fault && !state_->parser->is_done() && size_ - front_ >= least)
    if (feed(size_ - front_) == 0) {
      // A line of a chunked body that does not end.
      if (size_ - front_ > limits_.head) stop({431, "a line of the body is too long"});
      return;
    }
}

/// Hands the parser so many of the bytes that are next; returns how many it has taken.
std::size_t HttpReader::feed(std::size_t size) {
  error_code error;
  const std::size_t taken =
      state_->parser->put(boost::asio::buffer(bytes_.get() + front_, size), error);
  front_ += taken;
  if (error && error != http::error::need_more && !state_->reading.fault)
    stop(fault_of(error, state_->reading.head));
  return taken;
}

void HttpReader::stop(HttpFault fault) { state_->reading.fault = fault; }

const ServerRequest& HttpReader::request() const { return state_->reading.request; }
HttpFault HttpReader::fault() const { return *state_->reading.fault; }
bool HttpReader::keeps_alive() const {
  return !state_->reading.fault && state_->parser && state_->parser->keep_alive();
}
bool HttpReader::is_http_1_0() const { return !state_->reading.is_1_1; }
bool HttpReader::take_expectation() {
  return std::exchange(state_->reading.wants_continue, false) && state_->reading.body.empty();
}
bool HttpReader::has_begun() const { return size_ > front_ || state_->parser; }
bool HttpReader::has_head() const { return state_->parser.has_value(); }
std::size_t HttpReader::body_size() const { return state_->reading.body.size(); }
void HttpReader::drop() {
  state_->parser.reset();
  state_->reading.drop();
}

}  // namespace geonce
