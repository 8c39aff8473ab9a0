#include "app/rekey.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {
namespace {

/// What was not read is the error of the command: it is to be run again.
int tell_unread(std::int64_t unread) {
  if (unread == 0) return 0;
  return report(
      {ErrorCode::reader_unavailable,
       fmt::format("{} spellings were not read and stay where they are; run this again", unread),
       {},
       {},
       {}});
}

int plan(Store& store, const KeyRing& ring, SecondReader* second) {
  const auto planned = plan_rekey(store, ring, second, Deadline::never());
  if (!planned) return report(planned.error());
  fmt::print(
      "{} answers: {} keep their keys, {} would move to another key, {} would merge with another "
      "answer and stay, {} have a spelling without a key\n",
      planned->entries,
      planned->same,
      planned->moves,
      planned->merges,
      planned->unreadable);
  for (const auto& [one, other] : planned->examples)
    fmt::print("one address now:  {}  =  {}\n", one, other);
  if (planned->moves > 0)
    fmt::print(
        "other spellings of an address that moves may have other keys now; they are bought when "
        "they are asked\n");
  return tell_unread(planned->unread);
}

int move(Store& store, const KeyRing& ring, SecondReader* second) {
  const auto moved = rekey_entries(store, ring, second, Deadline::never());
  if (!moved) return report(moved.error());
  fmt::print(
      "{} answers moved to another key, {} stayed because another answer or a call was there\n",
      moved->moves,
      moved->merges);
  return tell_unread(moved->unread);
}

}  // namespace

void add_rekey(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand(
      "rekey", "File remembered answers under the keys that present rules and secrets make");
  auto only_plan = std::make_shared<bool>(false);
  command->add_flag("--plan", *only_plan, "Only tell what would change");
  does(*command, program, [&program, only_plan] {
    const auto ring = load_key_ring(program.globals);
    if (!ring) return report(ring.error());
    auto store = open_existing_store(program.globals);
    if (!store) return report(store.error());
    const auto second = load_second_reader(program.globals);
    if (!second) return report(second.error());
    return *only_plan ? plan(**store, *ring, second->get()) : move(**store, *ring, second->get());
  });
}

}  // namespace geonce::cli
