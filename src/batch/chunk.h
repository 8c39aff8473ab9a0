#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace geonce {

/// Why a row cannot be asked about as it stands. Its bytes are echoed all the same.
enum class RowProblem : std::uint8_t {
  none,
  blank,      // blanks or nothing, and no delimiter: status `empty`
  short_row,  // fewer fields than the header: `bad_row`
  long_row,   // more fields than the header: `bad_row`
  nul_byte,   // a NUL byte somewhere in the row: `bad_row`
  not_json,   // NDJSON: the line is no JSON object: `bad_row`
};

/// One cell. Offsets count from the start of the chunk's bytes.
struct FieldSpan {
  std::uint32_t raw_end = 0;  // CSV: where its delimiter or line end stands; unused for NDJSON
  std::uint32_t text_begin = 0;
  std::uint32_t text_size : 31 = 0;
  std::uint32_t is_unescaped : 1 = 0;  // the text lies in `Chunk::unescaped`
};

/// One row of the input. Offsets count from the start of the chunk's bytes.
struct Record {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  // after the line end
  std::uint32_t first_field = 0;
  std::uint32_t field_count = 0;
  std::uint8_t line_end_size = 0;  // 0: the input ends without a line end
  RowProblem problem = RowProblem::none;
};

/// Whole rows of the input in one buffer. `ChunkReader` fills `bytes` and the numbers; the format's
/// `parse` adds records and fields, on any thread. UTF-8 whatever the input's encoding was.
struct Chunk {
  std::string bytes;
  std::uint64_t first_row =
      0;  // number of the first row here; data rows count from 1, a header is 0
  std::uint64_t row_count = 0;
  std::uint64_t begin_offset = 0;  // of `bytes` in the decoded input, after a byte order mark
  std::uint64_t end_offset = 0;
  std::uint64_t raw_offset = 0;  // bytes of the file read so far, for progress

  std::vector<Record> records;
  std::vector<FieldSpan> fields;
  std::string unescaped;

  [[nodiscard]] std::string_view view(std::uint32_t from, std::uint32_t to) const {
    return std::string_view(bytes).substr(from, to - from);
  }
  /// The row as it stands in the input, line end included: all of these joined are the input.
  [[nodiscard]] std::string_view raw(const Record& record) const {
    return view(record.begin, record.end);
  }
  [[nodiscard]] std::string_view content(const Record& record) const {
    return view(record.begin, record.end - record.line_end_size);
  }
  [[nodiscard]] std::string_view line_end(const Record& record) const {
    return view(record.end - record.line_end_size, record.end);
  }
  /// The cell without quotes and escapes; empty where the row has no such cell.
  [[nodiscard]] std::string_view field(const Record& record, std::size_t index) const {
    if (index >= record.field_count) return {};
    const FieldSpan& span = fields[record.first_field + index];
    return std::string_view(span.is_unescaped != 0 ? unescaped : bytes)
        .substr(span.text_begin, span.text_size);
  }
  /// CSV: the cell with its quotes, as it stands in the input.
  [[nodiscard]] std::string_view raw_field(const Record& record, std::size_t index) const {
    const std::size_t at = record.first_field + index;
    return view(index == 0 ? record.begin : fields[at - 1].raw_end + 1, fields[at].raw_end);
  }
  [[nodiscard]] std::uint64_t row_number(const Record& record) const {
    return first_row + static_cast<std::uint64_t>(&record - records.data());
  }
  /// Empties it and keeps the memory for the next rows.
  void clear();
};

}  // namespace geonce
