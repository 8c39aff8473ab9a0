#include "app/config.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "app/config_rows.h"
#include "core/key.h"
#include "core/near_names.h"
#include "io/postgres.h"
#include "io/redis_url.h"

namespace geonce {
namespace {

using Row = ConfigRow;
using Value = ConfigValue;
using Origin = ConfigOrigin;
using List = std::vector<std::string>;
using Path = std::filesystem::path;

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
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
      return fail(
          ErrorCode::invalid_config, "cannot read the configuration file {}", file.string());
    toml::table table;
    try {
      table = toml::parse(text, file.string());
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
    for (const auto& row : config_rows())
      if (row.path.find('*') == std::string_view::npos) names.push_back(variable_of(row.path));
    for (const auto& [name, text] : environment_) {
      if (!name.starts_with("GEONCE_") || name == "GEONCE_CONFIG" || name == "GEONCE_FAILPOINTS")
        continue;
      if (const auto target = target_of_variable(name)) {
        set(*target->first,
            target->second,
            Taken{typed_for(*target->first, target->second, text), name, {}, 0});
        continue;
      }
      // Others may use the prefix (`secret_env` invites to); a slip of the pen is still worth
      // stopping for.
      const auto is_near = [&variable = name](const auto& known) {
        return edit_distance(variable, known) <= 2;
      };
      if (std::any_of(names.begin(), names.end(), is_near))
        findings_.push_back(
            {0, fmt::format("{}: no such setting{}", name, did_you_mean(name, names))});
    }
  }

