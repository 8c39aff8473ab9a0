#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "providers/spec.h"
#include "providers/spec_table.h"

namespace geonce {

/// How a single address is asked for: the keys of `[ask]`. `[ask.fields]`, where it stands, comes
/// in `fields`.
RequestForm read_ask(SpecTable& table, std::optional<FieldsRequest>& fields);

// What a bulk call is described with as well.

/// `url`, `query`, `headers`, `timeout_s`.
RequestForm read_request(SpecTable& table, std::chrono::milliseconds timeout);
std::optional<JsonTemplate> read_json_template(SpecTable& table,
                                               std::string_view key,
                                               const toml::node& node);
std::vector<std::vector<QueryPart>> read_needs(SpecTable& table);
/// The parts of a query that are sent, and those that the spec says may be dropped.
std::vector<QueryPart> carried_parts(SpecTable& table,
                                     const std::function<bool(Placeholder)>& sends);

bool any_uses(const NamedTemplates& templates, Placeholder word);
bool uses(const JsonTemplate& value, Placeholder word);
bool uses(const RequestForm& request, Placeholder word);

}  // namespace geonce
