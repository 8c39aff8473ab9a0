#include "core/explain.h"

#include <array>
#include <utility>

#include <boost/json.hpp>

namespace geonce {
namespace {

using Part = std::pair<std::string_view, std::string Canonical::*>;
constexpr std::array<Part, 9> kParts{{{"extra", &Canonical::extra},
                                      {"house", &Canonical::house},
                                      {"road", &Canonical::road},
                                      {"unit", &Canonical::unit},
                                      {"box", &Canonical::box},
                                      {"locality", &Canonical::locality},
                                      {"admin", &Canonical::admin},
                                      {"postcode", &Canonical::postcode},
                                      {"options", &Canonical::options}}};

const std::string kBuiltIn = "b: the built-in rules";

/// What stands for it in the pre-image.
std::string_view backend_of(const Canonical& canonical) {
  return canonical.backend.empty() ? std::string_view("b") : std::string_view(canonical.backend);
}

std::string_view meaning(Mode mode) {
  switch (mode) {
    case Mode::parsed:
      return "its parts are known";
    case Mode::road_only:
      return "a road without a number";
    case Mode::intersection:
      return "where roads meet";
    case Mode::unparsed:
      break;
  }
  return "no certain reading; the words stay in one piece, under road";
}

std::string_view meaning(std::string_view quality) {
  if (quality == "no_locality") return "no town: an address like it may be in many";
  if (quality == "no_postcode") return "no postcode";
  if (quality == "unparsed") return "other spellings of it get other keys";
  if (quality == "po_box") return "a box at a post office";
  return "a box on a mail route";
}

std::string visible(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '\x1F') {
      text += "␟";
    } else {
      text += c;
    }
  }
  return text;
}

void add_line(std::string& text, std::string_view name, std::string_view value) {
  text += fmt::format("{:<10} {}\n", name, value);
}

}  // namespace

std::string explain(const QueryView& query, const Result<Canonical>& read, const KeyRing& ring) {
  std::string text;
  add_line(text, "asked", Query::from(query).one_line());
  if (!read) {
    add_line(
        text, "error", fmt::format("{}: {}", to_string(read.error().code), read.error().message));
    return text;
  }
  const auto country = read->country;
  add_line(text,
           "country",
           country.is_known() ? fmt::format("{} ({})", country.code(), alpha3(country))
                              : std::string("none: say which, or write it at the end"));
  add_line(text, "mode", fmt::format("{}: {}", to_string(read->mode), meaning(read->mode)));
  add_line(text, "backend", read->backend.empty() ? kBuiltIn : read->backend + ": libpostal");
  for (const auto& [name, member] : kParts)
    if (!((*read).*member).empty()) add_line(text, name, (*read).*member);
  for (const auto word : words(read->quality))
    add_line(text, "quality", fmt::format("{}: {}", word, meaning(word)));
  add_line(text, "canonical", one_line(*read));
  add_line(text, "pre-image", visible(pre_image(*read)));
  add_line(text, "key", ring.text(ring.key(pre_image(*read))));
  if (const auto building = building_pre_image(*read); building != pre_image(*read))
    add_line(text, "building", ring.text(ring.key(building)));
  return text;
}

std::string explain_difference(const Canonical& a, const Canonical& b) {
  if (key_of(a) == key_of(b)) return "one key for both\n";
  std::string text = "two keys, because these differ:\n";
  const auto add = [&text](std::string_view name, std::string_view left, std::string_view right) {
    if (left == right) return;
    const auto shown = [](std::string_view value) { return value.empty() ? "(none)" : value; };
    text += fmt::format("{:<10} {}  ≠  {}\n", name, shown(left), shown(right));
  };
  add("country", a.country.code(), b.country.code());
  add("mode", to_string(a.mode), to_string(b.mode));
  add("backend", backend_of(a), backend_of(b));
  for (const auto& [name, member] : kParts) add(name, a.*member, b.*member);
  return text;
}

std::string explain_json(const Result<Canonical>& read, Normalizer& normalizer) {
  boost::json::object object;
  if (!read) {
    object["error"] = {{"code", to_string(read.error().code)}, {"message", read.error().message}};
    return boost::json::serialize(object);
  }
  const KeyRing& ring = normalizer.ring();
  object["key"] = ring.text(ring.key(pre_image(*read)));
  object["building_key"] = ring.text(ring.key(building_pre_image(*read)));
  object["canonical"] = normalizer.canonical_text(*read);
  object["mode"] = to_string(read->mode);
  object["backend"] = backend_of(*read);
  object["country"] = read->country.is_known() ? boost::json::value(read->country.code()) : nullptr;
  boost::json::object fields;
  for (const auto& [name, member] : kParts)
    if (!((*read).*member).empty()) fields[name] = (*read).*member;
  object["fields"] = std::move(fields);
  boost::json::array quality;
  for (const auto word : words(read->quality)) quality.emplace_back(word);
  object["quality"] = std::move(quality);
  object["pre_image"] = visible(pre_image(*read));
  return boost::json::serialize(object);
}

}  // namespace geonce
