#include "batch/columns.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/csv_reader.h"

// The tables name only what differs from the defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace geonce {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Names = std::vector<std::string>;

TEST(Columns, are_found_by_name_in_any_case_or_by_number) {
  const Names names{"id", "Address", "zip", "ZIP", "2"};
  EXPECT_EQ(find_column("id", names).value(), 0U);
  EXPECT_EQ(find_column(" address ", names).value(), 1U);
  EXPECT_EQ(find_column("ZIP", names).value(), 3U);
  EXPECT_EQ(find_column("3", names).value(), 2U);
  EXPECT_EQ(find_column("2", names).value(), 4U) << "a name goes before a number";
  EXPECT_EQ(find_column("#2", names).value(), 1U);
}

TEST(Columns, an_unknown_column_lists_those_there_are) {
  for (const char* wanted : {"street", "0", "3", "#9", "-1", ""}) {
    const auto column = find_column(wanted, Names{"id", "address"});
    ASSERT_FALSE(column) << wanted;
    EXPECT_EQ(column.error().code, ErrorCode::usage);
    EXPECT_THAT(column.error().message, HasSubstr("1 id, 2 address"));
  }
}

TEST(Columns, a_slip_of_the_pen_is_answered_with_the_nearest_name) {
  EXPECT_THAT(find_column("adress", Names{"id", "address"}).error().message,
              HasSubstr("did you mean \"address\"?"));
}

TEST(Columns, two_of_one_name_matter_only_when_that_name_is_used) {
  const Names names{"id", "name", "address", "name"};
  EXPECT_TRUE(Mapping::make({.address = "address"}, names));
  const auto mapping = Mapping::make({.address = "name"}, names);
  ASSERT_FALSE(mapping);
  EXPECT_THAT(mapping.error().message, AllOf(HasSubstr("number"), HasSubstr("#2 or #4")));
  EXPECT_TRUE(Mapping::make({.address = "#4"}, names));
}

struct Filled {
  bool has_address = false;
  std::string text, fields;
};

Filled fill(const Mapping& mapping, const std::string& row) {
  Chunk chunk;
  chunk.bytes = row;
  parse_csv(chunk, {}, 0);
  std::string scratch;
  QueryView query;
  Filled filled;
  filled.has_address = mapping.fill(chunk, chunk.records.at(0), scratch, query);
  filled.text = query.text;
  const auto add = [&](const char* name, std::string_view value) {
    if (!value.empty()) filled.fields += fmt::format("{}={};", name, value);
  };
  add("house_number", query.house_number);
  add("road", query.road);
  add("unit", query.unit);
  add("city", query.city);
  add("state", query.state);
  add("postcode", query.postcode);
  add("country", query.country_text);
  add("hint", query.country.is_known() ? query.country.code() : "");
  add("language", query.language);
  return filled;
}

struct Case {
  const char* name;
  MappingOptions options;
  Names columns;
  const char* row;
  bool has_address;
  const char* text;
  const char* fields;
};

