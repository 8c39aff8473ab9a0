#include "core/place.h"

#include <array>
#include <cmath>

namespace geonce {
namespace {

constexpr std::array<std::string_view, 9> kWords{"rooftop",
                                                 "parcel",
                                                 "interpolated",
                                                 "street",
                                                 "postcode",
                                                 "locality",
                                                 "region",
                                                 "country",
                                                 "unknown"};

}  // namespace

bool is_valid(const LatLng& at) {
  return std::isfinite(at.lat_deg) && std::isfinite(at.lng_deg) && std::abs(at.lat_deg) <= 90 &&
         std::abs(at.lng_deg) <= 180;
}

std::string_view to_string(Precision precision) {
  return kWords.at(static_cast<std::size_t>(precision));
}

std::optional<Precision> parse_precision(std::string_view word) {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (kWords.at(i) == word) return static_cast<Precision>(i);
  return std::nullopt;
}

}  // namespace geonce
