#include "providers/spec_answer.h"

#include <cmath>

namespace geonce {
namespace {

using std::chrono::milliseconds;

const NameTable<FailureClass>& failure_classes() {
  static const NameTable<FailureClass> classes{{"retry", FailureClass::retry},
                                               {"retry-after", FailureClass::retry_after},
                                               {"permanent", FailureClass::permanent},
                                               {"fatal", FailureClass::fatal}};
  return classes;
}

const NameTable<Billed>& billed_words() {
  static const NameTable<Billed> words{
      {"no", Billed::no}, {"yes", Billed::yes}, {"unknown", Billed::unknown}};
  return words;
}

const NameTable<Precision>& precisions() {
  static const NameTable<Precision> words = [] {
    NameTable<Precision> all;
    for (int i = 0; i <= static_cast<int>(Precision::unknown); ++i)
      all.emplace_back(to_string(static_cast<Precision>(i)), static_cast<Precision>(i));
    return all;
  }();
  return words;
}

// --- conditions and rules ------------------------------------------------------------------------

std::optional<StatusRange> status_range(const toml::node& node) {
  if (const auto* number = node.as_integer())
    if (number->get() >= 100 && number->get() <= 599)
      return StatusRange{static_cast<int>(number->get()), static_cast<int>(number->get())};
  if (const auto* text = node.as_string()) {
    const std::string& word = text->get();
    if (word.size() == 3 && word[0] >= '1' && word[0] <= '5' && word.ends_with("xx")) {
      const int first = (word[0] - '0') * 100;
      return StatusRange{first, first + 99};
    }
  }
  return std::nullopt;
}

std::vector<Condition::Words> pointer_words(SpecTable& table, std::string_view key) {
  std::vector<Condition::Words> all;
  auto inner = table.table(key);
  if (!inner) return all;
  for (const auto& [name, node] : inner->members()) {
    Condition::Words entry;
    auto at = Pointer::parse(name);
    if (!at) table.file().wrong(node->source(), "{}: {}", table.path(key), at.error().message);
    if (at) entry.at = std::move(*at);
    for (const auto* element : elements_of(*node)) {
      if (auto text = scalar_of(*element))
        entry.words.push_back(std::move(*text));
      else
        inner->mismatch(name, *element, "a text, a number, true, false or a list of these");
    }
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<Condition::Range> read_between(SpecTable& table) {
  std::vector<Condition::Range> all;
  auto inner = table.table("between");
  if (!inner) return all;
  for (const auto& [name, node] : inner->members()) {
    auto at = Pointer::parse(name);
    if (!at) {
      table.file().wrong(node->source(), "{}: {}", inner->path(name), at.error().message);
      continue;
    }
    const auto elements = elements_of(*node);
    std::vector<double> bounds;
    for (const auto* element : elements)
      if (const auto number = number_of(*element)) bounds.push_back(*number);
    if (elements.size() == 2 && bounds.size() == 2 && bounds[0] <= bounds[1])
      all.push_back({std::move(*at), bounds[0], bounds[1]});
    else
      table.file().wrong(node->source(), "{}: [lowest, highest] is wanted", inner->path(name));
  }
  return all;
}

/// The keys of a condition; the caller's own keys may stand beside them.
Condition read_condition(SpecTable& table) {
  Condition condition;
  for (const auto* node : table.elements("status")) {
    if (const auto range = status_range(*node))
      condition.status.push_back(*range);
    else
      table.file().wrong(node->source(),
                         "{}: a status from 100 to 599, \"4xx\" or a list of these is wanted",
                         table.path("status"));
  }
  condition.is = pointer_words(table, "is");
  condition.contains = pointer_words(table, "contains");
  condition.between = read_between(table);
  condition.has = table.pointers("has");
  condition.lacks = table.pointers("lacks");
  condition.text = table.texts("text");
  const NameTable<bool> kinds{{"postcode", true}};
  condition.asked_postcode = table.word("asked", kinds).value_or(false);
  return condition;
}

std::vector<Condition> read_conditions(SpecTable& table, std::string_view key) {
  std::vector<Condition> all;
  for (SpecTable& inner : table.tables(key)) {
    all.push_back(read_condition(inner));
    inner.end();
  }
  return all;
}

std::vector<ErrorRule> read_errors(SpecTable& table) {
  std::vector<ErrorRule> all;
  for (SpecTable& inner : table.tables("error")) {
    ErrorRule rule;
    rule.when = read_condition(inner);
    if (const auto failure = inner.word("class", failure_classes()))
      rule.failure = *failure;
    else
      inner.missing("class");
    rule.reason = inner.text("reason").value_or("");
    rule.billed = inner.word("billed", billed_words());
    if (const auto delay = inner.number("delay_s"))
      rule.delay = milliseconds{static_cast<std::int64_t>(std::llround(*delay * 1'000))};
    inner.end();
    all.push_back(std::move(rule));
  }
  return all;
}

// --- the answer ----------------------------------------------------------------------------------

std::vector<PrecisionRule> read_precision(SpecTable& table) {
  const auto* node = table.find("precision");
  std::vector<PrecisionRule> rules;
  if (node == nullptr) return rules;
  if (node->is_string()) {  // always the same
    if (const auto always = table.word("precision", precisions())) rules.push_back({{}, *always});
  } else if (node->is_table()) {  // the provider's words, by one pointer
    auto inner = *table.table("precision");
    const auto at = inner.one_pointer("at");
    if (!at) inner.missing("at");
    for (const auto& [word, value] : inner.members()) {
      if (word == "at") continue;
      const auto as = inner.word(word, precisions());
      if (!as || !at) continue;
      PrecisionRule rule;
      rule.when.is.push_back({*at, {word}});
      rule.as = *as;
      rules.push_back(std::move(rule));
    }
  } else {  // rules, the first that holds counts
    for (SpecTable& inner : table.tables("precision")) {
      PrecisionRule rule;
      rule.when = read_condition(inner);
      if (const auto as = inner.word("as", precisions()))
        rule.as = *as;
      else
        inner.missing("as");
      inner.end();
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

std::optional<ConfidenceSource> read_confidence(SpecTable& table) {
  const auto* node = table.find("confidence");
  if (node == nullptr) return std::nullopt;
  ConfidenceSource source;
  if (node->is_string()) {
    source.at = table.pointer("confidence", *node);
    return source;
  }
  auto inner = table.table("confidence");
  if (!inner) return std::nullopt;
  if (auto at = inner->one_pointer("at"))
    source.at = std::move(*at);
  else
    inner->missing("at");
  source.divide_by = inner->number("divide_by").value_or(1);
  if (source.divide_by <= 0)
    table.file().wrong(inner->at(), "{} has to be more than 0", inner->path("divide_by"));
  for (const auto& [word, value] : inner->members()) {
    if (word == "at" || word == "divide_by") continue;
    const auto number = inner->number(word);
    if (number && (*number < 0 || *number > 1))
      table.file().wrong(value->source(), "{} has to be from 0 to 1", inner->path(word));
    if (number) source.words[word] = *number;
  }
  return source;
}

std::optional<Condition> read_partial(SpecTable& table) {
  const auto* node = table.find("partial");
  if (node == nullptr) return std::nullopt;
  if (node->is_string()) {  // short for: that value is true
    Condition condition;
    condition.is.push_back({table.pointer("partial", *node), {"true"}});
    return condition;
  }
  auto inner = table.table("partial");
  if (!inner) return std::nullopt;
  auto condition = read_condition(*inner);
  inner->end();
  return condition;
}

}  // namespace

Reading read_reading(SpecTable& answer, SpecTable& rules) {
  Reading reading;
  reading.no_match = read_conditions(rules, "no_match");
  reading.ambiguous = read_conditions(rules, "ambiguous");
  reading.pending = read_conditions(rules, "pending");
  reading.errors = read_errors(rules);
  if (auto expect = answer.table("expect")) {
    reading.expect = read_condition(*expect);
    expect->end();
  }
  reading.lat = answer.pointers("lat");
  reading.lon = answer.pointers("lon");
  reading.lon_lat = answer.one_pointer("lon_lat");
  const bool apart = !reading.lat.empty() && !reading.lon.empty();
  if (apart == reading.lon_lat.has_value() || reading.lat.empty() != reading.lon.empty())
    answer.file().wrong(
        answer.at(), "{}: either lat and lon are wanted, or lon_lat", answer.where());
  reading.precision = read_precision(answer);
  reading.confidence = read_confidence(answer);
  reading.partial = read_partial(answer);
  if (const auto* node = answer.find("country")) {
    const auto* text = node->as_string();
    if (text != nullptr && text->get().size() == 2 && text->get()[0] != '/') {
      if (auto country = parse_country(text->get()))
        reading.country = *country;
      else
        answer.file().wrong(node->source(), "answer.country: {}", country.error().message);
    } else {
      reading.country_text = answer.text_source("country");
    }
  }
  reading.formatted = answer.text_source("formatted");
  reading.place_id = answer.text_source("place_id");
  reading.house_number = answer.text_source("house_number");
  reading.street = answer.text_source("street");
  reading.unit = answer.text_source("unit");
  reading.city = answer.text_source("city");
  reading.state = answer.text_source("state");
  reading.postcode = answer.text_source("postcode");
  return reading;
}

}  // namespace geonce
