#include "providers/condition.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace geonce {
namespace {

namespace json = boost::json;

Pointer pointer(std::string_view text) { return *Pointer::parse(text); }

TEST(Condition, an_empty_one_always_holds_and_a_full_one_wants_everything) {
  const json::value body = json::parse(R"({"a": "x", "n": 5})");
  EXPECT_TRUE(Condition{}.holds({}));
  Condition both;
  both.is.push_back({pointer("/a"), {"x"}});
  both.between.push_back({pointer("/n"), 1, 4});
  EXPECT_FALSE(both.holds({200, &body, "", nullptr}));
  both.between[0].high = 5;
  EXPECT_TRUE(both.holds({200, &body, "", nullptr}));
}

TEST(Condition, compares_texts_numbers_and_flags_alike_and_looks_into_arrays) {
  const json::value body = json::parse(
      R"({"s": "402", "n": 402, "d": 402.0, "b": true, "l": ["a", "route"], "z": null})");
  const auto is = [&](std::string_view at, std::string word) {
    Condition condition;
    condition.is.push_back({pointer(at), {"other", std::move(word)}});
    return condition.holds({200, &body, "", nullptr});
  };
  EXPECT_TRUE(is("/s", "402"));
  EXPECT_TRUE(is("/n", "402"));
  EXPECT_TRUE(is("/d", "402"));
  EXPECT_TRUE(is("/b", "true"));
  EXPECT_TRUE(is("/l", "route"));
  EXPECT_TRUE(is("/l", "rou*"));
  EXPECT_FALSE(is("/l", "rout"));
  EXPECT_FALSE(is("/s", "403"));
  EXPECT_FALSE(is("/z", "null"));
  EXPECT_FALSE(is("/x", ""));
}

TEST(Condition, contains_looks_for_words_in_any_case) {
  const json::value body = json::parse(R"({"error": "Could not GEOCODE address."})");
  Condition condition;
  condition.contains.push_back({pointer("/error"), {"no matches", "could not geocode"}});
  EXPECT_TRUE(condition.holds({422, &body, "", nullptr}));
  condition.contains[0].words = {"invalid"};
  EXPECT_FALSE(condition.holds({422, &body, "", nullptr}));
  EXPECT_FALSE(condition.holds({422, nullptr, "could not geocode", nullptr}));
}

TEST(Condition, text_looks_at_the_whole_body_even_when_it_is_no_json) {
  Condition condition;
  condition.text = {"access blocked"};
  EXPECT_TRUE(condition.holds({403, nullptr, "<h1>Access Blocked</h1>", nullptr}));
  EXPECT_FALSE(condition.holds({403, nullptr, "<h1>Forbidden</h1>", nullptr}));
}

TEST(Condition, null_blank_and_empty_are_nothing) {
  const json::value body =
      json::parse(R"({"z": null, "b": " ", "l": [], "o": {}, "zero": 0, "no": false, "t": "x"})");
  for (const std::string_view at : {"/z", "/b", "/l", "/o", "/missing"}) {
    Condition has, lacks;
    has.has = {pointer(at)};
    lacks.lacks = {pointer(at)};
    EXPECT_FALSE(has.holds({200, &body, "", nullptr})) << at;
    EXPECT_TRUE(lacks.holds({200, &body, "", nullptr})) << at;
  }
  for (const std::string_view at : {"/zero", "/no", "/t"}) {
    Condition has;
    has.has = {pointer(at)};
    EXPECT_TRUE(has.holds({200, &body, "", nullptr})) << at;
  }
}

TEST(Condition, statuses_are_ranges) {
  Condition condition;
  condition.status = {{422, 422}, {500, 599}};
  EXPECT_TRUE(condition.holds({422, nullptr, "", nullptr}));
  EXPECT_TRUE(condition.holds({503, nullptr, "", nullptr}));
  EXPECT_FALSE(condition.holds({423, nullptr, "", nullptr}));
}

TEST(Condition, tells_a_question_that_was_only_a_postcode) {
  const auto only_postcode = [](const Query& query) {
    Condition condition;
    condition.asked_postcode = true;
    return condition.holds({200, nullptr, "", &query});
  };
  Query query;
  EXPECT_FALSE(only_postcode(query));
  for (const char* text : {"60611", "60611-1234", "K1A 0B6", "EH1 1AA"}) {
    query.text = text;
    EXPECT_TRUE(only_postcode(query)) << text;
  }
  for (const char* text : {"Chicago", "Chicago 60611", "12 Oak St", "1 2 3", "123456789 1234"}) {
    query.text = text;
    EXPECT_FALSE(only_postcode(query)) << text;
  }
  query.text = "";
  query.postcode = "60611";
  EXPECT_TRUE(only_postcode(query));
  query.city = "Chicago";
  EXPECT_FALSE(only_postcode(query));
  Condition unknown;
  unknown.asked_postcode = true;
  EXPECT_FALSE(unknown.holds({200, nullptr, "", nullptr}));
}

}  // namespace
}  // namespace geonce
