#include "batch/dialect.h"

#include <algorithm>
#include <array>
#include <vector>

#include "batch/chunk.h"
#include "batch/csv_reader.h"

namespace geonce {
namespace {

constexpr std::array kDelimiters{',', ';', '\t', '|'};

// One byte, and nothing that numbers and words are made of.
bool can_separate(std::string_view word) {
  constexpr std::string_view kMarks = "!\"#$%&'()*,/:;<=>?@[\\]^`{|}~";
  return word.size() == 1 && kMarks.find(word[0]) != std::string_view::npos;
}

struct LineEnds {
  std::size_t lf = 0, crlf = 0, cr = 0;
};

// Outside quotes. A quote opens a cell only where a cell can begin.
LineEnds count_line_ends(std::string_view sample, char quote) {
  LineEnds count;
  bool in_quotes = false;
  std::size_t closed_at = sample.size();
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const char c = sample[i];
    if (quote != '\0' && c == quote) {
      const char before = i == 0 ? '\n' : sample[i - 1];
      const bool at_start = before == '\n' || before == '\r' || closed_at + 1 == i ||
                            std::ranges::find(kDelimiters, before) != kDelimiters.end();
      if (in_quotes) closed_at = i;
      in_quotes = !in_quotes && at_start;
    }
    if (in_quotes) continue;
    if (c == '\n') {
      const bool after_cr = i > 0 && sample[i - 1] == '\r';
      ++(after_cr ? count.crlf : count.lf);
      if (after_cr) --count.cr;
    } else if (c == '\r') {
      ++count.cr;
    }
  }
  return count;
}

LineEnd detect_line_end(std::string_view sample, char quote) {
  const LineEnds count = count_line_ends(sample, quote);
  if (count.lf + count.crlf > 0) return count.crlf >= count.lf ? LineEnd::crlf : LineEnd::lf;
  // One at the very end may be half of a CRLF that the sample's end cut in two.
  return count.cr > 1 || (count.cr == 1 && !sample.ends_with('\r')) ? LineEnd::cr : LineEnd::lf;
}

// `'` only when there is no `"` at all and every name of the header stands in it.
char detect_quote(std::string_view sample) {
  if (sample.empty() || sample.front() != '\'' || sample.find('"') != std::string_view::npos)
    return '"';
  const std::string_view header = sample.substr(0, sample.find_first_of("\r\n"));
  bool opened = false;
  for (const char c : header) {
    const bool is_delimiter = std::ranges::find(kDelimiters, c) != kDelimiters.end();
    if (c == '\'') {
      opened = !opened;
    } else if (!opened && !is_delimiter) {
      return '"';
    }
  }
  return opened ? '"' : '\'';
}

std::vector<std::uint32_t> cells_per_row(std::string_view sample,
                                         bool whole,
                                         const Dialect& dialect) {
  Chunk chunk;
  chunk.bytes = sample;
  parse_csv(chunk, dialect, 0);
  if (!whole && chunk.records.size() > 1) chunk.records.pop_back();
  std::vector<std::uint32_t> cells;
  for (const Record& record : chunk.records)
    if (record.problem != RowProblem::blank) cells.push_back(record.field_count);
  return cells;
}

}  // namespace

std::string_view text_of(LineEnd line_end) {
  switch (line_end) {
    case LineEnd::lf:
      return "\n";
    case LineEnd::crlf:
      return "\r\n";
    case LineEnd::cr:
      return "\r";
  }
  return "\n";
}

Result<char> parse_delimiter(std::string_view word) {
  if (word == "none") return '\0';
  if (word == "tab" || word == "\\t" || word == "\t") return '\t';
  if (can_separate(word) && word != "\"") return word[0];
  return fail(
      ErrorCode::usage, "delimiter '{}' is not a single mark; for example , ; | tab none", word);
}

Result<char> parse_quote(std::string_view word) {
  if (word == "none") return '\0';
  if (can_separate(word)) return word[0];
  return fail(ErrorCode::usage, "quote '{}' is not a single mark; for example \" ' none", word);
}

Result<LineEnd> parse_line_end(std::string_view word) {
  if (word == "lf") return LineEnd::lf;
  if (word == "crlf") return LineEnd::crlf;
  if (word == "cr") return LineEnd::cr;
  return fail(ErrorCode::usage, "line end '{}' is not known; there are lf, crlf, cr", word);
}

Dialect detect_dialect(std::string_view sample, bool whole, const DialectChoice& choice) {
  Dialect dialect;
  dialect.quote = choice.quote.value_or(detect_quote(sample));
  dialect.line_end = choice.line_end.value_or(detect_line_end(sample, dialect.quote));
  if (choice.delimiter) {
    dialect.delimiter = *choice.delimiter;
    return dialect;
  }
  double best_share = 0;
  std::uint32_t best_cells = 1;
  bool commas_in_one_column = false;
  for (const char delimiter : kDelimiters) {
    Dialect candidate = dialect;
    candidate.delimiter = delimiter;
    const auto cells = cells_per_row(sample, whole, candidate);
    if (cells.empty()) continue;
    const auto alike = std::ranges::count(cells, cells.front());
    const double share = static_cast<double>(alike) / static_cast<double>(cells.size());
    if (delimiter == ',') commas_in_one_column = cells.front() == 1 && share <= 0.5;
    if (cells.front() < 2) continue;
    if (share > best_share || (share == best_share && cells.front() > best_cells)) {
      best_share = share;
      best_cells = cells.front();
      dialect.delimiter = delimiter;
    }
  }
  // One name in the header and commas in most rows: a plain list, an address per line.
  if (best_cells == 1 && commas_in_one_column && !choice.quote) {
    dialect.delimiter = '\0';
    dialect.quote = '\0';
  }
  return dialect;
}

std::string describe(const Dialect& dialect) {
  std::string text;
  switch (dialect.delimiter) {
    case '\0':
      text = "one cell per line";
      break;
    case ',':
      text = "comma";
      break;
    case ';':
      text = "semicolon";
      break;
    case '\t':
      text = "tab";
      break;
    default:
      text = dialect.delimiter;
      break;
  }
  if (dialect.delimiter != '\0') {
    text += ", quote ";
    text += dialect.quote == '\0' ? std::string("none") : std::string(1, dialect.quote);
  }
  switch (dialect.line_end) {
    case LineEnd::lf:
      return text + ", LF";
    case LineEnd::crlf:
      return text + ", CRLF";
    case LineEnd::cr:
      return text + ", CR";
  }
  return text;
}

}  // namespace geonce
