#include "csv.h"

namespace fakegeo {
namespace {

std::string quoted(std::string_view cell) {
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<Row> parse_csv(std::string_view text, char delimiter) {
  std::vector<Row> rows;
  Row row;
  std::string cell;
  bool in_quotes = false;
  const auto end_row = [&] {
    row.push_back(std::move(cell));
    cell.clear();
    if (row.size() > 1 || !row.front().empty()) rows.push_back(std::move(row));
    row.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_quotes) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        in_quotes = false;
      }
    } else if (c == '"' && cell.empty()) {
      in_quotes = true;
    } else if (c == delimiter) {
      row.push_back(std::move(cell));
      cell.clear();
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r') {
      cell += c;
    }
  }
  if (!cell.empty() || !row.empty()) end_row();
  return rows;
}

std::string quoted_line(const Row& row) {
  std::string out;
  for (const std::string& cell : row) {
    if (!out.empty()) out += ',';
    out += quoted(cell);
  }
  return out;
}

std::string plain_line(const Row& row, char delimiter) {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += delimiter;
    const bool must_quote = row[i].find_first_of("\"\r\n") != std::string::npos ||
                            row[i].find(delimiter) != std::string::npos;
    out += must_quote ? quoted(row[i]) : row[i];
  }
  return out;
}

}  // namespace fakegeo
