#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/value.hpp>

#include "core/query.h"
#include "core/result.h"

namespace geonce {

/// A word in braces: `{address}`.
enum class Placeholder : std::uint8_t {
  literal,  // no word: text as it stands
  address,  // the whole address in one line
  street,   // house number and road
  house_number,
  road,
  unit,
  city,
  state,
  postcode,
  house,
  po_box,
  suburb,
  country,
  country_alpha3,
  language,
  secret,
  ref,
};

/// What the words stand for in one call.
struct Filling {
  const Query* query = nullptr;
  std::string_view secret;
  std::string_view ref;
  bool ascii = false;  // letters with marks lose them, other letters become `?`
};

/// Text with words in braces.
class Template {
 public:
  /// errors    invalid_config  an unknown word
  static Result<Template> parse(std::string_view text);
  /// nullopt where a word has nothing to say: the parameter is left out.
  /// escape    applied to what words stand for, not to the text around them; may be null
  [[nodiscard]] std::optional<std::string> fill(const Filling& filling,
                                                std::string (*escape)(std::string_view)) const;
  [[nodiscard]] bool uses(Placeholder word) const;

 private:
  std::vector<std::pair<Placeholder, std::string>> parts_;
};

using NamedTemplates =
    std::vector<std::pair<std::string, Template>>;  // a name may come several times

/// A JSON document whose texts are templates. Members and elements with nothing to say are left
/// out.
struct JsonTemplate {
  using Array = std::vector<JsonTemplate>;
  struct Object {
    std::vector<std::string> names;
    std::vector<JsonTemplate> members;  // as many as names
  };
  std::variant<boost::json::value, Template, Array, Object> value;
};

/// nullopt where it has nothing to say.
std::optional<boost::json::value> fill(const JsonTemplate& tree, const Filling& filling);

/// The query in one line, as `{address}` sends it.
std::string address_line(const Query& query, bool ascii);

/// House number and road, as `{street}` sends them: from the fields, or from the text of a query
/// that has its locality in fields beside it (a text with a comma, or that names the city, is more
/// than a street).
std::string street_line(const Query& query);

/// For URLs: everything but the unreserved characters of RFC 3986 as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace geonce
