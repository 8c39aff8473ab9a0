#include "batch/csv_reader.h"

#include <cstdlib>
#include <fstream>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/csv_oracle.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Dialect kComma{',', '"', LineEnd::lf};
constexpr Dialect kCr{',', '"', LineEnd::cr};

ChunkReader reader_of(std::string bytes, Dialect dialect = kComma, ReaderLimits limits = {}) {
  return {Source::from_bytes(std::move(bytes), {}).value(), dialect, limits};
}

/// Cells of all rows, `|` between cells and the problem in front where there is one.
std::vector<std::string> rows_of(const std::string& bytes,
                                 const Dialect& dialect,
                                 std::size_t columns) {
  constexpr const char* kProblems[] = {"", "blank ", "short ", "long ", "nul ", "json "};
  auto reader = reader_of(bytes, dialect);
  std::vector<std::string> rows;
  Chunk chunk;
  while (reader.next(chunk).value()) {
    parse_csv(chunk, dialect, columns);
    for (const Record& record : chunk.records) {
      std::string row = kProblems[static_cast<int>(record.problem)];
      for (std::size_t i = 0; i < record.field_count; ++i)
        row += (i == 0 ? "" : "|") + std::string(chunk.field(record, i));
      rows.push_back(row);
    }
  }
  return rows;
}

struct Case {
  const char* name;
  std::string bytes;
  std::vector<std::string> rows;
  Dialect dialect = kComma;
};

TEST(CsvReader, finds_the_cells_of_rows_as_people_write_them) {
  const std::vector<Case> cases{
      {"plain", "a,b\nc,d\n", {"a|b", "c|d"}},
      {"no line end at the end", "a,b\nc,d", {"a|b", "c|d"}},
      {"CRLF", "a,b\r\nc,d\r\n", {"a|b", "c|d"}},
      {"line ends of both kinds", "a,b\r\nc,d\ne,f", {"a|b", "c|d", "e|f"}},
      {"21: bare CR", "a,b\rc,d\r", {"a|b", "c|d"}, kCr},
      {"21: CR, LF and CRLF where CR counts",
       "a,b\rc,d\ne,f\r\ng,h",
       {"a|b", "c|d", "e|f", "g|h"},
       kCr},
      {"a bare CR in a cell of an LF file", "a\rx,b\n", {"a\rx|b"}},
      {"quoted", "\"a\",\"b,c\"\n", {"a|b,c"}},
      {"21: a newline inside a cell", "\"a\nb\",c\r\nd,e\r\n", {"a\nb|c", "d|e"}},
      {"doubled quotes", "\"a \"\"b\"\"\",c\n", {"a \"b\"|c"}},
      {"nothing but doubled quotes", "\"\"\"\",\"\"\n", {"\"|"}},
      {"a stray quote in an unquoted cell", "5\" pipe,6\"\n", {"5\" pipe|6\""}},
      {"a stray doubled quote", "a\"\"b,c\n", {"a\"\"b|c"}},
      {"text after a closing quote", "\"a\"b,\"c\" \"d\"\n", {"ab|c \"d\""}},
      {"blank before a quote", "a, \"b\"\n", {"a| \"b\""}},
      {"empty cells", ",\n", {"|"}},
      {"22: too few cells", "a\nc,d\n", {"short a", "c|d"}},
      {"too many cells", "a,b,c\nc,d\n", {"long a|b|c", "c|d"}},
      {"21: blank rows, the last one too",
       "a,b\n\n \nc,d\n\n",
       {"a|b", "blank ", "blank  ", "c|d", "blank "}},
      {"blank with CRLF", "\r\na,b\r\n", {"blank ", "a|b"}},
      {"44: a NUL byte", "a\0x,b\nc,d\n"s, {"nul a\0x|b"s, "c|d"}},
      {"44: a NUL byte in quotes", "\"a\0\",b\n"s, {"nul a\0|b"s}},
      {"20: doubled apostrophes and guillemets", "''Les Loges'',«x»\n", {"''Les Loges''|«x»"}},
      {"28: # & ; | \" \\ %",
       "Unit#6 - 421 Sample St South & Co;|,\"\\ % \"\"\"\n",
       {"Unit#6 - 421 Sample St South & Co;||\\ % \""}},
      {"23: numbers stay as they are spelt", "01220,1.50\n", {"01220|1.50"}},
      {"tabs", "a\tb,c\n", {"a|b,c"}, {'\t', '"', LineEnd::lf}},
      {"no quoting", "\"a,b\"\n", {"\"a|b\""}, {',', '\0', LineEnd::lf}},
      {"other quotes", "'a,''b',c\n", {"a,'b|c"}, {',', '\'', LineEnd::lf}},
  };
  for (const Case& c : cases) EXPECT_EQ(rows_of(c.bytes, c.dialect, 2), c.rows) << c.name;
}

