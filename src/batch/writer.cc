#include "batch/writer.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "batch/ndjson.h"

namespace geonce {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> result_names(const OutputOptions& options, std::string_view suffix) {
  std::vector<std::string> names;
  for (const std::string_view column : result_columns(options.columns))
    names.push_back(fmt::format("{}{}{}", options.prefix, column, suffix));
  return names;
}

std::vector<std::string> common(const std::vector<std::string>& names,
                                const std::vector<std::string>& columns) {
  std::vector<std::string> both;
  for (const std::string& name : names)
    if (std::ranges::find(columns, name) != columns.end()) both.push_back(name);
  return both;
}

// Comma or tab, unless the input's own delimiter serves.
Dialect output_dialect(const InputShape& shape, const OutputOptions& options) {
  std::optional<Format> wanted = options.format;
  if (!wanted) wanted = format_of_name(options.path);
  Dialect dialect = shape.dialect;
  const bool has_own = shape.format != Format::ndjson && dialect.delimiter != '\0';
  if (!has_own) dialect = {',', '"', shape.dialect.line_end};
  if (wanted == Format::tsv) dialect.delimiter = '\t';
  if (wanted == Format::csv && dialect.delimiter == '\t') dialect.delimiter = ',';
  return dialect;
}

// JSON wants the names of an object's members to differ.
std::vector<std::string> json_names(const std::vector<std::string>& columns) {
  std::unordered_map<std::string, int> used;  // and the number that the next of that name tries
  std::vector<std::string> quoted;
  for (const std::string& column : columns) {
    std::string name = column;
    if (auto [same, is_new] = used.try_emplace(column, 2); !is_new) {
      int& number = same->second;
      do name = fmt::format("{}_{}", column, number++);
      while (!used.try_emplace(name, 2).second);
    }
    append_json_string(name, quoted.emplace_back());
  }
  return quoted;
}

std::optional<double> parse_degrees(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void append_json_cell(const RowResult& result, std::size_t column, std::string& out) {
  std::string cell;
  append_cell(result, column, cell);
  if (cell.empty())
    out += "null";
  else if (is_json_literal(column))
    out += cell;
  else
    append_json_string(cell, out);
}

// A cell that an earlier run wrote, read back as text.
void append_kept_json_cell(std::string_view cell, std::size_t column, std::string& out) {
  const bool is_literal = cell == "true" || cell == "false" || parse_degrees(cell);
  if (cell.empty())
    out += "null";
  else if (is_json_literal(column) && is_literal)
    out += cell;
  else
    append_json_string(cell, out);
}

void append_member_start(bool& is_first, std::string& out) {
  if (!is_first) out += ',';
  is_first = false;
}

}  // namespace

Result<Collision> parse_collision(std::string_view word) {
  if (word == "error") return Collision::error;
  if (word == "replace") return Collision::replace;
  if (word == "suffix") return Collision::suffix;
  return fail(ErrorCode::usage,
              "collision policy '{}' is not known; there are error, replace, suffix",
              word);
}

Result<RowWriter> RowWriter::make(const InputShape& shape, const OutputOptions& options) {
  RowWriter writer(shape);
  const auto wanted = options.format ? options.format : format_of_name(options.path);
  writer.format_ = wanted.value_or(shape.format);
  writer.dialect_ = output_dialect(shape, options);
  const bool is_json = writer.format_ == Format::ndjson || writer.format_ == Format::geojson;
  if (is_json && options.encoding && *options.encoding != Encoding::utf_8)
    return fail(ErrorCode::usage, "{} is always UTF-8", to_string(writer.format_));
  const Encoding same = shape.format == Format::ndjson ? Encoding::utf_8 : shape.encoding;
  writer.encoding_ = is_json ? Encoding::utf_8 : options.encoding.value_or(same);
  writer.writes_bom_ =
      options.bom || (shape.has_bom && !is_json && writer.encoding_ == shape.encoding);
  writer.echoes_ = shape.format != Format::ndjson && shape.dialect.delimiter != '\0' &&
                   writer.dialect_ == shape.dialect;

  writer.input_name_ = options.prefix + "input";
  writer.names_ = geonce::result_names(options, "");
  const auto both = common(writer.names_, shape.columns);
  if (!both.empty() && options.collision == Collision::error)
    return fail(
        ErrorCode::usage,
        "the input already has the columns {}; say --collision replace to overwrite them, "
        "--collision suffix or --prefix to write others, or --only-missing to fill the gaps",
        joined(both));
  if (options.collision == Collision::suffix)
    for (int n = 2; !common(writer.names_, shape.columns).empty(); ++n)
      writer.names_ = geonce::result_names(options, fmt::format("_{}", n));
  writer.in_place_.resize(writer.names_.size());
  writer.replaced_.resize(shape.columns.size());
  for (std::size_t i = 0; i < writer.names_.size(); ++i) {
    const auto found = std::ranges::find(shape.columns, writer.names_[i]);
    if (found == shape.columns.end()) continue;
    const auto column = static_cast<std::size_t>(found - shape.columns.begin());
    writer.in_place_[i] = column;
    writer.replaced_[column] = i;
    writer.replaces_ = true;
  }
  writer.json_names_ = json_names(shape.columns);
  return writer;
}

Result<std::string> RowWriter::prologue() const {
  std::string out;
  if (writes_bom_) out = byte_order_mark(encoding_);
  if (format_ == Format::geojson) out += R"({"type":"FeatureCollection","features":[)";
  const bool is_json = format_ == Format::ndjson || format_ == Format::geojson;
  if (is_json) return out;
  std::string line;
  if (shape_->has_header) {
    const Record& record = shape_->header.records.front();
    append_input_cells(shape_->header, record, nullptr, line);
    append_names(line);
    line += echoes_ ? shape_->header.line_end(record) : text_of(dialect_.line_end);
  } else if (shape_->format == Format::ndjson) {
    for (const std::string& column : shape_->columns) {
      if (!line.empty()) line += dialect_.delimiter;
      append_csv_cell(column, line);
    }
    append_names(line);
    line += text_of(dialect_.line_end);
  }
  if (auto done = append_encoded(line, 0, out); !done) return fail(done.error());
  return out;
}

void RowWriter::append_names(std::string& out) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (in_place_[i]) continue;
    out += dialect_.delimiter;
    append_csv_cell(names_[i], out);
  }
}

