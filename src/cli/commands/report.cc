#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/session.h"
#include "core/near_misses.h"

namespace geonce::cli {
namespace {

struct Arguments {
  std::string country;
  std::size_t limit = 20, examples = 1;
  bool json = false;
};

/// What is kept of an entry beside its address: a million of them have to fit.
struct Remembered {
  Key key;
  UtcMs answered_at = 0;
  float lat_deg = std::numeric_limits<float>::quiet_NaN(), lng_deg = lat_deg;  // of a match
};

struct Known {
  NearMisses addresses;
  std::deque<Remembered> entries;  // in the order of `addresses`; nothing is copied in growing
  std::size_t unreadable = 0;      // written without an address, or by another version
};

Result<Known> read_entries(Store& store, Country country) {
  Known known;
  EntryFilter filter;
  filter.limit = 1'000;
  for (;;) {
    const auto page = store.entries(filter, patience());
    if (!page) return fail(page.error());
    for (const EntryRow& entry : *page) {
      if (entry.slot.pool != kDefaultPool) continue;
      const auto address = parse_pre_image(entry.pre_image);
      if (!address) {
        ++known.unreadable;
        continue;
      }
      if (country.is_known() && address->country != country) continue;
      known.addresses.add(*address);
      Remembered& kept = known.entries.emplace_back();
      kept.key = entry.slot.key;
      kept.answered_at = entry.answered_at;
      if (!entry.answer || entry.answer->kind != AnswerKind::match || !entry.answer->at) continue;
      kept.lat_deg = static_cast<float>(entry.answer->at->lat_deg);
      kept.lng_deg = static_cast<float>(entry.answer->at->lng_deg);
    }
    if (page->size() < filter.limit) return known;
    filter.after = page->back().slot;
  }
}

/// Metres on a sphere, by the flat triangle: good to 1 % over what counts as one place here. NaN
/// when one of the two is no match.
double metres_between(const Remembered& a, const Remembered& b) {
  constexpr double kMetresPerDegree = 111'195;
  const double north = static_cast<double>(a.lat_deg) - static_cast<double>(b.lat_deg);
  const double turn = static_cast<double>(a.lng_deg) - static_cast<double>(b.lng_deg);
  const double east = std::remainder(turn, 360.0) *
                      std::cos(static_cast<double>(a.lat_deg) * std::numbers::pi / 180.0);
  return kMetresPerDegree * std::hypot(north, east);
}

constexpr double kOnePlaceMetres = 100;

/// What a group says beyond its words.
struct Figures {
  std::size_t same_place = 0, other_place = 0;  // of pairs with two matches
  /// What was paid for the later address of each pair; absent when there are too many to look up.
  std::optional<LedgerSum> second;
};

class Evidence {
 public:
  Evidence(Store& store, const Known& known, const KeyRing& ring)
      : store_(store), known_(known), ring_(ring) {}

  Result<Figures> of(const NearMissGroup& group) {
    Figures figures;
    std::set<std::uint32_t> later;
    for (const auto& [a, b] : group.members) {
      const Remembered& x = known_.entries[a];
      const Remembered& y = known_.entries[b];
      const double metres = metres_between(x, y);
      if (metres <= kOnePlaceMetres)
        ++figures.same_place;
      else if (!std::isnan(metres))
        ++figures.other_place;
      later.insert(y.answered_at < x.answered_at ? a : b);
    }
    if (group.members.size() < group.pairs || later.size() > look_ups_left_) return figures;
    look_ups_left_ -= later.size();
    figures.second.emplace();
    for (const std::uint32_t address : later)
      if (auto added = add_calls_of(address, *figures.second); !added) return fail(added.error());
    return figures;
  }

 private:
  Result<void> add_calls_of(std::uint32_t address, LedgerSum& calls) {
    // The ledger keeps the key that a call was made under.
    std::set<Key> keys{known_.entries[address].key};
    if (ring_.has_former())
      for (const Key& key : ring_.former(pre_image(known_.addresses.at(address)))) keys.insert(key);
    for (const Key& key : keys) {
      LedgerFilter filter;
      filter.slot = Slot{kDefaultPool, key};
      const auto sums = store_.ledger_sums(filter, patience());
      if (!sums) return fail(sums.error());
      for (const LedgerSum& sum : *sums) {
        calls.prepared += sum.prepared - sum.voided;
        calls.billed += sum.billed;
        calls.in_doubt += sum.in_doubt;
      }
    }
    return {};
  }

