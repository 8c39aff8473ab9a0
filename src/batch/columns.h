#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/chunk.h"
#include "batch/row_result.h"
#include "core/query.h"
#include "core/result.h"

namespace geonce {

/// A column by its name (in any case where that is unique) or 1-based number; `#3` is always a
/// number.
/// errors    usage  unknown: lists the columns there are; two of that name: gives their numbers
Result<std::size_t> find_column(std::string_view wanted, std::span<const std::string> columns);

/// Where the address stands in a row, as the user says it.
struct MappingOptions {
  /// One column, several with commas (`street,city,zip`), or a template (`{street} {nr}, {zip}
  /// {city}`).
  std::string address;
  /// `house_number=…,street=…,unit=…,city=…,state=…,postcode=…,country=…`; may stand beside
  /// `address`.
  std::string fields;
  Country default_country;
  std::string default_city, default_state;
  std::string language;
};

/// Fills queries from rows. Immutable, any thread.
class Mapping {
 public:
  /// Nothing said in `address` and `fields`: guesses from the column names, and only when certain.
  /// errors    usage  unknown or doubled column, bad template or field name, no certain guess
  static Result<Mapping> make(const MappingOptions& options, std::span<const std::string> columns);

  /// Views into the chunk, the mapping and `scratch`, good until one of them changes.
  /// returns   false: the row has no address (status `empty`)
  bool fill(const Chunk& chunk, const Record& record, std::string& scratch, QueryView& query) const;

  /// No fields beside the text, so that the text says all.
  [[nodiscard]] bool is_text_alone() const { return fields_.empty(); }

  /// Default city and state complete what a row lacks. In fields `fill` sees to it; in free text
  /// only the normaliser can tell, so when it finds `no_locality` and this is true, call
  /// `add_defaults` and normalise again.
  [[nodiscard]] bool has_text_defaults() const {
    return !text_.empty() && !(default_city_.empty() && default_state_.empty());
  }
  void add_defaults(std::string& scratch, QueryView& query) const;

  /// One line that says which columns are used, for people and as part of a batch's identity.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool is_guess() const { return is_guess_; }

 private:
  struct Piece {
    std::string before;  // literal text in front of the column
    std::size_t column;
  };
  struct Field {
    std::string_view QueryView::*member;
    std::string_view name;
    std::size_t column;
  };
  Result<void> read_address(std::string_view address);
  Result<void> read_template(std::string_view text);
  Result<void> read_fields(std::string_view fields);
  Result<void> add_field(std::string_view QueryView::*member, std::size_t column);
  Result<void> guess();
  std::string_view render(const Chunk& chunk, const Record& record, std::string& scratch) const;

  std::vector<Piece> text_;
  std::string text_after_;  // literal text behind the last column
  std::vector<Field> fields_;
  std::vector<std::string> names_;
  Country default_country_;
  std::string default_city_, default_state_, language_;
  bool is_guess_ = false;
};

/// Reads back what an earlier run wrote, for `--only-missing`.
class PreviousRows {
 public:
  /// errors    usage  the input has no status column of this prefix: it was not made by an earlier
  /// run
  static Result<PreviousRows> find(std::span<const std::string> columns, std::string_view prefix);
  /// nullopt: the row was not finished.
  [[nodiscard]] std::optional<RowStatus> status(const Chunk& chunk, const Record& record) const;

 private:
  explicit PreviousRows(std::size_t column) : column_(column) {}
  std::size_t column_;
};

}  // namespace geonce
