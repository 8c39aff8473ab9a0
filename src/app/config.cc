#include "app/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "core/duration.h"
#include "core/near_names.h"

namespace geonce {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using List = std::vector<std::string>;
using Path = std::filesystem::path;

// --- the rows
// -----------------------------------------------------------------------------------------

/// A place in a Config that a row writes to and reads from.
using Field = std::variant<std::string*,
                           Path*,
                           bool*,
                           std::int64_t*,
                           double*,
                           hours*,
                           minutes*,
                           milliseconds*,
                           List*,
                           Country*,
                           Precision*,
                           SpoolSync*,
                           Takeover*,
                           std::optional<bool>*,
                           std::optional<std::int64_t>*,
                           std::optional<double>*,
                           std::optional<Money>*,
                           std::optional<milliseconds>*>;

/// One value that can be set. `*` in the path stands for a name: of a provider or of a country.
struct Row {
  std::string_view path;
  Field (*at)(Config& config, const std::string& name);
  std::string_view doc;
  double least = 0, most = 0;   // of numbers; equal: unbounded above, not negative
  List words{};                 // of texts: the allowed ones; empty: any
  std::string_view standard{};  // the default as the docs show it, where the struct cannot say it
  bool is_address = false;      // may carry a password: masked when printed
};

ProviderConfig& provider(Config& config, const std::string& name) { return config.providers[name]; }

#define GEONCE_AT(member) [](Config& c, const std::string&) -> Field { return &c.member; }
#define GEONCE_PROVIDER(member) \
  [](Config& c, const std::string& name) -> Field { return &provider(c, name).member; }

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      {.path = "store",
       .at = GEONCE_AT(store),
       .doc = "File of the embedded store. It and its folder are made when absent.",
       .standard = "`$XDG_DATA_HOME/geonce/geonce.db`",
       .is_address = true},
      {.path = "specs",
       .at = GEONCE_AT(specs),
       .doc =
           "Folder of provider files of your own; one with a built-in name replaces the built-in."},

      {.path = "log.level",
       .at = GEONCE_AT(log.level),
       .doc = "What is written to stderr.",
       .words = {"trace", "debug", "info", "warn", "error", "off"}},
      {.path = "log.format",
       .at = GEONCE_AT(log.format),
       .doc = "One line of text, or one JSON object, per message.",
       .words = {"text", "json"}},

      {.path = "memory.max_mib",
       .at = GEONCE_AT(memory.max_mib),
       .doc = "Size of the cache in this process, all overhead counted.",
       .least = 1,
       .most = 1'048'576},

      {.path = "chain.default",
       .at = GEONCE_AT(chain.standard),
       .doc = "Providers to ask, in this order, until an answer is good enough."},
      {.path = "chain.countries.*",
       .at = [](Config& c, const std::string& name) -> Field {
         return &c.chain.countries[*parse_country(name)];
       },
       .doc = "The same for addresses in one country (ISO 3166-1 alpha-2), instead of "
              "`chain.default`."},

      {.path = "providers.*.secret_file",
       .at = GEONCE_PROVIDER(secret_file),
       .doc = "File whose first line is the provider's key."},
      {.path = "providers.*.secret_env",
       .at = GEONCE_PROVIDER(secret_env),
       .doc = "Environment variable that holds the provider's key, instead of a file."},
      {.path = "providers.*.base_url",
       .at = GEONCE_PROVIDER(base_url),
       .doc = "Scheme, host and port to use instead of those in the spec: a proxy, your own "
              "installation.",
       .is_address = true},
      {.path = "providers.*.user_agent",
       .at = GEONCE_PROVIDER(user_agent),
       .doc = "How you introduce yourself; some providers demand it."},
      {.path = "providers.*.concurrency",
       .at = GEONCE_PROVIDER(concurrency),
       .doc = "Calls at once.",
       .least = 1,
       .most = 1024,
       .standard = "the spec's"},
      {.path = "providers.*.rate_per_s",
       .at = GEONCE_PROVIDER(rate_per_s),
       .doc = "Lookups a second; 0 = no limit.",
       .standard = "the spec's"},
      {.path = "providers.*.price_single_microusd",
       .at = GEONCE_PROVIDER(price_single),
       .doc = "What one lookup costs you by the single endpoint, in millionths of a US dollar.",
       .standard = "the spec's"},
      {.path = "providers.*.price_bulk_microusd",
       .at = GEONCE_PROVIDER(price_bulk),
       .doc = "The same by the bulk endpoint.",
       .standard = "the spec's"},
      {.path = "providers.*.bulk",
       .at = GEONCE_PROVIDER(bulk),
       .doc = "`false`: never use the bulk endpoint.",
       .standard = "the spec's"},
      {.path = "providers.*.timeout",
       .at = GEONCE_PROVIDER(timeout),
       .doc = "Of one call, name look-up to last byte.",
       .standard = "`resolver.total_deadline`"},
      {.path = "providers.*.terms.persist_days",
       .at = GEONCE_PROVIDER(persist_days),
       .doc = "How long your contract lets you keep answers; 0 = not beyond the request.",
       .least = 0,
       .most = 36'525,
       .standard = "the spec's"},
      {.path = "providers.*.terms.reason",
       .at = GEONCE_PROVIDER(terms_reason),
       .doc = "Which contract says so. Required beside `persist_days`."},

