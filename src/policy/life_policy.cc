#include "policy/life_policy.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace geonce {
namespace {

using std::chrono::milliseconds;

milliseconds life_of_match(const Answer& answer, const LifeConfig& config) {
  switch (answer.precision) {
    case Precision::rooftop:
      return config.rooftop;
    case Precision::parcel:
      return config.parcel;
    case Precision::interpolated:
      return config.interpolated;
    case Precision::street:
      return config.street;
    case Precision::postcode:
      return config.postcode;
    case Precision::locality:
      return config.locality;
    case Precision::region:
      return config.region;
    case Precision::country:
      return config.country;
    case Precision::unknown:
      return config.unknown;
  }
  return config.unknown;
}

/// first, 2·first, 4·first … and never more than `most`.
milliseconds life_of_no_match(int streak, const LifeConfig& config) {
  const milliseconds most = config.no_match_most;
  milliseconds life = std::min<milliseconds>(config.no_match_first, most);
  for (int i = 0; i < streak && life > milliseconds{0} && life < most; ++i)
    life = life > most / 2 ? most : life * 2;
  return life;
}

milliseconds base_life(const LifeInput& input, const LifeConfig& config) {
  switch (input.answer.kind) {
    case AnswerKind::match:
      return life_of_match(input.answer, config);
    case AnswerKind::no_match:
      return life_of_no_match(input.no_match_streak, config);
    case AnswerKind::rejected:
      return config.rejected;
    case AnswerKind::ambiguous:
      return config.ambiguous;
  }
  return milliseconds{0};
}

bool is_weak(Quality quality) {
  return has(quality, Quality::po_box) || has(quality, Quality::rural_route) ||
         has(quality, Quality::unparsed) || has(quality, Quality::no_locality);
}

/// 0 … 1, the same for a key on every machine.
double share_of(const Key& key) {
  std::uint32_t bits = 0;  // not the first bytes: those choose a key's place in tables
  for (std::size_t i = 28; i < 32; ++i) bits = bits << 8U | key.bytes[i];
  return static_cast<double>(bits) / 4294967295.0;
}

milliseconds jittered(milliseconds life, const Key& key, double jitter) {
  const double less = std::clamp(jitter, 0.0, 1.0) * share_of(key);
  return life - milliseconds{static_cast<std::int64_t>(static_cast<double>(life.count()) * less)};
}

bool may_keep(const Terms& terms, std::string_view field) {
  return terms.keep_fields.empty() ||
         std::find(terms.keep_fields.begin(), terms.keep_fields.end(), field) !=
             terms.keep_fields.end();
}

bool may_keep_coordinates(const Terms& terms) {
  return may_keep(terms, "lat") && may_keep(terms, "lon");
}

}  // namespace

Life life_of(const LifeInput& input, const LifeConfig& config) {
  const Terms& terms = input.terms;
  if (terms.keep == Terms::Keep::nothing) return {};
  // A match without its place would be none.
  if (input.answer.kind == AnswerKind::match && !may_keep_coordinates(terms)) return {};
  const milliseconds ceiling =
      terms.keep == Terms::Keep::limited ? milliseconds{terms.keep_for} : milliseconds::max();
  if (ceiling <= milliseconds{0}) return {};

  milliseconds fresh = std::max(base_life(input, config), milliseconds{0});
  if (input.answer.confidence && *input.answer.confidence < config.low_confidence) fresh /= 2;
  if (is_weak(input.quality)) fresh = std::min<milliseconds>(fresh, config.weak_input);
  if (input.earlier_down) fresh = std::min<milliseconds>(fresh, config.fallback);
  // Under the ceiling first, so that a file bought in one day under short terms still expires
  // spread out; jitter only takes away, and the ceiling holds for whatever comes out.
  fresh = std::min(jittered(std::min(fresh, ceiling), input.key, config.jitter), ceiling);

  Life life;
  life.fresh = std::max(fresh, milliseconds{0});
  life.stale =
      std::min(life.fresh + std::max<milliseconds>(config.stale, milliseconds{0}), ceiling);
  life.erase = life.stale;  // what can no longer be served is not kept
  return life;
}

Answer keep_allowed(const Answer& answer, const Terms& terms) {
  if (terms.keep_fields.empty()) return answer;
  Answer kept = answer;
  if (!may_keep_coordinates(terms)) kept.at.reset();
  if (!may_keep(terms, "confidence")) kept.confidence.reset();
  if (!may_keep(terms, "country")) kept.country = Country{};
  const std::array<std::pair<std::string_view, std::string Answer::*>, 8> texts{{
      {"formatted", &Answer::formatted},
      {"place_id", &Answer::place_id},
      {"house_number", &Answer::house_number},
      {"street", &Answer::street},
      {"unit", &Answer::unit},
      {"city", &Answer::city},
      {"state", &Answer::state},
      {"postcode", &Answer::postcode},
  }};
  for (const auto& [name, text] : texts)
    if (!may_keep(terms, name)) (kept.*text).clear();
  return kept;
}

}  // namespace geonce