TEST(CsvReader, a_plain_list_has_one_cell_per_line) {
  const Dialect lines{'\0', '\0', LineEnd::lf};
  EXPECT_THAT(rows_of("1 A \"St\", B\n2\r\n\n", lines, 1),
              ElementsAre("1 A \"St\", B", "2", "blank "));
}

TEST(CsvReader, a_blank_row_of_one_column_is_blank_and_a_quoted_nothing_is_a_cell) {
  EXPECT_THAT(rows_of("x\n\n\"\"\n", kComma, 1), ElementsAre("x", "blank ", ""));
}

TEST(CsvReader, raw_cells_joined_by_delimiters_are_the_row) {
  const std::string bytes = "a,\"b,\"\"c\"\"\",\"d\"x,\r\n,\"\n\",\n";
  Chunk chunk;
  auto reader = reader_of(bytes);
  ASSERT_TRUE(reader.next(chunk).value());
  parse_csv(chunk, kComma, 0);
  for (const Record& record : chunk.records) {
    std::string joined;
    for (std::size_t i = 0; i < record.field_count; ++i)
      joined += (i == 0 ? "" : ",") + std::string(chunk.raw_field(record, i));
    EXPECT_EQ(joined, chunk.content(record));
  }
  EXPECT_EQ(chunk.line_end(chunk.records[0]), "\r\n");
  EXPECT_EQ(chunk.line_end(chunk.records[1]), "\n");
}

TEST(CsvReader, random_bytes_agree_with_the_slow_reading_and_come_back_whole) {
  constexpr std::string_view kLetters[] = {
      "a", ",", "\"", "\n", "\r", "\r\n", "\"\"", ",\"", "\",", "é", "\t", "x y", "\"\n"};
  const auto* const seed_text = std::getenv("GEONCE_SEED");
  const auto seed =
      static_cast<std::uint32_t>(seed_text != nullptr ? std::atol(seed_text) : 20261130);
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const std::size_t size = random() % 60 + (random() % 50 == 0 ? 400 : 0);
    // Long plain runs move the interesting places over the borders of blocks.
    for (std::size_t i = 0; i < size; ++i)
      text += random() % 20 == 0 ? std::string(random() % 70, 'z')
                                 : std::string(kLetters[random() % std::size(kLetters)]);
    if (random() % 8 == 0 && !text.empty()) text[random() % text.size()] = '\0';
    const Dialect dialect{random() % 4 == 0 ? '\t' : ',',
                          random() % 8 == 0 ? '\0' : '"',
                          random() % 3 == 0 ? LineEnd::cr : LineEnd::lf};
    const std::size_t chunk_bytes = 1 + random() % (random() % 2 == 0 ? 40 : 2000);
    ASSERT_EQ(oracle::difference(text, dialect, chunk_bytes), "")
        << "seed " << seed << ", round " << round << ": " << testing::PrintToString(text);
  }
}

TEST(CsvReader, chunks_end_with_a_row_and_know_where_they_stand) {
  ReaderLimits limits;
  limits.chunk_rows = 2;
  auto reader = reader_of("a\nb\nc\nd\ne", kComma, limits);
  Chunk chunk;
  ASSERT_TRUE(reader.next(chunk, 1).value());
  EXPECT_EQ(chunk.bytes, "a\n");
  reader.number_from(10);
  ASSERT_TRUE(reader.next(chunk).value());
  EXPECT_EQ(chunk.bytes, "b\nc\n");
  EXPECT_EQ(chunk.first_row, 10U);
  EXPECT_EQ(chunk.row_count, 2U);
  EXPECT_EQ(chunk.begin_offset, 2U);
  EXPECT_EQ(chunk.end_offset, 6U);
  ASSERT_TRUE(reader.next(chunk).value());
  EXPECT_EQ(chunk.bytes, "d\ne");
  EXPECT_EQ(chunk.first_row, 12U);
  parse_csv(chunk, kComma, 1);
  EXPECT_EQ(chunk.row_number(chunk.records[1]), 13U);
  EXPECT_EQ(chunk.records[1].line_end_size, 0);
  EXPECT_FALSE(reader.next(chunk).value());
  EXPECT_FALSE(reader.next(chunk).value());
}