      {.path = "life.rooftop",
       .at = GEONCE_AT(life.rooftop),
       .doc = "An answer at the building stays fresh."},
      {.path = "life.parcel", .at = GEONCE_AT(life.parcel), .doc = "At the plot of land."},
      {.path = "life.interpolated",
       .at = GEONCE_AT(life.interpolated),
       .doc = "Estimated between two known house numbers."},
      {.path = "life.street", .at = GEONCE_AT(life.street), .doc = "The street, not the house."},
      {.path = "life.postcode", .at = GEONCE_AT(life.postcode), .doc = "The middle of a postcode."},
      {.path = "life.locality", .at = GEONCE_AT(life.locality), .doc = "The middle of a town."},
      {.path = "life.region", .at = GEONCE_AT(life.region), .doc = "A state or county."},
      {.path = "life.country", .at = GEONCE_AT(life.country), .doc = "A country."},
      {.path = "life.unknown",
       .at = GEONCE_AT(life.unknown),
       .doc = "The provider does not say how precise."},
      {.path = "life.rejected",
       .at = GEONCE_AT(life.rejected),
       .doc = "Wrong country, or coarser than `accept.floor`."},
      {.path = "life.ambiguous",
       .at = GEONCE_AT(life.ambiguous),
       .doc = "Several equal candidates."},
      {.path = "life.weak_input",
       .at = GEONCE_AT(life.weak_input),
       .doc = "At most, for PO boxes, rural routes, and input without a town or that could not be "
              "parsed."},
      {.path = "life.no_match_first",
       .at = GEONCE_AT(life.no_match_first),
       .doc = "The first \"no such address\"; each one in a row doubles it."},
      {.path = "life.no_match_most", .at = GEONCE_AT(life.no_match_most), .doc = "Up to this."},
      {.path = "life.stale",
       .at = GEONCE_AT(life.stale),
       .doc =
           "Beyond its fresh time an answer may serve, marked, when nothing better is to be had."},
      {.path = "life.jitter",
       .at = GEONCE_AT(life.jitter),
       .doc = "Lives are shortened by up to this share, so that they do not all end at once.",
       .least = 0,
       .most = 0.9},
      {.path = "life.low_confidence",
       .at = GEONCE_AT(life.low_confidence),
       .doc = "Answers with less confidence live half as long.",
       .least = 0,
       .most = 1},
      {.path = "life.fallback",
       .at = GEONCE_AT(life.fallback),
       .doc = "At most, for an answer given because an earlier provider of the chain was down."},

      {.path = "accept.floor",
       .at = GEONCE_AT(accept.floor),
       .doc = "Coarser matches are rejected, and the next provider of the chain is asked."},
      {.path = "accept.min_confidence",
       .at = GEONCE_AT(accept.min_confidence),
       .doc = "The same for less confident ones, where the provider reports a confidence.",
       .least = 0,
       .most = 1},
      {.path = "accept.partial_is_street",
       .at = GEONCE_AT(accept.partial_is_street),
       .doc = "A match that ignored a part of the address counts as `street` at best."},
      {.path = "accept.allow_zero_zero",
       .at = GEONCE_AT(accept.allow_zero_zero),
       .doc = "Coordinates 0,0 are a place and not a fault."},

