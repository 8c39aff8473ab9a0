#include "io/failpoint.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "core/duration.h"
#include "core/each_part.h"

namespace geonce {
namespace {

using enum FailPoint;

constexpr std::string_view kAny = "kill delay";
constexpr std::array kRows{
    FailPointRow{ask_begins,
                 "ask.begins",
                 "CP01",
                 "resolver/live.cc",
                 kAny,
                 "a question is parsed, memory is not asked yet"},
    FailPointRow{flight_begins,
                 "flight.begins",
                 "CP02",
                 "resolver/live.cc",
                 kAny,
                 "nobody has the answer, a flight is registered"},
    FailPointRow{take_open,
                 "take.open",
                 "CP03",
                 "store/",
                 kAny,
                 "claim and intent are written and not committed (Postgres: sent, no reply read)"},
    FailPointRow{take_done,
                 "take.done",
                 "CP04",
                 "resolver/live.cc",
                 kAny,
                 "claim and intent are committed, and nobody here knows it"},
    FailPointRow{takeover_done,
                 "takeover.done",
                 "CP18",
                 "resolver/live.cc",
                 kAny,
                 "the same, of a key whose last call has no known outcome"},
    FailPointRow{call_unmarked,
                 "call.unmarked",
                 "CP05",
                 "resolver/live.cc",
                 kAny,
                 "the claim is held, the spool has no mark of the call"},
    FailPointRow{call_marked,
                 "call.marked",
                 "CP06",
                 "resolver/live.cc",
                 kAny,
                 "the mark is written, the connection stands, no byte has left"},
    FailPointRow{call_half_sent,
                 "call.half-sent",
                 "CP07",
                 "io/http_client.cc",
                 kAny,
                 "the first bytes of the request have left"},
    FailPointRow{call_sent,
                 "call.sent",
                 "CP08",
                 "io/http_client.cc",
                 kAny,
                 "the request has left, no byte has come back"},
    FailPointRow{
        call_head, "call.head", "CP09", "io/http_client.cc", kAny, "inside the head of the answer"},
    FailPointRow{call_body,
                 "call.body",
                 "CP10",
                 "io/http_client.cc",
                 kAny,
                 "bytes of the body have come, it is not known to be whole"},
    FailPointRow{answer_read,
                 "answer.read",
                 "CP11",
                 "resolver/live.cc",
                 kAny,
                 "the answer is whole, the spool does not have it"},
    FailPointRow{answer_spooled,
                 "answer.spooled",
                 "CP12",
                 "resolver/live.cc",
                 kAny,
                 "the spool has the answer, the store does not"},
    FailPointRow{advance_done,
                 "advance.done",
                 "",
                 "resolver/live.cc",
                 kAny,
                 "one provider's answer is in the ledger, the next provider's intent as well"},
    FailPointRow{commit_open,
                 "commit.open",
                 "",
                 "store/",
                 kAny,
                 "entry and outcome are written and not committed (Postgres: sent, no reply read)"},
    FailPointRow{commit_done,
                 "commit.done",
                 "CP13",
                 "resolver/live.cc",
                 kAny,
                 "entry and outcome are committed, and nobody here knows it"},
    FailPointRow{release_done,
                 "release.done",
                 "",
                 "resolver/live.cc",
                 kAny,
                 "a claim is given back without an answer, and nobody here knows it"},
    FailPointRow{entry_committed,
                 "entry.committed",
                 "CP14",
                 "resolver/live.cc",
                 kAny,
                 "the answer is committed, neither memory nor Redis has it"},
    FailPointRow{entry_shared,
                 "entry.shared",
                 "CP15",
                 "resolver/publisher.cc",
                 kAny,
                 "Redis has the answer, and the publisher has not gone on"},
    FailPointRow{row_answered,
                 "row.answered",
                 "CP16",
                 "batch/run.cc",
                 kAny,
                 "all is stored, nothing of it is written to the output"},
    FailPointRow{output_write,
                 "output.write",
                 "CP17",
                 "batch/line_out.cc",
                 "kill delay eio enospc short",
                 "inside the output: half of a piece is written"},
    FailPointRow{output_named,
                 "output.named",
                 "",
                 "batch/line_out.cc",
                 kAny,
                 "the output has its name, the store does not know that the batch is over"},
    FailPointRow{batch_begins,
                 "batch.begins",
                 "CP20",
                 "batch/run.cc",
                 kAny,
                 "the batch stands in the store, no row is worked on"},
    FailPointRow{batch_saved,
                 "batch.saved",
                 "CP21",
                 "batch/run.cc",
                 kAny,
                 "rows of the batch are saved, and nobody here knows it"},
    FailPointRow{batch_closed,
                 "batch.closed",
                 "",
                 "batch/run.cc",
                 kAny,
                 "the end of the batch is saved, and nobody here knows it"},
    FailPointRow{
        sweep_open,
        "sweep.open",
        "CP19",
        "store/",
        kAny,
        "what is over is chosen and erased, and not committed (Postgres: before it is sent)"},
    FailPointRow{window_ended,
                 "window.ended",
                 "CP26",
                 "cli/session.cc",
                 kAny,
                 "a window has ended in the store, Redis has not heard of it"},
    FailPointRow{adoption_begins,
                 "adoption.begins",
                 "",
                 "resolver/adopt.cc",
                 kAny,
                 "a dead process's spool is read, nothing of it is in the store"},
    FailPointRow{adoption_done,
                 "adoption.done",
                 "",
                 "resolver/adopt.cc",
                 kAny,
                 "all of it is in the store, the file is there still"},
    FailPointRow{spool_write,
                 "spool.write",
                 "",
                 "ledger/spool.cc",
                 "kill delay eio enospc short",
                 "a record of the spool is half written"},
    FailPointRow{spool_sync,
                 "spool.sync",
                 "",
                 "ledger/spool.cc",
                 "kill delay eio enospc",
                 "the spool is about to be synced"},
    FailPointRow{sqlite_commit,
                 "sqlite.commit",
                 "",
                 "io/sqlite.cc",
                 "kill delay eio enospc",
                 "a transaction that writes is about to be committed"},
    FailPointRow{postgres_reply,
                 "postgres.reply",
                 "",
                 "io/postgres.cc",
                 "kill delay error",
                 "a statement is sent; failing, its reply is lost with the connection"},
};

enum class Deed : std::uint8_t { kill, delay, fail, cut };

struct Order {
  Deed deed = Deed::kill;
  int error = 0;
  std::chrono::milliseconds span{0};
  std::uint64_t first = 1, last = UINT64_MAX;  // passages, counted from 1
  double chance = 1;
};

struct Standing {
  std::optional<Order> order;
  std::atomic<std::uint64_t> passages{0};
};

std::array<Standing, kRows.size()> standings;
std::uint64_t seed = 1;

std::size_t index_of(FailPoint point) { return static_cast<std::size_t>(point); }

/// A number below 1 from the seed, the point and the passage alone, so that a run can be repeated.
double chance_of(FailPoint point, std::uint64_t passage) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15U + index_of(point) * 0xBF58476D1CE4E5B9U + passage;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<double>((x ^ (x >> 31U)) >> 11U) * 0x1.0p-53;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || at != end) return std::nullopt;
  return value;
}

