#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace geonce {

enum class LineEnd : std::uint8_t { lf, crlf, cr };
std::string_view text_of(LineEnd line_end);  // "\n", "\r\n", "\r"

/// How cells and rows are set apart.
struct Dialect {
  char delimiter = ',';  // '\0': every line is one cell (a plain list of addresses)
  char quote = '"';      // '\0': no quoting
  /// `lf` and `crlf` read alike (each row keeps its own); with `cr` a lone CR ends a row as well.
  LineEnd line_end = LineEnd::lf;
  friend bool operator==(const Dialect&, const Dialect&) = default;
};

/// What the user said; the rest is found out.
struct DialectChoice {
  std::optional<char> delimiter, quote;
  std::optional<LineEnd> line_end;
};
/// `,` `;` `|` or another ASCII character, `tab`, `\t`, `none`. errors  usage
Result<char> parse_delimiter(std::string_view word);
/// `"`, `'`, another ASCII character, `none`. errors  usage
Result<char> parse_quote(std::string_view word);
/// lf, crlf, cr. errors  usage
Result<LineEnd> parse_line_end(std::string_view word);

/// Reads the dialect off the start of a file, quotes respected: the delimiter that cuts the first
/// row into two or more cells and most other rows into as many.
///
/// sample    UTF-8, a few ten kilobytes; the row that is cut at its end does not count
/// whole     the sample is all there is
Dialect detect_dialect(std::string_view sample, bool whole, const DialectChoice& choice);

/// "comma, \", CRLF", for the notice on stderr.
std::string describe(const Dialect& dialect);

}  // namespace geonce
