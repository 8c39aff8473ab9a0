#include "providers/template.h"

#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "core/letters.h"

namespace geonce {
namespace {

namespace json = boost::json;

constexpr std::array<std::pair<std::string_view, Placeholder>, 16> kWords{
    {{"address", Placeholder::address},
     {"street", Placeholder::street},
     {"house_number", Placeholder::house_number},
     {"road", Placeholder::road},
     {"unit", Placeholder::unit},
     {"city", Placeholder::city},
     {"state", Placeholder::state},
     {"postcode", Placeholder::postcode},
     {"house", Placeholder::house},
     {"po_box", Placeholder::po_box},
     {"suburb", Placeholder::suburb},
     {"country", Placeholder::country},
     {"country_alpha3", Placeholder::country_alpha3},
     {"language", Placeholder::language},
     {"secret", Placeholder::secret},
     {"ref", Placeholder::ref}}};

std::string meaning(Placeholder word, const Filling& filling) {
  if (word == Placeholder::secret) return std::string(filling.secret);
  if (word == Placeholder::ref) return std::string(filling.ref);
  if (filling.query == nullptr) return {};
  const Query& query = *filling.query;
  const auto said = [&](const std::string& text) { return filling.ascii ? in_ascii(text) : text; };
  switch (word) {
    case Placeholder::address:
      return address_line(query, filling.ascii);
    case Placeholder::street:
      return said(street_line(query));
    case Placeholder::house_number:
      return said(query.house_number);
    case Placeholder::road:
      return said(query.road);
    case Placeholder::unit:
      return said(query.unit);
    case Placeholder::city:
      return said(query.city);
    case Placeholder::state:
      return said(query.state);
    case Placeholder::postcode:
      return said(query.postcode);
    case Placeholder::house:
      return said(query.house);
    case Placeholder::po_box:
      return said(query.po_box);
    case Placeholder::suburb:
      return said(query.suburb);
    case Placeholder::country:
      return query.country.is_known() ? std::string(query.country.code()) : std::string();
    case Placeholder::country_alpha3:
      return std::string(alpha3(query.country));
    case Placeholder::language:
      return query.language;
    case Placeholder::literal:
    case Placeholder::secret:
    case Placeholder::ref:
      break;
  }
  return {};
}

}  // namespace

Result<Template> Template::parse(std::string_view text) {
  Template parsed;
  while (!text.empty()) {
    const auto open = text.find('{');
    if (open != 0) parsed.parts_.emplace_back(Placeholder::literal, text.substr(0, open));
    if (open == std::string_view::npos) break;
    const auto close = text.find('}', open);
    const auto name = close == std::string_view::npos ? text.substr(open)
                                                      : text.substr(open + 1, close - open - 1);
    const auto* const known =
        std::ranges::find(kWords, name, [](const auto& entry) { return entry.first; });
    if (close == std::string_view::npos || known == kWords.end()) {
      std::string all;
      for (const auto& [word, unused] : kWords)
        all += (all.empty() ? "" : ", ") + std::string(word);
      return fail(ErrorCode::invalid_config, "\"{}\" is no word; the words are {}", name, all);
    }
    parsed.parts_.emplace_back(known->second, "");
    text.remove_prefix(close + 1);
  }
  return parsed;
}

std::optional<std::string> Template::fill(const Filling& filling,
                                          std::string (*escape)(std::string_view)) const {
  std::string out;
  for (const auto& [word, literal] : parts_) {
    if (word == Placeholder::literal) {
      out += literal;
      continue;
    }
    const std::string said = meaning(word, filling);
    if (said.empty()) return std::nullopt;
    out += escape != nullptr ? escape(said) : said;
  }
  return out;
}

bool Template::uses(Placeholder word) const {
  return std::ranges::any_of(parts_, [&](const auto& part) { return part.first == word; });
}

std::optional<json::value> fill(const JsonTemplate& tree, const Filling& filling) {
  if (const auto* fixed = std::get_if<json::value>(&tree.value)) return *fixed;
  if (const auto* text = std::get_if<Template>(&tree.value)) {
    auto said = text->fill(filling, nullptr);
    return said ? std::optional<json::value>(json::string(*said)) : std::nullopt;
  }
  if (const auto* elements = std::get_if<JsonTemplate::Array>(&tree.value)) {
    json::array array;
    for (const auto& element : *elements)
      if (auto said = fill(element, filling)) array.push_back(std::move(*said));
    return array;
  }
  json::object object;
  const auto& [names, members] = std::get<JsonTemplate::Object>(tree.value);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (auto said = fill(members[i], filling)) object[names[i]] = std::move(*said);
  return object;
}

std::string address_line(const Query& query, bool ascii) {
  return ascii ? in_ascii(query.one_line()) : query.one_line();
}

std::string street_line(const Query& query) {
  if (!query.road.empty() || !query.house_number.empty()) {
    if (query.house_number.empty() || query.road.empty()) return query.house_number + query.road;
    return query.house_number + " " + query.road;
  }
  const bool has_locality = !query.city.empty() || !query.postcode.empty();
  if (!has_locality || query.text.find_first_of(",\n") != std::string::npos) return {};
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  const bool names_city =
      !query.city.empty() &&
      std::search(
          query.text.begin(), query.text.end(), query.city.begin(), query.city.end(), same) !=
          query.text.end();
  return names_city ? std::string() : query.text;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
    }
  }
  return out;
}

}  // namespace geonce
