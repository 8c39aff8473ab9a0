#include "batch/csv_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "batch/scan.h"

namespace geonce {
namespace {

std::string row_name(std::uint64_t row) {
  return row == 0 ? std::string("the header line") : fmt::format("row {}", row);
}

bool is_line_end(char c, bool cr_ends_row) { return c == '\n' || (c == '\r' && cr_ends_row); }

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The places in a chunk where something can begin or end.
class Specials {
 public:
  Specials(std::string_view bytes, const Dialect& dialect) : bytes_(bytes), dialect_(dialect) {}

  /// The next place, or the size of the bytes.
  std::size_t next() {
    while (mask_ == 0) {
      if (block_ >= bytes_.size()) return bytes_.size();
      load();
    }
    const auto bit = static_cast<std::size_t>(std::countr_zero(mask_));
    mask_ &= mask_ - 1;
    return block_ - kBlock + bit;
  }

 private:
  void load() {
    CutBlock cut;
    const char* const block = cut.load(bytes_, block_);
    std::uint64_t mask = equal_mask(block, '\n') | equal_mask(block, '\0');
    if (dialect_.delimiter != '\0') mask |= equal_mask(block, dialect_.delimiter);
    if (dialect_.quote != '\0') mask |= equal_mask(block, dialect_.quote);
    if (dialect_.line_end == LineEnd::cr) mask |= equal_mask(block, '\r');
    mask_ = cut.only(mask);
    block_ += kBlock;
  }

  std::string_view bytes_;
  const Dialect& dialect_;
  std::size_t block_ = 0;  // begin of the block to load next
  std::uint64_t mask_ = 0;
};

class Parser {
 public:
  Parser(Chunk& chunk, const Dialect& dialect, std::size_t columns)
      : chunk_(chunk),
        bytes_(chunk.bytes),
        dialect_(dialect),
        columns_(columns),
        specials_(bytes_, dialect),
        cr_ends_row_(dialect.line_end == LineEnd::cr) {}

  void parse() {
    while (at_ < bytes_.size()) row();
  }

 private:
  void row() {
    Record record;
    record.begin = static_cast<std::uint32_t>(at_);
    record.first_field = static_cast<std::uint32_t>(chunk_.fields.size());
    has_nul_ = false;
    while (!cell(record)) {
    }
    record.end = static_cast<std::uint32_t>(at_);
    record.field_count = static_cast<std::uint32_t>(chunk_.fields.size()) - record.first_field;
    record.problem = problem(record);
    chunk_.records.push_back(record);
  }

  // One cell from `at_` on. True: it was the row's last.
  bool cell(Record& record) {
    const std::size_t begin = at_;
    const bool is_quoted =
        dialect_.quote != '\0' && begin < bytes_.size() && bytes_[begin] == dialect_.quote;
    has_doubled_quote_ = false;
    const std::size_t close = is_quoted ? closing_quote() : 0;
    const std::size_t stop = cell_end();
    std::size_t end = stop;
    const bool is_last =
        stop == bytes_.size() || bytes_[stop] != dialect_.delimiter || dialect_.delimiter == '\0';
    at_ = stop + 1;
    if (stop == bytes_.size()) {
      at_ = stop;
    } else if (is_last) {
      record.line_end_size = 1;
      if (bytes_[stop] == '\r') {  // only seen when a CR ends a row
        if (at_ < bytes_.size() && bytes_[at_] == '\n') {
          record.line_end_size = 2;
          at_ = specials_.next() + 1;
        }
      } else if (stop > begin && bytes_[stop - 1] == '\r') {
        record.line_end_size = 2;
        --end;
      }
    }
    is_quoted ? add_quoted(begin, close, end) : add(begin, end);
    chunk_.fields.back().raw_end = static_cast<std::uint32_t>(end);
    return is_last;
  }

  std::size_t closing_quote() {
    specials_.next();  // the opening one
    for (;;) {
      const std::size_t at = specials_.next();
      if (at == bytes_.size()) return at;
      if (bytes_[at] == '\0') has_nul_ = true;
      if (bytes_[at] != dialect_.quote) continue;
      if (at + 1 == bytes_.size() || bytes_[at + 1] != dialect_.quote) return at;
      specials_.next();
      has_doubled_quote_ = true;
    }
  }

