#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/country.h"
#include "core/place.h"

namespace geonce {

/// What is known about an address after asking.
enum class AnswerKind : std::uint8_t {
  match = 1,
  no_match = 2,   // the whole chain said so explicitly
  ambiguous = 3,  // several equal candidates
  rejected = 4,   // wrong country, or below the precision floor
};

std::string_view to_string(AnswerKind kind);

/// One answer. A match has coordinates; a rejected one has them unless they were what was wrong
/// (0,0, out of range); the others have none.
struct Answer {
  AnswerKind kind = AnswerKind::no_match;
  std::optional<LatLng> at;
  Precision precision = Precision::unknown;
  std::optional<double> confidence;  // 0..1
  bool partial = false;              // the provider ignored a part of the query
  std::string provider;              // who said so
  std::string formatted;
  std::string place_id;
  Country country;
  std::string house_number, street, unit, city, state, postcode;
  std::string reason;  // of rejected and ambiguous, for a person

  friend bool operator==(const Answer&, const Answer&) = default;
};

/// Compact binary form with a codec byte in front (docs/formats/entry.md).
std::string encode(const Answer& answer);
/// nullopt: unknown codec or cut off; the caller treats it as a miss and says so.
std::optional<Answer> decode_answer(std::string_view bytes);

}  // namespace geonce
