#include "app/rekey.h"

#include <cstdio>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  bool only_plan = false, addresses = false;
};

std::string named(std::string_view key, const std::string& address, const Arguments& arguments) {
  return arguments.addresses ? fmt::format("{} ({})", key, address) : std::string(key);
}

void print_merges(const RekeyPlan& plan, const Arguments& arguments) {
  for (const auto& entries : plan.merge_examples) {
    fmt::print("one address now, {}\n", entries.front().new_key);
    for (const PlannedEntry& entry : entries)
      fmt::print("    {}  {}\n",
                 entry.is_erased ? "erased" : "left  ",
                 named(entry.key, entry.address, arguments));
  }
}

void print_splits(const RekeyPlan& plan, const Arguments& arguments) {
  for (const auto& entries : plan.split_examples) {
    fmt::print("one address before, and several now\n");
    for (const PlannedEntry& entry : entries)
      fmt::print("    {}  from  {}\n", entry.new_key, named(entry.key, entry.address, arguments));
  }
}

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

int plan(Store& store, const KeyRing& ring, SecondReader* second, const Arguments& arguments) {
  const auto planned = plan_rekey(store, ring, second, Deadline::never());
  if (!planned) return report(planned.error());
  fmt::print(
      "{} answers: {} keep their keys, {} would move to another key, {} would be erased for "
      "another "
      "answer of the same address, {} have a spelling without a key\n",
      planned->entries,
      planned->same,
      planned->moves,
      planned->merges,
      planned->unreadable);
  if (planned->splits > 0)
    fmt::print("{} {} several now, as far as the remembered spellings tell\n",
               planned->splits,
               planned->splits == 1 ? "former address is" : "former addresses are");
  if (planned->by_rules > 0)
    fmt::print(
        "{} have another key because of the rules: other spellings of these may have other keys "
        "now, and are bought when they are asked\n",
        planned->by_rules);
  print_merges(*planned, arguments);
  print_splits(*planned, arguments);
  return tell_unread(planned->unread);
}

int move(Store& store, const KeyRing& ring, SecondReader* second) {
  const auto done = rekey_entries(store, ring, second, Deadline::never());
  if (!done) return report(done.error());
  fmt::print(
      "{} answers moved to another key, {} met another answer of the same address and one of the "
      "two is left, {} stayed because of a call that is on its way\n",
      done->moved,
      done->merged,
      done->stayed);
  return tell_unread(done->unread);
}

}  // namespace

void add_rekey(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand(
      "rekey", "File remembered answers under the keys that present rules and secrets make");
  auto arguments = std::make_shared<Arguments>();
  auto* only_plan =
      command->add_flag("--plan", arguments->only_plan, "Only tell what would change");
  command
      ->add_flag("--addresses", arguments->addresses, "Show addresses beside the keys of the plan")
      ->needs(only_plan);
  does(*command, program, [&program, arguments] {
    const auto ring = load_key_ring(program.globals);
    if (!ring) return report(ring.error());
    auto store = open_existing_store(program.globals);
    if (!store) return report(store.error());
    const auto second = load_second_reader(program.globals);
    if (!second) return report(second.error());
    return arguments->only_plan ? plan(**store, *ring, second->get(), *arguments)
                                : move(**store, *ring, second->get());
  });
}

}  // namespace geonce::cli
