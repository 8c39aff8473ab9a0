#include "simulation/schedule.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "simulation/process.h"
#include "simulation/world.h"

namespace geonce::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kSeats = 3;
constexpr int kMostAsks = 9;
constexpr int kFirstLastAsk = 32;  // number of the first ask of the end

class Schedule {
 public:
  explicit Schedule(World& world) : world_(world), choices_(world.choices) {}

  void run() {
    set_up();
    for (int seat = 0; seat < kSeats; ++seat) {
      world_.start_process(seat, host_of(seat)).come_up();
    }
    plan_asks();
    plan_trouble();
    world_.run();
    if (!world_.checker.violation) world_.checker.drained();
    if (!world_.checker.violation) end();
  }

 private:
  [[nodiscard]] int host_of(int seat) const {
    return world_.hosts > 1 && seat == kSeats - 1 ? 1 : 0;
  }

  void set_up() {
    world_.hosts = 1 + choices_.below(Site::second_host, 0, 2);
    world_.options.max_unknown =
        std::array<int, 6>{1, 1, 1, -1, 0, 2}[choices_.below(Site::max_unknown, 0, 6)];
    world_.options.permanent_cool_down = 20s;
    if (const auto soft = choices_.below(Site::soft_limit, 0, 4); soft > 0)
      world_.options.soft_limit = std::array<Time, 3>{0s, 50ms, 5s}[soft - 1];
    if (choices_.below(Site::shared_tier, 0, 2) == 1) {
      world_.shared.emplace();
      world_.shared->forgets_endings = world_.defect.in_process == ProcessDefect::endings_forgotten;
      world_.shared->older_replaces =
          world_.defect.in_process == ProcessDefect::older_window_shared;
    }
    LifeConfig& life = world_.life;
    life = {1h, 1h, 1h, 1h, 1h, 1h, 1h, 1h, 1h, 1h, 1h, 1h, 30min, 2h, 1h, 0, 0, 1h};
    const std::size_t count = 1 + choices_.below(Site::second_provider, 0, 2);
    for (std::size_t step = 0; step < count; ++step) add_provider(step);
  }

  void add_provider(std::size_t step) {
    const int who = static_cast<int>(step);
    auto provider = std::make_shared<SimProvider>(
        step == 0 ? "alpha" : "beta",
        world_.defect.in_process == ProcessDefect::refusal_read_as_no_match);
    ProviderTraits& traits = provider->traits_;
    const std::uint32_t terms = choices_.below(Site::terms, who, 8);
    if (terms == 6) {
      traits.terms.keep = Terms::Keep::limited;
      traits.terms.keep_for = 1h;
    } else if (terms == 7) {
      traits.terms.keep = Terms::Keep::nothing;
    }
    traits.no_match_rechecks = choices_.below(Site::rechecks, who, 6) == 5 ? 1 : 0;
    traits.bulk_max = choices_.below(Site::bulk, who, 3) == 2 ? 3 : 0;
    traits.bulk_timeout = 12s;
    world_.providers.push_back(provider);
    world_.chain.push_back(provider);
  }

  /// Near the beginning, where everybody meets, or around the moments when lives end.
  Time some_time(Site site, int who) {
    static constexpr std::array<Time, 8> kAges{0s, 0s, 0s, 0s, 0s, 30min, 1h, 2h};
    static constexpr std::array<std::uint32_t, 4> kRanges{1, 50, 6'000, 45'000};
    const Time age = kAges[choices_.below(site, who, kAges.size())];
    const std::uint32_t range = kRanges[choices_.below(site, who, kRanges.size())];
    return age + Time{choices_.below(site, who, range)};
  }

  // --- callers
  // ------------------------------------------------------------------------------------

  void plan_asks() {
    const std::array caps{world_.make_cap(1), world_.make_cap(2)};
    for (int i = 0; i < kMostAsks; ++i) {
      if (choices_.below(Site::ask, i, 3) == 0) continue;
      const Time when = some_time(Site::ask_when, i);
      const auto seat = static_cast<int>(choices_.below(Site::ask_seat, i, kSeats));
      auto ask = std::make_unique<AskState>();
      ask->number = i;
      ask->key = std::array<std::size_t, 6>{0, 0, 0, 1, 1, 2}[choices_.below(Site::ask_key, i, 6)];
      ask->options.cause = choices_.below(Site::ask_batch, i, 2) == 1 ? Cause::batch : Cause::miss;
      ask->patience =
          std::array<Time, 4>{60s, 5s, 20s, 200ms}[choices_.below(Site::ask_patience, i, 4)];
      const std::uint32_t cap = choices_.below(Site::ask_cap, i, 8);
      if (cap >= 6) ask->options.cap = caps[cap - 6];
      const std::uint32_t manner = choices_.below(Site::ask_manner, i, 12);
      ask->options.retry_no_match = manner == 9;
      ask->options.cache_only = manner == 10;
      ask->options.serve_stale = manner != 8;
      AskState& asked = *ask;
      world_.asks.push_back(std::move(ask));
      world_.at(when, [this, &asked, seat, manner] {
        if (manner == 11) asked.options.refresh_before = kRefreshAll;
        if (manner == 7) asked.options.refresh_before = world_.store_clock.now_utc();
        if (Process* process = somebody(seat)) hand_over(*process, asked);
      });
    }
  }

  Process* somebody(int first_seat) {
    for (int i = 0; i < kSeats; ++i)
      if (Process* process = world_.at_seat((first_seat + i) % kSeats)) return process;
    return nullptr;
  }

