#include "batch/ndjson.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;

struct Case {
  const char* line;
  bool is_object;
};

TEST(Ndjson, takes_exactly_what_is_a_json_object) {
  const std::vector<Case> cases{
      {"{}", true},
      {" { } ", true},
      {R"({"a":1})", true},
      {R"({"a":-0.5e+10,"b":[1,{"c":[]}],"d":null,"e":true,"f":false})", true},
      {R"({"a":"\u00e9\n\"\\\/"})", true},
      {R"({"":""})", true},
      {"", false},
      {"[]", false},
      {"1", false},
      {R"({"a":1)", false},
      {R"({"a":1}})", false},
      {R"({"a":1} {"b":2})", false},
      {R"({"a":01})", false},
      {R"({"a":1.})", false},
      {R"({"a":.5})", false},
      {R"({"a":+1})", false},
      {R"({"a":1e})", false},
      {R"({"a":NaN})", false},
      {R"({"a":tru})", false},
      {R"({"a" 1})", false},
      {R"({a:1})", false},
      {R"({'a':1})", false},
      {R"({"a":1,})", false},
      {R"({,"a":1})", false},
      {R"({"a":[1,]})", false},
      {R"({"a":"\x"})", false},
      {R"({"a":"\u12g4"})", false},
      {"{\"a\":\"tab\there\"}", false},
      {R"({"a":"no end)", false},
      {R"({"a":"\)", false},
  };
  std::vector<JsonMember> members;
  for (const Case& c : cases) EXPECT_EQ(scan_json_object(c.line, members), c.is_object) << c.line;
}

TEST(Ndjson, a_line_nested_too_deeply_is_refused_instead_of_overflowing_the_stack) {
  std::vector<JsonMember> members;
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_TRUE(scan_json_object(nested(100), members));
  EXPECT_FALSE(scan_json_object(nested(1'000'000), members));
}

TEST(Ndjson, strings_become_their_text) {
  const auto text = [](std::string_view raw) {
    std::string out;
    append_json_text(raw, out);
    return out;
  };
  EXPECT_EQ(text(R"("caf\u00e9 \ud83d\ude00 \"x\" \\ \/ \t")"), "café 😀 \"x\" \\ / \t");
  EXPECT_EQ(text(R"("\ud83d x \ude00 \ud83d\u0041")"), "\uFFFD x \uFFFD \uFFFDA");
  EXPECT_EQ(text("12.50"), "12.50") << "numbers keep their spelling";
  EXPECT_EQ(text("null"), "");
  EXPECT_EQ(text(R"({"a": 1})"), R"({"a": 1})");
}

TEST(Ndjson, text_becomes_a_string_and_comes_back) {
  const std::string every = "a\"b\\c\nd\re\tf\0g\x1F é😀/"s;
  std::string quoted;
  append_json_string(every, quoted);
  EXPECT_EQ(quoted, R"("a\"b\\c\nd\re\tf\u0000g\u001f é😀/")");
  std::string back;
  append_json_text(quoted, back);
  EXPECT_EQ(back, every);
}

TEST(Ndjson, columns_are_the_members_of_all_whole_lines_in_order_of_appearance) {
  const std::string sample =
      "{\"id\":1,\"addr\":\"x\"}\nnonsense\n{\"zip\":\"1\",\"\\u0069d\":2}\n{\"cut\":";
  EXPECT_THAT(json_columns(sample, false), ElementsAre("id", "addr", "zip"));
  EXPECT_THAT(json_columns("{\"id\":1}", true), ElementsAre("id"));
  EXPECT_THAT(json_columns("{\"id\":1}", false), ElementsAre());
}

TEST(Ndjson, cells_stand_in_the_order_of_the_columns) {
  Chunk chunk;
  chunk.bytes =
      "{\"zip\": 60612, \"addr\": \"a \\\"b\\\"\"}\r\n"
      "\n"
      "[1]\n"
      "{\"addr\":null,\"other\":{\"addr\":1}}\n"
      "{\"addr\":\"x\",\"addr\":\"y\"}\n"
      "{\"addr\":\"\\u0000\"}";
  parse_ndjson(chunk, {"addr", "zip"});
  ASSERT_EQ(chunk.records.size(), 6U);
  const auto cell = [&](std::size_t row, std::size_t column) {
    return std::string(chunk.field(chunk.records[row], column));
  };
  EXPECT_EQ(cell(0, 0), "a \"b\"");
  EXPECT_EQ(cell(0, 1), "60612");
  EXPECT_EQ(chunk.line_end(chunk.records[0]), "\r\n");
  EXPECT_EQ(chunk.records[1].problem, RowProblem::blank);
  EXPECT_EQ(chunk.records[2].problem, RowProblem::not_json);
  EXPECT_EQ(cell(2, 0), "");
  EXPECT_EQ(chunk.records[3].problem, RowProblem::none);
  EXPECT_EQ(cell(3, 0), "");
  EXPECT_EQ(cell(4, 0), "y");
  EXPECT_EQ(chunk.records[5].problem, RowProblem::nul_byte);
  std::string all;
  for (const Record& record : chunk.records) all += chunk.raw(record);
  EXPECT_EQ(all, chunk.bytes);
}

}  // namespace
}  // namespace geonce
