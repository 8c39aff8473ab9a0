#include "core/json_text.h"

#include <fmt/format.h>

namespace geonce {

std::string json_text(const boost::json::value& value) {
  if (const auto* object = value.if_object()) {
    std::string text;
    for (const auto& [name, member] : *object)
      text += fmt::format("{}{}:{}",
                          text.empty() ? "" : ",",
                          boost::json::serialize(boost::json::string(name)),
                          json_text(member));
    return fmt::format("{{{}}}", text);
  }
  if (const auto* array = value.if_array()) {
    std::string text;
    for (const auto& member : *array)
      text += fmt::format("{}{}", text.empty() ? "" : ",", json_text(member));
    return fmt::format("[{}]", text);
  }
  if (const auto* number = value.if_double()) return fmt::format("{}", *number);
  return boost::json::serialize(value);
}

}  // namespace geonce
