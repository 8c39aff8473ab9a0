#include "simulation/choices.h"

#include <algorithm>
#include <charconv>

namespace geonce::sim {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Site::kSites)> kNames{
    "second_provider",
    "terms",
    "rechecks",
    "bulk",
    "max_unknown",
    "second_host",
    "shared_tier",
    "soft_limit",
    "ask",
    "ask_when",
    "ask_seat",
    "ask_key",
    "ask_manner",
    "ask_patience",
    "ask_cap",
    "ask_batch",
    "drop",
    "drop_when",
    "drop_key",
    "outage",
    "outage_when",
    "outage_span",
    "jump",
    "jump_when",
    "jump_by",
    "sweep",
    "sweep_when",
    "flush",
    "flush_when",
    "reconcile",
    "reconcile_when",
    "host_down",
    "host_down_when",
    "reader",
    "reader_when",
    "dies",
    "pauses",
    "pause_span",
    "restart",
    "adoption_dies",
    "to_store",
    "from_store",
    "store_fault",
    "late_span",
    "dies_on_the_wire",
    "to_tier",
    "from_tier",
    "tier_loses",
    "admission",
    "not_up",
    "slot",
    "company",
    "mark",
    "disk_full",
    "connect",
    "unreachable",
    "gap",
    "request",
    "call_end",
    "answer",
    "answering",
    "spool_full",
    "decode"};

std::uint64_t mixed(std::uint64_t bits) {  // splitmix64's finaliser
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

}  // namespace

std::string_view to_string(Site site) { return kNames.at(static_cast<std::size_t>(site)); }

std::string to_string(const Choice& choice) {
  return fmt::format("{}.{}.{}", to_string(choice.site), choice.who, choice.nth);
}

std::string to_string(const std::vector<Choice>& choices) {
  std::string text;
  for (const Choice& choice : choices) {
    if (!text.empty()) text += ',';
    text += to_string(choice);
  }
  return text;
}

Result<std::vector<Choice>> parse_choices(std::string_view text) {
  std::vector<Choice> choices;
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::string whole(one);
    const auto name = one.substr(0, one.find('.'));
    const auto site = std::find(kNames.begin(), kNames.end(), name);
    Choice choice;
    choice.site = static_cast<Site>(site - kNames.begin());
    const auto number = [&](auto& into) {
      one.remove_prefix(std::min(one.size(), one.find('.')));
      if (one.empty()) return false;
      one.remove_prefix(1);
      return std::from_chars(one.data(), one.data() + one.size(), into).ec == std::errc();
    };
    if (site == kNames.end() || !number(choice.who) || !number(choice.nth))
      return fail(ErrorCode::usage, "'{}' is no choice; they look like ask.3.0", whole);
    choices.push_back(choice);
  }
  return choices;
}

void Choices::allow_only(const std::vector<Choice>& kept) {
  allowed_.emplace();
  for (const Choice& choice : kept) allowed_->insert(packed(choice));
}

Choices::Drawn Choices::draw(Site site, int who) {
  const auto which = static_cast<std::size_t>(who) % kWho;
  std::uint16_t& count = counts_[static_cast<std::size_t>(site)][which];
  Drawn drawn;
  drawn.choice = {site, static_cast<std::uint8_t>(which), count++};
  const std::uint32_t name = packed(drawn.choice);
  drawn.bits = mixed(mixed(seed_) ^ name);
  drawn.is_allowed = !allowed_ || allowed_->contains(name);
  return drawn;
}

/// 0: quiet … 3: lively.
int Choices::level(Site site) const {
  const std::uint64_t bits = mixed(mixed(~seed_) ^ static_cast<std::uint64_t>(site));
  return static_cast<int>(bits & 3U);
}

bool Choices::chance(Site site, int who, int per_mille) {
  static constexpr std::array<std::uint64_t, 4> kTimes{0, 1, 3, 10};
  const Drawn drawn = draw(site, who);
  const auto limit =
      static_cast<std::uint64_t>(per_mille) * kTimes[static_cast<std::size_t>(level(site))];
  if (!drawn.is_allowed || drawn.bits % 1'000 >= limit) return false;
  taken_.push_back(drawn.choice);
  return true;
}

std::uint32_t Choices::below(Site site, int who, std::uint32_t sides) {
  const Drawn drawn = draw(site, who);
  const auto side = static_cast<std::uint32_t>((drawn.bits >> 8U) % sides);
  if (!drawn.is_allowed || side == 0) return 0;
  taken_.push_back(drawn.choice);
  return side;
}

milliseconds Choices::span(Site site, int who, milliseconds longest) {
  static constexpr std::array<std::uint64_t, 4> kLong{0, 10, 50, 150};  // of a thousand
  constexpr milliseconds kShort{1};
  const Drawn drawn = draw(site, who);
  const std::uint64_t kind = drawn.bits % 1'000;
  if (!drawn.is_allowed || kind < 500) return kShort;
  const auto most = static_cast<std::uint64_t>(longest.count());
  const bool is_long = kind >= 1'000 - kLong[static_cast<std::size_t>(level(site))];
  const std::uint64_t limit = is_long ? most : std::min<std::uint64_t>(most, 20);
  taken_.push_back(drawn.choice);
  return kShort + milliseconds{static_cast<std::int64_t>((drawn.bits >> 16U) % (limit + 1))};
}

}  // namespace geonce::sim
