#include "app/config_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/duration.h"

namespace geonce {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using Row = ConfigRow;
using Field = ConfigField;
using Value = ConfigValue;
using Origin = ConfigOrigin;
using List = std::vector<std::string>;
using Path = std::filesystem::path;

ProviderConfig& provider(Config& config, const std::string& name) { return config.providers[name]; }

#define GEONCE_AT(member) [](Config& c, const std::string&) -> Field { return &c.member; }
#define GEONCE_PROVIDER(member) \
  [](Config& c, const std::string& name) -> Field { return &provider(c, name).member; }

}  // namespace

const std::vector<ConfigRow>& config_rows() {
  static const std::vector<Row> kRows{
      {.path = "store",
       .at = GEONCE_AT(store),
       .doc =
           "File of the embedded store, or the address of a Postgres database that many machines "
           "may share, such as `postgres://geonce@db1,db2/geonce?sslmode=verify-full`. A file and "
           "its folder are made when absent.",
       .standard = "`$XDG_DATA_HOME/geonce/geonce.db`",
       .is_address = true},
      {.path = "specs",
       .at = GEONCE_AT(specs),
       .doc =
           "Folder of provider files of your own; one with a built-in name replaces the built-in."},

      {.path = "key.secret_file",
       .at = GEONCE_AT(key.secret_file),
       .doc = "File of the secrets that keys are made with, the newest first: `ID SECRET` a line. "
              "Without it anybody can make the key of an address."},

      {.path = "postgres.password_file",
       .at = GEONCE_AT(postgres.password_file),
       .doc = "File whose first line is the password for a Postgres store. Without it libpq looks "
              "where it always does: `PGPASSWORD`, `PGPASSFILE`, `~/.pgpass`."},
      {.path = "postgres.connections",
       .at = GEONCE_AT(postgres.connections),
       .doc = "Connections of this process to a Postgres store. What meets shares them.",
       .least = 1,
       .most = 64},

      {.path = "normalize.backend",
       .at = GEONCE_AT(normalize.backend),
       .doc = "What reads addresses that the built-in rules leave in one piece: nothing, or "
              "libpostal, whose keys are other keys.",
       .words = {"builtin", "libpostal"}},
      {.path = "normalize.library",
       .at = GEONCE_AT(normalize.library),
       .doc = "libpostal: a name that the loader of libraries knows, or an absolute path."},
      {.path = "normalize.data",
       .at = GEONCE_AT(normalize.data),
       .doc = "libpostal: the folder that holds `address_expansions`, `address_parser`, `numex` "
              "and `transliteration`. Required with it."},
      {.path = "normalize.timeout",
       .at = GEONCE_AT(normalize.timeout),
       .doc = "libpostal: of one address. Beyond it the address is in error."},
      {.path = "normalize.start_timeout",
       .at = GEONCE_AT(normalize.start_timeout),
       .doc = "libpostal: of reading its model, at the first address that needs it."},

      {.path = "memory.max_mib",
       .at = GEONCE_AT(memory.max_mib),
       .doc = "Size of the cache in this process, all overhead counted.",
       .least = 1,
       .most = 1'048'576},
      {.path = "memory.look_every",
       .at = GEONCE_AT(memory.look_every),
       .doc = "How often a process looks into the store for what others have dropped or corrected: "
              "for so long it may still give out the old answer.",
       .least = 10,
       .most = 60'000},
      {.path = "memory.max_age",
       .at = GEONCE_AT(memory.max_age),
       .doc = "After so long in this process an answer is read again, however long it is fresh.",
       .least = 1,
       .most = 86'400'000},
      {.path = "memory.max_age_cut_off",
       .at = GEONCE_AT(memory.max_age_cut_off),
       .doc = "While the store cannot be asked what has been dropped or corrected, this process "
              "gives out nothing from its memory as fresh after so long.",
       .least = 1,
       .most = 86'400'000},
      {.path = "memory.stale_cut_off",
       .at = GEONCE_AT(memory.stale_cut_off),
       .doc = "… and what it has in memory within its life as stale, after so long. `0s`: nothing.",
       .least = 0,
       .most = 86'400'000},

      {.path = "redis.url",
       .at = GEONCE_AT(redis.url),
       .doc = "A cache that all processes share: `redis://USER:PASSWORD@HOST:PORT/DB`, "
              "`rediss://…` (TLS), "
              "`unix:///PATH`, `redis+sentinel://HOST,HOST/NAME`, `redis+cluster://HOST,HOST`.",
       .is_address = true},
      {.path = "redis.password_file",
       .at = GEONCE_AT(redis.password_file),
       .doc = "File whose first line is the password, instead of one in the address."},
      {.path = "redis.password_env",
       .at = GEONCE_AT(redis.password_env),
       .doc = "Environment variable that holds the password, instead of a file."},
      {.path = "redis.sentinel_user",
       .at = GEONCE_AT(redis.sentinel_user),
       .doc = "Who asks the sentinels, where they have users of their own."},
      {.path = "redis.sentinel_password_file",
       .at = GEONCE_AT(redis.sentinel_password_file),
       .doc = "File whose first line is the password that the sentinels want. The one in the "
              "address is for the servers that they watch."},
      {.path = "redis.sentinel_password_env",
       .at = GEONCE_AT(redis.sentinel_password_env),
       .doc = "Environment variable that holds it, instead of a file."},
      {.path = "redis.ca_file",
       .at = GEONCE_AT(redis.ca_file),
       .doc = "Certificates (PEM) that a TLS server's must come from.",
       .standard = "those the system trusts"},
      {.path = "redis.cert_file",
       .at = GEONCE_AT(redis.cert_file),
       .doc = "Certificate (PEM) of this client, where the server wants one."},
      {.path = "redis.key_file",
       .at = GEONCE_AT(redis.key_file),
       .doc = "The private key (PEM) that belongs to it."},
      {.path = "redis.prefix",
       .at = GEONCE_AT(redis.prefix),
       .doc =
           "What the names of all keys begin with. One per store: two stores must not share one."},
      {.path = "redis.timeout",
       .at = GEONCE_AT(redis.timeout),
       .doc = "A server that gives no reply for so long is passed by; after three times it is left "
              "alone for two "
              "seconds.",
       .least = 1,
       .most = 60'000},
      {.path = "redis.max_stay",
       .at = GEONCE_AT(redis.max_stay),
       .doc = "After so long in Redis an answer is read from the store again, however long it is "
              "fresh.",
       .least = 1,
       .most = 525'600},

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
       .doc = "Of one call by the single endpoint, name look-up to last byte.",
       .standard = "`resolver.total_deadline`"},
      {.path = "providers.*.bulk_timeout",
       .at = GEONCE_PROVIDER(bulk_timeout),
       .doc = "The same by the bulk endpoint, where a provider may take minutes.",
       .standard = "the spec's"},
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
       .doc = "A key that a provider refused for a passing reason is left alone this long; one "
              "that can never succeed as it was sent, thirty times as long."},
      {.path = "resolver.soft_limit",
       .at = GEONCE_AT(resolver.soft_limit),
       .doc = "Who has a stale answer at hand waits this long for a fresh one, which is stored "
              "whenever it comes. Not for batches.",
       .standard = "none: as long as there is time"},
      {.path = "resolver.bulk_size",
       .at = GEONCE_AT(resolver.bulk_size),
       .doc = "Addresses in one bulk call, at most what the provider takes.",
       .least = 1,
       .most = 10'000},

      {.path = "spool.folder",
       .at = GEONCE_AT(spool.folder),
       .doc = "Folder of the local journal, on a disk of this machine. One store, one folder.",
       .standard = "beside the store's file; with Postgres a folder for the database under "
                   "`$XDG_STATE_HOME/geonce`"},
      {.path = "spool.sync",
       .at = GEONCE_AT(spool.sync),
       .doc =
           "When the local journal is forced to the disk: each record, each group, or left to the "
           "system. All three survive the process. Of what a dying machine takes along, only the "
           "last answers are in doubt with `batch`, and nothing is with `always`."},

      {.path = "sweep.every",
       .at = GEONCE_AT(sweep.every),
       .doc = "A process that runs long erases what has outlived its terms, one process of a store "
              "every so often; 0m: none does, and `geonce sweep` has to be run."},

      {.path = "serve.listen",
       .at = GEONCE_AT(serve.listen),
       .doc = "Where `geonce serve` takes connections: `HOST:PORT`, `[::1]:PORT`, `*:PORT` or "
              "`unix:PATH`."},
      {.path = "serve.open",
       .at = GEONCE_AT(serve.open),
       .doc = "Listen also where others than this machine can come, though whoever comes may ask "
              "and spend."},
      {.path = "serve.loops",
       .at = GEONCE_AT(serve.loops),
       .doc = "Threads that speak HTTP, each with connections of its own; 0: one for each core.",
       .most = 256},
      {.path = "serve.deadline",
       .at = GEONCE_AT(serve.deadline),
       .doc = "Of one query, at most. A purchase that takes longer goes on and is stored."},
      {.path = "serve.drain",
       .at = GEONCE_AT(serve.drain),
       .doc = "After SIGTERM requests under way have so long to be answered."},
      {.path = "serve.max_connections",
       .at = GEONCE_AT(serve.max_connections),
       .doc = "Connections at once; one more is answered with 503.",
       .least = 1,
       .most = 1'000'000},
      {.path = "serve.max_body_mib",
       .at = GEONCE_AT(serve.max_body_mib),
       .doc = "Size of a request's body, at most.",
       .least = 1,
       .most = 1'024},
      {.path = "serve.max_queries",
       .at = GEONCE_AT(serve.max_queries),
       .doc = "Queries in one request, at most.",
       .least = 1,
       .most = 1'000'000},

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

namespace {

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string toml_list(const List& items) {
  List quoted;
  for (const auto& item : items) quoted.push_back(toml_text(item));
  return fmt::format("{}", fmt::join(quoted, ", "));
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

template <class T>
std::optional<T> number_from(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool in_range(const Row& row, double number) {
  if (!std::isfinite(number)) return false;
  return row.least < row.most ? number >= row.least && number <= row.most : number >= 0;
}

std::string range_of(const Row& row, std::string_view kind) {
  return row.least < row.most ? fmt::format("{} from {} to {}", kind, row.least, row.most)
                              : fmt::format("{}, not negative", kind);
}

/// What each type of field can do:
///   allowed  what a value may be, in words
///   typed    plain text of a variable or a flag as a value of the type; text that does not fit
///   stays
///            text and is refused by `take`
///   take     the value, or nothing when the row does not allow it
///   show     the value as TOML
template <class T>
struct Type;

template <>
struct Type<std::string> {
  static std::string allowed(const Row& row) {
    return row.words.empty() ? "a text" : "one of " + toml_list(row.words);
  }
  static Value typed(const std::string& text) { return text; }
  static std::optional<std::string> take(const Row& row,
                                         const Value& value,
                                         const Origin& /*origin*/) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return std::nullopt;
    if (!row.words.empty() &&
        std::find(row.words.begin(), row.words.end(), *text) == row.words.end())
      return std::nullopt;
    return *text;
  }
  static std::string show(const Row& row, const std::string& value) {
    return toml_text(row.is_address ? masked(value) : value);
  }
};

template <>
struct Type<Path> {
  static std::string allowed(const Row& /*row*/) { return "a path"; }
  static Value typed(const std::string& text) { return text; }
  static std::optional<Path> take(const Row& /*row*/, const Value& value, const Origin& origin) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return std::nullopt;
    if (text->empty() || text->find("://") != std::string::npos) return *text;
    if (text->starts_with("~/") && !origin.home.empty()) return Path(origin.home) / text->substr(2);
    return origin.folder / *text;  // an absolute path replaces the folder
  }
  static std::string show(const Row& row, const Path& value) {
    return Type<std::string>::show(row, value.string());
  }
};

template <>
struct Type<bool> {
  static std::string allowed(const Row& /*row*/) { return "true or false"; }
  static Value typed(const std::string& text) {
    if (text == "true" || text == "false") return text == "true";
    return text;
  }
  static std::optional<bool> take(const Row& /*row*/,
                                  const Value& value,
                                  const Origin& /*origin*/) {
    const auto* flag = std::get_if<bool>(&value);
    return flag == nullptr ? std::nullopt : std::optional(*flag);
  }
  static std::string show(const Row& /*row*/, bool value) { return value ? "true" : "false"; }
};

template <>
struct Type<std::int64_t> {
  static std::string allowed(const Row& row) { return range_of(row, "a whole number"); }
  static Value typed(const std::string& text) {
    if (const auto number = number_from<std::int64_t>(text)) return *number;
    return text;
  }
  static std::optional<std::int64_t> take(const Row& row,
                                          const Value& value,
                                          const Origin& /*origin*/) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || !in_range(row, static_cast<double>(*number))) return std::nullopt;
    return *number;
  }
  static std::string show(const Row& /*row*/, std::int64_t value) {
    return fmt::format("{}", value);
  }
};

template <>
struct Type<Money> : Type<std::int64_t> {
  static std::optional<Money> take(const Row& row, const Value& value, const Origin& origin) {
    const auto number = Type<std::int64_t>::take(row, value, origin);
    return number ? std::optional(Money{*number}) : std::nullopt;
  }
  static std::string show(const Row& row, Money value) {
    return Type<std::int64_t>::show(row, value.micro_usd);
  }
};

template <>
struct Type<PersistDays> {
  static std::string allowed(const Row& row) {
    return Type<std::int64_t>::allowed(row) + ", or \"unlimited\"";
  }
  static Value typed(const std::string& text) { return Type<std::int64_t>::typed(text); }
  static std::optional<PersistDays> take(const Row& row, const Value& value, const Origin& origin) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && *text == "unlimited") return PersistDays{};
    const auto number = Type<std::int64_t>::take(row, value, origin);
    return number ? std::optional(PersistDays{number}) : std::nullopt;
  }
  static std::string show(const Row& /*row*/, PersistDays value) {
    return value.days ? fmt::format("{}", *value.days) : "\"unlimited\"";
  }
};

template <>
struct Type<double> {
  static std::string allowed(const Row& row) { return range_of(row, "a number"); }
  static Value typed(const std::string& text) {
    if (const auto number = number_from<double>(text)) return *number;
    return text;
  }
  static std::optional<double> take(const Row& row, const Value& value, const Origin& /*origin*/) {
    std::optional<double> number;
    if (const auto* real = std::get_if<double>(&value)) number = *real;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
    return number && in_range(row, *number) ? number : std::nullopt;
  }
  static std::string show(const Row& /*row*/, double value) {
    auto text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
};

template <>
struct Type<List> {
  static std::string allowed(const Row& /*row*/) { return "a list of provider names"; }
  static Value typed(const std::string& text) {
    List list;
    std::stringstream in(text);
    for (std::string item; std::getline(in, item, ',');) {
      const auto first = item.find_first_not_of(' ');
      if (first != std::string::npos)
        list.push_back(item.substr(first, item.find_last_not_of(' ') - first + 1));
    }
    return list;
  }
  static std::optional<List> take(const Row& /*row*/,
                                  const Value& value,
                                  const Origin& /*origin*/) {
    const auto* list = std::get_if<List>(&value);
    return list == nullptr ? std::nullopt : std::optional(*list);
  }
  static std::string show(const Row& /*row*/, const List& value) {
    return fmt::format("[{}]", toml_list(value));
  }
};

template <>
struct Type<Country> {
  static std::string allowed(const Row& /*row*/) { return "a country code such as \"US\""; }
  static Value typed(const std::string& text) { return text; }
  static std::optional<Country> take(const Row& /*row*/,
                                     const Value& value,
                                     const Origin& /*origin*/) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return std::nullopt;
    const auto country = parse_country(*text);
    return country ? std::optional(*country) : std::nullopt;
  }
  static std::string show(const Row& /*row*/, Country value) {
    return toml_text(value.is_known() ? value.code() : "");
  }
};

/// Durations, in whole units of the field.
template <class Rep, class Period>
struct Type<std::chrono::duration<Rep, Period>> {
  using Span = std::chrono::duration<Rep, Period>;
  static std::string allowed(const Row& /*row*/) {
    if (std::is_same_v<Span, hours>) return "a duration in whole hours such as \"180d\"";
    if (std::is_same_v<Span, minutes>) return "a duration in whole minutes such as \"4h\"";
    return "a duration such as \"8s\"";
  }
  static Value typed(const std::string& text) { return text; }
  static std::optional<Span> take(const Row& /*row*/,
                                  const Value& value,
                                  const Origin& /*origin*/) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return std::nullopt;
    const auto span = parse_duration(*text);
    if (!span) return std::nullopt;
    const auto whole = std::chrono::duration_cast<Span>(*span);
    return milliseconds(whole) == *span ? std::optional(whole) : std::nullopt;
  }
  static std::string show(const Row& /*row*/, Span value) {
    return toml_text(duration_text(value));
  }
};

/// One word of a closed list.
template <class T>
struct Word {
  static const std::vector<std::pair<std::string, T>>& words();
  static List names() {
    List names;
    for (const auto& [name, value] : words()) names.push_back(name);
    return names;
  }
  static std::string allowed(const Row& /*row*/) { return "one of " + toml_list(names()); }
  static Value typed(const std::string& text) { return text; }
  static std::optional<T> take(const Row& /*row*/, const Value& value, const Origin& /*origin*/) {
    const auto* text = std::get_if<std::string>(&value);
    for (const auto& [name, word] : words())
      if (text != nullptr && *text == name) return word;
    return std::nullopt;
  }
  static std::string show(const Row& /*row*/, T value) {
    for (const auto& [name, word] : words())
      if (word == value) return toml_text(name);
    return "\"\"";
  }
};

template <>
struct Type<Precision> : Word<Precision> {};
template <>
const std::vector<std::pair<std::string, Precision>>& Word<Precision>::words() {
  static const auto kWords = [] {
    std::vector<std::pair<std::string, Precision>> all;
    for (int i = 0; i <= static_cast<int>(Precision::unknown); ++i) {
      const auto precision = static_cast<Precision>(i);
      all.emplace_back(to_string(precision), precision);
    }
    return all;
  }();
  return kWords;
}

template <>
struct Type<SpoolSync> : Word<SpoolSync> {};
template <>
const std::vector<std::pair<std::string, SpoolSync>>& Word<SpoolSync>::words() {
  static const std::vector<std::pair<std::string, SpoolSync>> kWords{
      {"always", SpoolSync::always}, {"batch", SpoolSync::batch}, {"none", SpoolSync::none}};
  return kWords;
}

template <>
struct Type<Takeover> : Word<Takeover> {};
template <>
const std::vector<std::pair<std::string, Takeover>>& Word<Takeover>::words() {
  static const std::vector<std::pair<std::string, Takeover>> kWords{{"counted", Takeover::counted},
                                                                    {"never", Takeover::never}};
  return kWords;
}

/// An optional field is written like the value it may hold.
template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using type = T;
};
template <class T>
using TypeOf = Type<typename Plain<T>::type>;

}  // namespace

std::string allowed(const ConfigRow& row, const ConfigField& field) {
  return std::visit([&]<class T>(T*) { return TypeOf<T>::allowed(row); }, field);
}

ConfigValue typed(const std::string& text, const ConfigField& field) {
  return std::visit([&]<class T>(T*) { return TypeOf<T>::typed(text); }, field);
}

/// false: the row does not allow the value; the field is as it was.
bool assign(const ConfigRow& row,
            const ConfigField& field,
            const ConfigValue& value,
            const ConfigOrigin& origin) {
  return std::visit(
      [&]<class T>(T* at) {
        const auto taken = TypeOf<T>::take(row, value, origin);
        if (taken) *at = *taken;
        return taken.has_value();
      },
      field);
}

/// The value as TOML; nullopt: not set, and the struct has no default to show.
std::optional<std::string> shown(const ConfigRow& row, const ConfigField& field) {
  return std::visit(
      [&]<class T>(T* at) -> std::optional<std::string> {
        if constexpr (std::is_same_v<T, typename Plain<T>::type>)
          return TypeOf<T>::show(row, *at);
        else
          return *at ? std::optional(TypeOf<T>::show(row, **at)) : std::nullopt;
      },
      field);
}

}  // namespace geonce
