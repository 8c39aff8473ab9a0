#include "batch/dialect.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace geonce {
namespace {

struct Case {
  const char* name;
  std::string sample;
  Dialect expected;
};

TEST(Dialect, is_read_off_the_start_of_a_file) {
  const std::vector<Case> cases{
      {"commas", "id,addr\n1,x\n", {',', '"', LineEnd::lf}},
      {"semicolons, CRLF", "id;addr\r\n1;x\r\n", {';', '"', LineEnd::crlf}},
      {"tabs", "id\taddr\n1\tx, y\n", {'\t', '"', LineEnd::lf}},
      {"pipes", "id|addr\n1|x; y\n", {'|', '"', LineEnd::lf}},
      {"21: bare CR", "id,addr\r1,x\r2,y\r", {',', '"', LineEnd::cr}},
      {"CR outside, LF inside quotes", "id,addr\r1,\"x\ny\"\r", {',', '"', LineEnd::cr}},
      {"LF outside, CR inside quotes", "id,addr\n1,\"x\r\ry\"\n", {',', '"', LineEnd::lf}},
      {"commas inside quoted cells do not count",
       "a;b\n\"1,2,3\";x\n\"4,5\";y\n",
       {';', '"', LineEnd::lf}},
      {"decimal commas between semicolons",
       "lat;lng;n\n1,5;2,5;3\n4,5;5,5;6\n",
       {';', '"', LineEnd::lf}},
      {"commas in the header's names, semicolons cut alike",
       "a, b;c\n1;2\n3;4\n",
       {';', '"', LineEnd::lf}},
      {"one column", "address\nx\ny\n", {',', '"', LineEnd::lf}},
      {"one column, quoted addresses",
       "address\n\"1 A St, B\"\n\"2 A St, B\"\n",
       {',', '"', LineEnd::lf}},
      {"a plain list of addresses",
       "address\n1 A St, B, IL\n2 A St, B, IL\n",
       {'\0', '\0', LineEnd::lf}},
      {"one comma by chance", "address\n1 A St\n2 A St\n3 A St, B\n", {',', '"', LineEnd::lf}},
      {"single quotes around every name", "'a','b'\n'1','2'\n", {',', '\'', LineEnd::lf}},
      {"20: doubled apostrophes in cells are no quotes",
       "a,b\n1,''Les Loges''\n",
       {',', '"', LineEnd::lf}},
      {"a header alone", "a;b", {';', '"', LineEnd::lf}},
      {"nothing", "", {',', '"', LineEnd::lf}},
      {"ragged rows", "a,b,c\n1,2\n1,2,3\n1,2,3\n1,2,3,4\n", {',', '"', LineEnd::lf}},
      {"stray quotes", "a;b\n5\" pipe;x\n6\" pipe;y\n", {';', '"', LineEnd::lf}},
  };
  for (const Case& c : cases) {
    const Dialect found = detect_dialect(c.sample, true, {});
    EXPECT_EQ(found.delimiter, c.expected.delimiter) << c.name;
    EXPECT_EQ(found.quote, c.expected.quote) << c.name;
    EXPECT_EQ(found.line_end, c.expected.line_end) << c.name;
  }
}

TEST(Dialect, a_row_that_the_samples_end_cuts_does_not_count) {
  EXPECT_EQ(detect_dialect("a;b,c\n1;2,3\n4,5,6,7,8", false, {}).delimiter, ',');
  EXPECT_EQ(detect_dialect("a;b\n1;2\n3", false, {}).delimiter, ';');
  EXPECT_EQ(detect_dialect("a,b\r", false, {}).line_end, LineEnd::lf);
}

TEST(Dialect, what_is_said_is_not_guessed) {
  DialectChoice choice;
  choice.delimiter = ';';
  choice.quote = '\0';
  choice.line_end = LineEnd::cr;
  EXPECT_EQ(detect_dialect("a,b\n1,2\n", true, choice), (Dialect{';', '\0', LineEnd::cr}));
}

TEST(Dialect, words_of_the_command_line) {
  EXPECT_EQ(parse_delimiter(";").value(), ';');
  EXPECT_EQ(parse_delimiter("tab").value(), '\t');
  EXPECT_EQ(parse_delimiter("\\t").value(), '\t');
  EXPECT_EQ(parse_delimiter("none").value(), '\0');
  for (const char* wrong : {"", ";;", "a", "1", "\"", "\n", "é"})
    EXPECT_EQ(parse_delimiter(wrong).error().code, ErrorCode::usage) << wrong;
  EXPECT_EQ(parse_quote("'").value(), '\'');
  EXPECT_EQ(parse_quote("none").value(), '\0');
  EXPECT_EQ(parse_quote("ab").error().code, ErrorCode::usage);
  EXPECT_EQ(parse_line_end("crlf").value(), LineEnd::crlf);
  EXPECT_EQ(parse_line_end("LF").error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace geonce
