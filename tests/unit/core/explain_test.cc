#include "core/explain.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scripted_reader.h"

namespace geonce {
namespace {

using testing::HasSubstr;
using testing::Not;

QueryView us(std::string_view text) {
  QueryView query;
  query.text = text;
  query.country = Country('U', 'S');
  return query;
}

TEST(Explain, says_what_was_taken_for_what) {
  Normalizer normalizer;
  const auto query = us("9 Maple Row, Apt 4B, Erie, PA 16501");
  const auto text = explain(query, normalizer.normalize(query));
  EXPECT_THAT(text, HasSubstr("backend    b: the built-in rules\n"));
  EXPECT_THAT(text, HasSubstr("house      9\n"));
  EXPECT_THAT(text, HasSubstr("road       maple row\n"));
  EXPECT_THAT(text, HasSubstr("unit       apt:4b\n"));
  EXPECT_THAT(text, HasSubstr("admin      pa\n"));
  EXPECT_THAT(text, HasSubstr("canonical  9 maple row, apt 4b, erie, pa 16501\n"));
  EXPECT_THAT(text, HasSubstr("geonce␟n1␟b␟p␟us␟pa␟16501␟erie␟maple row␟9␟apt:4b␟␟\n"));
  EXPECT_THAT(text, HasSubstr("key        n1_"));
}

TEST(Explain, warns_of_what_is_missing) {
  Normalizer normalizer;
  const auto query = us("9 Maple Row");
  const auto text = explain(query, normalizer.normalize(query));
  EXPECT_THAT(text, HasSubstr("no_locality"));
  EXPECT_THAT(text, HasSubstr("no_postcode"));
}

TEST(Explain, says_why_an_address_has_no_key) {
  Normalizer normalizer;
  const auto query = us("9 Maple Row, Toronto, Canada");
  const auto read = normalizer.normalize(query);
  EXPECT_THAT(explain(query, read), HasSubstr("error      country_conflict: "));
  EXPECT_THAT(explain_json(read, normalizer),
              HasSubstr(R"("error":{"code":"country_conflict","message":)"));
  EXPECT_THAT(explain_json(read, normalizer), Not(HasSubstr("key")));
}

TEST(Explain, tells_two_addresses_apart) {
  Normalizer normalizer;
  const auto a = normalizer.normalize(us("9 Maple Row, Apt 4B, Erie, PA 16501"));
  const auto b = normalizer.normalize(us("9 Maple Row #4B, Erie, PA 16501"));
  EXPECT_EQ(explain_difference(*a, *b),
            "two keys, because these differ:\nunit       apt:4b  ≠  unit:4b\n");
  EXPECT_EQ(explain_difference(*a, *a), "one key for both\n");
}

TEST(Explain, says_who_read_the_address) {
  ScriptedReader reader;
  reader.answers["12 main st west chester"] = {
      {"house_number", "12"}, {"road", "main st"}, {"city", "west chester"}};
  Normalizer normalizer(KeyRing::plain(), &reader);
  const auto query = us("12 Main St West Chester");
  const auto read = normalizer.normalize(query);
  EXPECT_THAT(explain(query, read), HasSubstr("backend    p:0123456789abcdef: libpostal\n"));
  EXPECT_THAT(explain_json(read, normalizer), HasSubstr(R"("backend":"p:0123456789abcdef")"));
  QueryView fields = us("");
  fields.house_number = "12";
  fields.road = "Main St";
  fields.city = "West Chester";
  EXPECT_EQ(explain_difference(*read, *normalizer.normalize(fields)),
            "two keys, because these differ:\nbackend    p:0123456789abcdef  ≠  b\n");
  reader.is_down = true;
  EXPECT_THAT(explain(query, normalizer.normalize(query)), HasSubstr("reader_unavailable"));
}

TEST(Explain, canonical_text_has_the_key_even_where_a_line_could_not) {
  Normalizer normalizer;
  QueryView query;
  query.road = "12 Oak Ridge";
  query.house_number = "14";
  query.unit = "behind the shop, upstairs";
  query.city = "7 Corners";
  query.country = Country('U', 'S');
  const auto read = normalizer.normalize(query);
  ASSERT_TRUE(read);
  const auto again = normalizer.normalize(us(normalizer.canonical_text(*read)));
  ASSERT_TRUE(again);
  EXPECT_EQ(key_of(*again), key_of(*read));
}

TEST(Explain, json_holds_the_fields_that_are_there) {
  Normalizer normalizer;
  const auto json =
      explain_json(normalizer.normalize(us("PO Box 311, Minot, ND 58701")), normalizer);
  EXPECT_THAT(json, HasSubstr(R"("mode":"parsed","backend":"b","country":"US")"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"("fields":{"box":"pobox:311","locality":"minot","admin":"nd","postcode":"58701"})"));
  EXPECT_THAT(json, HasSubstr(R"("quality":["po_box"])"));
  EXPECT_THAT(json, HasSubstr(R"("canonical":"po box 311, minot, nd 58701")"));
}

}  // namespace
}  // namespace geonce
