#include "core/second_reading.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/normalize_grammar.h"
#include "core/normalize_north_america.h"
#include "core/normalize_world.h"
#include "core/word_owners.h"

namespace geonce {
namespace {

constexpr std::size_t kMostWords = 64;  // as in the built-in rules: no address has more

/// The field that words of a label are read as.
enum class Field : std::uint8_t {
  house_number,
  road,
  unit,
  city,
  state,
  postcode,
  po_box,
  name,  // of a building, and whatever else stands on an envelope
  suburb,
  country,
};
constexpr std::size_t kFields = 10;

struct LabelRow {
  std::string_view label;
  Field field;
};
constexpr std::array<LabelRow, 22> kLabels{{{"house_number", Field::house_number},
                                            {"road", Field::road},
                                            {"unit", Field::unit},
                                            {"level", Field::unit},
                                            {"staircase", Field::unit},
                                            {"entrance", Field::unit},
                                            {"city", Field::city},
                                            {"state", Field::state},
                                            {"postcode", Field::postcode},
                                            {"po_box", Field::po_box},
                                            {"house", Field::name},
                                            {"building", Field::name},
                                            {"category", Field::name},
                                            {"near", Field::name},
                                            {"metro_station", Field::name},
                                            {"suburb", Field::suburb},
                                            {"city_district", Field::suburb},
                                            {"island", Field::suburb},
                                            {"state_district", Field::suburb},
                                            {"country_region", Field::suburb},
                                            {"world_region", Field::suburb},
                                            {"country", Field::country}}};

std::optional<Field> field_of(std::string_view label) {
  const auto* const found = std::ranges::find(kLabels, label, &LabelRow::label);
  return found == kLabels.end() ? std::nullopt : std::optional(found->field);
}

/// Two of them are two readings: which of them is the address?
bool stands_once(Field field) {
  return field != Field::unit && field != Field::name && field != Field::suburb;
}

/// The words of each field, in runs as they stand in the text.
using Runs = std::array<std::vector<Range>, kFields>;

std::optional<Runs> runs_of(const Tokens& tokens, const std::vector<TextPart>& parts) {
  const auto owners = word_owners(tokens, parts);
  if (!owners) return std::nullopt;
  Runs runs;
  for (std::size_t i = 0; i < tokens.size();) {
    std::size_t end = i + 1;
    while (end < tokens.size() && (*owners)[end] == (*owners)[i]) ++end;
    const auto field = field_of(parts[(*owners)[i]].label);
    if (!field) return std::nullopt;
    auto& of_field = runs.at(static_cast<std::size_t>(*field));
    if (!of_field.empty() && stands_once(*field)) return std::nullopt;
    of_field.push_back({i, end});
    i = end;
  }
  return runs;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The country's own name or code says nothing new; another one contradicts.
bool is_name_of(std::string_view words, Country country) {
  if (country_named(words) == country) return true;
  return words.size() == 2 && words[0] == lower(country.code()[0]) &&
         words[1] == lower(country.code()[1]);
}

/// The tokens in the order of the fields, each run as a line of its own.
struct Fields {
  Tokens tokens;
  Parts parts;

  void add(const Tokens& from, const std::vector<Range>& runs, Range& range) {
    if (range.empty()) range = {tokens.size(), tokens.size()};
    for (const Range run : runs) {
      for (std::size_t i = run.first; i < run.last; ++i) {
        if (!tokens.text.empty()) tokens.text += ' ';
        Token token = from[i];
        token.begin = static_cast<std::uint16_t>(tokens.text.size());
        tokens.text += from.view(i);
        token.end = static_cast<std::uint16_t>(tokens.text.size());
        token.after_break = token.after_break || i == run.first;
        tokens.items.push_back(token);
      }
    }
    range.last = tokens.size();
  }
};

Fields in_fields(const Tokens& tokens, const Runs& runs, bool keeps_country) {
  const auto of = [&runs](Field field) { return runs.at(static_cast<std::size_t>(field)); };
  Fields fields;
  Parts& parts = fields.parts;
  fields.add(tokens, of(Field::house_number), parts.house_number);
  fields.add(tokens, of(Field::road), parts.road);
  fields.add(tokens, of(Field::unit), parts.unit);
  fields.add(tokens, of(Field::city), parts.city);
  fields.add(tokens, of(Field::state), parts.state);
  fields.add(tokens, of(Field::postcode), parts.postcode);
  fields.add(tokens, of(Field::name), parts.house);
  fields.add(tokens, of(Field::po_box), parts.po_box);
  auto suburb = of(Field::suburb);
  if (keeps_country) std::ranges::copy(of(Field::country), std::back_inserter(suburb));
  fields.add(tokens, suburb, parts.suburb);
  return fields;
}

/// A reading that denies what the built-in rules are certain of is none. (The add-on of a ZIP+4
/// says nothing new where the address is in parts.)
bool agrees(const Canonical& reading, const Canonical& unparsed) {
  const bool same_admin = unparsed.admin.empty() || reading.admin == unparsed.admin;
  const bool same_postcode =
      reading.postcode.empty()
          ? unparsed.postcode.empty()
          : unparsed.postcode.empty() || unparsed.postcode.starts_with(reading.postcode);
  return same_admin && same_postcode;
}

bool is_text(const std::vector<TextPart>& parts) {
  return std::ranges::all_of(
      parts, [](const TextPart& part) { return bare_letters(part.words).has_value(); });
}

/// What the reader is asked, if it is.
std::optional<std::string> question_of(const Canonical& unparsed) {
  QueryView text;
  std::string line = one_line(unparsed);
  text.text = line;
  if (std::ranges::count(line, ' ') >= static_cast<std::ptrdiff_t>(kMostWords)) return std::nullopt;
  // In these scripts fields are read as the text they make: parts would say nothing.
  if (WorldGrammar::reads_as_one(text, unparsed.country)) return std::nullopt;
  return line;
}

}  // namespace

struct SecondReading::Rules {
  NorthAmericanGrammar north_america;
  WorldGrammar world;
  Tokens tokens;

