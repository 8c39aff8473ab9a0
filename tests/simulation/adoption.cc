#include <utility>

#include "resolver/adopt.h"
#include "simulation/process.h"
#include "support/faulty_store.h"

namespace geonce::sim {
namespace {

/// The store as somebody sees it who waits for each answer: meanwhile the world goes on. Whoever
/// waits may be killed meanwhile.
class WaitingStore final : public FaultyStore {
 public:
  WaitingStore(World& world, Process& process)
      : FaultyStore(*world.store), world_(world), process_(process) {}

  Result<std::vector<OpenIntent>> open_intents(const OwnerId& owner,
                                               std::span<const IntentId> also,
                                               Deadline deadline) override {
    return wait<std::vector<OpenIntent>>(
        [&] { return world_.store->open_intents(owner, also, deadline); });
  }
  Result<std::vector<Advanced>> advance(std::span<const AdvanceRequest> requests,
                                        Deadline) override {
    return each<Advanced>(requests, [&](const auto& one) { return world_.checker.advance(one); });
  }
  Result<std::vector<Committed>> commit(std::span<const CommitRequest> requests,
                                        Deadline) override {
    return each<Committed>(requests, [&](const auto& one) { return world_.checker.commit(one); });
  }
  Result<std::vector<Released>> release(std::span<const ReleaseRequest> requests,
                                        Deadline) override {
    return each<Released>(requests, [&](const auto& one) { return world_.checker.release(one); });
  }

 private:
  template <class T, class Requests, class F>
  Result<std::vector<T>> each(const Requests& requests, F&& transaction) {
    return wait<std::vector<T>>([&]() -> Result<std::vector<T>> {
      std::vector<T> results;
      for (const auto& request : requests) {
        auto result = transaction(request);
        if (!result) return geonce::fail(std::move(result.error()));
        results.push_back(std::move(*result));
      }
      return results;
    });
  }

  template <class T, class F>
  Result<T> wait(F&& transaction) {
    const int who = process_.index;
    const auto failed = [] { return geonce::fail(ErrorCode::store_unavailable, "no store"); };
    world_.run_until(world_.now + world_.span(Site::to_store, who, milliseconds{9'000}));
    if (world_.trouble(Site::adoption_dies, who, 20)) world_.kill(process_, "dies while it adopts");
    if (!process_.is_alive || world_.is_store_down()) return failed();
    const bool is_refused = world_.trouble(Site::store_fault, who, 10);
    const bool ends_in_doubt = world_.trouble(Site::store_fault, who, 10);
    if (is_refused) return failed();
    Result<T> result = transaction();
    world_.run_until(world_.now + world_.span(Site::from_store, who, milliseconds{4'000}));
    if (ends_in_doubt || !process_.is_alive) return failed();
    return result;
  }

  World& world_;
  Process& process_;
};

}  // namespace

void Process::come_up() {
  world_.say("p{} starts on host {}", index, host);
  WaitingStore store(world_, *this);
  const AdoptParts parts{store, clock_, world_.chain, world_.life, {}, world_.options};
  bool has_failed = false;
  for (std::size_t i = 0; i < world_.processes.size() && is_alive; ++i) {
    Process& other = *world_.processes[i];
    if (&other == this || other.host != host || other.has_no_spool || other.is_being_adopted)
      continue;
    const bool seems_dead = !other.is_alive || (has(ProcessDefect::living_spool_adopted) &&
                                                other.paused_until > world_.now);
    if (!seems_dead) continue;
    other.is_being_adopted = true;  // its lock
    AdoptReport report;
    const auto adopted = adopt_spool(other.spool.left(other.owner), parts, report);
    other.is_being_adopted = false;
    if (adopted) {
      other.has_no_spool = true;
      world_.checker.sums.adopted += report.answered;
      world_.say("p{} has taken over from p{}: {} answered, {} refused, {} unknown, {} void",
                 index,
                 other.index,
                 report.answered,
                 report.refused,
                 report.unknown,
                 report.voided);
    } else {
      has_failed = true;
    }
  }
  if (!is_alive) return;
  if (has_failed) return world_.kill(*this, "cannot take over and ends");
  is_up = was_up = true;
  if (seat >= 0) return;
  is_alive = is_up = false;  // it had nothing else to do
  has_no_spool = true;
}

}  // namespace geonce::sim