TEST(Columns, fill_a_query_as_the_user_says) {
  const Names five{"street", "nr", "unit", "zip", "city"};
  const std::vector<Case> cases{
      {"one column",
       {.address = "address"},
       {"id", "address"},
       "1, 10 Oak St \n",
       true,
       "10 Oak St",
       ""},
      {"one column by number",
       {.address = "2"},
       {"id", "address"},
       "1,10 Oak St\n",
       true,
       "10 Oak St",
       ""},
      {"several",
       {.address = "street, zip,city"},
       five,
       "Oak,1,,89501,Reno\n",
       true,
       "Oak, 89501, Reno",
       ""},
      {"several with a gap",
       {.address = "street,zip,city"},
       five,
       "Oak,1,,,Reno\n",
       true,
       "Oak, Reno",
       ""},
      {"a column with a comma in its name",
       {.address = "a, b"},
       {"a, b", "c"},
       "x,y\n",
       true,
       "x",
       ""},
      {"a template",
       {.address = "{street} {nr}, {zip} {city}"},
       five,
       "Oak,1,,89501,Reno\n",
       true,
       "Oak 1, 89501 Reno",
       ""},
      {"a template without the number",
       {.address = "{street} {nr}, {zip} {city}"},
       five,
       "Oak,,,89501,Reno\n",
       true,
       "Oak, 89501 Reno",
       ""},
      {"without number and postcode",
       {.address = "{street} {nr}, {zip} {city}"},
       five,
       "Oak,,,,Reno\n",
       true,
       "Oak, Reno",
       ""},
      {"without the street",
       {.address = "{street} {nr}, {zip} {city}"},
       five,
       ",,,89501,Reno\n",
       true,
       "89501 Reno",
       ""},
      {"the street alone",
       {.address = "{street} {nr}, {zip} {city}"},
       five,
       "Oak,,,,\n",
       true,
       "Oak",
       ""},
      {"words go with their cell",
       {.address = "{street}, Apt {unit}, {city}"},
       five,
       "Oak,,,,Reno\n",
       true,
       "Oak, Reno",
       ""},
      {"words stay with their cell",
       {.address = "{street}, Apt {unit}, {city}"},
       five,
       "Oak,,4,,Reno\n",
       true,
       "Oak, Apt 4, Reno",
       ""},
      {"words of a cell that comes first",
       {.address = "{street}, Apt {unit}, {city}"},
       five,
       ",,4,,Reno\n",
       true,
       "Apt 4, Reno",
       ""},
      {"words at the ends",
       {.address = "c/o {street}, Reno, NV"},
       five,
       "Oak,,,,\n",
       true,
       "c/o Oak, Reno, NV",
       ""},
      {"words alone are no address",
       {.address = "c/o {street}, Reno, NV"},
       five,
       ",,,,\n",
       false,
       "",
       ""},
      {"braces", {.address = "{{{street}}}"}, five, "Oak,,,,\n", true, "{Oak}", ""},
      {"fields",
       {.fields = "house_number=nr, street=street,unit=unit,city=city,postcode=zip"},
       five,
       "Oak,1,4,89501,Reno\n",
       true,
       "",
       "house_number=1;road=Oak;unit=4;city=Reno;postcode=89501;"},
      {"28: marks are letters like others",
       {.fields = "street=street,city=city"},
       five,
       "\"Unit#6 - 421; a|b \"\"\\%&\",,,,Reno\n",
       true,
       "",
       "road=Unit#6 - 421; a|b \"\\%&;city=Reno;"},
      {"23: a postcode keeps its spelling",
       {.fields = "street=street,postcode=zip"},
       five,
       "Oak,,,01220,\n",
       true,
       "",
       "road=Oak;postcode=01220;"},
      {"text and fields",
       {.address = "street", .fields = "postcode=zip"},
       five,
       "1 Oak,,,89501,\n",
       true,
       "1 Oak",
       "postcode=89501;"},
      {"defaults complete fields",
       {.fields = "street=street,city=city",
        .default_country = Country('U', 'S'),
        .default_city = "Reno",
        .default_state = "NV"},
       five,
       "Oak,,,,\n",
       true,
       "",
       "road=Oak;city=Reno;state=NV;hint=US;"},
      {"and do not overrule them",
       {.fields = "street=street,city=city", .default_city = "Reno"},
       five,
       "Oak,,,,Elko\n",
       true,
       "",
       "road=Oak;city=Elko;"},
      {"and are no address",
       {.fields = "street=street,city=city", .default_city = "Reno"},
       five,
       ",,,,\n",
       false,
       "",
       ""},
      {"50: the default country is a hint",
       {.address = "street", .default_country = Country('U', 'S')},
       five,
       "Oak,,,,\n",
       true,
       "Oak",
       "hint=US;"},
      {"the country of a row",
       {.address = "a", .fields = "country=c"},
       {"a", "c"},
       "Oak,Canada\n",
       true,
       "Oak",
       "country=Canada;"},
      {"a country alone is no address",
       {.address = "a", .fields = "country=c"},
       {"a", "c"},
       ",Canada\n",
       false,
       "",
       "country=Canada;"},
      {"a language",
       {.address = "a", .language = "fr"},
       {"a"},
       "Oak\n",
       true,
       "Oak",
       "language=fr;"},
      {"a short row", {.address = "{street}, {city}"}, five, "Oak\n", true, "Oak", ""},
      {"blanks are nothing", {.address = "street"}, five, "\"  \",,,,\n", false, "", ""},
      {"a newline in a cell", {.address = "street"}, five, "\"1 Oak\n\",,,,\n", true, "1 Oak", ""},
  };
  for (const Case& c : cases) {
    const auto mapping = Mapping::make(c.options, c.columns);
    ASSERT_TRUE(mapping) << c.name << ": " << mapping.error().message;
    const Filled filled = fill(*mapping, c.row);
    EXPECT_EQ(filled.has_address, c.has_address) << c.name;
    EXPECT_EQ(filled.text, c.text) << c.name;
    if (c.has_address) {
      EXPECT_EQ(filled.fields, c.fields) << c.name;
    }
  }
}

TEST(Columns, a_wrong_mapping_says_what_is_wrong) {
  const Names names{"a", "b"};
  for (const MappingOptions& wrong : {MappingOptions{.address = "{a"},
                                      MappingOptions{.address = "a}{b}"},
                                      MappingOptions{.address = "{c}"},
                                      MappingOptions{.address = "a,c"},
                                      MappingOptions{.fields = "street"},
                                      MappingOptions{.fields = "strasse=a"},
                                      MappingOptions{.fields = "street=a,road=b"},
                                      MappingOptions{.fields = "street=c"}}) {
    const auto mapping = Mapping::make(wrong, names);
    ASSERT_FALSE(mapping) << wrong.address << wrong.fields;
    EXPECT_EQ(mapping.error().code, ErrorCode::usage);
  }
}