tl::unexpected<Error> wrong(std::string_view part, std::string_view why) {
  return fail(ErrorCode::invalid_config,
              "GEONCE_FAILPOINTS: {} in \"{}\"; see geonce failpoints",
              why,
              part);
}

/// `3`, `3+` or `1%`, behind the @.
bool read_passages(std::string_view text, Order& order) {
  if (text.ends_with('%')) {
    const auto percent = number<double>(text.substr(0, text.size() - 1));
    if (!percent || !(*percent > 0) || *percent > 100) return false;
    order.chance = *percent / 100;
    return true;
  }
  const bool and_later = text.ends_with('+');
  const auto first = number<std::uint64_t>(and_later ? text.substr(0, text.size() - 1) : text);
  if (!first || *first == 0) return false;
  order.first = *first;
  if (!and_later) order.last = *first;
  return true;
}

bool read_deed(std::string_view text, Order& order) {
  constexpr std::string_view kDelay = "delay:";
  if (text.starts_with(kDelay)) {
    const auto span = parse_duration(text.substr(kDelay.size()));
    order.deed = Deed::delay;
    if (span) order.span = *span;
    return span.has_value();
  }
  struct Word {
    std::string_view text;
    Deed deed;
    int error;
  };
  constexpr std::array kWords{Word{"kill", Deed::kill, 0},
                              Word{"error", Deed::fail, EIO},
                              Word{"eio", Deed::fail, EIO},
                              Word{"enospc", Deed::fail, ENOSPC},
                              Word{"short", Deed::cut, 0}};
  const auto* const word =
      std::find_if(kWords.begin(), kWords.end(), [&](const Word& one) { return one.text == text; });
  if (word == kWords.end()) return false;
  order.deed = word->deed;
  order.error = word->error;
  return true;
}