Result<void> RowWriter::append(const Chunk& chunk,
                               const Record& record,
                               const RowResult& result,
                               std::string& out) const {
  return append_row(chunk, record, &result, out);
}

bool RowWriter::has_cells() const {
  const bool is_csv = format_ == Format::csv || format_ == Format::tsv;
  return is_csv && encoding_ == Encoding::utf_8 && !replaces_;
}

void RowWriter::append_cells(const RowResult& result, std::string& out) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out += dialect_.delimiter;
    append_result_cell(result, i, out);
  }
}

void RowWriter::append_with_cells(const Chunk& chunk,
                                  const Record& record,
                                  std::string_view cells,
                                  std::string& out) const {
  append_input_cells(chunk, record, nullptr, out);
  out += cells;
  out += echoes_ ? chunk.line_end(record) : text_of(dialect_.line_end);
}

Result<void> RowWriter::keep(const Chunk& chunk, const Record& record, std::string& out) const {
  return append_row(chunk, record, nullptr, out);
}

std::string_view RowWriter::epilogue() const { return format_ == Format::geojson ? "\n]}\n" : ""; }

// result    nullptr: what an earlier run wrote stays
Result<void> RowWriter::append_row(const Chunk& chunk,
                                   const Record& record,
                                   const RowResult* result,
                                   std::string& out) const {
  if (encoding_ == Encoding::utf_8) {
    append_utf8_row(chunk, record, result, out);
    return {};
  }
  std::string line;
  append_utf8_row(chunk, record, result, line);
  return append_encoded(line, chunk.row_number(record), out);
}