  std::size_t cell_end() {
    for (;;) {
      const std::size_t at = specials_.next();
      if (at == bytes_.size()) return at;
      const char c = bytes_[at];
      if (c == '\0') has_nul_ = true;
      if ((c == dialect_.delimiter && c != '\0') || is_line_end(c, cr_ends_row_)) return at;
    }
  }

  void add(std::size_t begin, std::size_t end) {
    FieldSpan span;
    span.text_begin = static_cast<std::uint32_t>(begin);
    span.text_size = static_cast<std::uint32_t>(end - begin) & 0x7FFFFFFFU;
    chunk_.fields.push_back(span);
  }

  void add_quoted(std::size_t begin, std::size_t close, std::size_t end) {
    const bool is_plain = !has_doubled_quote_ && close + 1 >= end;
    if (is_plain) return add(begin + 1, std::min(close, end));
    std::string& text = chunk_.unescaped;
    FieldSpan span;
    span.is_unescaped = 1;
    span.text_begin = static_cast<std::uint32_t>(text.size());
    for (std::size_t i = begin + 1; i < close; ++i) {
      text += bytes_[i];
      if (bytes_[i] == dialect_.quote) ++i;
    }
    if (close < end) text += bytes_.substr(close + 1, end - close - 1);
    span.text_size = static_cast<std::uint32_t>(text.size() - span.text_begin) & 0x7FFFFFFFU;
    chunk_.fields.push_back(span);
  }

  RowProblem problem(const Record& record) const {
    if (has_nul_) return RowProblem::nul_byte;
    if (record.field_count == 1 && is_blank(chunk_.content(record))) return RowProblem::blank;
    if (columns_ == 0 || record.field_count == columns_) return RowProblem::none;
    return record.field_count < columns_ ? RowProblem::short_row : RowProblem::long_row;
  }