      {.path = "resolver.send_window",
       .at = GEONCE_AT(resolver.send_window),
       .doc = "From the right to buy to the first byte of the call."},
      {.path = "resolver.total_deadline",
       .at = GEONCE_AT(resolver.total_deadline),
       .doc = "Of one call."},
      {.path = "resolver.margin",
       .at = GEONCE_AT(resolver.margin),
       .doc = "From the last byte of an answer to its commit. The three together are the life of a "
              "claim."},
      {.path = "resolver.max_unknown_retries",
       .at = GEONCE_AT(resolver.max_unknown_retries),
       .doc = "How often a key may be bought again while an earlier call is in doubt.",
       .least = 0,
       .most = 1000},
      {.path = "resolver.takeover",
       .at = GEONCE_AT(resolver.takeover),
       .doc = "May a call in doubt be followed by another without a person's word?"},
      {.path = "resolver.cool_down",
       .at = GEONCE_AT(resolver.cool_down),
       .doc = "A key that a provider refused is left alone this long."},
      {.path = "resolver.bulk_size",
       .at = GEONCE_AT(resolver.bulk_size),
       .doc = "Addresses in one bulk call, at most what the provider takes.",
       .least = 1,
       .most = 10'000},

      {.path = "spool.sync",
       .at = GEONCE_AT(spool.sync),
       .doc =
           "When the local journal is forced to the disk: each record, each group, or left to the "
           "system. All three survive the process; the first two survive the machine."},

      {.path = "batch.columns",
       .at = GEONCE_AT(batch.columns),
       .doc = "Columns that `geonce batch` appends.",
       .words = {"short", "full"}},
      {.path = "batch.prefix",
       .at = GEONCE_AT(batch.prefix),
       .doc = "What their names begin with."},
      {.path = "batch.collision",
       .at = GEONCE_AT(batch.collision),
       .doc = "What to do when the input has such a name.",
       .words = {"error", "replace", "suffix"}},
      {.path = "batch.default_country",
       .at = GEONCE_AT(batch.default_country),
       .doc = "Country of rows that do not name one."},
      {.path = "batch.max_errors",
       .at = GEONCE_AT(batch.max_errors),
       .doc = "Row errors that stop the run; 0 = never."},
  };
  return kRows;
}

#undef GEONCE_AT
#undef GEONCE_PROVIDER

/// `providers.google.timeout` read with the row `providers.*.timeout`: `google`. nullopt: another
/// path.
std::optional<std::string> name_in(const Row& row, std::string_view path) {
  const auto star = row.path.find('*');
  if (star == std::string_view::npos)
    return path == row.path ? std::optional(std::string{}) : std::nullopt;
  const auto head = row.path.substr(0, star);
  const auto tail = row.path.substr(star + 1);
  if (path.size() <= head.size() + tail.size() || !path.starts_with(head) || !path.ends_with(tail))
    return std::nullopt;
  const auto name = path.substr(head.size(), path.size() - head.size() - tail.size());
  if (name.find('.') != std::string_view::npos) return std::nullopt;
  return std::string(name);
}

std::string with_name(const Row& row, std::string_view name) {
  std::string path(row.path);
  if (const auto star = path.find('*'); star != std::string::npos) path.replace(star, 1, name);
  return path;
}

/// Provider names are file names; countries are two letters.
Result<void> check_name(const Row& row, std::string_view name) {
  if (row.path.starts_with("chain.countries.")) {
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (name.size() != 2 || !std::all_of(name.begin(), name.end(), upper) || !parse_country(name))
      return fail(
          ErrorCode::invalid_config, "\"{}\" is no ISO 3166-1 alpha-2 code such as US", name);
  } else if (row.path.starts_with("providers.")) {
    const auto good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!std::all_of(name.begin(), name.end(), good))
      return fail(
          ErrorCode::invalid_config, "provider names have a-z, 0-9 and _ only, not \"{}\"", name);
  }
  return {};
}

