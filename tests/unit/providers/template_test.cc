#include "providers/template.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace geonce {
namespace {

Query reno() {
  Query query;
  query.house_number = "12";
  query.road = "Oak St";
  query.city = "Reno";
  query.state = "NV";
  query.country = Country('U', 'S');
  return query;
}

std::string fill(std::string_view text, const Query& query, bool ascii = false) {
  const auto parsed = Template::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed->fill({&query, "KEY", "r1", ascii}, nullptr).value_or("(left out)");
}

TEST(Template, words_stand_for_parts_of_the_query) {
  const Query query = reno();
  EXPECT_EQ(fill("{address}", query), "12 Oak St, Reno, NV");
  EXPECT_EQ(fill("{street}", query), "12 Oak St");
  EXPECT_EQ(fill("{house_number}|{road}|{city}|{state}", query), "12|Oak St|Reno|NV");
  EXPECT_EQ(fill("country:{country} {country_alpha3}", query), "country:US USA");
  EXPECT_EQ(fill("{secret}-{ref}", query), "KEY-r1");
  EXPECT_EQ(fill("as it stands", query), "as it stands");
  EXPECT_EQ(fill("", query), "");
}

TEST(Template, a_word_with_nothing_to_say_leaves_the_whole_text_out) {
  const Query query = reno();
  EXPECT_EQ(fill("zip={postcode}", query), "(left out)");
  EXPECT_EQ(fill("{city}, {unit}", query), "(left out)");
  EXPECT_EQ(fill("{language}", query), "(left out)");
  EXPECT_EQ(fill("{country}", Query{}), "(left out)");
}

TEST(Template, refuses_words_it_does_not_know) {
  for (const std::string_view text : {"{adress}", "{", "{city", "{}", "{/a}"})
    EXPECT_FALSE(Template::parse(text)) << text;
  EXPECT_NE(Template::parse("{adress}").error().message.find("address"), std::string::npos);
}

TEST(Template, a_text_beside_its_locality_is_the_street) {
  Query query;
  query.text = "12 Oak St";
  EXPECT_EQ(street_line(query), "") << "without a locality the text may be anything";
  query.city = "Reno";
  EXPECT_EQ(street_line(query), "12 Oak St");
  query.text = "12 Oak St, Apt 4";
  EXPECT_EQ(street_line(query), "");
  query.text = "12 Oak St RENO";
  EXPECT_EQ(street_line(query), "");
}

TEST(Template, letters_lose_their_marks_where_only_ascii_may_go) {
  Query query;
  query.text = "7 Peña St";
  EXPECT_EQ(fill("{address}", query, true), "7 Pena St");
  EXPECT_EQ(fill("{address}", query, false), "7 Peña St");
}

TEST(JsonTemplate, members_with_nothing_to_say_are_left_out) {
  JsonTemplate::Object members;
  members.names = {"street", "zip", "limit"};
  members.members.push_back(JsonTemplate{*Template::parse("{street}")});
  members.members.push_back(JsonTemplate{*Template::parse("{postcode}")});
  members.members.push_back(JsonTemplate{boost::json::value(1)});
  const Query query = reno();
  const auto json = fill(JsonTemplate{std::move(members)}, {&query, "", "", false});
  EXPECT_EQ(boost::json::serialize(*json), R"({"street":"12 Oak St","limit":1})");
}

TEST(PercentEncoded, keeps_the_unreserved_and_nothing_else) {
  EXPECT_EQ(percent_encoded("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(percent_encoded("# & ; | \" \\ % / ? + é"),
            "%23%20%26%20%3B%20%7C%20%22%20%5C%20%25%20%2F%20%3F%20%2B%20%C3%A9");
  EXPECT_EQ(percent_encoded(std::string_view("\0\n", 2)), "%00%0A");
}

}  // namespace
}  // namespace geonce
