#include "batch/writer.h"

#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/csv_reader.h"
#include "batch/ndjson.h"

// The tables name only what differs from the defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace geonce {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;

/// What a run makes of an input: every row with a problem is `bad_row` or `empty`, the others are a
/// match with the first cell as the formatted address.
Result<std::string> run(const std::string& bytes,
                        const OutputOptions& options,
                        InputOptions input_options = {},
                        std::string_view formatted = "x") {
  auto source = Source::from_bytes(bytes, input_options.encoding);
  if (!source) return fail(source.error());
  auto input = RowInput::open(std::move(*source), input_options);
  if (!input) return fail(input.error());
  const auto writer = RowWriter::make(input->shape(), options);
  if (!writer) return fail(writer.error());
  auto out = writer->prologue();
  if (!out) return out;
  Chunk chunk;
  for (;;) {
    const auto more = input->next(chunk);
    if (!more) return fail(more.error());
    if (!*more) break;
    input->parse(chunk);
    for (const Record& record : chunk.records) {
      RowResult result;
      result.status = RowStatus::match;
      result.at = LatLng{1.5, -2};
      result.formatted = formatted;
      if (record.problem == RowProblem::blank) result.status = RowStatus::empty;
      if (record.problem > RowProblem::blank) result.status = RowStatus::bad_row;
      if (result.status != RowStatus::match) result.formatted = {};
      const std::size_t before = out->size();
      if (auto done = writer->append(chunk, record, result, *out); !done) return fail(done.error());
      if (writer->has_cells()) {
        std::string cells;
        std::string row;
        writer->append_cells(result, cells);
        writer->append_with_cells(chunk, record, cells, row);
        EXPECT_EQ(row, out->substr(before));
      }
    }
  }
  *out += writer->epilogue();
  return out;
}

// Header and cells that the short set appends.
const std::string kNames =
    ",geo_status,geo_lat,geo_lng,geo_precision,geo_confidence,geo_formatted,geo_country,geo_"
    "provider,"
    "geo_cache,geo_key,geo_error";
const std::string kMatch = ",match,1.5000000,-2.0000000,,,x,,,,,";
const std::string kBad = ",bad_row,,,,,,,,,,";
const std::string kEmpty = ",empty,,,,,,,,,,";

std::string with(std::string text, char delimiter) {
  for (char& c : text)
    if (c == ',') c = delimiter;
  return text;
}

struct Case {
  const char* name;
  std::string input;
  std::string output;
};

TEST(Writer, rows_keep_their_bytes_and_get_their_cells) {
  const std::vector<Case> cases{
      {"plain", "a,b\n1,2\n", "a,b" + kNames + "\n1,2" + kMatch + "\n"},
      {"CRLF", "a,b\r\n1,2\r\n", "a,b" + kNames + "\r\n1,2" + kMatch + "\r\n"},
      {"21: bare CR",
       "a,b\r1,2\r3,4\r",
       "a,b" + kNames + "\r1,2" + kMatch + "\r3,4" + kMatch + "\r"},
      {"each row its own line end",
       "a,b\n1,2\r\n3,4\n",
       "a,b" + kNames + "\n1,2" + kMatch + "\r\n3,4" + kMatch + "\n"},
      {"no line end at the end, none in the output", "a,b\n1,2", "a,b" + kNames + "\n1,2" + kMatch},
      {"a header alone", "a,b", "a,b" + kNames},
      {"semicolons", "a;b\n1;2\n", with("a,b" + kNames + "\n1,2" + kMatch + "\n", ';')},
      {"quotes as they were",
       "\"a\",b\n\"1\",\"2 \"\"x\"\"\"\n",
       "\"a\",b" + kNames + "\n\"1\",\"2 \"\"x\"\"\"" + kMatch + "\n"},
      {"21: a newline in a cell",
       "a,b\n\"1\n2\",3\n",
       "a,b" + kNames + "\n\"1\n2\",3" + kMatch + "\n"},
      {"21: a blank row and a blank last row",
       "a,b\n\n1,2\n\n",
       "a,b" + kNames + "\n," + kEmpty + "\n1,2" + kMatch + "\n," + kEmpty + "\n"},
      {"22: a short row is filled up so that its status stands in its column",
       "a,b,c\n1\n1,2,3\n",
       "a,b,c" + kNames + "\n1,," + kBad + "\n1,2,3" + kMatch + "\n"},
      {"a long row keeps its cells", "a,b\n1,2,3\n", "a,b" + kNames + "\n1,2,3" + kBad + "\n"},
      {"44: a NUL byte stays", "a,b\n1\0,2\n"s, "a,b" + kNames + "\n1\0,2"s + kBad + "\n"},
      {"20: odd cells are rows like others",
       "a,b\n''Les Loges'',«\n",
       "a,b" + kNames + "\n''Les Loges'',«" + kMatch + "\n"},
      {"23: numbers are not touched",
       "a,b\n01220,1.50\n",
       "a,b" + kNames + "\n01220,1.50" + kMatch + "\n"},
      {"28: # & ; | \" \\ %",
       "a,b\nUnit#6 & ; | \\ %,\"\"\"\"\n",
       "a,b" + kNames + "\nUnit#6 & ; | \\ %,\"\"\"\"" + kMatch + "\n"},
      {"a byte order mark stays",
       "\xEF\xBB\xBF"
       "a,b\n1,2\n",
       "\xEF\xBB\xBF"
       "a,b" +
           kNames + "\n1,2" + kMatch + "\n"},
      {"31: the word null is no coordinate",
       "a,b\nnull,\n",
       "a,b" + kNames + "\nnull," + kMatch + "\n"},
  };
  for (const Case& c : cases) {
    const auto output = run(c.input, {});
    ASSERT_TRUE(output) << c.name << ": " << output.error().message;
    EXPECT_EQ(*output, c.output) << c.name;
  }
}

