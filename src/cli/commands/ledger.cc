#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/session.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string from, to, provider, event, key, country, billed, reason;
  std::size_t limit = 100;
  bool json = false;
};

Result<LedgerFilter> filter_of(const Globals& globals,
                               const Arguments& arguments,
                               const KeyRing& ring) {
  LedgerFilter filter;
  if (!arguments.from.empty()) {
    auto from = parse_utc(arguments.from);
    if (!from) return fail(from.error());
    filter.from = *from;
  }
  if (!arguments.to.empty()) {
    auto to = parse_utc(arguments.to);
    if (!to) return fail(to.error());
    filter.to = *to;
  }
  if (!arguments.provider.empty()) filter.provider = arguments.provider;
  if (!arguments.event.empty()) {
    for (int event = 1; event <= static_cast<int>(LedgerEvent::reconciled); ++event)
      if (to_string(static_cast<LedgerEvent>(event)) == arguments.event)
        filter.event = static_cast<LedgerEvent>(event);
    if (!filter.event)
      return fail(ErrorCode::usage,
                  "--event is prepared, answered, refused, unknown, void or reconciled");
  }
  if (!arguments.key.empty()) {
    auto named_key = named(arguments.key, arguments.country, ring, globals);
    if (!named_key) return fail(named_key.error());
    filter.slot = named_key->slot;
  }
  filter.limit = arguments.limit;
  return filter;
}

int show(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto filter = filter_of(globals, arguments, *ring);
  if (!filter) return report(filter.error());
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  const auto rows = (*store)->ledger(*filter, patience());
  if (!rows) return report(rows.error());
  for (const LedgerRow& row : *rows) {
    boost::json::object object{{"at", utc_text(row.at)},
                               {"intent", to_string(row.intent)},
                               {"event", to_string(row.event)},
                               {"key", ring->text(row.slot.key)},
                               {"gen", row.gen},
                               {"attempt", row.attempt},
                               {"provider", row.provider},
                               {"cause", to_string(row.cause)},
                               {"bulk", row.bulk}};
    if (row.event != LedgerEvent::prepared) {
      object["billed"] = to_string(row.billed);
      object["units"] = row.units;
      object["price_microusd"] = row.price.micro_usd;
    }
    if (row.http_status != 0) object["http_status"] = row.http_status;
    if (!row.reason.empty()) object["reason"] = row.reason;
    if (!row.provider_request_id.empty()) object["provider_request_id"] = row.provider_request_id;
    if (row.redundant) object["redundant"] = true;
    if (row.late) object["late"] = true;
    std::puts(boost::json::serialize(object).c_str());
  }
  return 0;
}

int summary(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  auto filter = filter_of(globals, arguments, *ring);
  if (!filter) return report(filter.error());
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  const auto sums = (*store)->ledger_sums(*filter, patience());
  if (!sums) return report(sums.error());
  if (arguments.json) {
    boost::json::array array;
    for (const LedgerSum& sum : *sums)
      array.push_back(boost::json::object{{"provider", sum.provider},
                                          {"calls", sum.prepared},
                                          {"answered", sum.answered},
                                          {"refused", sum.refused},
                                          {"unknown", sum.unknown},
                                          {"void", sum.voided},
                                          {"redundant", sum.redundant},
                                          {"open", sum.open},
                                          {"billed_units", sum.billed_units},
                                          {"in_doubt_units", sum.in_doubt_units},
                                          {"billed_microusd", sum.billed.micro_usd},
                                          {"in_doubt_microusd", sum.in_doubt.micro_usd}});
    std::puts(boost::json::serialize(array).c_str());
    return 0;
  }
  if (sums->empty()) {
    const bool is_narrowed =
        !arguments.from.empty() || !arguments.to.empty() || !arguments.provider.empty();
    std::puts(is_narrowed ? "nothing of that kind was bought" : "nothing was ever bought");
    return 0;
  }
  fmt::print("{:<16} {:>9} {:>9} {:>8} {:>8} {:>6} {:>9} {:>5} {:>12} {:>12}\n",
             "provider",
             "prepared",
             "answered",
             "refused",
             "unknown",
             "void",
             "redundant",
             "open",
             "billed",
             "in doubt");
  for (const LedgerSum& sum : *sums)
    fmt::print("{:<16} {:>9} {:>9} {:>8} {:>8} {:>6} {:>9} {:>5} {:>12} {:>12}\n",
               sum.provider,
               sum.prepared,
               sum.answered,
               sum.refused,
               sum.unknown,
               sum.voided,
               sum.redundant,
               sum.open,
               to_string(sum.billed),
               to_string(sum.in_doubt));
  return 0;
}

