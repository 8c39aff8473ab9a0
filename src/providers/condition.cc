#include "providers/condition.h"

#include <algorithm>

#include <boost/json.hpp>

namespace geonce {
namespace {

namespace json = boost::json;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Case counts for nothing in ASCII letters.
bool contains(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end() ||
         word.empty();
}

/// The scalar, or the scalars of an array.
template <class Test>
bool any_text(const json::value& value, const Test& test) {
  if (const auto* array = value.if_array())
    return std::ranges::any_of(*array, [&](const json::value& element) {
      const auto text = scalar_text(element);
      return text && test(*text);
    });
  const auto text = scalar_text(value);
  return text && test(*text);
}

bool is_something(const json::value* value) {
  if (value == nullptr || value->is_null()) return false;
  if (const auto* array = value->if_array()) return !array->empty();
  if (const auto* object = value->if_object()) return !object->empty();
  const auto* text = value->if_string();
  return text == nullptr || text->find_first_not_of(" \t\r\n") != json::string::npos;
}

/// One or two words with a digit in each and at most 12 bytes: "60611", "60611-1234", "EH1 1AA".
bool is_only_postcode(const Query& query) {
  const auto others = {&query.house_number,
                       &query.road,
                       &query.unit,
                       &query.city,
                       &query.state,
                       &query.house,
                       &query.po_box,
                       &query.suburb};
  if (std::ranges::any_of(others, [](const std::string* part) { return !part->empty(); }))
    return false;
  if (query.text.empty()) return !query.postcode.empty();
  if (query.text.size() > 12) return false;
  int words = 0;
  bool has_digit = false, in_word = false;
  for (const char c : query.text + " ") {
    if (c == ' ') {
      if (in_word && !has_digit) return false;
      words += in_word ? 1 : 0;
      in_word = has_digit = false;
    } else {
      in_word = true;
      has_digit = has_digit || (c >= '0' && c <= '9');
    }
  }
  return words == 1 || words == 2;
}

}  // namespace

bool Condition::holds(const Evidence& subject) const {
  if (!status.empty() && std::ranges::none_of(status, [&](StatusRange range) {
        return subject.status >= range.first && subject.status <= range.last;
      }))
    return false;
  const auto find = [&](const Pointer& at) {
    return subject.body != nullptr ? at.find(*subject.body) : nullptr;
  };
  for (const Words& entry : is) {
    const auto* value = find(entry.at);
    if (value == nullptr || !any_text(*value, [&](std::string_view said) {
          return std::ranges::any_of(entry.words,
                                     [&](const auto& word) { return fits(said, word); });
        }))
      return false;
  }
  for (const Words& entry : this->contains) {
    const auto* value = find(entry.at);
    if (value == nullptr || !any_text(*value, [&](std::string_view said) {
          return std::ranges::any_of(
              entry.words, [&](const auto& word) { return geonce::contains(said, word); });
        }))
      return false;
  }
  for (const Range& range : between) {
    const auto* value = find(range.at);
    const auto number = value != nullptr ? plain_number(*value) : std::nullopt;
    if (!number || *number < range.low || *number > range.high) return false;
  }
  for (const Pointer& at : has)
    if (!is_something(find(at))) return false;
  for (const Pointer& at : lacks)
    if (is_something(find(at))) return false;
  if (!text.empty() && std::ranges::none_of(text, [&](const auto& word) {
        return geonce::contains(subject.text, word);
      }))
    return false;
  if (asked_postcode && (subject.asked == nullptr || !is_only_postcode(*subject.asked)))
    return false;
  return true;
}

}  // namespace geonce