TEST(Writer, every_row_has_a_status_whatever_is_wrong_with_it) {  // 24
  std::string bytes = "a,b\n";
  for (int i = 0; i < 5'000; ++i)
    bytes += i % 7 == 0 ? "\n" : i % 5 == 0 ? "1\n" : i % 3 == 0 ? "\"x\ny\",2\n" : "1,2\n";
  const auto output = run(bytes, {});
  ASSERT_TRUE(output);
  Chunk chunk;
  chunk.bytes = *output;
  parse_csv(chunk, {}, 13);
  ASSERT_EQ(chunk.records.size(), 5'001U);
  for (const Record& record : chunk.records) {
    EXPECT_EQ(record.problem, RowProblem::none);
    EXPECT_NE(chunk.field(record, 2), "");
  }
}

TEST(Writer, an_appended_cell_is_quoted_only_where_the_dialect_needs_it) {
  const auto last =
      [](const std::string& input, std::string_view formatted, InputOptions options = {}) {
        const std::string output = run(input, {}, options, formatted).value();
        return output.substr(output.find("-2.0000000") + 10);
      };
  EXPECT_EQ(last("a,b\n1,2\n", "1 Oak"), ",,,1 Oak,,,,,\n");
  EXPECT_EQ(last("a,b\n1,2\n", "1 Oak, \"R\""), ",,,\"1 Oak, \"\"R\"\"\",,,,,\n");
  EXPECT_EQ(last("a;b\n1;2\n", "1 Oak, R"), ";;;1 Oak, R;;;;;\n");
  EXPECT_EQ(last("a,b\n1,2\n", "1 Oak\nReno"), ",,,1 Oak Reno,,,,,\n");
  InputOptions no_quotes;
  no_quotes.dialect.quote = '\0';
  EXPECT_EQ(last("a,b\n1,2\n", "1 Oak, \"R\"", no_quotes), ",,,1 Oak  \"R\",,,,,\n");
  EXPECT_EQ(last("'a','b'\n'1','2'\n", "St John's, x"), ",,,'St John''s, x',,,,,\n");
}

TEST(Writer, a_plain_list_becomes_a_table) {
  EXPECT_EQ(run("address\n1 A St, B, IL\n2 A \"St\", B, IL\n", {}).value(),
            "address" + kNames + "\n\"1 A St, B, IL\"" + kMatch + "\n\"2 A \"\"St\"\", B, IL\"" +
                kMatch + "\n");
}

TEST(Writer, without_a_header_there_is_none) {
  InputOptions options;
  options.has_header = false;
  EXPECT_EQ(run("1,2\n", {}, options).value(), "1,2" + kMatch + "\n");
}

TEST(Writer, input_in_another_encoding_comes_back_in_it) {
  const std::string latin = "a,b\ncaf\xE9 \x80,\x81\n";
  EXPECT_EQ(run(latin, {}, {.encoding = {.forced = Encoding::windows_1252}}).value(),
            "a,b" + kNames + "\ncaf\xE9 \x80,\x81" + kMatch + "\n");
  std::string wide = "\xFF\xFE";
  encode(Encoding::utf_16le, "a,b\r\né,😀\r\n", wide);
  std::string expected = "\xFF\xFE";
  encode(Encoding::utf_16le, "a,b" + kNames + "\r\né,😀" + kMatch + "\r\n", expected);
  EXPECT_EQ(run(wide, {}).value(), expected);
}

TEST(Writer, the_output_can_have_another_encoding_and_a_mark) {
  const std::string latin = "a,b\ncaf\xE9,2\n";
  OutputOptions options;
  options.encoding = Encoding::utf_8;
  options.bom = true;
  EXPECT_EQ(run(latin, options).value(),
            "\xEF\xBB\xBF"
            "a,b" +
                kNames + "\ncafé,2" + kMatch + "\n");
  options.encoding = Encoding::windows_1252;
  options.bom = false;
  EXPECT_EQ(run("\xEF\xBB\xBF"
                "a,b\ncafé,2\n",
                options)
                .value(),
            "a,b" + kNames + "\ncaf\xE9,2" + kMatch + "\n")
      << "the mark of UTF-8 does not go into Windows-1252";
}

TEST(Writer, a_character_that_the_output_does_not_have_is_an_error_that_names_the_row) {
  const auto output = run("a,b\nx,1\ncaf\xE9,2\n", {}, {}, "Łódź");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::bad_encoding);
  EXPECT_THAT(output.error().message,
              AllOf(HasSubstr("row 1"), HasSubstr("U+0141"), HasSubstr("--output-encoding utf-8")));
}

TEST(Writer, a_column_that_is_there_already_follows_the_policy) {  // 48
  const std::string once = run("a,b\n1,2\n", {}).value();
  OutputOptions options;
  const auto refused = run(once, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("geo_status"),
                    HasSubstr("replace"),
                    HasSubstr("suffix"),
                    HasSubstr("--only-missing")));
  options.collision = Collision::replace;
  EXPECT_EQ(run(once, options).value(), once) << "a second run gives the same file";
  options.collision = Collision::suffix;
  const std::string twice = run(once, options).value();
  EXPECT_THAT(twice, HasSubstr("geo_error,geo_status_2,geo_lat_2"));
  EXPECT_THAT(run(twice, options).value(), HasSubstr("geo_error_2,geo_status_3,"));
  options.collision = Collision::error;
  options.prefix = "g2_";
  EXPECT_THAT(run(once, options).value(), HasSubstr("geo_error,g2_status,g2_lat"));
}

