#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/answer.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/money.h"

namespace geonce {

/// What became of a row.
enum class RowStatus : std::uint8_t {
  match,
  no_match,
  ambiguous,
  low_quality,
  empty,
  bad_row,
  error
};
std::string_view to_string(RowStatus status);
std::optional<RowStatus> parse_row_status(std::string_view word);

/// What is written behind a row. Views: the bytes belong to the caller. Empty = an empty cell.
struct RowResult {
  std::optional<LatLng> at;          // written for `match` alone
  std::optional<double> confidence;  // 0..1
  std::string_view formatted;
  std::string_view provider;
  std::string_view cache;  // where from: to_string(AnswerSource)
  std::string_view error;
  std::optional<Key> key;
  std::string_view key_prefix = "n1_";  // KeyRing::prefix
  RowStatus status = RowStatus::error;
  std::optional<Precision> precision;
  Country country;
  // with the full set of columns
  std::optional<bool> partial;
  std::optional<std::uint32_t> attempts;
  std::string_view house_number, street, unit, city, state, postcode, place_id;
  std::optional<UtcMs> fetched_at, expires_at;
  std::optional<Money> cost;
  std::optional<Key> building_key;
};

/// The cells an answer has something to say about; views into the answer.
/// `rejected` becomes `low_quality`, its reason the error cell.
RowResult row_result(const Answer& answer);

/// The appended columns in their fixed order, without a prefix. The short set is the head of the
/// full one.
enum class ColumnSet : std::uint8_t { short_set, full };
std::span<const std::string_view> result_columns(ColumnSet set);
/// Columns whose JSON form is a number or a boolean, not a string.
bool is_json_literal(std::size_t column);
/// Columns whose cells are free text; the others have nothing in them that a dialect could need to
/// quote.
bool is_free_text(std::size_t column);
/// Appends the text of one cell: `.` as the decimal sign whatever the locale, 7 decimals for
/// degrees.
void append_cell(const RowResult& result, std::size_t column, std::string& out);

}  // namespace geonce