TEST(CsvReader, a_quote_that_never_ends_is_an_error_after_the_rows_before_it) {
  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{1000}}) {
    ReaderLimits limits;
    limits.chunk_bytes = chunk_bytes;
    auto reader = reader_of("a,b\n1,2\n3,\"x\n4,5\n", kComma, limits);
    Chunk chunk;
    std::string read;
    Result<bool> more = false;
    while ((more = reader.next(chunk)) && *more) read += chunk.bytes;
    EXPECT_EQ(read, "a,b\n1,2\n");
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::bad_csv);
    EXPECT_THAT(more.error().message,
                AllOf(HasSubstr("row 3"), HasSubstr("offset 10"), HasSubstr("--quote none")));
    EXPECT_FALSE(reader.next(chunk)) << "and stays one";
  }
}

TEST(CsvReader, bytes_of_another_encoding_are_an_error_that_names_the_row) {
  auto reader = reader_of("a\né\nb\nc\xE9\nd\n");
  Chunk chunk;
  std::string read;
  Result<bool> more = false;
  while ((more = reader.next(chunk)) && *more) read += chunk.bytes;
  EXPECT_EQ(read, "a\né\nb\n");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::bad_encoding);
  EXPECT_THAT(more.error().message, HasSubstr("row 4"));
}

TEST(CsvReader, a_row_over_the_limit_is_an_error_wherever_blocks_end) {
  const std::string row(200, 'x');
  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{64}, std::size_t{100'000}}) {
    for (const char* tail : {"\nb\n", "", "\n\"", "\",\"\""}) {
      ReaderLimits limits;
      limits.chunk_bytes = chunk_bytes;
      limits.record_bytes = 150;
      auto reader = reader_of("a\nb,\"\"\n" + row + tail, kComma, limits);
      Chunk chunk;
      std::string read;
      Result<bool> more = false;
      while ((more = reader.next(chunk)) && *more) read += chunk.bytes;
      EXPECT_EQ(read, "a\nb,\"\"\n");
      ASSERT_FALSE(more);
      EXPECT_EQ(more.error().code, ErrorCode::bad_csv);
      EXPECT_THAT(more.error().message,
                  AllOf(HasSubstr("row 3"), HasSubstr("offset 7"), HasSubstr("150 bytes")));
    }
  }
}

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(CsvReader, a_line_of_a_gibibyte_fails_at_once_and_in_bounded_memory) {
  const TempDir dir;
  const std::string path = dir.write("line.csv", "id,address\n1,x\n2,");
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 30), 0);  // a hole: NUL bytes without an end
  EncodingChoice utf_8;
  utf_8.forced = Encoding::utf_8;
  const long before = peak_kib();
  ChunkReader reader(Source::open(path, utf_8).value(), kComma, {}, 0);
  Chunk chunk;
  ASSERT_TRUE(reader.next(chunk).value());
  EXPECT_EQ(chunk.bytes, "id,address\n1,x\n");
  const auto more = reader.next(chunk);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::bad_csv);
  EXPECT_THAT(more.error().message,
              AllOf(HasSubstr("row 2"), HasSubstr("offset 15"), HasSubstr("16777216 bytes")));
#ifdef __SANITIZE_THREAD__
  const long shadows = 4;  // the sanitizer keeps a shadow of every byte, several times its size
#else
  const long shadows = 1;
#endif
  EXPECT_LT(peak_kib() - before, shadows * 64 * 1024);
  EXPECT_LT(reader.source().raw_offset(), std::uint64_t{20} << 20);
}

TEST(CsvReader, the_header_line_is_called_by_its_name) {
  ChunkReader reader(Source::from_bytes("\"id,address\n", {}).value(), kComma, {}, 0);
  Chunk chunk;
  const auto more = reader.next(chunk);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("the header line"));
}

}  // namespace
}  // namespace geonce