  Store& store_;
  const Known& known_;
  const KeyRing& ring_;
  std::size_t look_ups_left_ = 50'000;  // some seconds
};

void print_json(const NearMissGroup& group,
                const Figures& figures,
                const Known& known,
                const KeyRing& ring,
                std::size_t examples) {
  boost::json::object object{{"likeness", to_string(group.likeness)},
                             {"words", boost::json::array{group.a, group.b}},
                             {"pairs", group.pairs},
                             {"same_place", figures.same_place},
                             {"other_place", figures.other_place}};
  if (figures.second) {
    object["second_calls"] = figures.second->prepared;
    object["second_billed_microusd"] = figures.second->billed.micro_usd;
    object["second_in_doubt_microusd"] = figures.second->in_doubt.micro_usd;
  }
  boost::json::array shown;
  for (std::size_t i = 0; i < std::min(examples, group.members.size()); ++i) {
    boost::json::array pair;
    for (const auto place : {group.members[i].first, group.members[i].second}) {
      const Canonical address = known.addresses.at(place);
      pair.push_back(boost::json::object{{"canonical", one_line(address)},
                                         {"country", address.country.code()},
                                         {"key", ring.text(known.entries[place].key)}});
    }
    shown.push_back(std::move(pair));
  }
  object["examples"] = std::move(shown);
  std::puts(json_text(object).c_str());
}

void print_text(const NearMissGroup& group,
                const Figures& figures,
                const Known& known,
                const KeyRing& ring,
                std::size_t examples) {
  std::string text = fmt::format("\n{} ↔ {}  {} {}, {}",
                                 group.a.empty() ? "(none)" : group.a,
                                 group.b,
                                 group.pairs,
                                 group.pairs == 1 ? "pair" : "pairs",
                                 to_string(group.likeness));
  if (const auto both = figures.same_place + figures.other_place; both > 0)
    text += fmt::format("; {} of {} in one place", figures.same_place, both);
  if (figures.second) {
    text += fmt::format("; the second of each: {} {}, {}",
                        figures.second->prepared,
                        figures.second->prepared == 1 ? "call" : "calls",
                        to_string(figures.second->billed));
    if (figures.second->in_doubt.micro_usd > 0)
      text += fmt::format(" and {} in doubt", to_string(figures.second->in_doubt));
  }
  text += '\n';
  for (std::size_t i = 0; i < std::min(examples, group.members.size()); ++i)
    for (const auto place : {group.members[i].first, group.members[i].second}) {
      const Canonical address = known.addresses.at(place);
      text += fmt::format(
          "    {}\n        {}\n", one_line(address), ring.text(known.entries[place].key));
    }
  std::fputs(text.c_str(), stdout);
}

void print_head(const NearMissReport& found, const Known& known, std::size_t limit) {
  const auto addresses = known.addresses.size();
  if (found.pairs == 0) {
    fmt::print("no two of {} remembered addresses are one word apart\n", addresses);
  } else {
    fmt::print("{} remembered addresses; {} {} of them one word apart, by {} {} of words{}\n",
               addresses,
               found.pairs,
               found.pairs == 1 ? "pair" : "pairs",
               found.groups.size(),
               found.groups.size() == 1 ? "pair" : "pairs",
               found.groups.size() > limit ? fmt::format("; the {} most frequent:", limit) : ":");
  }
}

int near_misses(const Globals& globals, const Arguments& arguments) {
  const auto country = country_of("--country", arguments.country);
  if (!country) return report(country.error());
  const auto ring = load_key_ring(globals);
  if (!ring) return report(ring.error());
  auto store = open_existing_store(globals);
  if (!store) return report(store.error());
  const auto known = read_entries(**store, *country);
  if (!known) return report(known.error());
  const NearMissReport found = known->addresses.find();
  if (!arguments.json) print_head(found, *known, arguments.limit);
  Evidence evidence(**store, *known, *ring);
  for (std::size_t i = 0; i < std::min(arguments.limit, found.groups.size()); ++i) {
    const NearMissGroup& group = found.groups[i];
    const auto figures = evidence.of(group);
    if (!figures) return report(figures.error());
    (arguments.json ? print_json : print_text)(group, *figures, *known, *ring, arguments.examples);
  }
  if (!found.is_complete)
    std::fputs("geonce: there are more: not every pair was compared or held\n", stderr);
  if (known->unreadable > 0)
    std::fputs(fmt::format("geonce: {} entries say no address, or one of another key version\n",
                           known->unreadable)
                   .c_str(),
               stderr);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand("report", "Explain what the store holds");
  command->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();
  auto* near = command->add_subcommand(
      "near-misses", "List remembered addresses that may be one: a word apart, with two keys");
  near->add_option("--country",
                   arguments->country,
                   "Only addresses of this country: ISO 3166-1 code or name")
      ->type_name("CC");
  near->add_option("--limit", arguments->limit, "At most so many pairs of words")
      ->type_name("N")
      ->capture_default_str();
  near->add_option("--examples", arguments->examples, "So many examples of each")
      ->type_name("N")
      ->capture_default_str();
  near->add_flag("--json", arguments->json, "Print one JSON object a line for each pair of words");
  does(*near, program, [&program, arguments] { return near_misses(program.globals, *arguments); });
}

}  // namespace geonce::cli
