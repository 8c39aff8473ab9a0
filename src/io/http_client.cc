#include "io/http_client.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>

#include <curl/curl.h>
#include <sys/socket.h>

#include "core/guarded.h"
#include "io/failpoint.h"

namespace geonce {
namespace {

constexpr std::size_t kMaxHeaderBytes = 256U << 10U;  // all header lines of one answer
constexpr std::size_t kKeptHandles = 256;
// Idle seconds after which a connection is not used again. Web servers close idle connections after
// 5 s (Apache httpd, Node.js), 60 s or 75 s (load balancers, nginx). A connection that closes while
// a request is on its way is a call that may have been billed, a new connection is 50 ms: stay
// below the smallest.
constexpr long kMaxIdleSeconds = 4;

struct Call {
  HttpRequest request;
  std::function<bool()> sending;
  std::function<void(Transfer)> done;

  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  HttpResponse response;
  std::size_t header_bytes = 0;
  const char* stopped = nullptr;  // why one of our callbacks ended the transfer
  bool sent = false;              // the first byte was allowed to leave
  bool head_ended = false;        // the blank line after the headers was read
};

// --- what failpoints need ---------------------------------------------------------------------

/// The first bytes of a request, past libcurl: whoever dies then has sent half of one. (Over TLS
/// they are noise to the server, as half a record is.)
void send_a_part(const Call& call) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(call.easy, CURLINFO_ACTIVESOCKET, &socket);
  const std::string_view part = std::string_view(call.request.method).substr(0, 2);
  if (socket != CURL_SOCKET_BAD) (void)::send(socket, part.data(), part.size(), MSG_NOSIGNAL);
}

/// libcurl tells of what it has handed to the kernel. A body, where there is one, follows the head.
int after_sending(CURL*, curl_infotype type, char*, std::size_t, void* user) {
  const auto& call = *static_cast<Call*>(user);
  if (type == (call.request.body.empty() ? CURLINFO_HEADER_OUT : CURLINFO_DATA_OUT))
    failpoint(FailPoint::call_sent);
  return 0;
}

// --- what libcurl calls --------------------------------------------------------------------------

// Called when the connection stands and the request is about to be written. libcurl calls it again
// when it wants to repeat the request on a new connection after a kept one closed: that would be a
// second bill.
int before_sending(void* user, char*, char*, int, int) {
  auto& call = *static_cast<Call*>(user);
  if (call.sent) {
    call.stopped = "the connection closed before the answer; not sent again";
    return CURL_PREREQFUNC_ABORT;
  }
  if (call.sending && !call.sending()) {
    call.stopped = "held back before sending";
    return CURL_PREREQFUNC_ABORT;
  }
  call.sent = true;
  failpoint(FailPoint::call_half_sent, [&call] { send_a_part(call); });
  return CURL_PREREQFUNC_OK;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& call = *static_cast<Call*>(user);
  const std::string_view line(data, size * count);
  failpoint(FailPoint::call_head);
  call.header_bytes += line.size();
  if (call.header_bytes > kMaxHeaderBytes) {
    call.stopped = "the answer's headers are too large";
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // a status line: what came before was an interim (1xx) answer
    call.response.headers.clear();
    call.head_ended = false;
    return line.size();
  }
  if (trimmed(line).empty()) call.head_ended = true;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string name(trimmed(line.substr(0, colon)));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  call.response.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
  return line.size();
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& call = *static_cast<Call*>(user);
  failpoint(FailPoint::call_body);
  const std::size_t bytes = size * count;
  if (call.response.body.size() + bytes > call.request.max_body) {
    call.stopped = "the answer is larger than allowed";
    return 0;
  }
  call.response.body.append(data, bytes);
  return bytes;
}

// --- one call ------------------------------------------------------------------------------------

bool is_header_safe(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

const char* objection(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers)
    if (name.empty() || name.find_first_of(": \t") != std::string::npos || !is_header_safe(name) ||
        !is_header_safe(value))
      return "a header has a character that HTTP does not allow";
  if (request.url.find('\0') != std::string::npos) return "the URL has a NUL byte";
  if (request.total_timeout.count() <= 0) return "the deadline has passed";
  return nullptr;
}

void set_up(Call& call, const std::string& user_agent) {
  const HttpRequest& request = call.request;
  CURL* easy = call.easy;
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // "/../" may be somebody's address
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A name look-up that outlives its call is left to its own thread instead of stopping all others.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  curl_easy_setopt(easy,
                   CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::max<std::int64_t>(1, request.connect_timeout.count())));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_timeout.count()));

  if (request.method == "POST") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(
        easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  } else if (request.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  // An "Expect: 100-continue" may be answered by 417, and libcurl would then send the request
  // again.
  call.headers = curl_slist_append(call.headers, "Expect:");
  for (const auto& [name, value] : request.headers) {
    const std::string line = value.empty() ? name + ";" : fmt::format("{}: {}", name, value);
    call.headers = curl_slist_append(call.headers, line.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call.headers);

  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &call);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &call);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &call);
  if (has_failpoints()) {
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, after_sending);
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, &call);
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
  }
}