TEST(Writer, replacing_overwrites_in_place_and_leaves_the_other_bytes_alone) {
  OutputOptions options;
  options.collision = Collision::replace;
  const std::string rest = kNames.substr(kNames.find(",geo_lng"));
  EXPECT_EQ(
      run("geo_lat,\"b\",geo_status\r\nold,\"2 \"\"\",\"old, too\"\r\n", options).value(),
      "geo_lat,\"b\",geo_status" + rest + "\r\n1.5000000,\"2 \"\"\",match,-2.0000000,,,x,,,,,\r\n");
}

TEST(Writer, rows_of_an_earlier_run_are_kept_as_they_are) {  // 48
  auto input = RowInput::open(
      Source::from_bytes("a,geo_status,geo_lat,geo_lng\nx,match,1.0,2\ny,,,\n", {}).value(), {});
  ASSERT_TRUE(input);
  OutputOptions options;
  options.collision = Collision::replace;
  const auto writer = RowWriter::make(input->shape(), options);
  ASSERT_TRUE(writer);
  Chunk chunk;
  ASSERT_TRUE(input->next(chunk).value());
  input->parse(chunk);
  std::string out;
  ASSERT_TRUE(writer->keep(chunk, chunk.records[0], out));
  EXPECT_EQ(out, "x,match,1.0,2,,,,,,,,\n");

  options.format = Format::geojson;
  const auto features = RowWriter::make(input->shape(), options);
  out = features->prologue().value();
  ASSERT_TRUE(features->keep(chunk, chunk.records[0], out));
  ASSERT_TRUE(features->keep(chunk, chunk.records[1], out));
  out += features->epilogue();
  const auto parsed = boost::json::parse(out);
  EXPECT_EQ(boost::json::serialize(parsed.at("features").at(0).at("geometry")),
            R"({"type":"Point","coordinates":[2,1E0]})");
  EXPECT_TRUE(parsed.at("features").at(1).at("geometry").is_null());
  EXPECT_EQ(parsed.at("features").at(0).at("properties").at("geo_lat").as_double(), 1.0);
}

