#include "core/country.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(Country, is_read_from_codes_and_names_in_any_case) {
  struct Row {
    std::string_view text, code;
  };
  for (const auto& [text, code] : std::array<Row, 27>{{{"US", "US"},
                                                       {"us", "US"},
                                                       {" usa ", "US"},
                                                       {"U.S.A.", "US"},
                                                       {"United States", "US"},
                                                       {"the United States of America", "US"},
                                                       {"GBR", "GB"},
                                                       {"uk", "GB"},
                                                       {"Scotland", "GB"},
                                                       {"Deutschland", "DE"},
                                                       {"Österreich", "AT"},
                                                       {"OESTERREICH", "AT"},
                                                       {"España", "ES"},
                                                       {"Espana", "ES"},
                                                       {"Côte d'Ivoire", "CI"},
                                                       {"Cote d’Ivoire", "CI"},
                                                       {"Ísland", "IS"},
                                                       {"Россия", "RU"},
                                                       {"日本", "JP"},
                                                       {"대한민국", "KR"},
                                                       {"مصر", "EG"},
                                                       {"Korea, South", "ZZ"},
                                                       {"South Korea", "KR"},
                                                       {"Guinea-Bissau", "GW"},
                                                       {"Kosovo", "XK"},
                                                       {"", "ZZ"},
                                                       {"zz", "ZZ"}}}) {
    const auto country = parse_country(text);
    if (code == "ZZ" && !text.empty() && text != "zz") {
      ASSERT_FALSE(country.has_value()) << text;
      EXPECT_EQ(country.error().code, ErrorCode::unknown_country);
      continue;
    }
    ASSERT_TRUE(country.has_value()) << text;
    EXPECT_EQ(country->code(), code) << text;
  }
}

TEST(Country, names_that_are_none_are_refused) {
  for (const std::string_view text : {"XX", "Atlantis", "UKK", "U", "Island", "1", "\xFF"})
    EXPECT_FALSE(parse_country(text).has_value()) << text;
}

TEST(Country, has_an_alpha_3_code) {
  EXPECT_EQ(alpha3(Country('U', 'S')), "USA");
  EXPECT_EQ(alpha3(Country('Z', 'W')), "ZWE");
  EXPECT_EQ(alpha3(Country()), "");
}

TEST(Country, a_name_is_not_a_code) {
  EXPECT_EQ(country_named("germany").code(), "DE");
  EXPECT_FALSE(country_named("de").is_known());
}

}  // namespace
}  // namespace geonce