/// `GEONCE_LIFE_ROOFTOP`
std::string variable_of(std::string_view path) {
  std::string name = "GEONCE_";
  for (const char c : path)
    name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

// --- types
// --------------------------------------------------------------------------------------------

template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

template <class T>
const Words<T>& words();

template <>
const Words<Precision>& words() {
  static const Words<Precision> kWords = [] {
    Words<Precision> all;
    for (auto p : {Precision::rooftop,
                   Precision::parcel,
                   Precision::interpolated,
                   Precision::street,
                   Precision::postcode,
                   Precision::locality,
                   Precision::region,
                   Precision::country,
                   Precision::unknown})
      all.emplace_back(to_string(p), p);
    return all;
  }();
  return kWords;
}

template <>
const Words<SpoolSync>& words() {
  static const Words<SpoolSync> kWords{
      {"always", SpoolSync::always}, {"batch", SpoolSync::batch}, {"none", SpoolSync::none}};
  return kWords;
}

template <>
const Words<Takeover>& words() {
  static const Words<Takeover> kWords{{"counted", Takeover::counted}, {"never", Takeover::never}};
  return kWords;
}

template <class T>
concept Worded =
    std::is_same_v<T, Precision> || std::is_same_v<T, SpoolSync> || std::is_same_v<T, Takeover>;

template <class T>
struct Unwrap {
  using type = T;
  static constexpr bool kOptional = false;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using type = T;
  static constexpr bool kOptional = true;
};

template <class T>
constexpr bool kIsSpan =
    std::is_same_v<T, hours> || std::is_same_v<T, minutes> || std::is_same_v<T, milliseconds>;

std::string quoted_words(const List& words) {
  List quoted;
  for (const auto& word : words) quoted.push_back(fmt::format("\"{}\"", word));
  return fmt::format("{}", fmt::join(quoted, ", "));
}

template <Worded T>
List names_of() {
  List names;
  for (const auto& [name, value] : words<T>()) names.emplace_back(name);
  return names;
}

/// What a value of this row may be, in words.
std::string allowed(const Row& row, const Field& field) {
  return std::visit(
      [&](auto* at) -> std::string {
        using T = typename Unwrap<std::remove_pointer_t<decltype(at)>>::type;
        if constexpr (Worded<T>)
          return "one of " + quoted_words(names_of<T>());
        else if constexpr (std::is_same_v<T, std::string>)
          return row.words.empty() ? "a text" : "one of " + quoted_words(row.words);
        else if constexpr (std::is_same_v<T, Path>)
          return "a path";
        else if constexpr (std::is_same_v<T, bool>)
          return "true or false";
        else if constexpr (std::is_same_v<T, List>)
          return "a list of provider names";
        else if constexpr (std::is_same_v<T, Country>)
          return "a country code such as \"US\"";
        else if constexpr (std::is_same_v<T, hours>)
          return "a duration in whole hours such as \"180d\"";
        else if constexpr (std::is_same_v<T, minutes>)
          return "a duration in whole minutes such as \"4h\"";
        else if constexpr (std::is_same_v<T, milliseconds>)
          return "a duration such as \"8s\"";
        else {
          const auto* kind = std::is_same_v<T, double> ? "a number" : "a whole number";
          return row.least < row.most ? fmt::format("{} from {} to {}", kind, row.least, row.most)
                                      : fmt::format("{}, not negative", kind);
        }
      },
      field);
}

// --- reading
// ------------------------------------------------------------------------------------------

/// A value as its source spelt it. Text of environment and flags has no type of its own yet.
using Value = std::variant<bool, std::int64_t, double, std::string, List>;

template <class T>
std::optional<T> number_from(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The type that the field wants, from plain text; text that does not fit stays text and is refused
/// later.
Value typed(const std::string& text, const Field& field) {
  return std::visit(
      [&](auto* at) -> Value {
        using T = typename Unwrap<std::remove_pointer_t<decltype(at)>>::type;
        if constexpr (std::is_same_v<T, bool>) {
          if (text == "true" || text == "false") return text == "true";
        } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, Money>) {
          if (const auto number = number_from<std::int64_t>(text)) return *number;
        } else if constexpr (std::is_same_v<T, double>) {
          if (const auto number = number_from<double>(text)) return *number;
        } else if constexpr (std::is_same_v<T, List>) {
          List list;
          std::stringstream in(text);
          for (std::string item; std::getline(in, item, ',');) {
            const auto first = item.find_first_not_of(' ');
            const auto last = item.find_last_not_of(' ');
            if (first != std::string::npos) list.push_back(item.substr(first, last - first + 1));
          }
          return list;
        }
        return text;
      },
      field);
}

struct Origin {
  std::string text;  // `geonce.toml:7`, `GEONCE_STORE`, `flag`
  Path folder;       // where relative paths start; empty: the working folder
  std::string home;
};

bool in_range(const Row& row, double number) {
  if (!std::isfinite(number)) return false;
  return row.least < row.most ? number >= row.least && number <= row.most : number >= 0;
}

/// true: taken; false: not what the row allows.
bool assign(const Row& row, const Field& field, const Value& value, const Origin& origin) {
  const auto* text = std::get_if<std::string>(&value);
  return std::visit(
      [&](auto* at) -> bool {
        using T = typename Unwrap<std::remove_pointer_t<decltype(at)>>::type;
        if constexpr (Worded<T>) {
          for (const auto& [name, word] : words<T>()) {
            if (text == nullptr || *text != name) continue;
            *at = word;
            return true;
          }
          return false;
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (text == nullptr) return false;
          if (!row.words.empty() &&
              std::find(row.words.begin(), row.words.end(), *text) == row.words.end())
            return false;
          *at = *text;
          return true;
        } else if constexpr (std::is_same_v<T, Path>) {
          if (text == nullptr) return false;
          Path path = *text;
          if (text->starts_with("~/") && !origin.home.empty())
            path = Path(origin.home) / text->substr(2);
          *at = path.is_relative() && !path.empty() && text->find("://") == std::string::npos
                    ? origin.folder / path
                    : path;
          return true;
        } else if constexpr (std::is_same_v<T, bool>) {
          const auto* flag = std::get_if<bool>(&value);
          if (flag != nullptr) *at = *flag;
          return flag != nullptr;
        } else if constexpr (std::is_same_v<T, List>) {
          const auto* list = std::get_if<List>(&value);
          if (list != nullptr) *at = *list;
          return list != nullptr;
        } else if constexpr (std::is_same_v<T, Country>) {
          const auto country = text == nullptr ? Result<Country>(Country{}) : parse_country(*text);
          if (text == nullptr || !country) return false;
          *at = *country;
          return true;
        } else if constexpr (kIsSpan<T>) {
          const auto span =
              text == nullptr ? Result<milliseconds>(milliseconds{0}) : parse_duration(*text);
          if (text == nullptr || !span) return false;
          const auto whole = std::chrono::duration_cast<T>(*span);
          if (milliseconds(whole) != *span) return false;
          *at = whole;
          return true;
        } else if constexpr (std::is_same_v<T, double>) {
          const auto* whole = std::get_if<std::int64_t>(&value);
          const auto* real = std::get_if<double>(&value);
          if (whole == nullptr && real == nullptr) return false;
          const double number = real != nullptr ? *real : static_cast<double>(*whole);
          if (!in_range(row, number)) return false;
          *at = number;
          return true;
        } else {
          const auto* number = std::get_if<std::int64_t>(&value);
          if (number == nullptr || !in_range(row, static_cast<double>(*number))) return false;
          if constexpr (std::is_same_v<T, Money>)
            *at = Money{*number};
          else
            *at = *number;
          return true;
        }
      },
      field);
}

/// What was wrong, in the order found; a file's findings are sorted by line before they are shown.
struct Finding {
  std::int64_t line = 0;
  std::string text;
};

class Loader {
 public:
  Loader(LoadedConfig& out, const std::map<std::string, std::string>& environment)
      : out_(out), environment_(environment) {}

  [[nodiscard]] std::string variable(const std::string& name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? std::string{} : found->second;
  }

  Result<void> read_file(const Path& file) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    if (!in || !(text << in.rdbuf()))
      return fail(
          ErrorCode::invalid_config, "cannot read the configuration file {}", file.string());
    toml::table table;
    try {
      table = toml::parse(text.view(), file.string());
    } catch (const toml::parse_error& error) {
      return fail(ErrorCode::invalid_config,
                  "{}:{}: {}",
                  file.string(),
                  error.source().begin.line,
                  error.description());
    }
    out_.file = file;
    walk(table, "");
    std::stable_sort(findings_.begin(), findings_.end(), [](const auto& a, const auto& b) {
      return a.line < b.line;
    });
    return {};
  }

  void read_environment() {
    List names;
    for (const auto& row : rows())
      if (row.path.find('*') == std::string_view::npos) names.push_back(variable_of(row.path));
    for (const auto& [name, text] : environment_) {
      if (!name.starts_with("GEONCE_") || name == "GEONCE_CONFIG") continue;
      if (const auto target = target_of_variable(name)) {
        set(*target->first,
            target->second,
            Taken{typed_for(*target->first, target->second, text), name, {}, 0});
        continue;
      }
      // Others may use the prefix (`secret_env` invites to); a slip of the pen is still worth
      // stopping for.
      if (std::any_of(names.begin(), names.end(), [&](const auto& known) {
            return edit_distance(name, known) <= 2;
          }))
        findings_.push_back(
            {0, fmt::format("{}: no such setting{}", name, did_you_mean(name, names))});
    }
  }

  void read_flags(const std::vector<std::pair<std::string, std::string>>& flags) {
    for (const auto& [path, text] : flags) {
      const auto [row, name] = target_of_path(path);
      if (row == nullptr) {
        findings_.push_back({0, fmt::format("flag: no such setting: {}{}", path, nearest(path))});
        continue;
      }
      set(*row, name, Taken{typed_for(*row, name, text), "flag", {}, 0});
    }
  }

  /// What no single value can show.
  void check_whole() {
    auto& config = out_.config;
    for (const auto& [name, provider] : config.providers) {
      if (!provider.secret_file.empty() && !provider.secret_env.empty())
        complain("providers." + name + ".secret_env",
                 "secret_file is set too; one of them is enough");
      if (provider.persist_days && provider.terms_reason.empty())
        complain("providers." + name + ".terms.persist_days",
                 "say in `terms.reason` which contract allows to keep answers that long");
    }
    if (config.life.no_match_first > config.life.no_match_most)
      complain("life.no_match_first", "must not be longer than life.no_match_most");
    if (config.chain.standard.empty()) complain("chain.default", "names no provider");
    for (const auto& [country, chain] : config.chain.countries)
      if (chain.empty())
        complain(fmt::format("chain.countries.{}", country.code()), "names no provider");
    for (const auto& [path, span] :
         {std::pair{"resolver.send_window", config.resolver.send_window},
          std::pair{"resolver.total_deadline", config.resolver.total_deadline}})
      if (span.count() == 0) complain(path, "must be longer than nothing");
    const auto store = config.store.string();
    if (const auto scheme = store.find("://"); scheme != std::string::npos)
      complain("store",
               fmt::format("{} stores are not available in this version; give the path of a file",
                           store.substr(0, scheme)));
  }

  [[nodiscard]] Result<void> verdict() const {
    if (findings_.empty()) return {};
    List lines;
    for (const auto& finding : findings_) lines.push_back(finding.text);
    return fail(ErrorCode::invalid_config, "{}", fmt::join(lines, "\n"));
  }

 private:
  struct Taken {
    Value value;
    std::string origin;
    Path folder;
    std::int64_t line;
  };
  using Target = std::pair<const Row*, std::string>;

  static Target target_of_path(std::string_view path) {
    for (const auto& row : rows())
      if (auto name = name_in(row, path)) return {&row, *name};
    return {nullptr, {}};
  }

  /// `GEONCE_PROVIDERS_GOOGLE_SECRET_FILE`: the name is what stands between the row's two halves.
  static std::optional<Target> target_of_variable(const std::string& variable) {
    for (const auto& row : rows()) {
      const auto star = row.path.find('*');
      if (star == std::string_view::npos) {
        if (variable == variable_of(row.path)) return Target{&row, {}};
        continue;
      }
      const auto head = variable_of(row.path.substr(0, star));
      const auto tail =
          variable_of(row.path.substr(star + 1)).substr(std::string_view("GEONCE_").size());
      if (variable.size() <= head.size() + tail.size() || !variable.starts_with(head) ||
          !variable.ends_with(tail))
        continue;
      auto name = variable.substr(head.size(), variable.size() - head.size() - tail.size());
      if (row.path.starts_with("providers."))
        std::transform(name.begin(), name.end(), name.begin(), [](char c) {
          return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        });
      return Target{&row, name};
    }
    return std::nullopt;
  }

  Value typed_for(const Row& row, const std::string& name, const std::string& text) {
    Config scratch;  // a look at the type must not make a provider
    return check_name(row, name) ? typed(text, row.at(scratch, name)) : Value{text};
  }

  /// Known settings beside `path`, for "did you mean".
  static std::string nearest(std::string_view path) {
    List names;
    for (const auto& row : rows()) {
      const auto star = row.path.find('*');
      if (star == std::string_view::npos) {
        names.emplace_back(row.path);
        continue;
      }
      // The name in the same place as in the row.
      const auto head = row.path.substr(0, star);
      if (!path.starts_with(head)) continue;
      const auto rest = path.substr(head.size());
      names.push_back(with_name(row, rest.substr(0, rest.find('.'))));
    }
    return did_you_mean(path, names);
  }

  void set(const Row& row, const std::string& name, const Taken& taken) {
    const auto path = with_name(row, name);
    if (auto good = check_name(row, name); !good) {
      findings_.push_back(
          {taken.line, fmt::format("{}: {}: {}", taken.origin, path, good.error().message)});
      return;
    }
    const auto field = row.at(out_.config, name);
    if (!assign(row, field, taken.value, Origin{taken.origin, taken.folder, variable("HOME")})) {
      findings_.push_back(
          {taken.line, fmt::format("{}: {} must be {}", taken.origin, path, allowed(row, field))});
      return;
    }
    out_.origins[path] = taken.origin;
  }

  void walk(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const auto path =
          prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
      const std::int64_t line = key.source().begin.line;
      const auto origin = fmt::format("{}:{}", out_.file.string(), line);
      const auto [row, name] = target_of_path(path);
      if (row == nullptr) {
        if (const auto* inner = node.as_table(); inner != nullptr && is_table(path))
          walk(*inner, path);
        else if (is_table(path))
          findings_.push_back({line, fmt::format("{}: {} must be a table", origin, path)});
        else
          findings_.push_back(
              {line, fmt::format("{}: unknown key {}{}", origin, path, nearest(path))});
        continue;
      }
      set(*row, name, Taken{value_of(node), origin, out_.file.parent_path(), line});
    }
  }

  /// Whether some row lies below this path.
  static bool is_table(std::string_view path) {
    const auto segments = [](std::string_view text) {
      std::vector<std::string_view> all;
      while (true) {
        const auto dot = text.find('.');
        all.push_back(text.substr(0, dot));
        if (dot == std::string_view::npos) return all;
        text.remove_prefix(dot + 1);
      }
    };
    const auto asked = segments(path);
    return std::any_of(rows().begin(), rows().end(), [&](const Row& row) {
      const auto known = segments(row.path);
      if (known.size() <= asked.size()) return false;
      for (std::size_t i = 0; i < asked.size(); ++i)
        if (known[i] != "*" && known[i] != asked[i]) return false;
      return true;
    });
  }

  /// What is no scalar and no list of texts becomes a value that no row takes.
  static Value value_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* flag = node.as_boolean()) return flag->get();
    if (const auto* number = node.as_integer()) return number->get();
    if (const auto* number = node.as_floating_point()) return number->get();
    constexpr double kNothing = -1;
    const auto* array = node.as_array();
    if (array == nullptr) return kNothing;
    List list;
    for (const auto& item : *array) {
      const auto* text = item.as_string();
      if (text == nullptr) return kNothing;
      list.push_back(text->get());
    }
    return list;
  }

  void complain(const std::string& path, const std::string& what) {
    const auto origin = out_.origins.find(path);
    findings_.push_back(
        {0,
         fmt::format(
             "{}: {}: {}", origin == out_.origins.end() ? "default" : origin->second, path, what)});
  }

  LoadedConfig& out_;
  const std::map<std::string, std::string>& environment_;
  std::vector<Finding> findings_;
};