Result<void> RowWriter::append_encoded(std::string_view utf8,
                                       std::uint64_t row,
                                       std::string& out) const {
  const std::size_t before = out.size();
  const auto missing = encode(encoding_, utf8, out);
  if (!missing) return {};
  out.resize(before);
  return fail(ErrorCode::bad_encoding,
              "{}: the output's encoding {} has no character U+{:04X}; say --output-encoding utf-8",
              row == 0 ? std::string("the header line") : fmt::format("row {}", row),
              to_string(encoding_),
              static_cast<std::uint32_t>(*missing));
}

void RowWriter::append_utf8_row(const Chunk& chunk,
                                const Record& record,
                                const RowResult* result,
                                std::string& out) const {
  switch (format_) {
    case Format::csv:
    case Format::tsv:
      append_csv(chunk, record, result, out);
      break;
    case Format::ndjson:
      append_object(chunk, record, result, out);
      out += '\n';
      break;
    case Format::geojson:
      append_feature(chunk, record, result, out);
      break;
  }
}

void RowWriter::append_csv(const Chunk& chunk,
                           const Record& record,
                           const RowResult* result,
                           std::string& out) const {
  append_input_cells(chunk, record, result, out);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (in_place_[i]) continue;
    out += dialect_.delimiter;
    if (result != nullptr) append_result_cell(*result, i, out);
  }
  out += echoes_ ? chunk.line_end(record) : text_of(dialect_.line_end);
}

// The row as it came. A short one is filled up with empty cells, so that what is appended stands
// under its name; a long one keeps its surplus cells.
void RowWriter::append_input_cells(const Chunk& chunk,
                                   const Record& record,
                                   const RowResult* result,
                                   std::string& out) const {
  const std::size_t columns = shape_->columns.size();
  std::size_t written = record.field_count;
  if (echoes_ && (!replaces_ || result == nullptr)) {
    out += chunk.content(record);
  } else {
    // A row that could not be read has no cells: its whole text goes into the first.
    const bool is_unread = record.field_count == 0;
    written = std::max(written, columns);
    for (std::size_t i = 0; i < written; ++i) {
      if (i > 0) out += dialect_.delimiter;
      if (result != nullptr && i < columns && replaced_[i]) {
        append_result_cell(*result, *replaced_[i], out);
      } else if (is_unread) {
        if (i == 0) append_csv_cell(chunk.content(record), out);
      } else if (echoes_ && i < record.field_count) {
        out += chunk.raw_field(record, i);
      } else {
        append_csv_cell(chunk.field(record, i), out);
      }
    }
  }
  for (; written < columns; ++written) out += dialect_.delimiter;
}

// Most results need no quotes, so they are written first and looked at then.
void RowWriter::append_result_cell(const RowResult& result,
                                   std::size_t column,
                                   std::string& out) const {
  const std::size_t begin = out.size();
  append_cell(result, column, out);
  if (!is_free_text(column)) return;
  const std::string_view written = std::string_view(out).substr(begin);
  if (std::ranges::none_of(written, [this](char c) { return is_special(c); })) return;
  const std::string text(written);
  out.resize(begin);
  append_csv_cell(text, out);
}

bool RowWriter::is_special(char c) const {
  return c == dialect_.delimiter || c == '\n' || c == '\r' ||
         (dialect_.quote != '\0' && c == dialect_.quote);
}

// Quotes where the dialect needs them. Without a quote character, what would break the row becomes
// a blank.
void RowWriter::append_csv_cell(std::string_view text, std::string& out) const {
  if (std::ranges::none_of(text, [this](char c) { return is_special(c); })) {
    out += text;
    return;
  }
  const bool quotes = dialect_.quote != '\0';
  if (quotes) out += dialect_.quote;
  for (const char c : text) {
    if (quotes && c == dialect_.quote) out += c;
    out += !quotes && is_special(c) ? ' ' : c;
  }
  if (quotes) out += dialect_.quote;
}