TEST(Writer, converts_between_csv_and_tsv) {
  OutputOptions options;
  options.path = "out.tsv";
  EXPECT_EQ(run("a,b\n\"1,2\",\"x\ty\"\n", options).value(),
            with("a,b" + kNames, '\t') + "\n1,2\t\"x\ty\"" + with(kMatch, '\t') + "\n");
  options.path = "out.csv";
  EXPECT_EQ(run("a\tb\n1,2\tx\n", options).value(), "a,b" + kNames + "\n\"1,2\",x" + kMatch + "\n");
  EXPECT_EQ(run("a;b\n1,2;x\n", options).value(),
            with("a,b" + kNames, ';') + "\n1,2;x" + with(kMatch, ';') + "\n")
      << "a .csv keeps the delimiter of its input";
  options.path = "-";
  EXPECT_EQ(run("a\tb\n1\tx\n", options).value(),
            with("a,b" + kNames + "\n1,x" + kMatch + "\n", '\t'));
}

TEST(Writer, ndjson_from_csv_has_one_object_per_row) {
  OutputOptions options;
  options.path = "out.ndjson";
  const std::string output = run("a,a,b\n1,2,\"x\ny\"\n1\n1,2,3,4\n\n", options).value();
  EXPECT_EQ(output,
            "{\"a\":\"1\",\"a_2\":\"2\",\"b\":\"x\\ny\",\"geo_status\":\"match\",\"geo_lat\":1."
            "5000000,\"geo_lng\":-2.0000000,"
            "\"geo_precision\":null,\"geo_confidence\":null,\"geo_formatted\":\"x\",\"geo_"
            "country\":null,\"geo_provider\":null,"
            "\"geo_cache\":null,\"geo_key\":null,\"geo_error\":null}\n" +
                output.substr(output.find('\n') + 1));
  Chunk lines;
  lines.bytes = output;
  parse_ndjson(lines, {"a", "column_4", "geo_status"});
  ASSERT_EQ(lines.records.size(), 4U);
  EXPECT_EQ(lines.field(lines.records[1], 2), "bad_row");
  EXPECT_EQ(lines.field(lines.records[2], 1), "4");
  EXPECT_EQ(lines.field(lines.records[3], 2), "empty");
}

// Looked up one by one, so many names take minutes.
TEST(Writer, members_of_a_hundred_thousand_columns_have_a_name_each) {
  constexpr int kColumns = 100'000;
  std::string bytes = "x_3";
  for (int i = 1; i < kColumns; ++i) bytes += ",x";
  bytes += "\n1" + std::string(kColumns - 1, ',') + "\n";
  OutputOptions options;
  options.format = Format::ndjson;
  const auto out = run(bytes, options);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_THAT(
      *out,
      AllOf(HasSubstr(R"({"x_3":"1","x":"","x_2":"","x_4":"",)"), HasSubstr(R"("x_100000":"",)")));
}

