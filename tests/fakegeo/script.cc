#include "script.h"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace fakegeo {
namespace {

namespace json = boost::json;

constexpr std::array<std::pair<std::string_view, Action>, 18> kActions{{
    {"answer", Action::answer},
    {"status", Action::status},
    {"in_body_error", Action::in_body_error},
    {"empty_results", Action::empty_results},
    {"text", Action::text},
    {"half_body", Action::half_body},
    {"wrong_length", Action::wrong_length},
    {"cut_head", Action::cut_head},
    {"cut_body", Action::cut_body},
    {"close", Action::close},
    {"hang", Action::hang},
    {"slow", Action::slow},
    {"endless_chunks", Action::endless_chunks},
    {"gzip_bomb", Action::gzip_bomb},
    {"twice", Action::twice},
    {"items_missing", Action::items_missing},
    {"items_reordered", Action::items_reordered},
    {"items_doubled", Action::items_doubled},
}};

/// A script is written by hand: what is not understood is said, never passed over, for a rule that
/// silently does nothing makes a test that cannot fail. Thrown and caught inside this file only.
[[noreturn]] void reject(std::string_view what, std::string_view name) {
  throw std::invalid_argument(fmt::format("{}: {}", what, name));
}

double number(const json::value& value, std::string_view name) {
  if (!value.is_number()) reject("a number is needed", name);
  return value.to_number<double>();
}

std::uint64_t count(const json::value& value, std::string_view name) {
  if (!value.is_int64() || value.as_int64() < 0) reject("a number from 0 up is needed", name);
  return static_cast<std::uint64_t>(value.as_int64());
}

std::string text(const json::value& value, std::string_view name) {
  if (!value.is_string()) reject("a string is needed", name);
  return std::string(value.as_string());
}

bool yes_or_no(const json::value& value, std::string_view name) {
  if (!value.is_bool()) reject("true or false is needed", name);
  return value.as_bool();
}

/// One value, or a pair [low, high].
template <class T, class Read>
std::pair<T, T> range(const json::value& value, std::string_view name, Read read) {
  if (!value.is_array()) {
    const T one = read(value, name);
    return {one, one};
  }
  const json::array& pair = value.as_array();
  if (pair.size() != 2) reject("a range is [low, high]", name);
  const T low = read(pair[0], name);
  const T high = read(pair[1], name);
  if (high < low) reject("a range is [low, high]", name);
  return {low, high};
}

Latency latency_of(const json::value& value, std::string_view name) {
  const auto [low, high] = range<double>(value, name, number);
  if (low < 0) reject("a number from 0 up is needed", name);
  return {low, high};
}

When parse_when(const json::value& value) {
  if (!value.is_object()) reject("an object is needed", "when");
  When when;
  for (const auto& [key, field] : value.as_object()) {
    const std::string name(key);
    if (name == "request") {
      std::tie(when.first_request, when.last_request) = range<std::uint64_t>(field, name, count);
    } else if (name == "every") {
      when.every = count(field, name);
      if (when.every == std::uint64_t{0}) reject("a number from 1 up is needed", name);
    } else if (name == "text") {
      when.text = lower_ascii(text(field, name));
    } else if (name == "probability") {
      when.probability = number(field, name);
    } else if (name == "reused") {
      when.reused = yes_or_no(field, name);
    } else if (name == "mode") {
      for (const Mode mode : {Mode::single, Mode::batch})
        if (name_of(mode) == text(field, name)) when.mode = mode;
      if (!when.mode) reject("unknown mode", text(field, name));
    } else if (name == "dialect") {
      for (const Dialect dialect : {Dialect::google,
                                    Dialect::geocodio,
                                    Dialect::nominatim,
                                    Dialect::opencage,
                                    Dialect::census,
                                    Dialect::ban})
        if (name_of(dialect) == text(field, name)) when.dialect = dialect;
      if (!when.dialect) reject("unknown dialect", text(field, name));
    } else {
      reject("unknown condition", name);
    }
  }
  return when;
}

Action action_of(const std::string& name) {
  const auto* found = std::find_if(
      kActions.begin(), kActions.end(), [&](const auto& row) { return row.first == name; });
  if (found == kActions.end()) reject("unknown action", name);
  return found->second;
}

Welcome welcome_of(const std::string& name) {
  if (name == "serve") return Welcome::serve;
  if (name == "never_read") return Welcome::never_read;
  if (name == "cut") return Welcome::cut;
  reject("unknown welcome", name);
}

Rule parse_rule(const json::value& value) {
  if (!value.is_object()) reject("an object is needed", "rules");
  Rule rule;
  for (const auto& [key, field] : value.as_object()) {
    const std::string name(key);
    if (name == "when") {
      rule.when = parse_when(field);
    } else if (name == "times") {
      rule.times = count(field, name);
    } else if (name == "do") {
      rule.action = action_of(text(field, name));
    } else if (name == "latency_ms") {
      rule.latency = latency_of(field, name);
    } else if (name == "status") {
      rule.status = static_cast<int>(count(field, name));
    } else if (name == "code") {
      rule.code = text(field, name);
    } else if (name == "message") {
      rule.message = text(field, name);
    } else if (name == "body") {
      rule.body = text(field, name);
    } else if (name == "content_type") {
      rule.content_type = text(field, name);
    } else if (name == "html") {
      rule.is_html = yes_or_no(field, name);
    } else if (name == "retry_after") {
      rule.retry_after = field.is_string() ? text(field, name) : std::to_string(count(field, name));
    } else if (name == "reset") {
      rule.with_reset = yes_or_no(field, name);
    } else if (name == "then_close") {
      rule.then_close = yes_or_no(field, name);
    } else if (name == "bytes_per_s") {
      rule.bytes_per_s = number(field, name);
      if (rule.bytes_per_s <= 0) reject("a number above 0 is needed", name);
    } else if (name == "delta") {
      rule.delta = static_cast<std::int64_t>(number(field, name));
    } else if (name == "inflated_mib") {
      rule.inflated_mib = count(field, name);
    } else if (name == "version") {
      rule.version = count(field, name);
    } else if (name == "items") {
      if (!field.is_array()) reject("a list is needed", name);
      for (const json::value& index : field.as_array()) rule.items.push_back(count(index, name));
    } else {
      reject("unknown word in a rule", name);
    }
  }
  return rule;
}

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

std::uint64_t identity_of(const Ask& ask) {
  std::uint64_t hash = 0;
  for (const Item& item : ask.items) hash = mixed(hash + std::hash<std::string>{}(item.text));
  return hash;
}

}  // namespace