/// Calls that are unknown and were prepared in the time asked for.
Result<std::vector<Reconciliation>> lost_calls(Store& store,
                                               const LedgerFilter& asked,
                                               const Arguments& arguments) {
  LedgerFilter filter = asked;
  filter.event = LedgerEvent::unknown;
  filter.to = INT64_MAX;  // a loss is noticed later than the call was made
  filter.limit = SIZE_MAX;
  const auto unknown = store.ledger(filter, patience());
  if (!unknown) return fail(unknown.error());
  std::vector<Reconciliation> lost;
  for (const LedgerRow& row : *unknown) {
    LedgerFilter call;
    call.intent = row.intent;
    call.event = LedgerEvent::prepared;
    call.from = asked.from;
    call.to = asked.to;
    const auto prepared = store.ledger(call, patience());
    if (!prepared) return fail(prepared.error());
    if (!prepared->empty())
      lost.push_back({row.slot, row.intent, arguments.billed == "yes", arguments.reason});
  }
  return lost;
}

int reconcile(const Globals& globals, const Arguments& arguments) {
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  const auto filter = filter_of(globals, arguments, *ring);
  if (!filter) return report(filter.error());
  if (arguments.billed != "yes" && arguments.billed != "no")
    return report({ErrorCode::usage, "--billed is yes or no", {}, {}, {}});
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  const auto lost = lost_calls(**store, *filter, arguments);
  if (!lost) return report(lost.error());
  constexpr std::size_t kAtOnce = 500;
  std::size_t closed = 0;
  for (std::size_t from = 0; from < lost->size(); from += kAtOnce) {
    const auto some = std::span(*lost).subspan(from, std::min(kAtOnce, lost->size() - from));
    const auto done = (*store)->reconcile(some, patience());
    if (!done) return report(done.error());
    closed += *done;
  }
  fmt::print("{} lost {} closed as {}\n",
             closed,
             closed == 1 ? "call is" : "calls are",
             arguments.billed == "yes" ? "billed" : "not billed");
  return 0;
}

}  // namespace

void add_ledger(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("ledger", "Look at what was bought, and at what may have been");
  command->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();
  auto* show_command =
      command->add_subcommand("show", "Show ledger rows, newest first, one JSON object a line");
  auto* summary_command = command->add_subcommand("summary", "Sum the ledger by provider");
  auto* reconcile_command = command->add_subcommand(
      "reconcile", "Say of calls whose answer is lost whether they were billed");
  for (auto* sub : {show_command, summary_command, reconcile_command}) {
    sub->add_option("--from", arguments->from, "From this date or instant on (UTC)")
        ->type_name("WHEN");
    sub->add_option("--to", arguments->to, "Before this date or instant (UTC)")->type_name("WHEN");
    sub->add_option("--provider", arguments->provider, "Only calls to this provider")
        ->type_name("NAME");
  }
  show_command
      ->add_option("--event",
                   arguments->event,
                   "Only prepared, answered, refused, unknown, void or reconciled")
      ->type_name("EVENT");
  for (auto* sub : {show_command, reconcile_command}) {
    sub->add_option("--key", arguments->key, "Only this key (n1_…) or address")->type_name("KEY");
    sub->add_option("--country", arguments->country, "The country of the address given with --key")
        ->type_name("CC");
  }
  show_command->add_option("--limit", arguments->limit, "At most so many rows")
      ->type_name("N")
      ->capture_default_str();
  summary_command->add_flag("--json", arguments->json, "Print JSON");
  reconcile_command->add_option("--billed", arguments->billed, "Do they stand on the invoice?")
      ->type_name("yes|no")
      ->required();
  reconcile_command
      ->add_option("--reason", arguments->reason, "Where that is written, for the ledger")
      ->type_name("TEXT")
      ->required();
  does(*show_command, program, [&program, arguments] { return show(program.globals, *arguments); });
  does(*summary_command, program, [&program, arguments] {
    return summary(program.globals, *arguments);
  });
  does(*reconcile_command, program, [&program, arguments] {
    return reconcile(program.globals, *arguments);
  });
}

}  // namespace geonce::cli