/// The first file of the search order that is there; an error when the caller named one that is
/// not.
Result<std::optional<Path>> find_file(const ConfigSources& sources, const Loader& loader) {
  std::optional<Path> asked = sources.file;
  if (const auto variable = loader.variable("GEONCE_CONFIG"); !asked && !variable.empty())
    asked = variable;
  if (asked) {
    std::error_code error;
    if (!std::filesystem::exists(*asked, error))
      return fail(ErrorCode::not_found, "there is no configuration file {}", asked->string());
    if (std::filesystem::is_directory(*asked, error))
      return fail(
          ErrorCode::invalid_config, "the configuration file {} is a folder", asked->string());
    return asked;
  }
  std::vector<Path> places{"geonce.toml"};
  if (const auto xdg = loader.variable("XDG_CONFIG_HOME"); !xdg.empty())
    places.push_back(Path(xdg) / "geonce/geonce.toml");
  else if (const auto home = loader.variable("HOME"); !home.empty())
    places.push_back(Path(home) / ".config/geonce/geonce.toml");
  places.emplace_back("/etc/geonce/geonce.toml");
  for (const auto& place : places) {
    std::error_code error;
    if (std::filesystem::is_regular_file(place, error)) return place;
  }
  return std::nullopt;
}

// --- printing
// -----------------------------------------------------------------------------------------

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string toml_number(double number) {
  auto text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Hides `user:password@` and the values of a query string.
std::string masked(const std::string& address) {
  const auto scheme = address.find("://");
  if (scheme == std::string::npos) return address;
  std::string out = address;
  const auto host = scheme + 3;
  const auto path = std::min(out.find_first_of("/?", host), out.size());
  if (const auto at = out.substr(0, path).rfind('@'); at != std::string::npos && at >= host)
    out.replace(host, at - host, "***");
  const auto query = out.find('?');
  if (query == std::string::npos) return out;
  std::string hidden = out.substr(0, query + 1);
  bool in_value = false;
  for (const char c : out.substr(query + 1)) {
    if (c == '&') in_value = false;
    if (!in_value) hidden += c;
    if (c == '=' && !in_value) {
      in_value = true;
      hidden += "***";
    }
  }
  return hidden;
}

/// The value as TOML; nullopt: not set, and the struct has no default to show.
std::optional<std::string> shown(const Row& row, const Field& field) {
  return std::visit(
      [&](auto* at) -> std::optional<std::string> {
        using Held = std::remove_pointer_t<decltype(at)>;
        using T = typename Unwrap<Held>::type;
        const T* value = nullptr;
        if constexpr (Unwrap<Held>::kOptional)
          value = *at ? &**at : nullptr;
        else
          value = at;
        if (value == nullptr) return std::nullopt;
        if constexpr (Worded<T>) {
          for (const auto& [name, word] : words<T>())
            if (word == *value) return toml_text(name);
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return toml_text(row.is_address ? masked(*value) : *value);
        } else if constexpr (std::is_same_v<T, Path>) {
          return toml_text(row.is_address ? masked(value->string()) : value->string());
        } else if constexpr (std::is_same_v<T, bool>) {
          return *value ? "true" : "false";
        } else if constexpr (std::is_same_v<T, List>) {
          List quoted;
          for (const auto& item : *value) quoted.push_back(toml_text(item));
          return fmt::format("[{}]", fmt::join(quoted, ", "));
        } else if constexpr (std::is_same_v<T, Country>) {
          return toml_text(value->is_known() ? value->code() : "");
        } else if constexpr (kIsSpan<T>) {
          return toml_text(duration_text(*value));
        } else if constexpr (std::is_same_v<T, double>) {
          return toml_number(*value);
        } else if constexpr (std::is_same_v<T, Money>) {
          return fmt::format("{}", value->micro_usd);
        } else {
          return fmt::format("{}", *value);
        }
      },
      field);
}

}  // namespace

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos)
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