TEST(Writer, ndjson_lines_keep_their_bytes_and_get_members) {
  InputOptions input;
  input.format = Format::ndjson;
  const std::string output =
      run("{ \"a\" : 1.50 , \"b\":[1, 2] }\r\n{}\nnot json\n\n{\"z\":\"\\u00e9\"}", {}, input)
          .value();
  const std::string members =
      "\"geo_status\":\"match\",\"geo_lat\":1.5000000,\"geo_lng\":-2.0000000,\"geo_precision\":"
      "null,"
      "\"geo_confidence\":null,\"geo_formatted\":\"x\",\"geo_country\":null,\"geo_provider\":null,"
      "\"geo_cache\":null,"
      "\"geo_key\":null,\"geo_error\":null}";
  const std::string nothing =
      ",\"geo_lat\":null,\"geo_lng\":null,\"geo_precision\":null,\"geo_confidence\":null,\"geo_"
      "formatted\":null,"
      "\"geo_country\":null,\"geo_provider\":null,\"geo_cache\":null,\"geo_key\":null,\"geo_"
      "error\":null}";
  EXPECT_EQ(output,
            "{ \"a\" : 1.50 , \"b\":[1, 2] ," + members + "\n{" + members +
                "\n{\"geo_input\":\"not json\",\"geo_status\":\"bad_row\"" + nothing +
                "\n{\"geo_status\":\"empty\"" + nothing + "\n{\"z\":\"\\u00e9\"," + members + "\n");
  OutputOptions replace;
  replace.collision = Collision::replace;
  EXPECT_EQ(run(output.substr(0, output.find('\n') + 1), replace, input).value(),
            output.substr(0, output.find('\n') + 1));
}

TEST(Writer, csv_from_ndjson_has_the_members_as_columns) {
  InputOptions input;
  input.format = Format::ndjson;
  OutputOptions options;
  options.path = "out.csv";
  EXPECT_EQ(run("{\"a\":\"x, y\",\"b\":1.50}\n{\"b\":null}\nnot, json\n", options, input).value(),
            "a,b" + kNames + "\n\"x, y\",1.50" + kMatch + "\n," + kMatch + "\n\"not, json\"," +
                kBad + "\n");
}

TEST(Writer, geojson_is_one_collection_with_a_feature_per_row) {
  OutputOptions options;
  options.path = "out.geojson";
  const auto output = run("id,a\n1,\"x \"\"y\"\"\"\n2\n", options);
  ASSERT_TRUE(output);
  const auto parsed = boost::json::parse(*output);
  EXPECT_EQ(parsed.at("type"), "FeatureCollection");
  const auto& features = parsed.at("features").as_array();
  ASSERT_EQ(features.size(), 2U);
  EXPECT_EQ(features[0].at("geometry").at("type"), "Point");
  EXPECT_EQ(features[0].at("geometry").at("coordinates").at(0).as_double(), -2.0);
  EXPECT_EQ(features[0].at("geometry").at("coordinates").at(1).as_double(), 1.5);
  EXPECT_EQ(features[0].at("properties").at("a"), "x \"y\"");
  EXPECT_TRUE(features[1].at("geometry").is_null());
  EXPECT_EQ(features[1].at("properties").at("geo_status"), "bad_row");
  const auto none = run("id,a\n", options);
  EXPECT_EQ(boost::json::parse(none.value()).at("features").as_array().size(), 0U);
}

TEST(Writer, json_is_always_utf_8) {
  OutputOptions options;
  options.format = Format::ndjson;
  EXPECT_THAT(run("a,b\ncaf\xE9,2\n", options).value(), HasSubstr("\"café\""));
  options.encoding = Encoding::windows_1252;
  EXPECT_EQ(run("a,b\nx,2\n", options).error().code, ErrorCode::usage);
}

TEST(Writer, the_full_set_of_columns) {
  OutputOptions options;
  options.columns = ColumnSet::full;
  options.prefix = "g_";
  const std::string output = run("a,b\n1,2\n", options).value();
  EXPECT_EQ(output.substr(0, output.find('\n')),
            "a,b,g_status,g_lat,g_lng,g_precision,g_confidence,g_formatted,g_country,g_provider,g_"
            "cache,g_key,"
            "g_error,g_house_number,g_street,g_unit,g_city,g_state,g_postcode,g_place_id,g_partial,"
            "g_key_version,"
            "g_fetched_at,g_expires_at,g_cost,g_attempts,g_building_key");
}

}  // namespace
}  // namespace geonce