  Chunk& chunk_;
  std::string_view bytes_;
  const Dialect& dialect_;
  std::size_t columns_;
  Specials specials_;
  bool cr_ends_row_;
  std::size_t at_ = 0;
  bool has_nul_ = false;
  bool has_doubled_quote_ = false;
};

}  // namespace

ChunkReader::ChunkReader(
    Source source, Dialect dialect, ReaderLimits limits, std::uint64_t first_row, std::string taken)
    : source_(std::move(source)),
      dialect_(dialect),
      limits_(limits),
      buffer_(std::move(taken)),
      next_row_(first_row) {
  GEONCE_EXPECTS(limits_.record_bytes >= kBlock && limits_.record_bytes <= std::size_t{1} << 30);
  GEONCE_EXPECTS(limits_.chunk_bytes > 0 && limits_.chunk_bytes <= std::size_t{1} << 30);
}

Result<bool> ChunkReader::next(Chunk& chunk, std::size_t max_rows) {
  chunk.clear();
  for (;;) {
    scan(max_rows);
    if (rows_ >= max_rows || rows_end_ - begin_ >= limits_.chunk_bytes || error_) break;
    if (buffer_.size() - rows_end_ > limits_.record_bytes) {
      error_ = too_long();
      break;
    }
    if (has_ended_) {
      if (buffer_.size() > rows_end_) take_last_row();
      break;
    }
    refill();
  }
  if (rows_ == 0) {
    if (error_) return fail(*error_);
    return false;
  }
  chunk.bytes.assign(buffer_, begin_, rows_end_ - begin_);
  chunk.first_row = next_row_;
  chunk.row_count = rows_;
  chunk.begin_offset = offset_;
  chunk.end_offset = offset_ + chunk.bytes.size();
  chunk.raw_offset = source_.raw_offset();
  next_row_ += rows_;
  offset_ += chunk.bytes.size();
  begin_ = rows_end_;
  rows_ = 0;
  return true;
}

// Goes on from `scanned_` to the end of the buffer, or until the chunk is full.
void ChunkReader::scan(std::size_t max_rows) {
  const bool cr_ends_row = dialect_.line_end == LineEnd::cr;
  while (scanned_ < buffer_.size() && rows_ < max_rows && !error_ &&
         rows_end_ - begin_ < limits_.chunk_bytes) {
    CutBlock cut;
    const char* const block = cut.load(buffer_, scanned_);
    const std::uint64_t quotes =
        dialect_.quote == '\0' ? 0 : cut.only(equal_mask(block, dialect_.quote));
    std::uint64_t ends = equal_mask(block, '\n');
    if (cr_ends_row) ends |= equal_mask(block, '\r');
    ends = cut.only(ends);
    const std::size_t block_end = std::min(scanned_ + kBlock, buffer_.size());
    if (quotes == 0 && (in_quotes_ || ends == 0)) {
      scanned_ = block_end;
      continue;
    }
    // Without quotes and CRs, counting is enough; the first row to end here may be too long.
    const auto count = static_cast<std::size_t>(std::popcount(ends));
    const auto first_end = scanned_ + static_cast<std::size_t>(std::countr_zero(ends)) + 1;
    if (quotes == 0 && !cr_ends_row && rows_ + count <= max_rows &&
        first_end - rows_end_ <= limits_.record_bytes) {
      rows_ += count;
      rows_end_ = scanned_ + kBlock - static_cast<std::size_t>(std::countl_zero(ends));
      scanned_ = block_end;
      continue;
    }
    scan_block(quotes | ends, block_end, max_rows);
  }
}

// One by one through the quotes and line ends of a block, given by their bits.
void ChunkReader::scan_block(std::uint64_t places, std::size_t block_end, std::size_t max_rows) {
  const std::size_t block = scanned_;
  for (; places != 0; places &= places - 1) {
    const std::size_t at = block + static_cast<std::size_t>(std::countr_zero(places));
    const char c = buffer_[at];
    if (c == dialect_.quote) {
      if (in_quotes_ || opens_quote(at)) {
        in_quotes_ = !in_quotes_;
        quote_at_ = at;
      }
      continue;
    }
    if (in_quotes_) continue;
    if (c == '\r') {
      if (at + 1 == buffer_.size() && !has_ended_) {
        scanned_ = at;  // the LF of a CRLF may be the next byte
        refill();
        return;
      }
      if (at + 1 < buffer_.size() && buffer_[at + 1] == '\n') continue;
    }
    if (at + 1 - rows_end_ > limits_.record_bytes) {
      error_ = too_long();
      return;
    }
    rows_end_ = at + 1;
    ++rows_;
    if (rows_ == max_rows) {
      scanned_ = rows_end_;
      return;
    }
  }
  scanned_ = block_end;
}

// A quote opens a cell where a cell begins. The second of a doubled quote re-opens what the first
// has closed, so no look ahead is needed.
bool ChunkReader::opens_quote(std::size_t at) const {
  if (at == rows_end_) return true;
  const char before = buffer_[at - 1];
  return (before == dialect_.delimiter && before != '\0') ||
         (before == dialect_.quote && quote_at_ == at - 1);
}

void ChunkReader::take_last_row() {
  if (in_quotes_) {
    error_ =
        at_row(ErrorCode::bad_csv,
               fmt::format("the quoted cell that begins at byte offset {} never ends; repair it, "
                           "or say --quote none if quotes mean nothing in this file",
                           offset_ + (quote_at_ - begin_)));
    return;
  }
  ++rows_;
  rows_end_ = scanned_ = buffer_.size();
}

void ChunkReader::refill() {
  // What was handed out makes room.
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  rows_end_ -= begin_;
  quote_at_ -= std::min(quote_at_, begin_);
  begin_ = 0;
  const auto more = source_.read(limits_.chunk_bytes, buffer_);
  if (!more)
    error_ = at_row(more.error().code, more.error().message);
  else
    has_ended_ = !*more;
}

Error ChunkReader::too_long() const {
  const std::string_view advice =
      in_quotes_
          ? "a quoted cell in it does not end; repair it, or say --quote none if quotes mean "
            "nothing in this file"
          : "does it have the line ends that its first rows have?";
  return at_row(ErrorCode::bad_csv,
                fmt::format("it begins at byte offset {} and is longer than {} bytes; {}",
                            offset_ + (rows_end_ - begin_),
                            limits_.record_bytes,
                            advice));
}

Error ChunkReader::at_row(ErrorCode code, const std::string& message) const {
  return {code,
          fmt::format("{}, {}: {}", source_.name(), row_name(next_row_ + rows_), message),
          {},
          {},
          {}};
}

void parse_csv(Chunk& chunk, const Dialect& dialect, std::size_t columns) {
  chunk.records.clear();
  chunk.fields.clear();
  chunk.unescaped.clear();
  chunk.records.reserve(chunk.row_count);
  Parser(chunk, dialect, columns).parse();
}

}  // namespace geonce
