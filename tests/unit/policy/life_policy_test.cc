#include "policy/life_policy.h"

#include <random>

#include <gtest/gtest.h>

namespace geonce {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
constexpr hours kDay{24};

Terms unlimited() {
  Terms terms;
  terms.keep = Terms::Keep::unlimited;
  return terms;
}

Terms limited(hours span) {
  Terms terms;
  terms.keep = Terms::Keep::limited;
  terms.keep_for = span;
  return terms;
}

Answer match(Precision precision) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{61.0, 11.5};
  answer.precision = precision;
  return answer;
}

Answer of(AnswerKind kind) {
  Answer answer;
  answer.kind = kind;
  return answer;
}

/// The key whose jitter is nothing.
constexpr Key kNoJitter{};

Key key_with_all_jitter() {
  Key key;
  key.bytes.fill(0xFF);
  return key;
}

struct Given {
  Answer answer;
  Terms terms = unlimited();
  Quality quality = Quality::none;
  int streak = 0;
  bool earlier_down = false;
  Key key = kNoJitter;
};

Life life(const Given& given, const LifeConfig& config = {}) {
  return life_of(
      {given.answer, given.key, given.quality, given.streak, given.earlier_down, given.terms},
      config);
}

TEST(Life, follows_the_precision_of_a_match) {
  const struct {
    Precision precision;
    milliseconds expected;
  } rows[] = {
      {Precision::rooftop, 180 * kDay},
      {Precision::parcel, 180 * kDay},
      {Precision::interpolated, 60 * kDay},
      {Precision::street, 30 * kDay},
      {Precision::postcode, 14 * kDay},
      {Precision::locality, 14 * kDay},
      {Precision::region, 14 * kDay},
      {Precision::country, 14 * kDay},
      {Precision::unknown, 14 * kDay},
  };
  for (const auto& row : rows)
    EXPECT_EQ(life({match(row.precision)}).fresh, row.expected) << to_string(row.precision);
}

TEST(Life, of_other_kinds_of_answer_has_its_own_length) {
  EXPECT_EQ(life({of(AnswerKind::rejected)}).fresh, 7 * kDay);
  EXPECT_EQ(life({of(AnswerKind::ambiguous)}).fresh, 7 * kDay);
  EXPECT_EQ(life({of(AnswerKind::no_match)}).fresh, hours{4});
}

TEST(Life, is_halved_when_the_provider_is_unsure) {
  Given given{match(Precision::rooftop)};
  given.answer.confidence = 0.49;
  EXPECT_EQ(life(given).fresh, 90 * kDay);
  given.answer.confidence = 0.5;
  EXPECT_EQ(life(given).fresh, 180 * kDay);
}

TEST(Life, of_weak_input_is_short_but_a_missing_postcode_alone_is_not_weak) {
  const struct {
    Quality quality;
    hours expected;
  } rows[] = {
      {Quality::po_box, 30 * kDay},
      {Quality::rural_route, 30 * kDay},
      {Quality::unparsed, 30 * kDay},
      {Quality::no_locality, 30 * kDay},
      {Quality::no_postcode, 180 * kDay},
      {Quality::none, 180 * kDay},
      {Quality::no_postcode | Quality::po_box, 30 * kDay},
  };
  for (const auto& row : rows) {
    Given given{match(Precision::rooftop)};
    given.quality = row.quality;
    EXPECT_EQ(life(given).fresh, row.expected) << static_cast<int>(row.quality);
  }
}

