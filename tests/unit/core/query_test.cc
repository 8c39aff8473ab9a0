#include "core/query.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(Query, is_the_callers_spelling_trimmed_and_composed_and_nothing_else) {
  QueryView view;
  view.text = " \t14 Rue de l'E\u0301tang \n";
  EXPECT_EQ(Query::from(view).text, "14 Rue de l'\u00C9tang");
}

TEST(Query, fields_make_one_line_in_postal_order_without_gaps) {
  Query query;
  query.house_number = "12";
  query.road = "Oak St";
  query.city = "Reno";
  query.postcode = "89501";
  EXPECT_EQ(query.one_line(), "12 Oak St, Reno, 89501");
  query.state = "NV";
  query.unit = "Apt 4";
  EXPECT_EQ(query.one_line(), "12 Oak St, Apt 4, Reno, NV 89501");
}

TEST(Query, one_line_of_text_and_fields_says_both_and_nothing_twice) {
  Query query;
  query.text = "10 S Kedzie Ave";
  query.city = "Chicago";
  query.state = "IL";
  query.postcode = "60612";
  EXPECT_EQ(query.one_line(), "10 S Kedzie Ave, Chicago, IL 60612");
  query.text = "10 S Kedzie Ave, CHICAGO IL";
  EXPECT_EQ(query.one_line(), "10 S Kedzie Ave, CHICAGO IL, 60612");
  query.text = "606120 Illinois Rd";
  EXPECT_EQ(query.one_line(), "606120 Illinois Rd, Chicago, IL 60612");
}

TEST(Query, a_nation_in_the_country_field_is_kept_and_sent) {
  QueryView view;
  view.text = "12 High St, Newport";
  view.country_text = " Wales ";
  Query query = Query::from(view);
  query.country = Country('G', 'B');
  EXPECT_EQ(query.one_line(), "12 High St, Newport, Wales");
  EXPECT_EQ(*query_from_json(to_json(query)), query);
  query.text = "12 High St, Newport, WALES";
  EXPECT_EQ(query.one_line(), "12 High St, Newport, WALES");
  query.text = "";
  query.city = "Newport";
  EXPECT_EQ(query.one_line(), "Newport, Wales");
  view.country_text = "United Kingdom";
  EXPECT_EQ(Query::from(view).nation, "");
}

TEST(Query, comes_back_from_json_with_its_hash_signs_quotes_and_country) {
  Query query;
  query.text = "Unit#6 - 421 \"Sample\" St; a|b\\c";
  query.language = "fr";
  query.country = Country('C', 'A');
  const auto back = query_from_json(to_json(query));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, query);
  EXPECT_FALSE(query_from_json("[]"));
  EXPECT_FALSE(query_from_json("{\"text\":"));
}

}  // namespace
}  // namespace geonce