// One JSON object: the row's own cells or members, then the result.
void RowWriter::append_object(const Chunk& chunk,
                              const Record& record,
                              const RowResult* result,
                              std::string& out) const {
  if (shape_->format == Format::ndjson) return append_echoed_object(chunk, record, result, out);
  out += '{';
  bool is_first = true;
  for (std::size_t i = 0; i < record.field_count; ++i) {
    append_member_start(is_first, out);
    if (i < json_names_.size())
      out += json_names_[i];
    else
      append_json_string(fmt::format("column_{}", i + 1), out);
    out += ':';
    const bool is_result = i < replaced_.size() && replaced_[i];
    if (is_result && result != nullptr)
      append_json_cell(*result, *replaced_[i], out);
    else if (is_result)
      append_kept_json_cell(chunk.field(record, i), *replaced_[i], out);
    else
      append_json_string(chunk.field(record, i), out);
  }
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!in_place_[i] || *in_place_[i] >= record.field_count)
      append_member(i, result, is_first, out);
  out += '}';
}

void RowWriter::append_member(std::size_t column,
                              const RowResult* result,
                              bool& is_first,
                              std::string& out) const {
  append_member_start(is_first, out);
  append_json_string(names_[column], out);
  out += ':';
  if (result == nullptr)
    out += "null";
  else
    append_json_cell(*result, column, out);
}

// The line's own bytes with new members before its closing brace; replaced values change in their
// place.
void RowWriter::append_echoed_object(const Chunk& chunk,
                                     const Record& record,
                                     const RowResult* result,
                                     std::string& out) const {
  const std::string_view line = chunk.content(record);
  std::vector<JsonMember> members;
  const bool is_object = record.field_count > 0 && scan_json_object(line, members);
  bool is_first = members.empty();
  std::vector<bool> is_there(names_.size());
  if (!is_object) {
    out += '{';
    if (record.problem == RowProblem::not_json) {
      append_json_string(input_name_, out);
      out += ':';
      append_json_string(line, out);
      is_first = false;
    }
  } else {
    std::size_t copied = 0;
    std::string name;
    for (const JsonMember& member : members) {
      name.clear();
      append_json_text(line.substr(static_cast<std::size_t>(member.name.data() - line.data()) - 1,
                                   member.name.size() + 2),
                       name);
      const auto found = std::ranges::find(names_, name);
      if (found == names_.end() || !replaces_) continue;
      const auto column = static_cast<std::size_t>(found - names_.begin());
      is_there[column] = true;
      if (result == nullptr) continue;
      const auto value = static_cast<std::size_t>(member.value.data() - line.data());
      out += line.substr(copied, value - copied);
      append_json_cell(*result, column, out);
      copied = value + member.value.size();
    }
    out += line.substr(copied, line.rfind('}') - copied);
  }
  if (result != nullptr || !is_object)
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (!is_there[i]) append_member(i, result, is_first, out);
  out += '}';
}

// Row 1 opens the list; every other follows a comma.
void RowWriter::append_feature(const Chunk& chunk,
                               const Record& record,
                               const RowResult* result,
                               std::string& out) const {
  out += chunk.row_number(record) == 1 ? "\n" : ",\n";
  out += R"({"type":"Feature","geometry":)";
  const auto [lat, lng] = place_of(chunk, record, result);
  if (lat.empty() || lng.empty())
    out += "null";
  else
    out += fmt::format(R"({{"type":"Point","coordinates":[{},{}]}})", lng, lat);
  out += R"(,"properties":)";
  append_object(chunk, record, result, out);
  out += '}';
}

std::pair<std::string, std::string> RowWriter::place_of(const Chunk& chunk,
                                                        const Record& record,
                                                        const RowResult* result) const {
  constexpr std::size_t kLat = 1;
  constexpr std::size_t kLng = 2;
  std::pair<std::string, std::string> place;
  if (result != nullptr) {
    append_cell(*result, kLat, place.first);
    append_cell(*result, kLng, place.second);
  } else if (in_place_[kLat] && in_place_[kLng]) {
    const auto lat = chunk.field(record, *in_place_[kLat]);
    const auto lng = chunk.field(record, *in_place_[kLng]);
    if (parse_degrees(lat) && parse_degrees(lng)) place = {std::string(lat), std::string(lng)};
  }
  return place;
}

}  // namespace geonce
