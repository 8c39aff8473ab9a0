#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace geonce {

/// WGS84 degrees.
struct LatLng {
  double lat_deg = 0;
  double lng_deg = 0;
  friend bool operator==(const LatLng&, const LatLng&) = default;
};

/// Finite and inside ±90 / ±180.
bool is_valid(const LatLng& at);

/// Finest first: a smaller value is better. `unknown` is no rooftop.
enum class Precision : std::uint8_t {
  rooftop,
  parcel,
  interpolated,
  street,
  postcode,
  locality,
  region,
  country,
  unknown,
};

std::string_view to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view word);

}  // namespace geonce
