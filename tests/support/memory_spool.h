#pragma once

#include <set>
#include <vector>

#include "core/guarded.h"
#include "ledger/spool.h"

namespace geonce {

/// A spool that can be looked into.
class MemorySpool : public Spool {
 public:
  struct State {
    std::set<IntentId> marked, settled;
    std::vector<SpooledResponse> responses;
    std::optional<Error> fault;  // of `mark_sent`
  };

  Result<void> mark_sent(std::span<const IntentId> intents) override {
    return state.with([&](State& now) -> Result<void> {
      if (now.fault) return fail(*now.fault);
      now.marked.insert(intents.begin(), intents.end());
      return {};
    });
  }
  Result<void> append(const SpooledResponse& response) override {
    state.with([&](State& now) { now.responses.push_back(response); });
    return {};
  }
  Result<void> settled(std::span<const IntentId> intents) override {
    state.with([&](State& now) { now.settled.insert(intents.begin(), intents.end()); });
    return {};
  }

  Guarded<State> state;
};

}  // namespace geonce
