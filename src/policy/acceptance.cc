#include "policy/acceptance.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/place.h"

namespace geonce {
namespace {

// Codes of ISO 3166-1 that ISO 3166-2 also lists as subdivisions of a state whose post serves them.
// Providers name one or the other for the same place, so the two do not contradict each other.
constexpr std::array kPartOf{
    std::pair{Country('A', 'S'), Country('U', 'S')},
    std::pair{Country('G', 'U'), Country('U', 'S')},
    std::pair{Country('M', 'P'), Country('U', 'S')},
    std::pair{Country('P', 'R'), Country('U', 'S')},
    std::pair{Country('U', 'M'), Country('U', 'S')},
    std::pair{Country('V', 'I'), Country('U', 'S')},
    std::pair{Country('B', 'L'), Country('F', 'R')},
    std::pair{Country('G', 'F'), Country('F', 'R')},
    std::pair{Country('G', 'P'), Country('F', 'R')},
    std::pair{Country('M', 'F'), Country('F', 'R')},
    std::pair{Country('M', 'Q'), Country('F', 'R')},
    std::pair{Country('N', 'C'), Country('F', 'R')},
    std::pair{Country('P', 'F'), Country('F', 'R')},
    std::pair{Country('P', 'M'), Country('F', 'R')},
    std::pair{Country('R', 'E'), Country('F', 'R')},
    std::pair{Country('T', 'F'), Country('F', 'R')},
    std::pair{Country('W', 'F'), Country('F', 'R')},
    std::pair{Country('Y', 'T'), Country('F', 'R')},
    std::pair{Country('A', 'X'), Country('F', 'I')},
    std::pair{Country('S', 'J'), Country('N', 'O')},
};

bool agree(Country asked, Country answered) {
  if (!asked.is_known() || !answered.is_known() || asked == answered) return true;
  return std::any_of(kPartOf.begin(), kPartOf.end(), [&](const auto& row) {
    const auto& [part, whole] = row;
    return (asked == part && answered == whole) || (asked == whole && answered == part);
  });
}

/// Empty: the match meets the rules.
std::string objection(const Answer& answer, Country asked, const AcceptConfig& config) {
  if (!agree(asked, answer.country))
    return fmt::format("asked in {}, answered in {}", asked.code(), answer.country.code());
  if (answer.precision > config.floor)
    return fmt::format(
        "precision {} is coarser than {}", to_string(answer.precision), to_string(config.floor));
  if (answer.confidence && *answer.confidence < config.min_confidence)
    return fmt::format(
        "confidence {:.2f} is below {:.2f}", *answer.confidence, config.min_confidence);
  return {};
}

int rank(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::match:
      return 0;
    case AnswerKind::rejected:
      return 1;
    case AnswerKind::ambiguous:
      return 2;
    case AnswerKind::no_match:
      return 3;
  }
  return 3;
}

}  // namespace

Answer judge(Answer answer, Country asked, const AcceptConfig& config) {
  if (answer.kind != AnswerKind::match) return answer;
  if (answer.partial && config.partial_is_street)
    answer.precision = std::max(answer.precision, Precision::street);
  const bool is_null_island = answer.at == LatLng{} && !config.allow_zero_zero;
  if (!answer.at || !is_valid(*answer.at) || is_null_island) {
    answer.kind = AnswerKind::rejected;
    answer.reason =
        is_null_island ? "the provider gave 0,0" : "the provider gave no valid coordinates";
    answer.at.reset();  // nobody is to be placed there, whatever the word beside it
    return answer;
  }
  if (auto reason = objection(answer, asked, config); !reason.empty()) {
    answer.kind = AnswerKind::rejected;
    answer.reason = std::move(reason);
  }
  return answer;
}

bool is_better(const Answer& candidate, const Answer& best) {
  if (candidate.kind != best.kind) return rank(candidate.kind) < rank(best.kind);
  if (candidate.precision != best.precision) return candidate.precision < best.precision;
  return candidate.confidence && best.confidence && *candidate.confidence > *best.confidence;
}

}  // namespace geonce