TEST(Life, of_a_no_match_doubles_with_each_one_in_a_row_up_to_thirty_days) {
  milliseconds before{0};
  for (int streak = 0; streak < 2'000; ++streak) {
    Given given{of(AnswerKind::no_match)};
    given.streak = streak;
    const auto now = life(given).fresh;
    if (streak < 8)
      EXPECT_EQ(now, hours{4} * (1 << streak));
    else
      EXPECT_EQ(now, 30 * kDay);
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(Life, is_a_day_when_an_earlier_provider_could_not_be_asked) {
  Given given{match(Precision::rooftop)};
  given.earlier_down = true;
  EXPECT_EQ(life(given).fresh, kDay);
  given.answer = of(AnswerKind::no_match);
  EXPECT_EQ(life(given).fresh, hours{4});
}

TEST(Life, is_stale_for_half_a_year_and_then_gone) {
  const Life all = life({match(Precision::street)});
  EXPECT_EQ(all.stale, 210 * kDay);
  EXPECT_EQ(all.erase, all.stale);
}

TEST(Life, under_unknown_terms_is_no_life_at_all) {
  Given given{match(Precision::rooftop), Terms{}};
  EXPECT_EQ(life(given).erase, milliseconds{0});
  given.terms = limited(hours{0});
  EXPECT_EQ(life(given).erase, milliseconds{0});
  EXPECT_EQ(life(given).fresh, milliseconds{0});
}

TEST(Life, is_none_when_the_terms_forbid_keeping_the_coordinates) {
  Given given{match(Precision::rooftop)};
  given.terms.keep_fields = {"place_id"};
  EXPECT_EQ(life(given).erase, milliseconds{0});
  given.answer = keep_allowed(given.answer, given.terms);
  EXPECT_EQ(life(given).erase, milliseconds{0}) << "also when it was stripped already";
  given.answer = of(AnswerKind::no_match);
  EXPECT_GT(life(given).erase, milliseconds{0});
}

TEST(Life, cut_by_the_terms_still_ends_at_different_times_for_different_keys) {
  Given given{match(Precision::rooftop), limited(30 * kDay)};
  EXPECT_EQ(life(given).fresh, 30 * kDay);
  EXPECT_EQ(life(given).erase, 30 * kDay);
  given.key = key_with_all_jitter();
  const auto shortest = life(given).fresh;
  EXPECT_EQ(shortest, milliseconds{30 * kDay} * 85 / 100);
}

TEST(Life, never_outlives_the_terms_and_jitter_never_lengthens_it) {
  std::mt19937_64 chance(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(chance() % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 50'000; ++round) {
    LifeConfig config;
    config.rooftop = hours{below(10'000)};
    config.stale = hours{below(10'000)};
    config.no_match_first = std::chrono::minutes{below(1'000)};
    config.fallback = hours{below(100)};
    config.jitter = static_cast<double>(below(1'001)) / 1'000;
    const auto keep = hours{1 + below(5'000)};
    Given given{match(static_cast<Precision>(below(9))), limited(keep)};
    given.answer.kind = static_cast<AnswerKind>(1 + below(4));
    if (below(2) != 0) given.answer.confidence = static_cast<double>(below(101)) / 100;
    given.quality = static_cast<Quality>(below(32));
    given.streak = static_cast<int>(below(40));
    given.earlier_down = below(4) == 0;
    for (auto& byte : given.key.bytes) byte = static_cast<std::uint8_t>(chance());

    const Life got = life(given, config);
    ASSERT_GE(got.fresh, milliseconds{0});
    ASSERT_LE(got.fresh, got.stale);
    ASSERT_LE(got.stale, got.erase);
    ASSERT_LE(got.erase, milliseconds{keep});

    LifeConfig steady = config;
    steady.jitter = 0;
    const Life most = life(given, steady);
    ASSERT_LE(got.fresh, most.fresh);
    ASSERT_GE(static_cast<double>(got.fresh.count() + 1),
              static_cast<double>(most.fresh.count()) * (1 - config.jitter));
    ASSERT_EQ(got.fresh, life(given, config).fresh) << "the same key, the same life";

    if (given.answer.kind == AnswerKind::no_match) {
      Given next = given;
      ++next.streak;
      ASSERT_GE(life(next, config).fresh, got.fresh);
    }
  }
}

TEST(Terms, strip_every_field_they_do_not_name_and_leave_our_own_conclusions) {
  Answer answer = match(Precision::rooftop);
  answer.confidence = 0.9;
  answer.partial = true;
  answer.provider = "example";
  answer.formatted = "1 Example Street, Town";
  answer.place_id = "abc";
  answer.country = Country('N', 'O');
  answer.house_number = "1";
  answer.street = "Example Street";
  answer.unit = "2";
  answer.city = "Town";
  answer.state = "S";
  answer.postcode = "2410";
  answer.reason = "why";

  EXPECT_EQ(keep_allowed(answer, unlimited()), answer);

  Terms terms = unlimited();
  terms.keep_fields = {"lat", "lon", "postcode"};
  Answer expected = match(Precision::rooftop);
  expected.partial = true;
  expected.provider = "example";
  expected.postcode = "2410";
  expected.reason = "why";
  EXPECT_EQ(keep_allowed(answer, terms), expected);

  terms.keep_fields = {"lat"};  // half a coordinate is none
  EXPECT_FALSE(keep_allowed(answer, terms).at);

  terms.keep_fields = {"lat",
                       "lon",
                       "confidence",
                       "formatted",
                       "place_id",
                       "country",
                       "unit",
                       "city",
                       "house_number",
                       "street",
                       "state",
                       "postcode"};
  EXPECT_EQ(keep_allowed(answer, terms), answer);
}

}  // namespace
}  // namespace geonce
