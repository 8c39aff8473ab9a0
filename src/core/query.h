#pragma once

#include <string>
#include <string_view>

#include "core/country.h"

namespace geonce {

/// What a caller asks, as it was spelt: free text, or fields, or both (fields win where they
/// speak). Views: the bytes belong to the caller. UTF-8.
struct QueryView {
  std::string_view text;
  std::string_view house_number, road, unit, city, state, postcode;
  std::string_view house, po_box, suburb;  // house = a building's name
  Country country;                         // hint: default of the file, header, config
  std::string_view country_text;           // a country field of the row; wins over the hint
  std::string_view language;               // changes the answer, so it is in the key when set

  [[nodiscard]] bool is_structured() const {
    return !(house_number.empty() && road.empty() && unit.empty() && city.empty() &&
             state.empty() && postcode.empty() && house.empty() && po_box.empty() &&
             suburb.empty());
  }
};

/// The same with bytes of its own; it outlives the caller (flights, claims, spool).
struct Query {
  std::string text;
  std::string house_number, road, unit, city, state, postcode;
  std::string house, po_box, suburb;
  std::string nation;  // of the United Kingdom, where the country field named one: `Wales`
  Country country;
  std::string language;

  /// The view's text trimmed and in NFC: what a provider is sent (never the canonical form);
  /// `country_text`, if any, must have been resolved into `country`. It has the key of the view.
  static Query from(const QueryView& view);
  [[nodiscard]] QueryView view() const;
  /// One line for providers that take free text: `text` with what the fields say beyond it, or the
  /// fields in postal order.
  [[nodiscard]] std::string one_line() const;
  friend bool operator==(const Query&, const Query&) = default;
};

/// JSON with the non-empty members only; what the claim freezes and the ledger shows on request.
std::string to_json(const Query& query);
Result<Query> query_from_json(std::string_view json);

}  // namespace geonce
