#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "support/model_store/model_store.h"

namespace geonce::sim {

/// What can be planted in the simulated processes, around the real request machine. What can be
/// planted in the store is in ModelDefect.
enum class ProcessDefect : std::uint8_t {
  none,
  memory_outlives_store,  // the memory keeps an answer longer than the store said
  error_remembered,       // a failure is remembered as if there were no such address
  refusal_read_as_no_match,
  loss_read_as_unsent,        // a call whose answer is lost is said not to have been made
  resent_inside_a_call,       // the connection broke, and the client library sends once more
  window_not_checked,         // a byte leaves however late it is
  mark_after_sending,         // the spool hears of a call when it is under way
  living_spool_adopted,       // a process that only pauses is taken for dead
  answer_dropped_in_doubt,    // a commit that failed is not repeated
  sent_in_doubt,              // a claim that failed is taken for granted
  abandoned_with_its_caller,  // the call ends with the caller who waited for it
  failure_kept,               // a failed flight stays for all who come
  caller_forgotten,           // nobody looks at a caller's deadline
  cap_not_held,
  stale_for_ever,
  stale_not_kept,        // an old answer is forgotten when a fresh one is looked for
  stale_remembered,      // … or told as fresh for a while after it stood in
  stale_unmarked,        // … or told like any other
  stale_stored_anew,     // … or stored once more, in the place of the one that did not come
  endings_forgotten,     // the shared tier does not remember that a window is over
  older_window_shared,   // … and takes an older window for a newer
  shared_read_not_aged,  // what was long on its way from there is told as fresh
};

/// A bug that was planted on purpose, and what it is called on the command line.
struct Defect {
  std::string_view name;
  ModelDefect in_store = ModelDefect::none;
  ProcessDefect in_process = ProcessDefect::none;
};

std::span<const Defect> defects();
std::optional<Defect> defect_named(std::string_view name);

}  // namespace geonce::sim
