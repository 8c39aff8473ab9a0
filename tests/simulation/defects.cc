#include "simulation/defects.h"

#include <algorithm>
#include <array>

namespace geonce::sim {
namespace {

constexpr Defect in_store(std::string_view name, ModelDefect defect) { return {name, defect, {}}; }
constexpr Defect in_process(std::string_view name, ProcessDefect defect) {
  return {name, {}, defect};
}

constexpr std::array kDefects{
    in_store("no-second-look", ModelDefect::no_second_look),
    in_store("no-fence", ModelDefect::no_fence),
    in_store("intent-not-written", ModelDefect::intent_not_written),
    in_store("takeover-too-early", ModelDefect::takeover_too_early),
    in_store("unknown-not-counted", ModelDefect::unknown_not_counted),
    in_store("commit-not-repeatable", ModelDefect::commit_not_repeatable),
    in_store("late-answer-dropped", ModelDefect::late_answer_dropped),
    in_store("older-window-stored", ModelDefect::older_window_stored),
    in_store("same-window-after-drop", ModelDefect::same_window_after_drop),
    in_store("no-cool-down", ModelDefect::no_cool_down),
    in_store("served-beyond-erasure", ModelDefect::served_beyond_erasure),
    in_store("step-not-noted", ModelDefect::step_not_noted),
    in_store("answers-taken-for-no", ModelDefect::answers_taken_for_no),
    in_store("step-asked-again", ModelDefect::step_asked_again),
    in_store("failure-lengthens-life", ModelDefect::failure_lengthens_life),
    in_process("memory-outlives-store", ProcessDefect::memory_outlives_store),
    in_process("error-remembered", ProcessDefect::error_remembered),
    in_process("refusal-read-as-no-match", ProcessDefect::refusal_read_as_no_match),
    in_process("loss-read-as-unsent", ProcessDefect::loss_read_as_unsent),
    in_process("resent-inside-a-call", ProcessDefect::resent_inside_a_call),
    in_process("window-not-checked", ProcessDefect::window_not_checked),
    in_process("mark-after-sending", ProcessDefect::mark_after_sending),
    in_process("living-spool-adopted", ProcessDefect::living_spool_adopted),
    in_process("answer-dropped-in-doubt", ProcessDefect::answer_dropped_in_doubt),
    in_process("sent-in-doubt", ProcessDefect::sent_in_doubt),
    in_process("abandoned-with-its-caller", ProcessDefect::abandoned_with_its_caller),
    in_process("failure-kept", ProcessDefect::failure_kept),
    in_process("caller-forgotten", ProcessDefect::caller_forgotten),
    in_process("cap-not-held", ProcessDefect::cap_not_held),
    in_process("stale-for-ever", ProcessDefect::stale_for_ever),
    in_process("stale-not-kept", ProcessDefect::stale_not_kept),
    in_process("stale-remembered", ProcessDefect::stale_remembered),
    in_process("stale-unmarked", ProcessDefect::stale_unmarked),
    in_process("stale-stored-anew", ProcessDefect::stale_stored_anew),
    in_process("endings-forgotten", ProcessDefect::endings_forgotten),
    in_process("older-window-shared", ProcessDefect::older_window_shared),
    in_process("shared-read-not-aged", ProcessDefect::shared_read_not_aged),
};

}  // namespace

std::span<const Defect> defects() { return kDefects; }

std::optional<Defect> defect_named(std::string_view name) {
  const auto at = std::find_if(
      kDefects.begin(), kDefects.end(), [&](const Defect& defect) { return defect.name == name; });
  if (at == kDefects.end()) return std::nullopt;
  return *at;
}

}  // namespace geonce::sim
