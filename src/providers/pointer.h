#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "core/result.h"

namespace geonce {

/// A place in a JSON document: a JSON Pointer (RFC 6901) with one word more. The step
/// `[name=value]` goes to the first element of an array whose member `name` is `value`, or is an
/// array that contains it; a `*` at the end of `value` stands for any ending.
class Pointer {
 public:
  Pointer() = default;
  /// errors    invalid_config
  static Result<Pointer> parse(std::string_view text);
  /// Null where the document has no such place.
  [[nodiscard]] const boost::json::value* find(const boost::json::value& root) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Step {
    std::string name;
    std::optional<std::size_t> index;   // `name` as the position in an array
    std::optional<std::string> equals;  // of `[name=value]`
  };
  std::string text_;
  std::vector<Step> steps_;
};

/// `pattern` is the text itself, or its beginning and a `*`.
bool fits(std::string_view text, std::string_view pattern);

/// A JSON scalar as people write it: texts as they are, numbers in their shortest decimal form,
/// `true`, `false`. nullopt for null, objects and arrays.
std::optional<std::string> scalar_text(const boost::json::value& value);

/// A JSON number, or a text that is a plain decimal number ("-48.85"; no comma, exponent, blank or
/// sign `+`). nullopt for everything else, booleans and infinities included.
std::optional<double> plain_number(const boost::json::value& value);
std::optional<double> plain_number(std::string_view text);

/// Where a text of the answer comes from: alternatives, of which the first that yields something
/// counts. Each is a pointer (`/name`) or a text with pointers in braces (`{/osm_type}/{/osm_id}`);
/// with `?` before the closing brace that part may be missing. Blank texts and null count as
/// missing.
class TextSource {
 public:
  /// errors    invalid_config
  Result<void> add(std::string_view alternative);
  [[nodiscard]] bool empty() const { return alternatives_.empty(); }
  /// Empty where no alternative yields anything.
  [[nodiscard]] std::string of(const boost::json::value& root) const;

 private:
  struct Part {
    std::string literal;
    std::optional<Pointer> at;
    bool may_be_missing = false;
  };
  std::vector<std::vector<Part>> alternatives_;
};

}  // namespace geonce
