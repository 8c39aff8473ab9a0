#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fakegeo {

using Row = std::vector<std::string>;

/// RFC 4180: quoted cells may hold delimiters, line breaks and doubled quotes. LF or CRLF.
std::vector<Row> parse_csv(std::string_view text, char delimiter);

/// Every cell quoted, as US Census writes them. No line end.
std::string quoted_line(const Row& row);
/// Cells quoted where they must be, as BAN writes them. No line end.
std::string plain_line(const Row& row, char delimiter);

}  // namespace fakegeo
