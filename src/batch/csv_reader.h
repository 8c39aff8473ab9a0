#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "batch/chunk.h"
#include "batch/dialect.h"
#include "batch/source.h"
#include "core/result.h"

namespace geonce {

struct ReaderLimits {
  std::size_t chunk_bytes = std::size_t{256} << 10;  // a chunk ends with the row that reaches this
  std::size_t chunk_rows = 4096;                     // or with this many rows
  std::size_t record_bytes = std::size_t{16} << 20;  // a longer row is an error; at most 1 GiB
};

/// Cuts the input into chunks of whole rows, tracking nothing but quotes: cheap enough for one
/// thread to feed many. NDJSON is read with a dialect without quotes. Holds `record_bytes` and a
/// block at most.
class ChunkReader {
 public:
  /// first_row   number of the first row to come
  /// taken       decoded bytes already read from the source (a sample)
  ChunkReader(Source source,
              Dialect dialect,
              ReaderLimits limits,
              std::uint64_t first_row = 1,
              std::string taken = {});

  /// Puts the next rows into `chunk`, whose memory it re-uses. False: there are no more.
  ///
  /// An error comes after the rows before it were handed out, and again with every later call.
  /// errors    bad_csv       a row over the limit, or a quote that never ends: names row and byte
  ///           bad_encoding  names row and byte
  ///           io_failed
  Result<bool> next(Chunk& chunk) { return next(chunk, limits_.chunk_rows); }
  Result<bool> next(Chunk& chunk, std::size_t max_rows);

  /// The number the next row gets.
  void number_from(std::uint64_t row) { next_row_ = row; }
  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] const Dialect& dialect() const { return dialect_; }

 private:
  void scan(std::size_t max_rows);
  void scan_block(std::uint64_t places, std::size_t block_end, std::size_t max_rows);
  [[nodiscard]] bool opens_quote(std::size_t at) const;
  void take_last_row();
  void refill();
  [[nodiscard]] Error too_long() const;
  [[nodiscard]] Error at_row(ErrorCode code, const std::string& message) const;

  Source source_;
  Dialect dialect_;
  ReaderLimits limits_;
  std::string buffer_;
  std::size_t begin_ = 0;     // first byte of `buffer_` that is not handed out
  std::size_t scanned_ = 0;   // quotes and row ends are known up to here
  std::size_t rows_end_ = 0;  // after the last whole row seen
  std::size_t rows_ = 0;      // whole rows between begin_ and rows_end_
  std::size_t quote_at_ = 0;  // the last quote that opened or closed a cell
  bool in_quotes_ = false;
  bool has_ended_ = false;
  std::uint64_t next_row_;
  std::uint64_t offset_ = 0;  // of buffer_[begin_] in the decoded input
  std::optional<Error> error_;
};

/// Finds records and cells in a chunk. RFC 4180, and forgiving where files are not: a quote inside
/// an unquoted cell is itself, what follows a closing quote is kept.
///
/// columns   cells a row should have; another number is flagged. 0: any
void parse_csv(Chunk& chunk, const Dialect& dialect, std::size_t columns);

}  // namespace geonce
