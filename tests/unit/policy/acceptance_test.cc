#include "policy/acceptance.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace geonce {
namespace {

constexpr Country kNorway('N', 'O');
constexpr Country kFrance('F', 'R');

Answer match(Precision precision) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{61.0, 11.5};
  answer.precision = precision;
  answer.country = kNorway;
  return answer;
}

TEST(Acceptance, leaves_a_good_match_as_it_is) {
  const Answer good = match(Precision::rooftop);
  EXPECT_EQ(judge(good, kNorway, {}), good);
  EXPECT_EQ(judge(good, Country{}, {}), good);
}

TEST(Acceptance, rejects_an_answer_in_another_country_and_keeps_its_coordinates) {
  const Answer judged = judge(match(Precision::rooftop), Country('S', 'E'), {});
  EXPECT_EQ(judged.kind, AnswerKind::rejected);
  EXPECT_EQ(judged.reason, "asked in SE, answered in NO");
  EXPECT_TRUE(judged.at);
}

TEST(Acceptance, does_not_call_a_country_and_a_part_of_it_a_contradiction) {
  const struct {
    Country asked, answered;
    AnswerKind expected;
  } rows[] = {
      {Country('U', 'S'), Country('P', 'R'), AnswerKind::match},
      {Country('P', 'R'), Country('U', 'S'), AnswerKind::match},
      {kFrance, Country('R', 'E'), AnswerKind::match},
      {Country('R', 'E'), Country('G', 'P'), AnswerKind::rejected},
      {Country('U', 'S'), Country('R', 'E'), AnswerKind::rejected},
      {Country('U', 'S'), Country{}, AnswerKind::match},
  };
  for (const auto& row : rows) {
    Answer answer = match(Precision::rooftop);
    answer.country = row.answered;
    EXPECT_EQ(judge(answer, row.asked, {}).kind, row.expected)
        << row.asked.code() << " " << row.answered.code();
  }
}

TEST(Acceptance, rejects_what_is_coarser_than_the_floor_or_of_unknown_precision) {
  AcceptConfig config;
  config.floor = Precision::street;
  EXPECT_EQ(judge(match(Precision::street), kNorway, config).kind, AnswerKind::match);
  EXPECT_EQ(judge(match(Precision::postcode), kNorway, config).kind, AnswerKind::rejected);
  EXPECT_EQ(judge(match(Precision::unknown), kNorway, {}).kind, AnswerKind::rejected);
}

TEST(Acceptance, judges_confidence_only_where_the_provider_reports_one) {
  AcceptConfig config;
  config.min_confidence = 0.8;
  Answer answer = match(Precision::rooftop);
  EXPECT_EQ(judge(answer, kNorway, config).kind, AnswerKind::match);
  answer.confidence = 0.79;
  EXPECT_EQ(judge(answer, kNorway, config).kind, AnswerKind::rejected);
  answer.confidence = 0.8;
  EXPECT_EQ(judge(answer, kNorway, config).kind, AnswerKind::match);
}

TEST(Acceptance, takes_a_partial_rooftop_for_no_better_than_its_street) {
  Answer answer = match(Precision::rooftop);
  answer.partial = true;
  EXPECT_EQ(judge(answer, kNorway, {}).precision, Precision::street);
  AcceptConfig config;
  config.floor = Precision::interpolated;
  EXPECT_EQ(judge(answer, kNorway, config).kind, AnswerKind::rejected) << "capped, then judged";
  config.partial_is_street = false;
  EXPECT_EQ(judge(answer, kNorway, config).precision, Precision::rooftop);
  answer.precision = Precision::locality;
  EXPECT_EQ(judge(answer, kNorway, {}).precision, Precision::locality) << "never made finer";
}

TEST(Acceptance, places_nobody_at_zero_zero_or_outside_the_world) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const LatLng at : {LatLng{0, 0}, LatLng{nan, 1}, LatLng{91, 0}, LatLng{0, -181}}) {
    Answer answer = match(Precision::rooftop);
    answer.at = at;
    const Answer judged = judge(answer, kNorway, {});
    EXPECT_EQ(judged.kind, AnswerKind::rejected);
    EXPECT_FALSE(judged.at);
    EXPECT_FALSE(judged.reason.empty());
  }
  Answer nowhere = match(Precision::rooftop);
  nowhere.at.reset();
  EXPECT_EQ(judge(nowhere, kNorway, {}).kind, AnswerKind::rejected);
}

TEST(Acceptance, allows_zero_zero_to_who_asks_for_it) {
  AcceptConfig config;
  config.allow_zero_zero = true;
  Answer answer = match(Precision::rooftop);
  answer.at = LatLng{0, 0};
  EXPECT_EQ(judge(answer, kNorway, config).kind, AnswerKind::match);
}

TEST(Acceptance, never_touches_what_is_no_match) {
  for (const auto kind : {AnswerKind::no_match, AnswerKind::ambiguous, AnswerKind::rejected}) {
    Answer answer = match(Precision::country);
    answer.kind = kind;
    answer.partial = true;
    EXPECT_EQ(judge(answer, kFrance, {}), answer);
  }
}

TEST(Better, is_decided_by_kind_then_precision_then_confidence_and_a_tie_goes_to_the_earlier) {
  const auto of = [](AnswerKind kind, Precision precision, std::optional<double> confidence) {
    Answer answer = match(precision);
    answer.kind = kind;
    answer.confidence = confidence;
    return answer;
  };
  const std::vector<Answer> best_first{
      of(AnswerKind::match, Precision::rooftop, 0.9),
      of(AnswerKind::match, Precision::rooftop, 0.2),
      of(AnswerKind::match, Precision::locality, 1.0),
      of(AnswerKind::rejected, Precision::rooftop, 1.0),
      of(AnswerKind::ambiguous, Precision::unknown, {}),
      of(AnswerKind::no_match, Precision::unknown, {}),
  };
  for (std::size_t i = 0; i < best_first.size(); ++i)
    for (std::size_t j = 0; j < best_first.size(); ++j)
      EXPECT_EQ(is_better(best_first[i], best_first[j]), i < j) << i << " " << j;

  const Answer silent = of(AnswerKind::match, Precision::rooftop, {});
  EXPECT_FALSE(is_better(silent, best_first[1]));
  EXPECT_FALSE(is_better(best_first[0], silent)) << "no confidence is not a low one";
}

}  // namespace
}  // namespace geonce
