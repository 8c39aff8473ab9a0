#include "providers/spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include <boost/json.hpp>
#include <toml++/toml.h>

#include "providers/builtin_specs.h"

namespace geonce {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

template <class T>
using NameTable = std::vector<std::pair<std::string_view, T>>;

const NameTable<QueryPart>& query_parts() {
  static const NameTable<QueryPart> parts{{"house_number", &Query::house_number},
                                          {"road", &Query::road},
                                          {"unit", &Query::unit},
                                          {"city", &Query::city},
                                          {"state", &Query::state},
                                          {"postcode", &Query::postcode},
                                          {"house", &Query::house},
                                          {"po_box", &Query::po_box},
                                          {"suburb", &Query::suburb}};
  return parts;
}

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

const NameTable<OutcomeKind>& billable_outcomes() {
  static const NameTable<OutcomeKind> kinds{{"match", OutcomeKind::match},
                                            {"no_match", OutcomeKind::no_match},
                                            {"ambiguous", OutcomeKind::ambiguous},
                                            {"pending", OutcomeKind::pending}};
  return kinds;
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

constexpr std::array<std::string_view, 13> kAnswerFields{"lat",
                                                         "lon",
                                                         "confidence",
                                                         "formatted",
                                                         "place_id",
                                                         "country",
                                                         "house_number",
                                                         "street",
                                                         "unit",
                                                         "city",
                                                         "state",
                                                         "postcode",
                                                         "precision"};

/// The file being read and the first thing found wrong in it. Reading goes on after an error with
/// harmless values, so that the code below can be a plain list of keys.
class File {
 public:
  explicit File(std::string_view origin) : origin_(origin) {}

  template <class... Args>
  void wrong(const toml::source_region& at, fmt::format_string<Args...> format, Args&&... args) {
    if (error_) return;
    error_ = Error{
        ErrorCode::invalid_config,
        fmt::format(
            "{}:{}: {}", origin_, at.begin.line, fmt::format(format, std::forward<Args>(args)...)),
        {},
        {},
        {}};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::string origin_;
  std::optional<Error> error_;
};

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

/// The scalar as the engine compares it with JSON scalars (`scalar_text`); nullopt for anything
/// else.
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

/// One table of the file. Each key is asked for once; `end` complains of those that nobody asked
/// for.
class Table {
 public:
  Table(File& file, const toml::table& table, std::string where)
      : file_(file), table_(table), where_(std::move(where)) {}

  File& file() { return file_; }
  [[nodiscard]] const toml::source_region& at() const { return table_.source(); }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] std::string path(std::string_view key) const {
    return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
  }

  const toml::node* find(std::string_view key) {
    asked_.insert(std::string(key));
    return table_.get(key);
  }

  std::optional<std::string> text(std::string_view key) {
    const auto* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as_string()) return value->get();
    mismatch(key, *node, "a text");
    return std::nullopt;
  }
  std::string required_text(std::string_view key) {
    auto value = text(key);
    if (!value && !table_.contains(key)) file_.wrong(at(), "{} is missing", path(key));
    return value.value_or("");
  }
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) {
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
  std::optional<double> number(std::string_view key) {
    const auto* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto value = number_of(*node)) return value;
    mismatch(key, *node, "a number");
    return std::nullopt;
  }
  bool flag(std::string_view key, bool otherwise) {
    const auto* node = find(key);
    if (node == nullptr) return otherwise;
    if (const auto* value = node->as_boolean()) return value->get();
    mismatch(key, *node, "true or false");
    return otherwise;
  }