// --- the client ----------------------------------------------------------------------------------

class CurlClient : public HttpClient {
 public:
  CurlClient(CURLM* multi, std::string user_agent)
      : multi_(multi),
        user_agent_(std::move(user_agent)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  ~CurlClient() override {
    thread_.request_stop();
    curl_multi_wakeup(multi_);
    thread_.join();
    for (CURL* easy : spare_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }

  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  void start(HttpRequest request,
             std::function<bool()> sending,
             std::function<void(Transfer)> done) override {
    auto call = std::make_unique<Call>();
    call->request = std::move(request);
    call->sending = std::move(sending);
    call->done = std::move(done);
    waiting_.with([&](auto& waiting) { waiting.push_back(std::move(call)); });
    curl_multi_wakeup(multi_);
  }

 private:
  using Calls = std::vector<std::unique_ptr<Call>>;

  void run(const std::stop_token& stop) {
    // A peer that closes must end a call, not the process; and signals are for the main thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);

    while (!stop.stop_requested()) {
      for (auto& call : take_waiting()) begin(std::move(call));
      int running = 0;
      curl_multi_perform(multi_, &running);
      end_finished();
      curl_multi_poll(multi_, nullptr, 0, 1'000, nullptr);
    }
    while (!in_flight_.empty()) {
      Call& call = *in_flight_.begin()->second;
      finish(call,
             {call.sent ? TransferEnd::lost : TransferEnd::not_sent, {}, "the client is closing"});
    }
    // A `done` may have started another call: nothing may be left without its `done`.
    for (Calls rest = take_waiting(); !rest.empty(); rest = take_waiting())
      for (auto& call : rest) call->done({TransferEnd::not_sent, {}, "the client is closing"});
  }

  Calls take_waiting() {
    return waiting_.with([](auto& waiting) { return std::exchange(waiting, {}); });
  }

  void begin(std::unique_ptr<Call> call) {
    const char* why = objection(call->request);
    if (why == nullptr) {
      if (spare_.empty()) {
        call->easy = curl_easy_init();
      } else {
        call->easy = spare_.back();
        spare_.pop_back();
      }
      if (call->easy == nullptr) why = "out of memory";
    }
    if (why != nullptr) return call->done({TransferEnd::not_sent, {}, why});

    set_up(*call, user_agent_);
    Call& started = *call;
    in_flight_.emplace(started.easy, std::move(call));
    if (const auto code = curl_multi_add_handle(multi_, started.easy); code != CURLM_OK)
      finish(started, {TransferEnd::not_sent, {}, curl_multi_strerror(code)});
  }

  void end_finished() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Call& call = *in_flight_.at(message->easy_handle);
      Transfer transfer;
      long status = 0;
      curl_easy_getinfo(call.easy, CURLINFO_RESPONSE_CODE, &status);
      if (code == CURLE_OK && status != 0 && call.head_ended) {
        transfer.end = TransferEnd::complete;
        transfer.response = std::move(call.response);
        transfer.response.status = static_cast<int>(status);
      } else {
        transfer.end = call.sent ? TransferEnd::lost : TransferEnd::not_sent;
        if (call.stopped != nullptr)
          transfer.error = call.stopped;
        else if (code != CURLE_OK)
          transfer.error = curl_easy_strerror(code);  // a constant: names no host, URL or secret
        else
          transfer.error = "the answer ended inside its headers";  // libcurl lets that pass
      }
      finish(call, std::move(transfer));
    }
  }

  void finish(Call& call, Transfer transfer) {
    auto node = in_flight_.extract(call.easy);
    curl_multi_remove_handle(multi_, call.easy);
    curl_slist_free_all(call.headers);
    if (spare_.size() < kKeptHandles) {
      curl_easy_reset(call.easy);
      spare_.push_back(call.easy);
    } else {
      curl_easy_cleanup(call.easy);
    }
    call.done(std::move(transfer));
  }

  CURLM* multi_;
  const std::string user_agent_;
  Guarded<Calls> waiting_;
  std::unordered_map<CURL*, std::unique_ptr<Call>> in_flight_;  // of the thread alone
  std::vector<CURL*> spare_;                                    // of the thread alone
  std::jthread thread_;                                         // last: it uses the others
};

}  // namespace

std::string_view HttpResponse::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return value;
  return {};
}

Result<std::unique_ptr<HttpClient>> open_http_client(std::string user_agent) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM* multi = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (multi == nullptr) return fail(ErrorCode::io_failed, "the HTTP client (libcurl) cannot start");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(kKeptHandles));
  return std::make_unique<CurlClient>(multi, std::move(user_agent));
}

}  // namespace geonce
