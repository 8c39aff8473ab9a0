#include "providers/spec_ask.h"

#include <algorithm>

#include <boost/json.hpp>

namespace geonce {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

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

Template read_url(SpecTable& table) {
  const auto text = table.required_text("url");
  const auto* node = table.find("url");
  if (node == nullptr) return {};
  if (!text.starts_with("https://") && !text.starts_with("http://"))
    table.file().wrong(
        node->source(), "{} has to begin with https:// or http://", table.path("url"));
  auto url = table.text_template("url", *node);
  return url ? std::move(*url) : Template{};
}

milliseconds read_timeout(SpecTable& table, milliseconds otherwise) {
  const auto seconds = table.integer("timeout_s", 1, 3'600);
  return seconds ? milliseconds{*seconds * 1'000} : otherwise;
}

}  // namespace

std::optional<JsonTemplate> read_json_template(SpecTable& table,
                                               std::string_view key,
                                               const toml::node& node) {
  JsonTemplate read;
  if (node.is_string()) {
    auto text = table.text_template(key, node);
    if (!text) return std::nullopt;
    read.value = std::move(*text);
  } else if (const auto* number = node.as_integer()) {
    read.value = json::value(number->get());
  } else if (const auto* fraction = node.as_floating_point()) {
    read.value = json::value(fraction->get());
  } else if (const auto* flag = node.as_boolean()) {
    read.value = json::value(flag->get());
  } else if (const auto* array = node.as_array()) {
    auto& elements = read.value.emplace<JsonTemplate::Array>();
    for (const auto& element : *array)
      if (auto inner = read_json_template(table, key, element))
        elements.push_back(std::move(*inner));
  } else if (const auto* object = node.as_table()) {
    auto& members = read.value.emplace<JsonTemplate::Object>();
    for (const auto& [name, member] : *object)
      if (auto inner = read_json_template(table, key, member)) {
        members.names.emplace_back(name.str());
        members.members.push_back(std::move(*inner));
      }
  } else {
    table.mismatch(key, node, "a JSON value");
    return std::nullopt;
  }
  return read;
}

RequestForm read_request(SpecTable& table, milliseconds timeout) {
  RequestForm request;
  request.url = read_url(table);
  request.query = table.named_templates("query");
  request.headers = table.named_templates("headers");
  request.timeout = read_timeout(table, timeout);
  return request;
}

std::vector<std::vector<QueryPart>> read_needs(SpecTable& table) {
  std::vector<std::vector<QueryPart>> all;
  for (const auto* list : table.elements("needs")) {
    std::vector<QueryPart> parts;
    if (!list->is_array()) table.mismatch("needs", *list, "a list of lists of parts");
    for (const auto* node : elements_of(*list)) {
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

std::vector<QueryPart> carried_parts(SpecTable& table,
                                     const std::function<bool(Placeholder)>& sends) {
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

bool uses(const RequestForm& request, Placeholder word) {
  return request.url.uses(word) || any_uses(request.query, word) ||
         any_uses(request.headers, word) || any_uses(request.form, word) ||
         (request.json && uses(*request.json, word));
}

RequestForm read_ask(SpecTable& table, std::optional<FieldsRequest>& fields) {
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

}  // namespace geonce
