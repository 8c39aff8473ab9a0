#include "batch/input.h"

#include <algorithm>
#include <array>
#include <utility>

#include "batch/ndjson.h"

namespace geonce {
namespace {

constexpr std::size_t kSampleBytes = std::size_t{64} << 10;
constexpr Dialect kLines{'\0', '\0', LineEnd::lf};  // how NDJSON is cut into rows

constexpr std::array<std::pair<std::string_view, Format>, 7> kEndings{{
    {".csv", Format::csv},
    {".tsv", Format::tsv},
    {".tab", Format::tsv},
    {".ndjson", Format::ndjson},
    {".jsonl", Format::ndjson},
    {".geojson", Format::geojson},
    {".json", Format::geojson},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool looks_like_json(std::string_view sample) {
  const auto first = sample.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || sample[first] != '{') return false;
  const auto second = sample.find_first_not_of(" \t\r\n", first + 1);
  return second != std::string_view::npos && (sample[second] == '"' || sample[second] == '}');
}

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("column_{}", i));
  return names;
}

}  // namespace

std::string_view to_string(Format format) {
  switch (format) {
    case Format::csv:
      return "csv";
    case Format::tsv:
      return "tsv";
    case Format::ndjson:
      return "ndjson";
    case Format::geojson:
      return "geojson";
  }
  return "csv";
}

Result<Format> parse_format(std::string_view word) {
  for (const auto format : {Format::csv, Format::tsv, Format::ndjson, Format::geojson})
    if (to_string(format) == word) return format;
  if (word == "jsonl") return Format::ndjson;
  return fail(
      ErrorCode::usage, "format '{}' is not known; there are csv, tsv, ndjson, geojson", word);
}

std::optional<Format> format_of_name(std::string_view path) {
  const std::string name = lower(path);
  for (const auto& [ending, format] : kEndings)
    if (name.ends_with(ending)) return format;
  return std::nullopt;
}

Result<RowInput> RowInput::open(const InputOptions& options, const FileFacts* facts) {
  auto source = Source::open(options.path, options.encoding, facts);
  if (!source) return fail(source.error());
  return open(std::move(*source), options);
}

Result<RowInput> RowInput::open(Source source, const InputOptions& options) {
  std::string sample;
  bool is_whole = false;
  while (sample.size() < kSampleBytes && !is_whole) {
    // An error here comes again when the rows before it are read.
    const auto more = source.read(kSampleBytes, sample);
    if (!more) break;
    is_whole = !*more;
  }
  std::optional<Format> format = options.format;
  if (!format) format = format_of_name(options.path);
  if (!format && looks_like_json(sample)) format = Format::ndjson;
  if (format == Format::geojson)
    return fail(ErrorCode::usage,
                "{}: GeoJSON is an output format; the input can be csv, tsv or ndjson "
                "(--input-format)",
                source.name());

  InputShape shape;
  shape.encoding = source.encoding();
  shape.has_bom = source.has_bom();
  shape.has_header = options.has_header;
  if (format == Format::ndjson) {
    shape.format = Format::ndjson;
    shape.dialect = kLines;
    shape.has_header = false;
    shape.columns = json_columns(sample, is_whole);
    if (shape.columns.empty())
      return fail(ErrorCode::bad_csv, "{}: no line at its start is a JSON object", source.name());
    ChunkReader reader(std::move(source), kLines, options.limits, 1, std::move(sample));
    return RowInput(std::move(reader), std::move(shape));
  }

  DialectChoice choice = options.dialect;
  if (format == Format::tsv && !choice.delimiter) choice.delimiter = '\t';
  shape.dialect = detect_dialect(sample, is_whole, choice);
  if (!shape.has_header) {
    Chunk first;
    first.bytes = sample;
    parse_csv(first, shape.dialect, 0);
    shape.columns = numbered(first.records.empty() ? 0 : first.records.front().field_count);
  }
  ChunkReader reader(std::move(source),
                     shape.dialect,
                     options.limits,
                     shape.has_header ? 0 : 1,
                     std::move(sample));
  if (shape.has_header) {
    const auto more = reader.next(shape.header, 1);
    if (!more) return fail(more.error());
    parse_csv(shape.header, shape.dialect, 0);
    const Record& record = shape.header.records.front();
    if (record.problem == RowProblem::blank)
      return fail(ErrorCode::bad_csv,
                  "{}: the first line is blank; it has to name the columns (or say --no-header)",
                  reader.source().name());
    for (std::size_t i = 0; i < record.field_count; ++i)
      shape.columns.emplace_back(trimmed(shape.header.field(record, i)));
  }
  return RowInput(std::move(reader), std::move(shape));
}

void RowInput::parse(Chunk& chunk) const {
  if (shape_.format == Format::ndjson)
    parse_ndjson(chunk, shape_.columns);
  else
    parse_csv(chunk, shape_.dialect, shape_.columns.size());
}

std::string RowInput::describe() const {
  const std::string format =
      shape_.format == Format::ndjson ? "NDJSON" : geonce::describe(shape_.dialect);
  return fmt::format("{}, {}, {} column{}",
                     source().encoding_note(),
                     format,
                     shape_.columns.size(),
                     shape_.columns.size() == 1 ? "" : "s");
}

std::string explain(const Record& record, std::size_t columns) {
  switch (record.problem) {
    case RowProblem::none:
    case RowProblem::blank:
      return {};
    case RowProblem::short_row:
    case RowProblem::long_row:
      return fmt::format("{} cell{} where the header has {}",
                         record.field_count,
                         record.field_count == 1 ? "" : "s",
                         columns);
    case RowProblem::nul_byte:
      return "a NUL byte in the row";
    case RowProblem::not_json:
      return "not a JSON object";
  }
  return {};
}

}  // namespace geonce
