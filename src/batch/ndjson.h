#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch/chunk.h"
#include "core/result.h"

namespace geonce {

/// One member of a JSON object as it stands in the line. Views into the line.
struct JsonMember {
  std::string_view name;   // between its quotes, escapes untouched
  std::string_view value;  // raw: `"x\n"`, `12.50`, `{"a":1}`
};

/// The members of a line that holds one JSON object (RFC 8259; nesting up to 128). Checks all of
/// it. returns   false: it is no JSON object
bool scan_json_object(std::string_view line, std::vector<JsonMember>& members);

/// Appends what a cell shows: a string's text, nothing for null, else the value's own spelling.
void append_json_text(std::string_view raw_value, std::string& out);
/// Appends a JSON string with its quotes; NUL and other controls are escaped. UTF-8 in, UTF-8 out.
void append_json_string(std::string_view text, std::string& out);

/// Names of the members of all objects in the sample, in order of first appearance.
std::vector<std::string> json_columns(std::string_view sample, bool whole);

/// Finds records in a chunk of lines; the cells are the members named in `columns`, in that order.
/// A member that is missing is an empty cell; of two with one name the last counts.
void parse_ndjson(Chunk& chunk, const std::vector<std::string>& columns);

}  // namespace geonce
