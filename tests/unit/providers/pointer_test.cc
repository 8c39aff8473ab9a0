#include "providers/pointer.h"

#include <clocale>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace geonce {
namespace {

namespace json = boost::json;

const json::value& document() {
  static const json::value value = json::parse(R"({
    "a": {"b": [10, 20, {"c": "deep"}]}, "": "empty name", "sl/ash": 1, "til~de": 2, "01": "no index",
    "parts": [{"types": ["route"], "name": "Oak St"}, {"types": ["locality", "political"], "name": "Reno"},
              {"types": "postal_code_prefix", "name": "895"}, {"no": 1}],
    "null": null, "flag": true, "blank": "  ", "n": 48.85, "text": "48.85"})");
  return value;
}

std::string at(std::string_view pointer) {
  const auto parsed = Pointer::parse(pointer);
  EXPECT_TRUE(parsed) << pointer;
  const auto* found = parsed ? parsed->find(document()) : nullptr;
  return found != nullptr ? json::serialize(*found) : "-";
}

TEST(Pointer, finds_what_rfc_6901_says) {
  EXPECT_EQ(at(""), json::serialize(document()));
  EXPECT_EQ(at("/a/b/1"), "20");
  EXPECT_EQ(at("/a/b/2/c"), "\"deep\"");
  EXPECT_EQ(at("/"), "\"empty name\"");
  EXPECT_EQ(at("/sl~1ash"), "1");
  EXPECT_EQ(at("/til~0de"), "2");
  EXPECT_EQ(at("/01"), "\"no index\"");
}

TEST(Pointer, is_nothing_where_there_is_nothing) {
  for (const std::string_view text : {"/x",
                                      "/a/x",
                                      "/a/b/3",
                                      "/a/b/-",
                                      "/a/b/01",
                                      "/a/b/99999999999999999999",
                                      "/n/0",
                                      "/flag/a",
                                      "/null/a"})
    EXPECT_EQ(at(text), "-") << text;
}

TEST(Pointer, finds_the_element_that_has_a_word_among_its_types) {
  EXPECT_EQ(at("/parts/[types=route]/name"), "\"Oak St\"");
  EXPECT_EQ(at("/parts/[types=political]/name"), "\"Reno\"");
  EXPECT_EQ(at("/parts/[types=postal_code*]/name"), "\"895\"");
  EXPECT_EQ(at("/parts/[types=country]/name"), "-");
  EXPECT_EQ(at("/a/[types=route]"), "-");
}

TEST(Pointer, refuses_what_is_none) {
  for (const std::string_view text :
       {"a", "a/b", "/a~", "/a~2b", "/[types", "/[types=]", "/[=x]", "/[x]"})
    EXPECT_FALSE(Pointer::parse(text)) << text;
}

TEST(PlainNumber, takes_numbers_and_plain_decimal_texts_only) {
  const auto number = [](std::string_view text) {
    return plain_number(json::parse(text)).value_or(-999);
  };
  EXPECT_EQ(number("48.85"), 48.85);
  EXPECT_EQ(number("0"), 0);
  EXPECT_EQ(number("-0.0"), 0);
  EXPECT_EQ(number("1e2"), 100);
  EXPECT_EQ(number("18446744073709551615"), 18446744073709551615.0);
  EXPECT_EQ(number("\"50.9413240\""), 50.941324);
  EXPECT_EQ(number("\"-0.5\""), -0.5);
  for (const std::string_view text : {"\"48,85\"",
                                      "\"\"",
                                      "\" 1\"",
                                      "\"1 \"",
                                      "\"+1\"",
                                      "\"1e2\"",
                                      "\"NaN\"",
                                      "\"inf\"",
                                      "\"0x1\"",
                                      "\"1.2.3\"",
                                      "\"--1\"",
                                      "\"-\"",
                                      "\".\"",
                                      "true",
                                      "false",
                                      "null",
                                      "[]",
                                      "{}"})
    EXPECT_EQ(number(text), -999) << text;
}

TEST(PlainNumber, does_not_care_for_a_locale_with_decimal_commas) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  EXPECT_EQ(plain_number(std::string_view("48.85")), 48.85);
  EXPECT_EQ(scalar_text(json::value(48.85)), "48.85");
  std::setlocale(LC_ALL, before.c_str());
}

TextSource source(std::initializer_list<std::string_view> alternatives) {
  TextSource made;
  for (const auto& text : alternatives) EXPECT_TRUE(made.add(text)) << text;
  return made;
}

TEST(TextSource, takes_the_first_alternative_that_yields_something) {
  EXPECT_EQ(source({"/null", "/blank", "/x", "/text", "/a/b/0"}).of(document()), "48.85");
  EXPECT_EQ(source({"/a/b/0"}).of(document()), "10");
  EXPECT_EQ(source({"/flag"}).of(document()), "");
  EXPECT_EQ(source({"/a"}).of(document()), "");
  EXPECT_EQ(source({}).of(document()), "");
}

TEST(TextSource, joins_parts_and_leaves_out_those_that_may_be_missing) {
  EXPECT_EQ(source({"{/parts/0/name}/{/a/b/1}"}).of(document()), "Oak St/20");
  EXPECT_EQ(source({"{/parts/0/name}/{/x}", "{/text}!"}).of(document()), "48.85!");
  EXPECT_EQ(source({"{/x?} {/parts/0/name} {/blank?} {/n}"}).of(document()), "Oak St 48.85");
  EXPECT_EQ(source({"{/x?}{/blank?}"}).of(document()), "");
}

TEST(TextSource, refuses_what_points_nowhere) {
  TextSource made;
  for (const std::string_view text : {"plain", "", "{x}", "{/a"})
    EXPECT_FALSE(made.add(text)) << text;
}

}  // namespace
}  // namespace geonce
