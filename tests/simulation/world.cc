#include "simulation/world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/process.h"

namespace geonce::sim {
namespace {

constexpr std::size_t kMostProcesses = 40;
constexpr std::uint64_t kMostEvents = 100'000;

}  // namespace

World::World(Choices& chosen, const Defect& planted) : choices(chosen), defect(planted) {
  auto model = make_model_world();
  set_defect(*model, planted.in_store);
  store = open_model_store(std::move(model), store_clock);
}

World::~World() = default;

// --- time
// --------------------------------------------------------------------------------------------------

void World::push(Event event) {
  events_.push_back(std::move(event));
  std::push_heap(events_.begin(), events_.end());
}

World::Event World::pop() {
  std::pop_heap(events_.begin(), events_.end());
  Event event = std::move(events_.back());
  events_.pop_back();
  return event;
}

void World::at(Time when, Process* process, int who, std::function<void()> deed) {
  push({std::max(when, now), ++numbers_, process, who, std::move(deed)});
}

void World::happen(Event event) {
  if (Process* process = event.process) {
    if (!process->is_alive) return;
    if (process->paused_until <= now && process->is_up) {
      if (trouble(Site::dies, event.who, 2)) return kill(*process, "is killed");
      if (trouble(Site::pauses, event.who, 3)) {
        static constexpr std::array<Time, 4> kSpans{
            Time{100}, Time{2'500}, Time{9'000}, Time{25'000}};
        process->paused_until = now + kSpans[choices.below(Site::pause_span, event.who, 4)];
        process->last_pause_end = process->paused_until;
        say("p{} stands still until {} ms", process->index, process->paused_until.count());
        ++checker.sums.pauses;
      }
    }
    if (process->paused_until > now) {
      event.when = process->paused_until;
      return push(std::move(event));
    }
  }
  GEONCE_EXPECTS(++events_done < kMostEvents);
  event.deed();
}

void World::run_until(Time when) {
  while (!events_.empty() && events_.front().when <= when && !checker.violation) {
    Event event = pop();
    now = std::max(now, event.when);
    happen(std::move(event));
  }
  now = std::max(now, when);
}

void World::run() {
  while (!events_.empty() && !checker.violation) run_until(events_.front().when);
}

bool World::is_store_down() const {
  return !is_ending && std::any_of(outages_.begin(), outages_.end(), [&](const auto& outage) {
    return outage.first <= now && now < outage.second;
  });
}

// --- processes
// ---------------------------------------------------------------------------------------------

Process& World::start_process(int seat, int host) {
  processes.push_back(
      std::make_unique<Process>(*this, static_cast<int>(processes.size()), seat, host));
  return *processes.back();
}

Process* World::at_seat(int seat) {
  for (const auto& process : processes)
    if (process->is_up && process->is_alive && process->seat == seat) return process.get();
  return nullptr;
}

void World::kill(Process& process, std::string_view why) {
  if (!process.is_alive) return;
  say("p{} {}", process.index, why);
  process.is_alive = process.is_up = false;
  ++checker.sums.kills;
  restart_later(process);
}

void World::restart_later(const Process& dead) {
  if (dead.seat < 0 || processes.size() >= kMostProcesses) return;
  // Whoever could not come up is started again, and not at once.
  const Time pause{dead.was_up ? 0 : 2'000};
  const Time span = pause + choices.span(Site::restart, dead.seat, Time{30'000});
  after(span, [this, seat = dead.seat, host = dead.host] { start_process(seat, host).come_up(); });
}

/// The power fails: what was not on the disk is gone.
void World::kill_host(int host) {
  say("host {} goes down", host);
  ++checker.sums.hosts_down;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Process& process = *processes[i];
    if (process.host != host) continue;
    process.lost_its_disk = true;  // some of it
    process.spool.lose_power();
    kill(process, "goes with its host");
  }
}

// --- names
// -------------------------------------------------------------------------------------------------

Slot World::slot(std::size_t key) const {
  Slot slot;
  slot.key.bytes.fill(static_cast<std::uint8_t>(key));
  return slot;
}

Uuid World::next_id() {
  Uuid id;
  const std::uint64_t number = ++ids_;
  std::memcpy(id.bytes.data() + 8, &number, sizeof number);
  return id;
}

std::uint64_t World::number_of(const Uuid& id) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.bytes.data() + 8, sizeof number);
  return number;
}

std::shared_ptr<SpendCap> World::make_cap(std::int64_t most_calls) {
  auto cap = std::make_shared<SpendCap>(most_calls, std::nullopt);
  caps_.emplace(cap.get(), most_calls);
  return cap;
}

/// What is said again and again is told once, and how often.
void World::tell(const std::string& line) {
  if (line == last_line_) {
    if (++times_ > 2) story.pop_back();
    story.push_back(fmt::format("{:>9} ms  … the same {} more times", now.count(), times_ - 1));
    return;
  }
  last_line_ = line;
  times_ = 1;
  story.push_back(fmt::format("{:>9} ms  {}", now.count(), line));
}

}  // namespace geonce::sim
