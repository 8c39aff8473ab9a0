#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/chunk.h"
#include "batch/input.h"
#include "batch/row_result.h"
#include "core/result.h"

namespace geonce {

/// What to do when the input already has a column of an appended name.
enum class Collision : std::uint8_t { error, replace, suffix };
/// errors    usage
Result<Collision> parse_collision(std::string_view word);

struct OutputOptions {
  std::string path = "-";
  std::optional<Format> format;  // nullopt: by name, else as the input
  std::string prefix = "geo_";
  ColumnSet columns = ColumnSet::short_set;
  Collision collision = Collision::error;
  std::optional<Encoding> encoding;  // nullopt: the input's; JSON is always UTF-8
  bool bom = false;                  // an input's own mark is kept without this
};

/// Turns rows and their results into the bytes of the output. Immutable, any thread.
///
/// Whatever the formats, `prologue`, the rows in order and `epilogue` joined are the whole output.
class RowWriter {
 public:
  /// shape     outlives the writer
  /// errors    usage  a column of an appended name exists and the policy is `error`: lists the ways
  /// out
  static Result<RowWriter> make(const InputShape& shape, const OutputOptions& options);

  /// Byte order mark and header line, or what opens a JSON collection.
  /// errors    bad_encoding
  [[nodiscard]] Result<std::string> prologue() const;
  /// Appends the row with its result.
  /// errors    bad_encoding  a character that the output's encoding does not have: names the row
  Result<void> append(const Chunk& chunk,
                      const Record& record,
                      const RowResult& result,
                      std::string& out) const;
  /// Whether a row is its own bytes and then the result's, so that equal results have equal bytes:
  /// `append` is then `append_cells` and `append_with_cells`.
  [[nodiscard]] bool has_cells() const;
  void append_cells(const RowResult& result, std::string& out) const;
  void append_with_cells(const Chunk& chunk,
                         const Record& record,
                         std::string_view cells,
                         std::string& out) const;
  /// Appends a row of an earlier run as it is; appended columns it does not have stay empty.
  Result<void> keep(const Chunk& chunk, const Record& record, std::string& out) const;
  [[nodiscard]] std::string_view epilogue() const;

  /// Names of the appended columns as they will be written.
  [[nodiscard]] const std::vector<std::string>& result_names() const { return names_; }
  [[nodiscard]] Format format() const { return format_; }
  [[nodiscard]] Encoding encoding() const { return encoding_; }

 private:
  explicit RowWriter(const InputShape& shape) : shape_(&shape) {}
  Result<void> append_row(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  void append_utf8_row(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  void append_csv(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  void append_input_cells(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  void append_csv_cell(std::string_view text, std::string& out) const;
  void append_result_cell(const RowResult&, std::size_t column, std::string& out) const;
  [[nodiscard]] bool is_special(char c) const;
  void append_names(std::string& out) const;
  void append_object(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  void append_echoed_object(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  void append_member(std::size_t column, const RowResult*, bool& is_first, std::string& out) const;
  void append_feature(const Chunk&, const Record&, const RowResult*, std::string& out) const;
  /// Latitude and longitude as they are written; empty: none.
  std::pair<std::string, std::string> place_of(const Chunk&, const Record&, const RowResult*) const;
  Result<void> append_encoded(std::string_view utf8, std::uint64_t row, std::string& out) const;

  const InputShape* shape_;
  Format format_ = Format::csv;
  Dialect dialect_;
  Encoding encoding_ = Encoding::utf_8;
  bool writes_bom_ = false;
  bool echoes_ = true;              // CSV rows go out as they came, not cell by cell
  bool replaces_ = false;           // some result columns stand in the input already
  std::vector<std::string> names_;  // per result column
  std::vector<std::optional<std::size_t>> in_place_;  // per result column: the column it replaces
  std::vector<std::optional<std::size_t>> replaced_;  // per input column: the result column in it
  std::vector<std::string> json_names_;               // per input column, quoted and made unique
  std::string input_name_;                            // member for a line that is no JSON object
};

}  // namespace geonce