  Result<void> fields(Fields& fields, Canonical& out) {
    if (WorldGrammar::speaks_for(out.country))
      return world.fields(fields.tokens, fields.parts, out);
    if (NorthAmericanGrammar::speaks_for(out.country))
      return north_america.fields(fields.tokens, fields.parts, out);
    PlainGrammar::fields(fields.tokens, fields.parts, out);
    return {};
  }
};

SecondReading::SecondReading(SecondReader& reader)
    : reader_(&reader), rules_(std::make_unique<Rules>()) {}
SecondReading::~SecondReading() = default;

std::optional<Canonical> SecondReading::fields_of(const Canonical& unparsed,
                                                  const std::string& line,
                                                  const std::vector<TextPart>& parts) {
  Tokens& tokens = rules_->tokens;
  tokens.clear();
  tokenize(line, token_rules_of(unparsed.country), tokens);
  const auto runs = runs_of(tokens, parts);
  if (!runs) return std::nullopt;
  const auto& country = runs->at(static_cast<std::size_t>(Field::country));
  const bool is_country_known = unparsed.country.is_known();
  if (is_country_known && !country.empty() &&
      !is_name_of(tokens.view(country.front().first, country.front().last), unparsed.country))
    return std::nullopt;
  Fields fields = in_fields(tokens, *runs, !is_country_known);
  Canonical out;
  out.country = unparsed.country;
  if (!rules_->fields(fields, out)) return std::nullopt;
  if (out.mode == Mode::unparsed || (out.road.empty() && out.box.empty())) return std::nullopt;
  if (!agrees(out, unparsed)) return std::nullopt;
  append_segment(out.extra, unparsed.extra);
  out.options = unparsed.options;
  out.backend = reader_->backend();
  out.quality = quality_of(out);
  return out;
}

std::vector<Result<Canonical>> SecondReading::read(std::span<const Canonical> unparsed) {
  std::vector<Result<Canonical>> found(unparsed.begin(), unparsed.end());
  std::vector<std::string> lines;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < unparsed.size(); ++i) {
    auto line = question_of(unparsed[i]);
    if (!line) continue;
    lines.push_back(std::move(*line));
    places.push_back(i);
  }
  if (lines.empty()) return found;
  const auto said = reader_->read(lines);
  GEONCE_EXPECTS(said.size() == lines.size());
  for (std::size_t q = 0; q < lines.size(); ++q) {
    const std::size_t i = places[q];
    if (!said[q])
      found[i] = fail(said[q].error());
    else if (!is_text(*said[q]))
      found[i] = fail(ErrorCode::reader_unavailable,
                      "the second reader answered with bytes that are no text");
    else if (auto fields = fields_of(unparsed[i], lines[q], *said[q]))
      found[i] = std::move(*fields);
  }
  return found;
}

}  // namespace geonce
