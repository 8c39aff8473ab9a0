#include "batch/input.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/shared_cases.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<RowInput> open(std::string bytes, InputOptions options = {}) {
  return RowInput::open(Source::from_bytes(std::move(bytes), options.encoding).value(), options);
}

std::vector<std::string> first_cells(RowInput& input) {
  std::vector<std::string> cells;
  Chunk chunk;
  while (input.next(chunk).value()) {
    input.parse(chunk);
    for (const Record& record : chunk.records) cells.emplace_back(chunk.field(record, 0));
  }
  return cells;
}

TEST(Input, the_header_names_the_columns_and_row_one_comes_after_it) {
  auto input = open("\xEF\xBB\xBFid , \"an \"\"address\"\"\"\r\n1,x\r\n2,y\r\n");
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_THAT(input->shape().columns, ElementsAre("id", "\"an \"\"address\"\"\""));
  EXPECT_TRUE(input->shape().has_bom);
  Chunk chunk;
  ASSERT_TRUE(input->next(chunk).value());
  EXPECT_EQ(chunk.first_row, 1U);
  EXPECT_EQ(chunk.bytes, "1,x\r\n2,y\r\n");
  EXPECT_EQ(input->describe(), "UTF-8 (byte order mark), comma, quote \", CRLF, 2 columns");
}

TEST(Input, without_a_header_columns_have_numbers) {
  InputOptions options;
  options.has_header = false;
  auto input = open("1,x\n2,y\n", options);
  ASSERT_TRUE(input);
  EXPECT_THAT(input->shape().columns, ElementsAre("column_1", "column_2"));
  EXPECT_THAT(first_cells(*input), ElementsAre("1", "2"));
}

TEST(Input, a_header_alone_is_an_input_without_rows) {
  for (const char* bytes : {"id,address", "id,address\n"}) {
    auto input = open(bytes);
    ASSERT_TRUE(input) << bytes;
    EXPECT_THAT(first_cells(*input), ElementsAre()) << bytes;
  }
}

TEST(Input, a_blank_first_line_is_refused) {
  const auto input = open("\nid,address\n1,x\n");
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().code, ErrorCode::bad_csv);
  EXPECT_THAT(input.error().message, HasSubstr("--no-header"));
}

struct FormatCase {
  const char* path;
  const char* bytes;
  Format format;
  char delimiter;
};

TEST(Input, the_format_follows_the_name_and_then_the_first_byte) {
  const std::vector<FormatCase> cases{
      {"a.csv", "a;b\n", Format::csv, ';'},
      {"a.TSV", "a,b\tc\n", Format::csv, '\t'},
      {"a.tab", "a\n", Format::csv, '\t'},
      {"a.jsonl", "{\"a\":1}\n", Format::ndjson, '\0'},
      {"-", "{\"a\":1}\n", Format::ndjson, '\0'},
      {"-", "a,b\n", Format::csv, ','},
      {"a.csv", "{\"a\",b\n", Format::csv, ','},
  };
  for (const FormatCase& c : cases) {
    InputOptions options;
    options.path = c.path;
    const auto input = open(c.bytes, options);
    ASSERT_TRUE(input) << c.path;
    EXPECT_EQ(input->shape().format, c.format) << c.path;
    EXPECT_EQ(input->shape().dialect.delimiter, c.delimiter) << c.path;
  }
  InputOptions options;
  options.path = "a.geojson";
  EXPECT_EQ(open("{}", options).error().code, ErrorCode::usage);
  options.path = "a.ndjson";
  EXPECT_EQ(open("nothing\n", options).error().code, ErrorCode::bad_csv);
}

TEST(Input, a_sample_longer_than_the_first_chunk_loses_no_row) {
  std::string bytes = "id\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 40'000; ++i) {
    expected.push_back(std::to_string(i));
    bytes += expected.back() + "\n";
  }
  auto input = open(bytes);
  ASSERT_TRUE(input);
  EXPECT_EQ(first_cells(*input), expected);
}

TEST(Input, a_bad_byte_in_the_sample_still_lets_the_rows_before_it_through) {
  auto input = open("id\né\nb\xE9\n");
  ASSERT_TRUE(input) << input.error().message;
  Chunk chunk;
  ASSERT_TRUE(input->next(chunk).value());
  EXPECT_EQ(chunk.bytes, "é\n");
  const auto more = input->next(chunk);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::bad_encoding);
  EXPECT_THAT(more.error().message, HasSubstr("row 2"));
}

TEST(Input, a_row_says_why_it_is_bad) {
  auto input = open("a,b,c\n1\n1,2,3,4\n");
  Chunk chunk;
  ASSERT_TRUE(input->next(chunk).value());
  input->parse(chunk);
  EXPECT_EQ(explain(chunk.records[0], 3), "1 cell where the header has 3");
  EXPECT_EQ(explain(chunk.records[1], 3), "4 cells where the header has 3");
}

struct RealCase {
  const char* name;
  std::size_t rows;
  std::size_t columns;
};

TEST(Input, real_files_come_back_byte_for_byte_with_every_row_in_order) {
  for (const RealCase& c :
       {RealCase{"chicago-sites.csv", 3337, 4}, {"elverum-points.csv", 10'871, 10}}) {
    const std::string path = shared_cases(std::string("real/") + c.name);
    GEONCE_NEEDS_CASES(path);
    const auto facts = inspect_file(path, {});
    ASSERT_TRUE(facts) << facts.error().message;
    InputOptions options;
    options.path = path;
    auto input = RowInput::open(options, &*facts);
    ASSERT_TRUE(input) << input.error().message;
    EXPECT_EQ(input->shape().columns.size(), c.columns);
    std::string bytes = input->shape().header.bytes;
    std::size_t rows = 0;
    std::size_t whole = 0;
    Chunk chunk;
    while (input->next(chunk).value()) {
      input->parse(chunk);
      for (const Record& record : chunk.records) {
        bytes += chunk.raw(record);
        EXPECT_EQ(chunk.row_number(record), ++rows);
        whole += record.problem == RowProblem::none ? 1 : 0;
      }
    }
    EXPECT_EQ(rows, c.rows);
    EXPECT_EQ(whole, c.rows);
    EXPECT_EQ(bytes.size(), facts->size);
    std::ifstream file(path, std::ios::binary);
    std::ostringstream original;
    original << file.rdbuf();
    EXPECT_TRUE(bytes == original.str());
  }
}

}  // namespace
}  // namespace geonce
