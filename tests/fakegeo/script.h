#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "dialects.h"

namespace fakegeo {

/// What happens to a request instead of, or to, its answer. README.md says it in words.
enum class Action {
  answer,
  status,
  in_body_error,
  empty_results,
  text,
  half_body,
  wrong_length,
  cut_head,
  cut_body,
  close,
  hang,
  slow,
  endless_chunks,
  gzip_bomb,
  twice,
  items_missing,
  items_reordered,
  items_doubled,
};

/// Milliseconds, drawn evenly between the two.
struct Latency {
  double low_ms = 0;
  double high_ms = 0;
};

/// What a new connection meets, before anything is read from it.
enum class Welcome {
  serve,
  never_read,  // it stays open and unread
  cut,  // its first bytes are read and it is closed: to a client that speaks TLS, a cut handshake
};

struct When {
  std::optional<std::uint64_t> first_request, last_request;  // counted from 1 since the script came
  std::optional<std::uint64_t> every;
  std::string text;  // in lower case; some address of the request contains it
  std::optional<double> probability;
  std::optional<Dialect> dialect;
  std::optional<Mode> mode;
  std::optional<bool> reused;  // the connection has carried a request before
};

struct Rule {
  When when;
  std::optional<std::uint64_t> times;  // how often it may still fire
  Action action = Action::answer;
  std::optional<Latency> latency;
  int status = 500;
  std::string code;  // in_body_error
  std::string message;
  std::optional<std::string> body;  // status, text: instead of the dialect's own error
  std::string content_type;
  bool is_html = false;
  std::string retry_after;            // header value, or "date:+N"
  bool with_reset = false;            // close: RST instead of FIN
  bool then_close = false;            // close after the answer without having said so
  double bytes_per_s = 1;             // slow
  std::int64_t delta = 10;            // wrong_length: declared minus sent
  std::uint64_t inflated_mib = 1024;  // gzip_bomb
  std::uint64_t version = 0;          // answer
  std::vector<std::size_t> items;     // items_missing, items_doubled: indices
};

/// What was drawn for one request.
struct Verdict {
  const Rule* rule = nullptr;  // null: the plain answer
  std::chrono::nanoseconds delay{0};
};

/// The rules in force, and the dice. Draws depend on the seed, the address and how often it came,
/// not on the order in which requests arrive: a run with many connections can be repeated.
class Script {
 public:
  /// `source` is the JSON of README.md; `fallback` applies where a script names no latency.
  static tl::expected<Script, std::string> parse(std::string_view source,
                                                 std::uint64_t seed,
                                                 Latency fallback);

  /// The first rule that fits decides. The rule lives as long as the script does.
  Verdict judge(const Ask& ask, bool connection_is_reused);

  [[nodiscard]] Welcome welcome() const { return welcome_; }

 private:
  bool fits(const Rule& rule, const Ask& ask, bool reused, double draw) const;
  double draw(std::uint64_t identity, std::uint64_t salt) const;

  std::vector<Rule> rules_;
  Latency latency_;
  Welcome welcome_ = Welcome::serve;
  std::uint64_t seed_ = 0;
  std::uint64_t requests_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // by hash of the addresses
};

}  // namespace fakegeo
