#include "providers/check.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

const Specs& specs() {
  static const Specs loaded = *load_specs({});
  return loaded;
}

std::string check(std::string_view name,
                  int status,
                  std::string body,
                  bool bulk = false,
                  std::vector<std::string> submitted = {}) {
  SavedResponse response;
  response.status = status;
  response.body = std::move(body);
  response.bulk = bulk;
  if (!submitted.empty()) response.submitted = std::move(submitted);
  return geonce::check(specs().at(std::string(name)), response);
}

TEST(Check, a_match_has_its_result_and_is_kept) {
  EXPECT_EQ(
      check("ban",
            200,
            R"({"type":"FeatureCollection","features":[{"geometry":{"coordinates":[2.5,48]},
                      "properties":{"type":"street","score":0.75,"label":"Rue X","id":"75_1"}}]})"),
      R"({"outcome":"match","result":{"lat":48,"lon":2.5,"precision":"street","confidence":0.75,)"
      R"("formatted":"Rue X","place_id":"75_1","partial":false,"country":"FR"},"cache":"positive","billed":"no"})");
}

TEST(Check, no_match_is_remembered_as_that_and_errors_are_not) {
  EXPECT_EQ(check("google", 200, R"({"status":"ZERO_RESULTS","results":[]})"),
            R"({"outcome":"no_match","cache":"negative","billed":"yes"})");
  EXPECT_EQ(
      check("google", 200, R"({"status":"REQUEST_DENIED","results":[]})"),
      R"({"outcome":"error","class":"fatal","reason":"the key may not use this service","cache":"none","billed":"no"})");
  EXPECT_EQ(
      check("ban", 429, "<html>"),
      R"({"outcome":"error","class":"retry-after","delay_s":5,"reason":"too many requests at once",)"
      R"("cache":"none","billed":"no"})");
}

TEST(Check, headers_are_read_in_any_case) {
  SavedResponse response;
  response.status = 503;
  response.headers = {*parse_header("RETRY-After:  12 ")};
  EXPECT_EQ(
      geonce::check(specs().at("google"), response),
      R"({"outcome":"error","class":"retry-after","delay_s":12,"reason":"HTTP status 503","cache":"none","billed":"no"})");
  EXPECT_FALSE(parse_header("no colon"));
  EXPECT_FALSE(parse_header(": no name"));
}

TEST(Check, a_batch_lists_what_was_submitted_by_reference) {
  EXPECT_EQ(
      check(
          "census", 200, "\"2\",\"x\",\"Tie\"\n\"1\",\"x\",\"No_Match\"\n", true, {"1", "2", "3"}),
      R"({"outcome":"batch","items":[{"ref":"1","outcome":"no_match","cache":"negative","billed":"no"},)"
      R"({"ref":"2","outcome":"ambiguous","reason":"the provider has several equal candidates","cache":"positive","billed":"no"},)"
      R"({"ref":"3","outcome":"error","class":"retry","reason":"the answer has nothing for this address","cache":"none","billed":"no"}]})");
}

TEST(Check, a_batch_without_what_was_submitted_lists_what_came) {
  EXPECT_EQ(
      check("census", 200, "\"2\",\"x\",\"Tie\"\n\"1\",\"x\",\"No_Match\"\n", true),
      R"({"outcome":"batch","items":[)"
      R"({"ref":"2","outcome":"ambiguous","reason":"the provider has several equal candidates","cache":"positive","billed":"no"},)"
      R"({"ref":"1","outcome":"no_match","cache":"negative","billed":"no"}]})");
  EXPECT_EQ(
      check("geocodio", 200, R"({"results":[{"query":"x","response":{"results":[]}}]})", true),
      R"({"outcome":"batch","items":[{"ref":0,"outcome":"no_match","cache":"negative","billed":"unknown"}]})");
}

TEST(Check, a_provider_without_a_bulk_endpoint_says_so) {
  EXPECT_EQ(
      check("google", 200, "[]", true),
      R"({"outcome":"error","class":"fatal","reason":"this provider has no bulk endpoint","cache":"none"})");
}

TEST(Check, what_may_not_be_kept_is_not) {
  Spec spec = specs().at("google");
  spec.terms = {};
  SavedResponse response;
  response.body = R"({"status":"ZERO_RESULTS","results":[]})";
  EXPECT_EQ(geonce::check(spec, response),
            R"({"outcome":"no_match","cache":"none","billed":"yes"})");
}

TEST(Check, submitted_is_an_array_of_texts_and_numbers) {
  EXPECT_EQ(*parse_submitted(R"(["a", 2, "é"])"), (std::vector<std::string>{"a", "2", "é"}));
  for (const std::string_view text : {"", "{}", "[", "[null]", "[[1]]", "[true]", "\"a\""})
    EXPECT_FALSE(parse_submitted(text)) << text;
}

TEST(ListText, has_a_line_for_each_provider) {
  const std::string text = list_text(specs());
  for (const auto& [name, spec] : specs())
    EXPECT_NE(text.find("\n" + name + " "), std::string::npos) << text;
}

TEST(ShowText, is_a_provider_file_to_begin_another_with) {
  for (const auto& [name, spec] : specs()) {
    const auto again = parse_spec(show_text(spec), "shown.toml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->name, name);
  }
}

TEST(ShowText, says_what_the_provider_wants_and_allows) {
  const std::string text = show_text(specs().at("google"));
  EXPECT_NE(text.find("30 days"), std::string::npos) << text;
  EXPECT_NE(text.find("lat, lon, place_id"), std::string::npos) << text;
  EXPECT_NE(text.find("secret_file"), std::string::npos) << text;
  EXPECT_NE(show_text(specs().at("nominatim")).find("user_agent"), std::string::npos);
}

}  // namespace
}  // namespace geonce