tl::expected<Script, std::string> Script::parse(std::string_view source,
                                                std::uint64_t seed,
                                                Latency fallback) {
  try {
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(source.data(), source.size()), error);
    if (error || !value.is_object()) reject("a script is a JSON object", error.message());
    Script script;
    script.seed_ = seed;
    script.latency_ = fallback;
    for (const auto& [key, field] : value.as_object()) {
      const std::string name(key);
      if (name == "seed") {
        script.seed_ = count(field, name);
      } else if (name == "latency_ms") {
        script.latency_ = latency_of(field, name);
      } else if (name == "welcome") {
        script.welcome_ = welcome_of(text(field, name));
      } else if (name == "rules") {
        if (!field.is_array()) reject("a list is needed", name);
        for (const json::value& rule : field.as_array()) script.rules_.push_back(parse_rule(rule));
      } else {
        reject("unknown word in a script", name);
      }
    }
    return script;
  } catch (const std::invalid_argument& error) {
    return tl::unexpected<std::string>(error.what());
  }
}

Verdict Script::judge(const Ask& ask, bool connection_is_reused) {
  ++requests_;
  Verdict verdict;
  Latency latency = latency_;
  std::uint64_t identity = 0;
  const bool needs_dice = !rules_.empty() || latency.low_ms < latency.high_ms;
  if (needs_dice) {
    const std::uint64_t hash = identity_of(ask);
    identity = mixed(hash + seen_[hash]++);
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    if (!fits(rule, ask, connection_is_reused, draw(identity, i + 1))) continue;
    if (rule.times) --*rule.times;
    if (rule.latency) latency = *rule.latency;
    verdict.rule = &rule;
    break;
  }
  double delay_ms = latency.low_ms;
  if (latency.low_ms < latency.high_ms)
    delay_ms += (latency.high_ms - latency.low_ms) * draw(identity, 0);
  verdict.delay = std::chrono::nanoseconds(static_cast<std::int64_t>(delay_ms * 1e6));
  return verdict;
}

bool Script::fits(const Rule& rule, const Ask& ask, bool reused, double draw) const {
  const When& when = rule.when;
  if (rule.times && *rule.times == 0) return false;
  if (when.first_request && (requests_ < *when.first_request || requests_ > *when.last_request))
    return false;
  if (when.every && requests_ % *when.every != 0) return false;
  if (when.reused && *when.reused != reused) return false;
  if (when.dialect && *when.dialect != ask.dialect) return false;
  if (when.mode && *when.mode != ask.mode) return false;
  if (!when.text.empty() && std::none_of(ask.items.begin(), ask.items.end(), [&](const Item& item) {
        return lower_ascii(item.text).find(when.text) != std::string::npos;
      }))
    return false;
  return !when.probability || draw < *when.probability;
}

double Script::draw(std::uint64_t identity, std::uint64_t salt) const {
  const std::uint64_t bits = mixed(mixed(seed_ + 0x9e3779b97f4a7c15ULL * (salt + 1)) + identity);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace fakegeo