  void read_flags(const std::vector<std::pair<std::string, std::string>>& flags) {
    for (const auto& [path, text] : flags) {
      const auto [row, name] = target_of_path(path);
      if (row == nullptr) {
        findings_.push_back({0, fmt::format("--set {}: no such setting{}", path, nearest(path))});
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
    check_redis(config.redis);
    if (config.memory.max_age_cut_off <= config.memory.look_every)
      complain("memory.max_age_cut_off",
               "has to be longer than memory.look_every: memory would give out nothing");
    if (config.normalize.backend == "libpostal" && config.normalize.data.empty())
      complain("normalize.backend",
               "say in `normalize.data` where libpostal's data is, the folder that holds "
               "address_parser");
    if (config.life.no_match_first > config.life.no_match_most)
      complain("life.no_match_first", "must not be longer than life.no_match_most");
    if (config.chain.standard.empty()) complain("chain.default", "names no provider");
    for (const auto& [country, chain] : config.chain.countries)
      if (chain.empty())
        complain(fmt::format("chain.countries.{}", country.code()), "names no provider");
    for (const auto& [path, span] :
         {std::pair{"resolver.send_window", config.resolver.send_window},
          std::pair{"resolver.total_deadline", config.resolver.total_deadline},
          std::pair{"normalize.timeout", config.normalize.timeout},
          std::pair{"normalize.start_timeout", config.normalize.start_timeout}})
      if (span.count() == 0) complain(path, "must be longer than nothing");
    check_store(config);
  }

  /// Where the local journal goes unless it is said: it belongs to a machine and to a store.
  void place_spool(Config& config) {
    if (!config.spool.folder.empty()) return;
    if (!config.has_postgres_store()) {
      config.spool.folder = config.store.string() + ".spool";
      return;
    }
    const auto digest = sha256(pg_uri_masked(config.store.string()));
    const auto name = "spool-" + to_hex({reinterpret_cast<const char*>(digest.bytes.data()), 4});
    if (const auto xdg = variable("XDG_STATE_HOME"); !xdg.empty())
      config.spool.folder = Path(xdg) / "geonce" / name;
    else if (const auto home = variable("HOME"); !home.empty())
      config.spool.folder = Path(home) / ".local/state/geonce" / name;
    else
      complain("spool.folder", "neither HOME nor XDG_STATE_HOME is set: say where it is");
  }

  [[nodiscard]] Result<void> verdict() const {
    if (findings_.empty()) return {};
    List lines;
    for (const auto& finding : findings_) lines.push_back(finding.text);
    return fail(ErrorCode::invalid_config, "{}", fmt::join(lines, "\n"));
  }

 private:
  void check_redis(const RedisConfig& redis) {
    if (!redis.url.empty()) {
      const auto target = parse_redis_url(redis.url);
      if (!target) complain("redis.url", target.error().message);
      if (target && target->kind != RedisTarget::Kind::sentinel) check_sentinels(redis);
    }
    if (!redis.sentinel_password_file.empty() && !redis.sentinel_password_env.empty())
      complain("redis.sentinel_password_env",
               "sentinel_password_file is set too; one of them is enough");
    if (!redis.sentinel_user.empty() && redis.sentinel_password_file.empty() &&
        redis.sentinel_password_env.empty())
      complain("redis.sentinel_user", "a user needs redis.sentinel_password_file or …_env");
    if (!redis.password_file.empty() && !redis.password_env.empty())
      complain("redis.password_env", "password_file is set too; one of them is enough");
    if (redis.cert_file.empty() != redis.key_file.empty())
      complain(redis.cert_file.empty() ? "redis.key_file" : "redis.cert_file",
               "cert_file and key_file go together");
    const auto good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == ':' || c == '.' || c == '_' || c == '-';
    };
    if (!std::all_of(redis.prefix.begin(), redis.prefix.end(), good))
      complain("redis.prefix", "may have letters, digits and : . _ - only");
  }

  /// Of an address without sentinels.
  void check_sentinels(const RedisConfig& redis) {
    if (!redis.sentinel_user.empty() || !redis.sentinel_password_file.empty() ||
        !redis.sentinel_password_env.empty())
      complain("redis.url", "names no sentinels, and redis.sentinel_… is for them alone");
  }

  struct Taken {
    Value value;
    std::string origin;
    Path folder;
    std::int64_t line;
  };
  using Target = std::pair<const Row*, std::string>;

  static Target target_of_path(std::string_view path) {
    for (const auto& row : config_rows())
      if (auto name = name_in(row, path)) return {&row, *name};
    return {nullptr, {}};
  }

  /// `GEONCE_PROVIDERS_GOOGLE_SECRET_FILE`: the name is what stands between the row's two halves.
  /// Of two that fit (`…_BULK_TIMEOUT`) the one that leaves the shorter name is meant.
  static std::optional<Target> target_of_variable(const std::string& variable) {
    std::optional<Target> found;
    for (const auto& row : config_rows()) {
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
      if (!found || name.size() < found->second.size()) found = Target{&row, name};
    }
    return found;
  }

  static Value typed_for(const Row& row, const std::string& name, const std::string& text) {
    Config scratch;  // a look at the type must not make a provider
    return check_name(row, name) ? typed(text, row.at(scratch, name)) : Value{text};
  }

  void check_store(const Config& config) {
    const auto store = config.store.string();
    const auto scheme = store.substr(0, std::min(store.find("://"), store.size()));
    if (scheme.size() == store.size()) return;
    if (!config.has_postgres_store())
      return complain("store",
                      fmt::format("{} stores are not known; give the path of a file, or "
                                  "postgres://user@host/database",
                                  scheme));
    if (const auto what = pg_uri_complaint(store); !what.empty()) return complain("store", what);
    const auto origin = out_.origins.find("store");
    if (origin != out_.origins.end() && origin->second == "flag" && pg_uri_has_password(store))
      complain("store",
               "a password on the command line can be read by everybody on this machine; put it "
               "into postgres.password_file or PGPASSFILE");
  }

  /// Known settings beside `path`, for "did you mean".
  static std::string nearest(std::string_view path) {
    List names;
    for (const auto& row : config_rows()) {
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
    return std::any_of(config_rows().begin(), config_rows().end(), [&](const Row& row) {
      const auto known = segments(row.path);
      if (known.size() <= asked.size()) return false;
      for (std::size_t i = 0; i < asked.size(); ++i)
        if (known[i] != "*" && known[i] != asked[i]) return false;
      return true;
    });
  }

  /// What is no scalar and no list of texts becomes a value that no row takes.
  static Value value_of(const toml::node& node) {
    Value nothing = -1.0;
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* flag = node.as_boolean()) return flag->get();
    if (const auto* number = node.as_integer()) return number->get();
    if (const auto* number = node.as_floating_point()) return number->get();

    const auto* array = node.as_array();
    if (array == nullptr) return nothing;
    List list;
    for (const auto& item : *array) {
      const auto* text = item.as_string();
      if (text == nullptr) return nothing;
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

}  // namespace

std::optional<Terms> ProviderConfig::terms() const {
  if (!persist_days) return std::nullopt;
  Terms terms;
  terms.reason = terms_reason;
  if (!persist_days->days) {
    terms.keep = Terms::Keep::unlimited;
  } else if (*persist_days->days > 0) {
    terms.keep = Terms::Keep::limited;
    terms.keep_for = std::chrono::hours(24 * *persist_days->days);
  }
  return terms;
}

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
  loader.place_spool(loaded.config);
  if (auto good = loader.verdict(); !good) return fail(good.error());
  return loaded;
}

bool Config::has_postgres_store() const {
  const auto& address = store.string();
  return address.starts_with("postgres://") || address.starts_with("postgresql://");
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
  for (const auto& row : config_rows()) {
    if (below(row, "chain.countries.")) {
      for (const auto& [country, chain] : loaded.config.chain.countries)
        print(row, std::string(country.code()), true);
    } else if (below(row, "providers.")) {
      if (std::exchange(providers_done, true)) continue;
      for (const auto& [name, provider] : loaded.config.providers)
        for (const auto& inner : config_rows())
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
  for (const auto& row : config_rows()) {
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
