#include "providers/spec_bulk.h"

#include <algorithm>

#include "providers/spec_answer.h"
#include "providers/spec_ask.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

void read_bulk_json(SpecTable& table, Bulk& bulk) {
  const auto* item = table.find("item");
  if (item == nullptr)
    table.missing("item");
  else
    bulk.item = read_json_template(table, "item", *item);
  if (const auto* key = table.find("key")) bulk.key = table.text_template("key", *key);
  if (bulk.key && !bulk.key->uses(Placeholder::ref))
    table.file().wrong(table.at(), "{} has to use {{ref}}", table.path("key"));
  bulk.list_at = table.one_pointer("list_at").value_or(Pointer{});
  table.end();
}

void read_bulk_csv(SpecTable& table, Bulk& bulk) {
  bulk.file_field = table.required_text("file_field");
  bulk.file_name = table.text("file_name").value_or("addresses.csv");
  bulk.header = table.flag("header", true);
  bulk.quotes = table.flag("quotes", true);
  bulk.form = table.named_templates("form");
  for (const auto* node : table.elements("columns")) {
    const auto pair = elements_of(*node);
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

void read_bulk_answer(SpecTable& table, SpecTable& rules, Bulk& bulk) {
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
  if (!bulk.answer_is_csv && bulk.items.empty()) table.missing("items");
  table.end();
}

/// A call for many addresses can name only what is the same for all of them.
void expect_no_query_words(SpecTable& table, const NamedTemplates& templates) {
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

}  // namespace

Bulk read_bulk(SpecTable& table) {
  Bulk bulk;
  bulk.max = static_cast<std::size_t>(table.integer("max", 1, 1'000'000).value_or(1));
  if (table.find("max") == nullptr) table.missing("max");
  bulk.request = read_request(table, milliseconds{60'000});
  bulk.request.method = "POST";
  bulk.max_chars = static_cast<std::size_t>(table.integer("max_chars", 1, 100'000).value_or(0));
  bulk.countries = table.countries("countries");
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
    table.missing("answer");
  table.end();
  return bulk;
}

}  // namespace geonce