Result<std::pair<std::string, std::string>> parse_setting(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(
        ErrorCode::usage, "--set takes KEY=VALUE, as in life.rooftop=90d, not \"{}\"", text);
  return std::pair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<LoadedConfig> load_config(const ConfigSources& sources) {
  LoadedConfig loaded;
  Loader loader(loaded, sources.environment);
  auto file = find_file(sources, loader);
  if (!file) return fail(file.error());
  if (*file) {
    if (auto read = loader.read_file(**file); !read) return fail(read.error());
  }
  loader.read_environment();
  loader.read_flags(sources.flags);
  if (loaded.config.store.empty()) {
    if (const auto xdg = loader.variable("XDG_DATA_HOME"); !xdg.empty())
      loaded.config.store = Path(xdg) / "geonce/geonce.db";
    else if (const auto home = loader.variable("HOME"); !home.empty())
      loaded.config.store = Path(home) / ".local/share/geonce/geonce.db";
    else
      return fail(ErrorCode::invalid_config,
                  "neither HOME nor XDG_DATA_HOME is set: say where the store is (--store PATH)");
  }
  loader.check_whole();
  if (auto good = loader.verdict(); !good) return fail(good.error());
  return loaded;
}

std::string print_config(const LoadedConfig& loaded) {
  std::string out = loaded.file.empty()
                        ? "# no configuration file\n"
                        : fmt::format("# configuration file {}\n", loaded.file.string());
  Config config = loaded.config;  // rows hand out places to write to
  std::string table;
  const auto print = [&](const Row& row, const std::string& name, bool only_if_set) {
    const auto path = with_name(row, name);
    const auto origin = loaded.origins.find(path);
    if (only_if_set && origin == loaded.origins.end()) return;
    const auto value = shown(row, row.at(config, name));
    if (!value) return;
    const auto dot = path.rfind('.');
    if (const auto here = dot == std::string::npos ? std::string{} : path.substr(0, dot);
        here != table) {
      table = here;
      out += fmt::format("\n[{}]\n", table);
    }
    out += fmt::format("{} = {}  # {}\n",
                       dot == std::string::npos ? path : path.substr(dot + 1),
                       *value,
                       origin == loaded.origins.end() ? "default" : origin->second);
  };
  const auto below = [](const Row& row, std::string_view prefix) {
    return row.path.starts_with(prefix);
  };
  bool providers_done = false;
  for (const auto& row : rows()) {
    if (below(row, "chain.countries.")) {
      for (const auto& [country, chain] : loaded.config.chain.countries)
        print(row, std::string(country.code()), true);
    } else if (below(row, "providers.")) {
      if (std::exchange(providers_done, true)) continue;
      for (const auto& [name, provider] : loaded.config.providers)
        for (const auto& inner : rows())
          if (below(inner, "providers.")) print(inner, name, true);
    } else {
      print(row, "", false);
    }
  }
  return out;
}

std::string config_reference() {
  std::string out = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  Config config;
  for (const auto& row : rows()) {
    const std::string name = row.path.starts_with("chain.") ? "US" : "name";
    const auto field = row.at(config, name);
    auto path = with_name(row, row.path.starts_with("chain.") ? "<CC>" : "<name>");
    std::string standard(row.standard);
    if (standard.empty()) {
      const auto value = shown(row, field);
      standard =
          !value || *value == "\"\"" || *value == "[]" ? "none" : fmt::format("`{}`", *value);
    }
    out += fmt::format("| `{}` | {} | {} | {} |\n", path, allowed(row, field), standard, row.doc);
  }
  return out;
}

}  // namespace geonce