TEST(Columns, defaults_complete_free_text_when_the_normaliser_asks_for_them) {
  const auto mapping = Mapping::make(
      {.address = "a", .fields = "state=s", .default_city = "Reno", .default_state = "NV"},
      Names{"a", "s"});
  ASSERT_TRUE(mapping);
  EXPECT_TRUE(mapping->has_text_defaults());
  Chunk chunk;
  chunk.bytes = "1 Oak,\n1 Elm,CA\n";
  parse_csv(chunk, {}, 2);
  std::string scratch;
  QueryView query;
  ASSERT_TRUE(mapping->fill(chunk, chunk.records[0], scratch, query));
  mapping->add_defaults(scratch, query);
  EXPECT_EQ(query.text, "1 Oak, Reno, NV");
  ASSERT_TRUE(mapping->fill(chunk, chunk.records[1], scratch, query));
  mapping->add_defaults(scratch, query);
  EXPECT_EQ(query.text, "1 Elm, Reno");
  EXPECT_FALSE(Mapping::make({.fields = "street=a", .default_city = "Reno"}, Names{"a"})
                   ->has_text_defaults());
}

struct GuessCase {
  Names columns;
  const char* expected;  // empty: no certain guess
};

TEST(Columns, a_mapping_is_guessed_only_when_it_is_certain) {
  const std::vector<GuessCase> cases{
      {{"id", "address"}, "address={#2 address}"},
      {{"id", "Full_Address"}, "address={#2 Full_Address}"},
      {{"id", "source", "address", "zip"}, "address={#3 address}; postcode=#4 zip"},
      {{"Adresse", "Code postal", "Ville"},
       "address={#1 Adresse}; city=#3 Ville; postcode=#2 Code postal"},
      {{"LON", "LAT", "NUMBER", "STREET", "UNIT", "CITY", "DISTRICT", "REGION", "POSTCODE", "ID"},
       "house_number=#3 NUMBER; street=#4 STREET; unit=#5 UNIT; city=#6 CITY; state=#8 REGION; "
       "postcode=#9 POSTCODE"},
      {{"straße", "hausnummer", "plz", "ort", "land"},
       "house_number=#2 hausnummer; street=#1 straße; city=#4 ort; postcode=#3 plz; country=#5 "
       "land"},
      {{"street", "name"}, ""},
      {{"id", "name"}, ""},
      {{"address", "addr"}, ""},
      {{"address", "street", "city"}, ""},
      {{"address", "city", "town"}, ""},
      {{"", ""}, ""},
  };
  for (const GuessCase& c : cases) {
    const auto mapping = Mapping::make({}, c.columns);
    const std::string name = testing::PrintToString(c.columns);
    if (*c.expected != '\0') {
      ASSERT_TRUE(mapping) << name << mapping.error().message;
      EXPECT_EQ(mapping->describe(), c.expected) << name;
      EXPECT_TRUE(mapping->is_guess());
    } else {
      ASSERT_FALSE(mapping) << name;
      EXPECT_EQ(mapping.error().code, ErrorCode::usage);
      EXPECT_THAT(mapping.error().message,
                  AllOf(HasSubstr("--address"), HasSubstr("The columns are")));
    }
  }
}

TEST(Columns, the_description_tells_every_part_of_the_mapping) {
  const auto mapping = Mapping::make({.address = "{a}, {b}!",
                                      .fields = "country=c",
                                      .default_country = Country('U', 'S'),
                                      .default_city = "Reno",
                                      .default_state = "NV",
                                      .language = "en"},
                                     Names{"a", "b", "c"});
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->describe(),
            "address={#1 a}, {#2 b}!; country=#3 c; default country=US; default city=Reno; "
            "default state=NV; language=en");
  EXPECT_FALSE(mapping->is_guess());
}

TEST(Columns, what_an_earlier_run_wrote_is_read_back) {  // 48
  const auto previous = PreviousRows::find(Names{"a", "geo_status"}, "geo_");
  ASSERT_TRUE(previous);
  Chunk chunk;
  chunk.bytes = "x,match\nx,error\nx,\nx\nx,done\n";
  parse_csv(chunk, {}, 2);
  EXPECT_EQ(previous->status(chunk, chunk.records[0]), RowStatus::match);
  EXPECT_EQ(previous->status(chunk, chunk.records[1]), RowStatus::error);
  for (std::size_t i = 2; i < 5; ++i)
    EXPECT_EQ(previous->status(chunk, chunk.records[i]), std::nullopt) << i;
  const auto none = PreviousRows::find(Names{"a", "geo_status"}, "other_");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace geonce
