#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/result.h"

namespace geonce::sim {

using std::chrono::milliseconds;

/// Where something may go one way or another. The harmless way has the number 0.
enum class Site : std::uint8_t {
  // The world of a schedule.
  second_provider,
  terms,        // of a provider: what may be kept
  rechecks,     // of a provider's no-matches
  bulk,         // whether a provider has a bulk endpoint
  max_unknown,  // how often an unknown outcome is followed by another call
  second_host,
  shared_tier,
  soft_limit,  // how long who has a stale answer waits for a fresh one
  // What happens to it from outside.
  ask,
  ask_when,
  ask_seat,
  ask_key,
  ask_manner,
  ask_patience,
  ask_cap,
  ask_batch,
  drop,  // an invalidation
  drop_when,
  drop_key,
  outage,  // of the store
  outage_when,
  outage_span,
  jump,  // of the store's clock
  jump_when,
  jump_by,
  sweep,
  sweep_when,
  flush,  // of the shared tier
  flush_when,
  reconcile,
  reconcile_when,
  host_down,
  host_down_when,
  reader,  // another process that only starts, adopts and ends
  reader_when,
  // Any process, at any moment.
  dies,
  pauses,
  pause_span,
  restart,
  adoption_dies,
  // A transaction's way to the store and back.
  to_store,
  from_store,
  store_fault,
  late_span,
  dies_on_the_wire,
  // The way to the shared tier and back.
  to_tier,
  from_tier,
  tier_loses,
  // A call.
  admission,
  not_up,
  slot,
  company,
  mark,
  disk_full,
  connect,
  unreachable,
  gap,  // between the last look at the clock and the first byte
  request,
  call_end,
  answer,
  answering,
  spool_full,
  decode,
  kSites,
};

std::string_view to_string(Site site);

/// One choice of a schedule by a name that does not depend on the others: the `nth` at this site
/// that concerns `who` (the ask a flight began with, or a process).
struct Choice {
  Site site = Site::ask;
  std::uint8_t who = 0;
  std::uint16_t nth = 0;
  friend auto operator<=>(const Choice&, const Choice&) = default;
};

/// `ask.3.0`
std::string to_string(const Choice& choice);
/// Many, joined by commas.
std::string to_string(const std::vector<Choice>& choices);
Result<std::vector<Choice>> parse_choices(std::string_view text);

/// All chance of a schedule. A choice is a function of the seed and its own name, so taking one
/// back leaves the others as they were: that is what makes a schedule shrink.
///
/// How often a site is not harmless differs between seeds, and many sites are quiet in most:
/// schedules with few kinds of trouble reach deeper than schedules with all of them.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : seed_(seed) {}
  /// Everything else comes out harmless.
  void allow_only(const std::vector<Choice>& kept);

  /// Whether trouble comes; `per_mille` is how often at a quiet site of a lively seed.
  bool chance(Site site, int who, int per_mille);
  /// 0 … sides - 1, all alike.
  std::uint32_t below(Site site, int who, std::uint32_t sides);
  /// How long something takes: 1 ms when harmless, mostly a few, sometimes up to `longest`.
  milliseconds span(Site site, int who, milliseconds longest);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Those that were not harmless, in the order they came.
  [[nodiscard]] const std::vector<Choice>& taken() const { return taken_; }

 private:
  static constexpr std::size_t kWho = 64;
  struct Drawn {
    Choice choice;
    std::uint64_t bits = 0;
    bool is_allowed = true;
  };
  Drawn draw(Site site, int who);
  [[nodiscard]] int level(Site site) const;
  static std::uint32_t packed(const Choice& choice) {
    return static_cast<std::uint32_t>(choice.site) << 24U |
           static_cast<std::uint32_t>(choice.who) << 16U | choice.nth;
  }

  const std::uint64_t seed_;
  std::array<std::array<std::uint16_t, kWho>, static_cast<std::size_t>(Site::kSites)> counts_{};
  std::vector<Choice> taken_;
  std::optional<std::unordered_set<std::uint32_t>> allowed_;
};

}  // namespace geonce::sim
