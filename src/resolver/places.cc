#include "resolver/places.h"

#include <fmt/format.h>

namespace geonce {

Answer answer_of(const std::optional<PlaceHit>& hit) {
  Answer answer;
  answer.provider = kPlacesName;
  if (!hit) return answer;
  if (hit->candidates > 1) {
    answer.kind = AnswerKind::ambiguous;
    answer.reason = fmt::format("{} points answer to this address", hit->candidates);
    return answer;
  }
  const PlaceRow& place = hit->place;
  answer.kind = AnswerKind::match;
  answer.at = place.at;
  answer.precision = place.house_number.empty() ? Precision::street : Precision::rooftop;
  answer.place_id = place.id;
  answer.country = place.country;
  answer.house_number = place.house_number;
  answer.street = place.street;
  answer.unit = place.unit;
  answer.city = place.city;
  answer.state = place.region;
  answer.postcode = place.postcode;

  Query query;
  query.house_number = place.house_number;
  query.road = place.street;
  query.unit = place.unit;
  query.city = place.city;
  query.state = place.region;
  query.postcode = place.postcode;
  answer.formatted = query.one_line();
  return answer;
}

}  // namespace geonce
