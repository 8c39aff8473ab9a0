#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.h"

namespace geonce {

/// Where the program can be told to die, to wait or to fail (docs/reference/failpoints.md). In the
/// order of one purchase, then what stands beside it.
enum class FailPoint : std::uint8_t {
  ask_begins,
  flight_begins,
  take_open,
  take_done,
  takeover_done,
  call_unmarked,
  call_marked,
  call_half_sent,
  call_sent,
  call_head,
  call_body,
  answer_read,
  answer_spooled,
  advance_done,
  commit_open,
  commit_done,
  release_done,
  entry_committed,
  entry_shared,
  row_answered,
  output_write,
  output_named,
  batch_begins,
  batch_saved,
  batch_closed,
  sweep_open,
  window_ended,
  adoption_begins,
  adoption_done,
  spool_write,
  spool_sync,
  sqlite_commit,
  postgres_reply,
};

/// What a passage has to do in place of its deed. Dying and waiting are over when it hears of them.
struct Fault {
  int error = 0;          // errno; 0: none
  bool is_short = false;  // the first half is written, and then all is well
};

/// One row of `geonce failpoints`.
struct FailPointRow {
  FailPoint point;
  std::string_view name;
  std::string_view crash_point;  // in the list of moments of docs/reference/failpoints.md, or empty
  std::string_view where;        // the source file below src/
  std::string_view can;          // its actions, with blanks between
  std::string_view what;
};

std::span<const FailPointRow> fail_points();

/// Sets them for this process, once, before anything passes.
///
/// text      `CP07=kill@3;answer.read=delay:200ms;seed=7`; empty: none
/// errors    invalid_config  a name, an action or a count that does not exist, or an action that a
///           point does not have
Result<void> set_failpoints(std::string_view text);

namespace failpoint_detail {
extern std::atomic<bool> are_set;
/// Whether this passage is one that was meant; counts it.
bool strikes(FailPoint point);
Fault strike(FailPoint point);
}  // namespace failpoint_detail

/// Whether any is set: for what costs something to watch.
inline bool has_failpoints() { return failpoint_detail::are_set.load(std::memory_order_relaxed); }

/// Passes `point`. Where none is set this is one relaxed load.
inline Fault failpoint(FailPoint point) {
  if (!has_failpoints() || !failpoint_detail::strikes(point)) return {};
  return failpoint_detail::strike(point);
}

/// The same, with what is done halfway: before the process dies, waits or fails here.
template <class Halfway>
Fault failpoint(FailPoint point, Halfway halfway) {
  if (!has_failpoints() || !failpoint_detail::strikes(point)) return {};
  halfway();
  return failpoint_detail::strike(point);
}

}  // namespace geonce
