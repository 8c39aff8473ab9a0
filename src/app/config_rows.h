#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/config.h"

namespace geonce {

/// A place in a Config that a row writes to and reads from.
using ConfigField = std::variant<std::string*,
                                 std::filesystem::path*,
                                 bool*,
                                 std::int64_t*,
                                 double*,
                                 std::chrono::hours*,
                                 std::chrono::minutes*,
                                 std::chrono::milliseconds*,
                                 std::vector<std::string>*,
                                 Country*,
                                 Precision*,
                                 SpoolSync*,
                                 Takeover*,
                                 std::optional<bool>*,
                                 std::optional<std::int64_t>*,
                                 std::optional<double>*,
                                 std::optional<Money>*,
                                 std::optional<PersistDays>*,
                                 std::optional<std::chrono::milliseconds>*>;

/// One value that can be set. `*` in the path stands for a name: of a provider or of a country.
struct ConfigRow {
  std::string_view path;
  ConfigField (*at)(Config& config, const std::string& name);
  std::string_view doc;
  double least = 0, most = 0;        // of numbers; equal: unbounded above, not negative
  std::vector<std::string> words{};  // of texts: the allowed ones; empty: any
  std::string_view standard{};  // the default as the docs show it, where the struct cannot say it
  bool is_address = false;      // may carry a password: masked when printed
};

/// All values that can be set, in the order of the reference. One row each; everything else
/// follows.
const std::vector<ConfigRow>& config_rows();

/// A value as its source spelt it.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

struct ConfigOrigin {
  std::string text;              // `geonce.toml:7`, `GEONCE_STORE`, `flag`
  std::filesystem::path folder;  // where relative paths start; empty: the working folder
  std::string home;
};

/// What a value of this row may be, in words: "a whole number from 1 to 1024".
std::string allowed(const ConfigRow& row, const ConfigField& field);

/// Plain text of a variable or a flag as a value of the field's type; text that does not fit stays
/// text and is refused by `assign`.
ConfigValue typed(const std::string& text, const ConfigField& field);

/// false: the row does not allow the value; the field is as it was.
bool assign(const ConfigRow& row,
            const ConfigField& field,
            const ConfigValue& value,
            const ConfigOrigin& origin);

/// The field as TOML, passwords masked; nullopt: not set, and the struct has no default to show.
std::optional<std::string> shown(const ConfigRow& row, const ConfigField& field);

}  // namespace geonce
