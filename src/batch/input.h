#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch/chunk.h"
#include "batch/csv_reader.h"
#include "batch/dialect.h"
#include "batch/source.h"
#include "core/result.h"

namespace geonce {

enum class Format : std::uint8_t { csv, tsv, ndjson, geojson };
std::string_view to_string(Format format);
/// csv, tsv, ndjson (jsonl), geojson. errors  usage
Result<Format> parse_format(std::string_view word);
/// By the ending of a file's name: .csv .tsv .tab .ndjson .jsonl .geojson; nullopt for others.
std::optional<Format> format_of_name(std::string_view path);

struct InputOptions {
  std::string path = "-";        // `-`: standard input
  std::optional<Format> format;  // nullopt: by name, else CSV; geojson is no input format
  EncodingChoice encoding;
  DialectChoice dialect;
  bool has_header = true;
  ReaderLimits limits;
};

/// What the rows look like: all that a writer has to know.
struct InputShape {
  Format format = Format::csv;  // csv or ndjson (a TSV is a CSV with tabs)
  Dialect dialect;
  Encoding encoding = Encoding::utf_8;
  bool has_bom = false;
  bool has_header = true;
  Chunk header;                      // one parsed record; none without a header line
  std::vector<std::string> columns;  // names; `column_1` … without a header
};

/// The rows of one file or of standard input.
class RowInput {
 public:
  /// facts     from inspect_file, for regular files; without them the encoding is judged as it is
  /// read errors    as Source::open, ChunkReader::next; usage  GeoJSON input
  static Result<RowInput> open(const InputOptions& options, const FileFacts* facts = nullptr);
  /// The same over a source that is open already; `options.path` may still tell the format.
  static Result<RowInput> open(Source source, const InputOptions& options);

  [[nodiscard]] const InputShape& shape() const { return shape_; }
  /// One thread. Same promises as ChunkReader::next.
  Result<bool> next(Chunk& chunk) { return reader_.next(chunk); }
  /// Any thread.
  void parse(Chunk& chunk) const;
  [[nodiscard]] const Source& source() const { return reader_.source(); }
  /// What was found out rather than said, for stderr: "UTF-8, comma-separated, CRLF, 4 columns".
  [[nodiscard]] std::string describe() const;

 private:
  RowInput(ChunkReader reader, InputShape shape)
      : reader_(std::move(reader)), shape_(std::move(shape)) {}
  ChunkReader reader_;
  InputShape shape_;
};

/// Why the row is a `bad_row`, for its error cell: "3 cells where the header has 4".
std::string explain(const Record& record, std::size_t columns);

}  // namespace geonce
