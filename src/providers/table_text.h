#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace geonce {

// The CSV and the multipart form of bulk endpoints. Small tables in memory, in the services' own
// dialect: comma, CRLF or LF, quotes doubled (RFC 4180). The users' files are another matter
// (batch/csv_reader.h).

using Cells = std::vector<std::string>;

/// One line with its line end. Control characters in cells become blanks.
/// quotes    false: no cell is quoted, and commas and quotes in cells become blanks too
std::string csv_line(const Cells& cells, bool quotes);

/// All rows; blank lines are skipped. nullopt where a quote is left open or stands where none may,
/// as in a text that was cut off.
std::optional<std::vector<Cells>> parse_csv(std::string_view text);

struct FormPart {
  std::string name;
  std::string file_name;  // empty: a plain value
  std::string content;
};

struct MultipartForm {
  std::string content_type;  // with the boundary
  std::string body;
};

/// The same parts always give the same bytes.
MultipartForm multipart(const std::vector<FormPart>& parts);

/// ISO-8859-1 to UTF-8.
std::string utf8_from_latin1(std::string_view text);

}  // namespace geonce
