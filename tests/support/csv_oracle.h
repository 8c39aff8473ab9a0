#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "batch/csv_reader.h"

namespace geonce::oracle {

struct Row {
  std::string raw;
  std::vector<std::string> cells;
};

struct Rows {
  std::vector<Row> rows;
  bool ends_in_quotes = false;  // the last row is cut off inside a quoted cell
};

/// The rules of docs/formats/row.md once more, byte by byte and slow: what the fast reader must
/// agree with.
inline Rows read(std::string_view text, const Dialect& dialect) {
  Rows result;
  Row row;
  std::string cell;
  enum { at_start, plain, quoted, after_quote } state = at_start;
  const auto end_row = [&](std::size_t end, std::size_t& begin) {
    row.cells.push_back(cell);
    row.raw = text.substr(begin, end - begin);
    result.rows.push_back(row);
    row = {};
    cell.clear();
    begin = end;
    state = at_start;
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (state == quoted) {
      if (c != dialect.quote)
        cell += c;
      else if (next == dialect.quote && i + 1 < text.size())
        cell += c, ++i;
      else
        state = after_quote;
      continue;
    }
    if (dialect.quote != '\0' && c == dialect.quote && state == at_start) {
      state = quoted;
    } else if (dialect.delimiter != '\0' && c == dialect.delimiter) {
      row.cells.push_back(cell);
      cell.clear();
      state = at_start;
    } else if (c == '\n') {
      end_row(i + 1, begin);
    } else if (c == '\r' && next == '\n' && i + 1 < text.size()) {
      end_row(i + 2, begin);
      ++i;
    } else if (c == '\r' && dialect.line_end == LineEnd::cr) {
      end_row(i + 1, begin);
    } else {
      cell += c;
      if (state == at_start) state = plain;
    }
  }
  result.ends_in_quotes = state == quoted;
  if (begin < text.size()) end_row(text.size(), begin);
  return result;
}

/// Reads `text` as the program does, in chunks of about `chunk_bytes`, and compares with `read`
/// above. Returns what differs, or nothing. Never crashes and loses no byte, whatever the text: for
/// fuzzing.
inline std::string difference(std::string_view text,
                              const Dialect& dialect,
                              std::size_t chunk_bytes) {
  const bool has_mark = text.starts_with(byte_order_mark(Encoding::utf_8));
  if (text.size() == (has_mark ? 3 : 0)) return {};
  EncodingChoice utf_8;
  utf_8.forced = Encoding::utf_8;
  auto source = Source::from_bytes(std::string(text), utf_8);
  if (!source) return source.error().code == ErrorCode::bad_encoding ? "" : source.error().message;
  ReaderLimits limits;
  limits.chunk_bytes = chunk_bytes;
  limits.chunk_rows = 1 + chunk_bytes % 7;
  ChunkReader reader(std::move(*source), dialect, limits);

  const Rows expected = read(has_mark ? text.substr(3) : text, dialect);
  const std::size_t whole = expected.rows.size() - (expected.ends_in_quotes ? 1 : 0);
  std::size_t seen = 0;
  Chunk chunk;
  for (;;) {
    const auto more = reader.next(chunk);
    if (!more && more.error().code == ErrorCode::bad_encoding) return {};
    if (!more && seen == whole && expected.ends_in_quotes) return {};
    if (!more) return "unexpected: " + more.error().message;
    if (!*more) break;
    parse_csv(chunk, dialect, 0);
    if (chunk.first_row != seen + 1) return "wrong row number";
    if (chunk.records.size() != chunk.row_count)
      return "the cutter and the parser count differently";
    for (const Record& record : chunk.records) {
      if (seen == whole) return "a row too many";
      const Row& row = expected.rows[seen++];
      if (chunk.raw(record) != row.raw) return "row " + std::to_string(seen) + " is not echoed";
      if (record.field_count != row.cells.size())
        return "row " + std::to_string(seen) + " has another number of cells";
      for (std::size_t i = 0; i < row.cells.size(); ++i)
        if (chunk.field(record, i) != row.cells[i])
          return "row " + std::to_string(seen) + " has another cell " + std::to_string(i);
    }
  }
  if (expected.ends_in_quotes) return "a quote that never ends went unnoticed";
  return seen == whole ? "" : "rows are missing";
}

}  // namespace geonce::oracle
