#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "batch/input.h"
#include "core/clock.h"
#include "core/country.h"
#include "core/result.h"
#include "store/store.h"

namespace geonce {

struct PlacesOptions {
  InputOptions input;
  std::string map;  // `number=…,street=…,…`; what it does not name has its OpenAddresses column
  std::string source;  // the name under which the points are kept; a later load replaces them
  bool add = false;    // keep what the source had
  // For rows that do not name one, because the cell is blank or there is no such column.
  Country country;
  std::string city, region, postcode;
};

struct PlacesReport {
  std::int64_t rows = 0, loaded = 0;
  struct Refusal {
    std::uint64_t row;
    std::string why;
  };
  std::int64_t refused = 0;
  std::vector<Refusal> refusals;  // the first few
};

/// Reads address points into the store. WGS84 degrees; columns LON, LAT, NUMBER, STREET, UNIT,
/// CITY, DISTRICT, REGION, POSTCODE, ID as OpenAddresses writes them, in any case and order.
///
/// errors    usage  a column that is needed (LON, LAT, STREET) or named is not there: lists the
/// columns
///           and those of RowInput::open and of the store
Result<PlacesReport> load_places(Store& store,
                                 const PlacesOptions& options,
                                 const std::function<void(const PlacesReport&)>& notice);

}  // namespace geonce
