#pragma once

#include <memory>

#include "core/clock.h"
#include "store/store.h"

namespace geonce {

class ModelWorld;

/// A store as plain maps: what the contract says, written as shortly as can be, to be laid beside
/// the real ones and for many thousand simulated schedules. It passes the contract's suite like any
/// other kind, but lives and dies with the program. Everything is done under one lock.
///
/// Several may look at one world, each with a clock of its own.
std::shared_ptr<ModelWorld> make_model_world();
std::unique_ptr<Store> open_model_store(std::shared_ptr<ModelWorld> world, const Clock& clock);

/// Rules the model can be made to break, to see whether whoever watches it notices.
enum class ModelDefect : std::uint8_t {
  none,
  no_second_look,          // `take` does not look for an answer that has come meanwhile
  no_fence,                // whoever says so ends a claim, his or not
  intent_not_written,      // nothing is in the ledger before the call
  takeover_too_early,      // a claim is taken over before its deadline
  unknown_not_counted,     // a takeover counts as the first attempt
  commit_not_repeatable,   // a commit that is repeated counts as another answer
  late_answer_dropped,     // an answer to a claim that was taken over is not stored
  older_window_stored,     // the answer of an older window replaces a newer one
  same_window_after_drop,  // an invalidation does not begin a window
  no_cool_down,            // a refused key may be bought at once
  served_beyond_erasure,   // what should be erased is found
  step_not_noted,          // the next provider is asked, and the ledger does not hear of the first
  answers_taken_for_no,    // who has answered in this window is said to have known nothing
  step_asked_again,        // … and the claim does not remember that the first has answered
  failure_lengthens_life,  // an old answer counts as fresh while its key cools down
};
void set_defect(ModelWorld& world, ModelDefect defect);

}  // namespace geonce
