#include "providers/pointer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

namespace geonce {
namespace {

namespace json = boost::json;

/// `~1` is `/` and `~0` is `~`; nullopt for any other use of `~`.
std::optional<std::string> unescaped(std::string_view step) {
  std::string name;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      name += step[i];
      continue;
    }
    if (++i == step.size() || (step[i] != '0' && step[i] != '1')) return std::nullopt;
    name += step[i] == '0' ? '~' : '/';
  }
  return name;
}

std::optional<std::size_t> array_index(std::string_view name) {
  if (name.empty() || name.size() > 9 || (name.size() > 1 && name[0] == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return index;
}

bool has_value(const json::value& member, std::string_view pattern) {
  if (member.is_array())
    return std::ranges::any_of(member.get_array(),
                               [&](const json::value& v) { return has_value(v, pattern); });
  const auto text = scalar_text(member);
  return text && fits(*text, pattern);
}

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

Result<Pointer> Pointer::parse(std::string_view text) {
  Pointer pointer;
  pointer.text_ = text;
  if (text.empty()) return pointer;  // the whole document
  if (text[0] != '/')
    return fail(
        ErrorCode::invalid_config, "\"{}\" is no JSON Pointer: it has to begin with /", text);
  text.remove_prefix(1);
  while (true) {
    const auto slash = text.find('/');
    const auto raw = text.substr(0, slash);
    auto name = unescaped(raw);
    if (!name)
      return fail(ErrorCode::invalid_config,
                  "\"{}\" is no JSON Pointer: ~ stands only in ~0 (~) and ~1 (/)",
                  pointer.text_);
    Step step;
    if (raw.starts_with('[')) {
      const auto equal = name->find('=');
      if (!name->ends_with(']') || equal == std::string::npos || equal == 1 ||
          equal + 2 == name->size())
        return fail(
            ErrorCode::invalid_config, "\"{}\": a step in brackets is [name=value]", pointer.text_);
      step.name = name->substr(1, equal - 1);
      step.equals = name->substr(equal + 1, name->size() - equal - 2);
    } else {
      step.index = array_index(*name);
      step.name = std::move(*name);
    }
    pointer.steps_.push_back(std::move(step));
    if (slash == std::string_view::npos) return pointer;
    text.remove_prefix(slash + 1);
  }
}

const json::value* Pointer::find(const json::value& root) const {
  const json::value* at = &root;
  for (const Step& step : steps_) {
    if (step.equals) {
      const auto* array = at->if_array();
      if (array == nullptr) return nullptr;
      const auto* const element = std::ranges::find_if(*array, [&](const json::value& candidate) {
        const auto* object = candidate.if_object();
        const auto* member = object != nullptr ? object->if_contains(step.name) : nullptr;
        return member != nullptr && has_value(*member, *step.equals);
      });
      if (element == array->end()) return nullptr;
      at = &*element;
    } else if (const auto* object = at->if_object()) {
      at = object->if_contains(step.name);
      if (at == nullptr) return nullptr;
    } else if (const auto* array = at->if_array()) {
      if (!step.index || *step.index >= array->size()) return nullptr;
      at = &(*array)[*step.index];
    } else {
      return nullptr;
    }
  }
  return at;
}

bool fits(std::string_view text, std::string_view pattern) {
  if (!pattern.ends_with('*')) return text == pattern;
  pattern.remove_suffix(1);
  return text.starts_with(pattern);
}

std::optional<std::string> scalar_text(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return std::string(value.get_string());
    case json::kind::bool_:
      return value.get_bool() ? "true" : "false";
    case json::kind::int64:
      return fmt::format("{}", value.get_int64());
    case json::kind::uint64:
      return fmt::format("{}", value.get_uint64());
    case json::kind::double_:
      return fmt::format("{}", value.get_double());  // shortest, and of no locale
    default:
      return std::nullopt;
  }
}

std::optional<double> plain_number(std::string_view text) {
  const bool plain =
      !text.empty() && text.find_first_not_of("-0123456789.") == std::string_view::npos;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!plain || error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::optional<double> plain_number(const json::value& value) {
  if (value.is_string()) return plain_number(std::string_view(value.get_string()));
  double number = 0;
  if (value.is_double())
    number = value.get_double();
  else if (value.is_int64())
    number = static_cast<double>(value.get_int64());
  else if (value.is_uint64())
    number = static_cast<double>(value.get_uint64());
  else
    return std::nullopt;
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

Result<void> TextSource::add(std::string_view alternative) {
  std::vector<Part> parts;
  const auto add_pointer = [&](std::string_view text, bool may_be_missing) -> Result<void> {
    auto pointer = Pointer::parse(text);
    if (!pointer) return fail(std::move(pointer.error()));
    parts.push_back({{}, std::move(*pointer), may_be_missing});
    return {};
  };
  if (alternative.starts_with('/')) {
    if (auto added = add_pointer(alternative, false); !added) return added;
  } else {
    std::string_view rest = alternative;
    while (!rest.empty()) {
      const auto open = rest.find('{');
      if (open != 0) parts.push_back({std::string(rest.substr(0, open)), {}, false});
      if (open == std::string_view::npos) break;
      const auto close = rest.find('}', open);
      if (close == std::string_view::npos) break;
      auto inside = rest.substr(open + 1, close - open - 1);
      const bool may_be_missing = inside.ends_with('?');
      if (may_be_missing) inside.remove_suffix(1);
      if (auto added = add_pointer(inside, may_be_missing); !added) return added;
      rest.remove_prefix(close + 1);
    }
    if (std::ranges::none_of(parts, [](const Part& part) { return part.at.has_value(); }))
      return fail(
          ErrorCode::invalid_config,
          "\"{}\" is neither a JSON Pointer (/name) nor a text with some in braces ({{/name}})",
          alternative);
  }
  alternatives_.push_back(std::move(parts));
  return {};
}

std::string TextSource::of(const json::value& root) const {
  for (const auto& parts : alternatives_) {
    std::string joined;
    bool complete = true, found = false;
    for (const Part& part : parts) {
      if (!part.at) {
        joined += part.literal;
        continue;
      }
      const auto* value = part.at->find(root);
      const auto text = value != nullptr && !value->is_bool() ? scalar_text(*value) : std::nullopt;
      const bool missing = !text || squeezed(*text).empty();
      if (missing && !part.may_be_missing) complete = false;
      if (!missing) {
        joined += *text;
        found = true;
      }
    }
    if (complete && found) return parts.size() == 1 ? joined : squeezed(joined);
  }
  return {};
}

}  // namespace geonce