Result<void> read_part(std::string_view part) {
  const auto equals = part.find('=');
  if (equals == std::string_view::npos) return wrong(part, "no action");
  const auto name = part.substr(0, equals);
  const auto text = part.substr(equals + 1);
  if (name == "seed") {
    const auto value = number<std::uint64_t>(text);
    if (!value) return wrong(part, "a seed that is no number");
    seed = *value;
    return {};
  }
  const auto* const row = std::find_if(kRows.begin(), kRows.end(), [&](const FailPointRow& one) {
    return one.name == name || (!one.crash_point.empty() && one.crash_point == name);
  });
  if (row == kRows.end()) return wrong(part, "an unknown point");
  Order order;
  const auto at = text.find('@');
  if (!read_deed(text.substr(0, at), order)) return wrong(part, "an unknown action");
  if (at != std::string_view::npos && !read_passages(text.substr(at + 1), order))
    return wrong(part, "an unknown passage (write @3, @3+ or @1%)");
  const std::string_view deed = text.substr(0, text.find_first_of("@:"));
  bool is_its_own = false;
  each_part(row->can, ' ', [&](std::string_view one) { is_its_own = is_its_own || one == deed; });
  if (!is_its_own) return wrong(part, fmt::format("an action that {} does not have", row->name));
  auto& standing = standings[index_of(row->point)];
  if (standing.order) return wrong(part, "a point that was named before");
  standing.order = order;
  return {};
}

}  // namespace

std::span<const FailPointRow> fail_points() { return kRows; }

Result<void> set_failpoints(std::string_view text) {
  for (std::size_t i = 0; i < kRows.size(); ++i) GEONCE_EXPECTS(index_of(kRows[i].point) == i);
  for (auto& standing : standings) standing.order.reset();
  for (auto& standing : standings) standing.passages = 0;
  seed = 1;
  Result<void> done;
  each_part(text, ';', [&](std::string_view part) {
    if (done && !part.empty()) done = read_part(part);
  });
  const bool any = std::any_of(standings.begin(), standings.end(), [](const Standing& standing) {
    return standing.order.has_value();
  });
  failpoint_detail::are_set = done.has_value() && any;
  return done;
}

namespace failpoint_detail {

std::atomic<bool> are_set{false};

bool strikes(FailPoint point) {
  auto& standing = standings[index_of(point)];
  if (!standing.order) return false;
  const auto passage = standing.passages.fetch_add(1) + 1;
  const Order& order = *standing.order;
  return passage >= order.first && passage <= order.last &&
         (order.chance >= 1 || chance_of(point, passage) < order.chance);
}

Fault strike(FailPoint point) {
  const Order& order = *standings[index_of(point)].order;
  switch (order.deed) {
    case Deed::kill:
      ::kill(::getpid(), SIGKILL);
      for (;;) ::pause();  // the signal may reach another thread first
    case Deed::delay:
      std::this_thread::sleep_for(order.span);
      return {};
    case Deed::fail:
      return {order.error, false};
    case Deed::cut:
      return {0, true};
  }
  return {};
}

}  // namespace failpoint_detail
}  // namespace geonce
