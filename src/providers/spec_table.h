#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/country.h"
#include "core/error.h"
#include "providers/pointer.h"
#include "providers/template.h"

namespace geonce {

/// The words that may stand in one place, and what they mean.
template <class T>
using NameTable = std::vector<std::pair<std::string_view, T>>;

/// The spec file being read and the first thing found wrong in it. Reading goes on after an error
/// with harmless values, so that its code can be a plain list of keys.
class SpecFile {
 public:
  explicit SpecFile(std::string_view origin) : origin_(origin) {}

  template <class... Args>
  void wrong(const toml::source_region& at, fmt::format_string<Args...> format, Args&&... args) {
    if (error_) return;
    error_ = Error{
        ErrorCode::invalid_config,
        fmt::format(
            "{}:{}: {}", origin_, at.begin.line, fmt::format(format, std::forward<Args>(args)...)),
        {},
        {},
        {}};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::string origin_;
  std::optional<Error> error_;
};

/// One table of the file. Each key is asked for once; `end` complains of those that nobody asked
/// for. What has another type than the one asked for is wrong, and reads as if it were not there.
class SpecTable {
 public:
  SpecTable(SpecFile& file, const toml::table& table, std::string where)
      : file_(file), table_(table), where_(std::move(where)) {}

  SpecFile& file() { return file_; }
  [[nodiscard]] const toml::source_region& at() const { return table_.source(); }
  [[nodiscard]] const std::string& where() const { return where_; }
  /// The key with the names of the tables it stands in, for messages.
  [[nodiscard]] std::string path(std::string_view key) const;

  const toml::node* find(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::string required_text(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::optional<double> number(std::string_view key);
  bool flag(std::string_view key, bool otherwise);
  /// The table of that name, if there is one.
  std::optional<SpecTable> table(std::string_view key);
  /// The tables of `[[key]]`.
  std::vector<SpecTable> tables(std::string_view key);
  /// The elements of a list, or the one scalar as a list of one.
  std::vector<const toml::node*> elements(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::vector<Country> countries(std::string_view key);
  /// Every key and value of the table itself.
  std::vector<std::pair<std::string, const toml::node*>> members();

  Pointer pointer(std::string_view key, const toml::node& node);
  std::vector<Pointer> pointers(std::string_view key);
  std::optional<Pointer> one_pointer(std::string_view key);
  TextSource text_source(std::string_view key);
  std::optional<Template> text_template(std::string_view key, const toml::node& node);
  NamedTemplates named_templates(std::string_view key);

  template <class T>
  std::optional<T> word(std::string_view key, const NameTable<T>& table) {
    const auto value = text(key);
    return value ? look_up(key, *value, table, find(key)->source()) : std::nullopt;
  }
  template <class T>
  std::vector<T> words(std::string_view key, const NameTable<T>& table) {
    std::vector<T> all;
    for (const auto& name : texts(key))
      if (const auto found = look_up(key, name, table, find(key)->source())) all.push_back(*found);
    return all;
  }
  template <class T>
  std::optional<T> look_up(std::string_view key,
                           std::string_view name,
                           const NameTable<T>& table,
                           const toml::source_region& where) {
    for (const auto& [known, value] : table)
      if (known == name) return value;
    std::string all;
    for (const auto& [known, value] : table) all += (all.empty() ? "" : ", ") + std::string(known);
    file_.wrong(where, "{}: \"{}\" is not one of {}", path(key), name, all);
    return std::nullopt;
  }

  void missing(std::string_view key) { file_.wrong(at(), "{} is missing", path(key)); }
  void mismatch(std::string_view key, const toml::node& node, std::string_view wanted);
  /// Every key that nobody asked for is a mistake.
  void end();

 private:
  SpecFile& file_;
  const toml::table& table_;
  std::string where_;
  std::set<std::string> asked_;
};

/// A list's elements, or the node itself.
std::vector<const toml::node*> elements_of(const toml::node& node);
/// nullopt: no number, or none that is finite.
std::optional<double> number_of(const toml::node& node);
/// The scalar as the engine compares it with JSON scalars (`scalar_text`); nullopt for anything
/// else.
std::optional<std::string> scalar_of(const toml::node& node);

}  // namespace geonce