  /// A caller's word reaches a process that stands still when it goes on.
  void hand_over(Process& process, AskState& ask) {
    world_.at(std::max(world_.now, process.paused_until), &process, ask.number, [&process, &ask] {
      process.ask(ask);
    });
  }

  // --- trouble
  // ------------------------------------------------------------------------------------

  void plan_trouble() {
    for (int i = 0; i < 2; ++i) {
      if (choices_.chance(Site::drop, i, 60)) {
        const std::size_t key = choices_.below(Site::drop_key, i, 3) == 2 ? 1 : 0;
        at(Site::drop_when, i, [this, key, i] { drop(world_.slot(key), i); });
      }
      if (choices_.chance(Site::outage, i, 60)) {
        const Time from = some_time(Site::outage_when, i);
        const Time until = from + choices_.span(Site::outage_span, i, 25s);
        world_.take_store_down(from, until);
      }
      if (choices_.chance(Site::reader, i, 60))
        at(Site::reader_when, i, [this, i] { world_.start_process(-1, i % 2).come_up(); });
    }
    if (choices_.chance(Site::jump, 0, 30)) {
      static constexpr std::array<Time, 4> kJumps{20s, -20s, 2h, -1h};
      const Time by = kJumps[choices_.below(Site::jump_by, 0, 4)];
      at(Site::jump_when, 0, [this, by] { world_.checker.jump(by); });
    }
    if (world_.shared && choices_.chance(Site::flush, 0, 40))
      at(Site::flush_when, 0, [this] {
        world_.shared->flush();
        world_.checker.shared_was_flushed();
      });
    if (choices_.chance(Site::sweep, 0, 40))
      at(Site::sweep_when, 0, [this] { world_.checker.sweep(); });
    if (choices_.chance(Site::reconcile, 0, 40))
      at(Site::reconcile_when, 0, [this] { world_.checker.reconcile_all(); });
    if (choices_.chance(Site::host_down, 0, 20))
      at(Site::host_down_when, 0, [this] { world_.kill_host(0); });
  }
  /// As `geonce entry drop` does: the store, then the tier that processes share.
  void drop(const Slot& slot, int who) {
    world_.checker.drop(slot);
    if (!world_.shared) return;
    const auto entry = world_.store->entry(slot, Deadline::never());
    if (!entry || !*entry) return;
    const Time when = world_.now;
    world_.after(world_.span(Site::to_tier, who, 2s), [this, slot, when, gen = (*entry)->gen] {
      world_.shared->forget(slot, gen, world_.now);
      world_.checker.drop_was_shared(slot, when);
    });
  }

  void at(Site when, int who, std::function<void()> deed) {
    world_.at(some_time(when, who), [this, deed = std::move(deed)] {
      if (!world_.is_ending) deed();
    });
  }

  // --- the end
  // ------------------------------------------------------------------------------------

  /// Nothing fails any more, all deadlines pass, the dead are taken over; then every key can be
  /// had, and nothing is left open.
  void end() {
    world_.is_ending = true;
    world_.run_until(world_.now + 20min + std::max(Time{0}, -world_.store_clock.jumped()));
    for (int host = 0; host < static_cast<int>(world_.hosts); ++host)
      world_.start_process(-1, host).come_up();
    Process& last = world_.start_process(kSeats, 0);
    last.come_up();
    world_.run_until(world_.now + 1min);  // what they had brought to the store may cool down
    std::set<std::size_t> keys;
    for (const auto& ask : world_.asks) keys.insert(ask->key);
    for (const bool insists : {false, true})
      for (const std::size_t key : keys) ask_last(last, key, insists);
    if (!world_.checker.violation) world_.checker.drained();
    if (!world_.checker.violation) world_.checker.finish();
  }

  void ask_last(Process& process, std::size_t key, bool insists) {
    auto ask = std::make_unique<AskState>();
    ask->number = kFirstLastAsk + static_cast<int>(key) + (insists ? 8 : 0);
    ask->key = key;
    ask->patience = 60s;
    if (insists) ask->options.refresh_before = kRefreshAll;
    AskState& asked = *ask;
    world_.asks.push_back(std::move(ask));
    process.ask(asked);
    world_.run();
    if (!world_.checker.violation) check_last(asked, insists);
  }

  void check_last(const AskState& ask, bool insists) {
    const bool has_answer = ask.told && ask.told->answer;
    const bool is_blocked =
        ask.told && ask.told->error && ask.told->error->code == ErrorCode::in_doubt;
    if (has_answer && (!insists || !ask.told->error)) return;
    if (is_blocked && !insists) return;
    world_.checker.fail(
        "end",
        fmt::format("key {} cannot be had although nothing fails any more: {}",
                    ask.key,
                    ask.told && ask.told->error ? ask.told->error->message : "no answer"));
  }

  World& world_;
  Choices& choices_;
};

}  // namespace

Report play(std::uint64_t seed, const Play& how) {
  Choices choices(seed);
  if (how.only != nullptr) choices.allow_only(*how.only);
  World world(choices, how.defect);
  if (how.open_store) world.store = how.open_store(world.store_clock);
  world.is_told = how.tells_story;
  Schedule(world).run();
  Report report;
  report.seed = seed;
  report.violation = std::move(world.checker.violation);
  report.taken = choices.taken();
  report.story = std::move(world.story);
  report.sums = world.checker.sums;
  report.sums.schedules = 1;
  report.sums.events = world.events_done;
  return report;
}

}  // namespace geonce::sim