  /// The table of that name, if there is one.
  std::optional<Table> table(std::string_view key) {
    const auto* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* inner = node->as_table()) return Table(file_, *inner, path(key));
    mismatch(key, *node, "a table");
    return std::nullopt;
  }
  /// The tables of `[[key]]`.
  std::vector<Table> tables(std::string_view key) {
    std::vector<Table> all;
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
  /// The elements of a list, or the one scalar as a list of one.
  std::vector<const toml::node*> elements(std::string_view key) {
    const auto* node = find(key);
    if (node == nullptr) return {};
    return elements_of(*node);
  }
  static std::vector<const toml::node*> elements_of(const toml::node& node) {
    std::vector<const toml::node*> all;
    if (const auto* array = node.as_array())
      for (const auto& element : *array) all.push_back(&element);
    else
      all.push_back(&node);
    return all;
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> all;
    for (const auto* node : elements(key)) {
      if (const auto* text = node->as_string())
        all.push_back(text->get());
      else
        mismatch(key, *node, "a text or a list of texts");
    }
    return all;
  }
  /// Every key and value of the table itself.
  std::vector<std::pair<std::string, const toml::node*>> members() {
    std::vector<std::pair<std::string, const toml::node*>> all;
    for (const auto& [key, node] : table_) {
      asked_.insert(std::string(key.str()));
      all.emplace_back(key.str(), &node);
    }
    return all;
  }

  template <class T>
  std::optional<T> word(std::string_view key, const NameTable<T>& table) {
    const auto value = text(key);
    return value ? look_up(key, *value, table, find(key)->source()) : std::nullopt;
  }
  template <class T>
  std::vector<T> words(std::string_view key, const NameTable<T>& table) {
    std::vector<T> all;
    for (const auto& name : texts(key))
      if (const auto found = look_up(key, name, table, find(key)->source())) all.push_back(*found);
    return all;
  }
  template <class T>
  std::optional<T> look_up(std::string_view key,
                           std::string_view name,
                           const NameTable<T>& table,
                           const toml::source_region& where) {
    for (const auto& [known, value] : table)
      if (known == name) return value;
    std::string all;
    for (const auto& [known, value] : table) all += (all.empty() ? "" : ", ") + std::string(known);
    file_.wrong(where, "{}: \"{}\" is not one of {}", path(key), name, all);
    return std::nullopt;
  }

  Pointer pointer(std::string_view key, const toml::node& node) {
    const auto* text = node.as_string();
    if (text == nullptr) {
      mismatch(key, node, "a JSON Pointer");
      return {};
    }
    auto pointer = Pointer::parse(text->get());
    if (!pointer) file_.wrong(node.source(), "{}: {}", path(key), pointer.error().message);
    return pointer ? std::move(*pointer) : Pointer{};
  }
  std::vector<Pointer> pointers(std::string_view key) {
    std::vector<Pointer> all;
    for (const auto* node : elements(key)) all.push_back(pointer(key, *node));
    return all;
  }
  std::optional<Pointer> one_pointer(std::string_view key) {
    const auto* node = find(key);
    return node != nullptr ? std::optional(pointer(key, *node)) : std::nullopt;
  }
  TextSource text_source(std::string_view key) {
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
  std::optional<Template> text_template(std::string_view key, const toml::node& node) {
    const auto text = scalar(node);
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
  NamedTemplates named_templates(std::string_view key) {
    NamedTemplates all;
    auto inner = table(key);
    if (!inner) return all;
    for (const auto& [name, node] : inner->members())
      for (const auto* element : elements_of(*node))
        if (auto parsed = inner->text_template(name, *element))
          all.emplace_back(name, std::move(*parsed));
    return all;
  }

  void mismatch(std::string_view key, const toml::node& node, std::string_view wanted) {
    file_.wrong(node.source(), "{}: {} is wanted, not {}", path(key), wanted, kind_name(node));
  }
  static std::optional<double> number_of(const toml::node& node) {
    if (const auto* value = node.as_integer()) return static_cast<double>(value->get());
    if (const auto* value = node.as_floating_point())
      if (std::isfinite(value->get())) return value->get();
    return std::nullopt;
  }

  /// Every key that nobody asked for is a mistake.
  void end() {
    for (const auto& [key, node] : table_) {
      if (asked_.contains(std::string(key.str()))) continue;
      std::string known;
      for (const auto& name : asked_) known += (known.empty() ? "" : ", ") + name;
      file_.wrong(key.source(), "unknown key \"{}\"; here may stand: {}", path(key.str()), known);
    }
  }

 private:
  File& file_;
  const toml::table& table_;
  std::string where_;
  std::set<std::string> asked_;
};

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

std::vector<Condition::Words> pointer_words(Table& table, std::string_view key) {
  std::vector<Condition::Words> all;
  auto inner = table.table(key);
  if (!inner) return all;
  for (const auto& [name, node] : inner->members()) {
    Condition::Words entry;
    auto at = Pointer::parse(name);
    if (!at) table.file().wrong(node->source(), "{}: {}", table.path(key), at.error().message);
    if (at) entry.at = std::move(*at);
    for (const auto* element : Table::elements_of(*node)) {
      if (auto text = scalar(*element))
        entry.words.push_back(std::move(*text));
      else
        inner->mismatch(name, *element, "a text, a number, true, false or a list of these");
    }
    all.push_back(std::move(entry));
  }
  return all;
}

/// The keys of a condition; the caller's own keys may stand beside them.
Condition read_condition(Table& table) {
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
  if (auto inner = table.table("between"))
    for (const auto& [name, node] : inner->members()) {
      const auto bounds = Table::elements_of(*node);
      const auto low = bounds.size() == 2 ? Table::number_of(*bounds[0]) : std::nullopt;
      const auto high = bounds.size() == 2 ? Table::number_of(*bounds[1]) : std::nullopt;
      auto at = Pointer::parse(name);
      if (!at)
        table.file().wrong(node->source(), "{}: {}", inner->path(name), at.error().message);
      else if (!low || !high || *low > *high)
        table.file().wrong(node->source(), "{}: [lowest, highest] is wanted", inner->path(name));
      else
        condition.between.push_back({std::move(*at), *low, *high});
    }
  condition.has = table.pointers("has");
  condition.lacks = table.pointers("lacks");
  condition.text = table.texts("text");
  const NameTable<bool> kinds{{"postcode", true}};
  condition.asked_postcode = table.word("asked", kinds).value_or(false);
  return condition;
}

std::vector<Condition> read_conditions(Table& table, std::string_view key) {
  std::vector<Condition> all;
  for (Table& inner : table.tables(key)) {
    all.push_back(read_condition(inner));
    inner.end();
  }
  return all;
}

std::vector<ErrorRule> read_errors(Table& table) {
  std::vector<ErrorRule> all;
  for (Table& inner : table.tables("error")) {
    ErrorRule rule;
    rule.when = read_condition(inner);
    if (const auto failure = inner.word("class", failure_classes()))
      rule.failure = *failure;
    else
      inner.file().wrong(inner.at(), "{} is missing", inner.path("class"));
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

std::vector<PrecisionRule> read_precision(Table& table) {
  const auto* node = table.find("precision");
  std::vector<PrecisionRule> rules;
  if (node == nullptr) return rules;
  if (node->is_string()) {  // always the same
    if (const auto always = table.word("precision", precisions())) rules.push_back({{}, *always});
  } else if (node->is_table()) {  // the provider's words, by one pointer
    auto inner = *table.table("precision");
    const auto at = inner.one_pointer("at");
    if (!at) table.file().wrong(inner.at(), "{} is missing", inner.path("at"));
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
    for (Table& inner : table.tables("precision")) {
      PrecisionRule rule;
      rule.when = read_condition(inner);
      if (const auto as = inner.word("as", precisions()))
        rule.as = *as;
      else
        inner.file().wrong(inner.at(), "{} is missing", inner.path("as"));
      inner.end();
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

std::optional<ConfidenceSource> read_confidence(Table& table) {
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
    table.file().wrong(inner->at(), "{} is missing", inner->path("at"));
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

std::optional<Condition> read_partial(Table& table) {
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

/// The keys of `[answer]`, and the rules that stand as `[[no_match]]` … in `rules`.
Reading read_reading(Table& answer, Table& rules) {
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

// --- the request ---------------------------------------------------------------------------------

std::optional<JsonTemplate> read_json_template(Table& table,
                                               std::string_view key,
                                               const toml::node& node) {
  if (node.is_string()) {
    auto text = table.text_template(key, node);
    if (!text) return std::nullopt;
    return JsonTemplate{std::move(*text)};
  }
  if (const auto* number = node.as_integer()) return JsonTemplate{json::value(number->get())};
  if (const auto* number = node.as_floating_point())
    return JsonTemplate{json::value(number->get())};
  if (const auto* flag = node.as_boolean()) return JsonTemplate{json::value(flag->get())};
  if (const auto* array = node.as_array()) {
    JsonTemplate::Array elements;
    for (const auto& element : *array)
      if (auto inner = read_json_template(table, key, element))
        elements.push_back(std::move(*inner));
    return JsonTemplate{std::move(elements)};
  }
  if (const auto* object = node.as_table()) {
    JsonTemplate::Object members;
    for (const auto& [name, member] : *object)
      if (auto inner = read_json_template(table, key, member)) {
        members.names.emplace_back(name.str());
        members.members.push_back(std::move(*inner));
      }
    return JsonTemplate{std::move(members)};
  }
  table.mismatch(key, node, "a JSON value");
  return std::nullopt;
}

Template read_url(Table& table) {
  const auto text = table.required_text("url");
  const auto* node = table.find("url");
  if (node == nullptr) return {};
  if (!text.starts_with("https://") && !text.starts_with("http://"))
    table.file().wrong(
        node->source(), "{} has to begin with https:// or http://", table.path("url"));
  auto url = table.text_template("url", *node);
  return url ? std::move(*url) : Template{};
}

milliseconds read_timeout(Table& table, milliseconds otherwise) {
  const auto seconds = table.integer("timeout_s", 1, 3'600);
  return seconds ? milliseconds{*seconds * 1'000} : otherwise;
}

RequestForm read_request(Table& table, milliseconds timeout) {
  RequestForm request;
  request.url = read_url(table);
  request.query = table.named_templates("query");
  request.headers = table.named_templates("headers");
  request.timeout = read_timeout(table, timeout);
  return request;
}

std::vector<std::vector<QueryPart>> read_needs(Table& table) {
  std::vector<std::vector<QueryPart>> all;
  for (const auto* list : table.elements("needs")) {
    std::vector<QueryPart> parts;
    if (!list->is_array()) table.mismatch("needs", *list, "a list of lists of parts");
    for (const auto* node : Table::elements_of(*list)) {
      const auto* name = node->as_string();
      if (name == nullptr) {
        table.mismatch("needs", *node, "the name of a part");
      } else if (const auto part =
                     table.look_up("needs", name->get(), query_parts(), node->source())) {
        parts.push_back(*part);
      }
    }
    all.push_back(std::move(parts));
  }
  return all;
}

/// The parts of a query that are sent, and those that the spec says may be dropped.
std::vector<QueryPart> carried_parts(Table& table, const std::function<bool(Placeholder)>& sends) {
  std::vector<QueryPart> parts = table.words("drops", query_parts());
  const auto carry = [&](Placeholder word, std::initializer_list<QueryPart> sent) {
    if (sends(word)) parts.insert(parts.end(), sent);
  };
  carry(Placeholder::street, {&Query::house_number, &Query::road});
  carry(Placeholder::house_number, {&Query::house_number});
  carry(Placeholder::road, {&Query::road});
  carry(Placeholder::unit, {&Query::unit});
  carry(Placeholder::city, {&Query::city});
  carry(Placeholder::state, {&Query::state});
  carry(Placeholder::postcode, {&Query::postcode});
  carry(Placeholder::house, {&Query::house});
  carry(Placeholder::po_box, {&Query::po_box});
  carry(Placeholder::suburb, {&Query::suburb});
  return parts;
}

bool any_uses(const NamedTemplates& templates, Placeholder word) {
  return std::ranges::any_of(templates, [&](const auto& named) { return named.second.uses(word); });
}

bool uses(const JsonTemplate& value, Placeholder word) {
  if (const auto* text = std::get_if<Template>(&value.value)) return text->uses(word);
  if (const auto* array = std::get_if<JsonTemplate::Array>(&value.value))
    return std::ranges::any_of(*array, [&](const auto& element) { return uses(element, word); });
  if (const auto* object = std::get_if<JsonTemplate::Object>(&value.value))
    return std::ranges::any_of(object->members,
                               [&](const auto& member) { return uses(member, word); });
  return false;
}

RequestForm read_ask(Table& table, std::optional<FieldsRequest>& fields) {
  RequestForm request = read_request(table, milliseconds{8'000});
  request.form = table.named_templates("form");
  if (const auto* node = table.find("json"))
    request.json = read_json_template(table, "json", *node);
  if (request.json && !request.form.empty())
    table.file().wrong(table.at(), "{}: form or json, not both", table.where());
  const bool has_body = request.json || !request.form.empty();
  const NameTable<std::string> methods{{"GET", "GET"}, {"POST", "POST"}};
  request.method = table.word("method", methods).value_or(has_body ? "POST" : "GET");
  if (has_body && request.method != "POST")
    table.file().wrong(table.at(), "{}: a body wants method = \"POST\"", table.where());
  if (auto inner = table.table("fields")) {
    FieldsRequest way;
    if (inner->find("url") != nullptr) way.url = read_url(*inner);
    way.query = inner->named_templates("query");
    way.needs = read_needs(*inner);
    way.carries =
        carried_parts(*inner, [&](Placeholder word) { return any_uses(way.query, word); });
    inner->end();
    fields = std::move(way);
  }
  table.end();
  return request;
}

// --- bulk ----------------------------------------------------------------------------------------

void read_bulk_json(Table& table, Bulk& bulk) {
  const auto* item = table.find("item");
  if (item == nullptr)
    table.file().wrong(table.at(), "{} is missing", table.path("item"));
  else
    bulk.item = read_json_template(table, "item", *item);
  if (const auto* key = table.find("key")) bulk.key = table.text_template("key", *key);
  if (bulk.key && !bulk.key->uses(Placeholder::ref))
    table.file().wrong(table.at(), "{} has to use {{ref}}", table.path("key"));
  bulk.list_at = table.one_pointer("list_at").value_or(Pointer{});
  table.end();
}

void read_bulk_csv(Table& table, Bulk& bulk) {
  bulk.file_field = table.required_text("file_field");
  bulk.file_name = table.text("file_name").value_or("addresses.csv");
  bulk.header = table.flag("header", true);
  bulk.quotes = table.flag("quotes", true);
  bulk.form = table.named_templates("form");
  for (const auto* node : table.elements("columns")) {
    const auto pair = Table::elements_of(*node);
    const auto* name = pair.size() == 2 ? pair[0]->as_string() : nullptr;
    if (name == nullptr)
      table.mismatch("columns", *node, R"(a list of ["name", "template"])");
    else if (auto text = table.text_template("columns", *pair[1]))
      bulk.columns.emplace_back(name->get(), std::move(*text));
  }
  if (std::ranges::none_of(bulk.columns,
                           [](const auto& c) { return c.second.uses(Placeholder::ref); }))
    table.file().wrong(table.at(), "{}: one column has to send {{ref}}", table.path("columns"));
  table.end();
}

void read_bulk_answer(Table& table, Table& rules, Bulk& bulk) {
  const NameTable<bool> formats{{"json", false}, {"csv", true}};
  bulk.answer_is_csv = table.word("format", formats).value_or(false);
  bulk.answer_columns = table.texts("columns");
  bulk.items = table.pointers("items");
  bulk.ref = table.one_pointer("ref");
  bulk.echo = table.one_pointer("echo");
  bulk.status = table.one_pointer("status");
  bulk.response = table.one_pointer("response");
  if (table.find("lat") != nullptr || table.find("lon_lat") != nullptr)
    bulk.reading = read_reading(table, rules);
  if (bulk.answer_is_csv && (!bulk.ref || !bulk.reading || !bulk.items.empty()))
    table.file().wrong(
        table.at(), "{}: a CSV answer wants ref and coordinates, and has no items", table.where());
  if (bulk.answer_is_csv && bulk.ref && bulk.reading)
    for (const Pointer& at : needed_places(bulk))
      if (at.text().size() < 2 || at.text().find('/', 1) != std::string::npos)
        table.file().wrong(
            table.at(), "{}: \"{}\" is no column; one is written /name", table.where(), at.text());
  if (!bulk.answer_is_csv && !bulk.answer_columns.empty())
    table.file().wrong(table.at(), "{} is of CSV answers only", table.path("columns"));
  if (!bulk.answer_is_csv && bulk.items.empty())
    table.file().wrong(table.at(), "{} is missing", table.path("items"));
  table.end();
}

/// A call for many addresses can name only what is the same for all of them.
void expect_no_query_words(Table& table, const NamedTemplates& templates) {
  for (const auto& [name, text] : templates)
    for (int word = static_cast<int>(Placeholder::address);
         word <= static_cast<int>(Placeholder::ref);
         ++word)
      if (static_cast<Placeholder>(word) != Placeholder::secret &&
          text.uses(static_cast<Placeholder>(word)))
        table.file().wrong(
            table.at(),
            "{}: \"{}\" differs from address to address and cannot be said once for a "
            "whole call; only {{secret}} can",
            table.where(),
            name);
}

std::vector<Country> read_countries(Table& table) {
  std::vector<Country> all;
  for (const auto& code : table.texts("countries")) {
    auto country = parse_country(code);
    if (country && country->is_known())
      all.push_back(*country);
    else
      table.file().wrong(table.find("countries")->source(), "\"{}\" is no country code", code);
  }
  return all;
}

Bulk read_bulk(Table& table) {
  Bulk bulk;
  bulk.max = static_cast<std::size_t>(table.integer("max", 1, 1'000'000).value_or(1));
  if (table.find("max") == nullptr)
    table.file().wrong(table.at(), "{} is missing", table.path("max"));
  bulk.request = read_request(table, milliseconds{60'000});
  bulk.request.method = "POST";
  bulk.max_chars = static_cast<std::size_t>(table.integer("max_chars", 1, 100'000).value_or(0));
  bulk.countries = read_countries(table);
  bulk.needs = read_needs(table);
  auto as_json = table.table("json");
  auto as_csv = table.table("csv");
  if (as_json.has_value() == as_csv.has_value())
    table.file().wrong(
        table.at(), "{}: either a table json is wanted, or a table csv", table.where());
  if (as_json) read_bulk_json(*as_json, bulk);
  if (as_csv) read_bulk_csv(*as_csv, bulk);
  bulk.carries = carried_parts(table, [&](Placeholder word) {
    return any_uses(bulk.columns, word) || (bulk.item && uses(*bulk.item, word));
  });
  expect_no_query_words(table, bulk.request.query);
  expect_no_query_words(table, bulk.request.headers);
  expect_no_query_words(table, bulk.form);
  if (auto answer = table.table("answer"))
    read_bulk_answer(*answer, table, bulk);
  else
    table.file().wrong(table.at(), "{} is missing", table.path("answer"));
  table.end();
  return bulk;
}

// --- the rest ------------------------------------------------------------------------------------

Terms read_terms(Table& table) {
  Terms terms;
  if (const auto* days = table.find("persist_days")) {
    if (days->is_string()) {
      const NameTable<bool> words{{"unlimited", true}};
      if (table.word("persist_days", words)) terms.keep = Terms::Keep::unlimited;
    } else if (const auto number = table.integer("persist_days", 0, 36'500)) {
      terms.keep = *number == 0 ? Terms::Keep::nothing : Terms::Keep::limited;
      terms.keep_for = std::chrono::hours{24 * *number};
    }
  } else {
    table.file().wrong(table.at(), "{} is missing", table.path("persist_days"));
  }
  for (const auto& field : table.texts("fields")) {
    if (std::ranges::find(kAnswerFields, field) == kAnswerFields.end())
      table.file().wrong(table.find("fields")->source(),
                         "{}: \"{}\" is no field of an answer",
                         table.path("fields"),
                         field);
    terms.keep_fields.push_back(field);
  }
  terms.share = table.flag("share", true);
  terms.attribution = table.text("attribution").value_or("");
  table.end();
  return terms;
}

Prices read_prices(Table& table) {
  Prices prices;
  prices.single.micro_usd = table.integer("single_microusd", 0, 1'000'000'000).value_or(0);
  prices.bulk.micro_usd =
      table.integer("bulk_microusd", 0, 1'000'000'000).value_or(prices.single.micro_usd);
  if (table.find("bills") != nullptr) prices.bills = table.words("bills", billable_outcomes());
  prices.may_bill = table.words("may_bill", billable_outcomes());
  for (const OutcomeKind kind : prices.may_bill) std::erase(prices.bills, kind);
  table.end();
  return prices;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

bool uses(const RequestForm& request, Placeholder word) {
  return request.url.uses(word) || any_uses(request.query, word) ||
         any_uses(request.headers, word) || any_uses(request.form, word) ||
         (request.json && uses(*request.json, word));
}

Spec read_spec(Table& table) {
  Spec spec;
  const auto version = table.integer("spec", 1, 1'000);
  if (!version)
    table.file().wrong(table.at(), "spec = 1 is missing: the version of the language");
  else if (*version != 1)
    table.file().wrong(table.find("spec")->source(), "this program knows spec = 1 only");
  spec.name = table.required_text("name");
  if (!is_name(spec.name))
    table.file().wrong(table.at(), "name has to be 1 to 40 of a-z, 0-9 and _");
  spec.title = table.text("title").value_or(spec.name);
  spec.facts = table.text("facts").value_or("");
  if (auto terms = table.table("terms")) spec.terms = read_terms(*terms);
  if (auto price = table.table("price")) spec.prices = read_prices(*price);
  if (auto limits = table.table("limits")) {
    spec.rate_per_s = limits->number("rate_per_s").value_or(0);
    if (spec.rate_per_s < 0)
      table.file().wrong(limits->at(), "{} has to be 0 or more", limits->path("rate_per_s"));
    spec.concurrency =
        static_cast<std::size_t>(limits->integer("concurrency", 1, 10'000).value_or(8));
    if (const auto most = limits->integer("max_delay_s", 1, 86'400))
      spec.max_delay = milliseconds{*most * 1'000};
    limits->end();
  }
  spec.countries = read_countries(table);
  spec.needs_user_agent = table.flag("needs_user_agent", false);
  const NameTable<bool> encodings{{"utf-8", false}, {"iso-8859-1", true}};
  spec.latin1 = table.word("encoding", encodings).value_or(false);
  spec.ascii = table.flag("ascii", false);
  spec.no_match_rechecks = static_cast<int>(table.integer("no_match_rechecks", 0, 10).value_or(0));
  spec.request_id_header = table.text("request_id_header").value_or("");
  if (auto delay = table.table("retry_after")) {
    spec.delay_header = delay->text("header").value_or(spec.delay_header);
    spec.delay_at = delay->one_pointer("at");
    delay->end();
  }
  for (std::string* name : {&spec.request_id_header, &spec.delay_header})
    std::ranges::transform(*name, name->begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });

  if (auto ask = table.table("ask"))
    spec.ask = read_ask(*ask, spec.fields);
  else
    table.file().wrong(table.at(), "[ask] is missing");
  if (auto answer = table.table("answer")) {
    spec.reading = read_reading(*answer, table);
    spec.reading.items = answer->pointers("items");
    answer->end();
  } else {
    table.file().wrong(table.at(), "[answer] is missing");
  }
  if (auto bulk = table.table("bulk")) spec.bulk = read_bulk(*bulk);
  table.end();

  spec.needs_secret = uses(spec.ask, Placeholder::secret) ||
                      (spec.fields && any_uses(spec.fields->query, Placeholder::secret)) ||
                      (spec.bulk && (uses(spec.bulk->request, Placeholder::secret) ||
                                     any_uses(spec.bulk->form, Placeholder::secret)));
  return spec;
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf()))
    return fail(ErrorCode::io_failed, "cannot read the provider file {}", path.string());
  return std::move(bytes).str();
}

}  // namespace

std::vector<Pointer> needed_places(const Bulk& bulk) {
  std::vector<Pointer> places{*bulk.ref};
  const Reading& reading = *bulk.reading;
  places.insert(places.end(), reading.lat.begin(), reading.lat.end());
  places.insert(places.end(), reading.lon.begin(), reading.lon.end());
  if (reading.lon_lat) places.push_back(*reading.lon_lat);
  return places;
}

Result<Spec> parse_spec(std::string_view toml, std::string_view origin) {
  File file(origin);
  toml::table document;
  try {
    document = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    file.wrong(error.source(), "{}", error.description());
    return fail(*file.error());
  }
  Table table(file, document, "");
  Spec spec = read_spec(table);
  if (file.error()) return fail(*file.error());
  spec.origin = origin;
  spec.text = toml;
  return spec;
}

Result<Specs> load_specs(const std::filesystem::path& folder) {
  Specs specs;
  const auto add = [&](std::string_view toml, std::string_view origin) -> Result<void> {
    auto spec = parse_spec(toml, origin);
    if (!spec) return fail(std::move(spec.error()));
    std::string name = spec->name;
    specs.insert_or_assign(std::move(name), std::move(*spec));
    return {};
  };
  for (const auto& [name, toml] : builtin_specs())
    if (auto added = add(toml, fmt::format("built-in {}.toml", name)); !added)
      return fail(std::move(added.error()));
  if (folder.empty()) return specs;

  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".toml") files.push_back(entry->path());
  if (error)
    return fail(ErrorCode::io_failed,
                "cannot list the provider folder {}: {}",
                folder.string(),
                error.message());
  std::ranges::sort(files);
  std::map<std::string, std::string> seen;  // name -> file
  for (const auto& path : files) {
    auto bytes = read_file(path);
    if (!bytes) return fail(std::move(bytes.error()));
    auto spec = parse_spec(*bytes, path.string());
    if (!spec) return fail(std::move(spec.error()));
    const auto [first, is_new] = seen.emplace(spec->name, path.string());
    if (!is_new)
      return fail(ErrorCode::invalid_config,
                  "{} and {} both describe the provider \"{}\"",
                  first->second,
                  path.string(),
                  spec->name);
    std::string name = spec->name;
    specs.insert_or_assign(std::move(name), std::move(*spec));
  }
  return specs;
}

}  // namespace geonce
