#include "providers/spec_table.h"

#include <cmath>

namespace geonce {
namespace {

std::string_view kind_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

}  // namespace

std::vector<const toml::node*> elements_of(const toml::node& node) {
  std::vector<const toml::node*> all;
  if (const auto* array = node.as_array())
    for (const auto& element : *array) all.push_back(&element);
  else
    all.push_back(&node);
  return all;
}

std::optional<double> number_of(const toml::node& node) {
  if (const auto* value = node.as_integer()) return static_cast<double>(value->get());
  if (const auto* value = node.as_floating_point())
    if (std::isfinite(value->get())) return value->get();
  return std::nullopt;
}

std::optional<std::string> scalar_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

std::string SpecTable::path(std::string_view key) const {
  return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

const toml::node* SpecTable::find(std::string_view key) {
  asked_.insert(std::string(key));
  return table_.get(key);
}

std::optional<std::string> SpecTable::text(std::string_view key) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* value = node->as_string()) return value->get();
  mismatch(key, *node, "a text");
  return std::nullopt;
}

std::string SpecTable::required_text(std::string_view key) {
  auto value = text(key);
  if (!value && !table_.contains(key)) file_.wrong(at(), "{} is missing", path(key));
  return value.value_or("");
}

std::optional<std::int64_t> SpecTable::integer(std::string_view key,
                                               std::int64_t low,
                                               std::int64_t high) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_integer();
  if (value == nullptr) {
    mismatch(key, *node, "a whole number");
    return std::nullopt;
  }
  if (value->get() < low || value->get() > high) {
    file_.wrong(node->source(), "{} has to be from {} to {}", path(key), low, high);
    return std::nullopt;
  }
  return value->get();
}

std::optional<double> SpecTable::number(std::string_view key) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto value = number_of(*node)) return value;
  mismatch(key, *node, "a number");
  return std::nullopt;
}

bool SpecTable::flag(std::string_view key, bool otherwise) {
  const auto* node = find(key);
  if (node == nullptr) return otherwise;
  if (const auto* value = node->as_boolean()) return value->get();
  mismatch(key, *node, "true or false");
  return otherwise;
}

std::optional<SpecTable> SpecTable::table(std::string_view key) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* inner = node->as_table()) return SpecTable(file_, *inner, path(key));
  mismatch(key, *node, "a table");
  return std::nullopt;
}

std::vector<SpecTable> SpecTable::tables(std::string_view key) {
  std::vector<SpecTable> all;
  const auto* node = find(key);
  if (node == nullptr) return all;
  const auto* array = node->as_array();
  if (array == nullptr) mismatch(key, *node, "a list of tables");
  if (array != nullptr)
    for (const auto& element : *array) {
      if (const auto* inner = element.as_table())
        all.emplace_back(file_, *inner, path(key));
      else
        file_.wrong(element.source(), "{}: a list of tables is wanted", path(key));
    }
  return all;
}

std::vector<const toml::node*> SpecTable::elements(std::string_view key) {
  const auto* node = find(key);
  if (node == nullptr) return {};
  return elements_of(*node);
}

std::vector<std::string> SpecTable::texts(std::string_view key) {
  std::vector<std::string> all;
  for (const auto* node : elements(key)) {
    if (const auto* text = node->as_string())
      all.push_back(text->get());
    else
      mismatch(key, *node, "a text or a list of texts");
  }
  return all;
}

std::vector<Country> SpecTable::countries(std::string_view key) {
  std::vector<Country> all;
  for (const auto& code : texts(key)) {
    auto country = parse_country(code);
    if (country && country->is_known())
      all.push_back(*country);
    else
      file_.wrong(find(key)->source(), "\"{}\" is no country code", code);
  }
  return all;
}

std::vector<std::pair<std::string, const toml::node*>> SpecTable::members() {
  std::vector<std::pair<std::string, const toml::node*>> all;
  for (const auto& [key, node] : table_) {
    asked_.insert(std::string(key.str()));
    all.emplace_back(key.str(), &node);
  }
  return all;
}

Pointer SpecTable::pointer(std::string_view key, const toml::node& node) {
  const auto* text = node.as_string();
  if (text == nullptr) {
    mismatch(key, node, "a JSON Pointer");
    return {};
  }
  auto pointer = Pointer::parse(text->get());
  if (!pointer) file_.wrong(node.source(), "{}: {}", path(key), pointer.error().message);
  return pointer ? std::move(*pointer) : Pointer{};
}

std::vector<Pointer> SpecTable::pointers(std::string_view key) {
  std::vector<Pointer> all;
  for (const auto* node : elements(key)) all.push_back(pointer(key, *node));
  return all;
}

std::optional<Pointer> SpecTable::one_pointer(std::string_view key) {
  const auto* node = find(key);
  return node != nullptr ? std::optional(pointer(key, *node)) : std::nullopt;
}

TextSource SpecTable::text_source(std::string_view key) {
  TextSource source;
  for (const auto* node : elements(key)) {
    const auto* text = node->as_string();
    if (text == nullptr) {
      mismatch(key, *node, "a JSON Pointer, a text with some in braces, or a list of these");
      continue;
    }
    if (auto added = source.add(text->get()); !added)
      file_.wrong(node->source(), "{}: {}", path(key), added.error().message);
  }
  return source;
}

std::optional<Template> SpecTable::text_template(std::string_view key, const toml::node& node) {
  const auto text = scalar_of(node);
  if (!text) {
    mismatch(key, node, "a text");
    return std::nullopt;
  }
  auto parsed = Template::parse(*text);
  if (!parsed) {
    file_.wrong(node.source(), "{}: {}", path(key), parsed.error().message);
    return std::nullopt;
  }
  return std::move(*parsed);
}

NamedTemplates SpecTable::named_templates(std::string_view key) {
  NamedTemplates all;
  auto inner = table(key);
  if (!inner) return all;
  for (const auto& [name, node] : inner->members())
    for (const auto* element : elements_of(*node))
      if (auto parsed = inner->text_template(name, *element))
        all.emplace_back(name, std::move(*parsed));
  return all;
}

void SpecTable::mismatch(std::string_view key, const toml::node& node, std::string_view wanted) {
  file_.wrong(node.source(), "{}: {} is wanted, not {}", path(key), wanted, kind_name(node));
}

void SpecTable::end() {
  for (const auto& [key, node] : table_) {
    if (asked_.contains(std::string(key.str()))) continue;
    std::string known;
    for (const auto& name : asked_) known += (known.empty() ? "" : ", ") + name;
    file_.wrong(key.source(), "unknown key \"{}\"; here may stand: {}", path(key.str()), known);
  }
}

}  // namespace geonce
