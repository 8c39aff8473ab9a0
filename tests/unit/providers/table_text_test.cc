#include "providers/table_text.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

using Rows = std::vector<Cells>;

TEST(CsvLine, quotes_what_needs_it_and_blanks_control_characters) {
  EXPECT_EQ(csv_line({"1", "a, b", "say \"hi\"", ""}, true), "1,\"a, b\",\"say \"\"hi\"\"\",\r\n");
  EXPECT_EQ(csv_line({"line\nbreak", std::string("nul\0x", 5)}, true), "line break,nul x\r\n");
  EXPECT_EQ(csv_line({"a, b", "say \"hi\""}, false), "a  b,say  hi \r\n");
}

TEST(CsvLine, comes_back_as_it_went) {
  const Cells cells{
      "1", "Unit#6 - 421 \"Sample\" St & Co; a|b\\c 100%, South", "", "Peña", ",", "\"", "'x'"};
  EXPECT_EQ(parse_csv(csv_line(cells, true)), Rows{cells});
}

TEST(ParseCsv, reads_rows_of_any_line_end_and_skips_blank_lines) {
  EXPECT_EQ(parse_csv("a,b\r\n1,2\n\n\"3\",\"4\"\r5,\n"),
            (Rows{{"a", "b"}, {"1", "2"}, {"3", "4"}, {"5", ""}}));
  EXPECT_EQ(parse_csv("a\n"), Rows{{"a"}});
  EXPECT_EQ(parse_csv("\"\""), Rows{{""}});
  EXPECT_EQ(parse_csv(",\n"), (Rows{{"", ""}}));
  EXPECT_EQ(parse_csv("\"two\nlines\",x\n"), (Rows{{"two\nlines", "x"}}));
  EXPECT_EQ(parse_csv("12\" pipe,x\r\n"), (Rows{{"12\" pipe", "x"}}));
  EXPECT_EQ(parse_csv(""), Rows{});
}

TEST(ParseCsv, a_last_row_that_may_have_been_cut_is_left_out) {
  EXPECT_EQ(parse_csv("1,2.29\n2,2.2"), (Rows{{"1", "2.29"}}));
  EXPECT_EQ(parse_csv("1,2.29\n2,"), (Rows{{"1", "2.29"}}));
  EXPECT_EQ(parse_csv("1,\"Tie\"\n2,\"No_Match\""), (Rows{{"1", "Tie"}, {"2", "No_Match"}}));
}

TEST(ParseCsv, a_text_that_was_cut_or_is_none_is_refused) {
  for (const std::string_view text : {"\"1\",\"cu", "\"", "\"a\"b,c", "a,\"b\"\"", "\"a\" ,b"})
    EXPECT_FALSE(parse_csv(text)) << text;
}

TEST(Multipart, has_every_part_and_is_the_same_each_time) {
  const std::vector<FormPart> parts{{"benchmark", "", "4"}, {"data", "a.csv", "1,x\r\n"}};
  const auto form = multipart(parts);
  const std::string boundary = form.content_type.substr(form.content_type.find('=') + 1);
  EXPECT_EQ(form.content_type, "multipart/form-data; boundary=" + boundary);
  EXPECT_EQ(form.body,
            "--" + boundary +
                "\r\nContent-Disposition: form-data; name=\"benchmark\"\r\n\r\n4\r\n--" + boundary +
                "\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.csv\"\r\n"
                "Content-Type: text/csv; charset=utf-8\r\n\r\n1,x\r\n\r\n--" +
                boundary + "--\r\n");
  EXPECT_EQ(multipart(parts).body, form.body);
}

TEST(Multipart, chooses_a_boundary_that_the_content_does_not_have) {
  const auto first = multipart({{"a", "", "x"}});
  const std::string boundary = first.content_type.substr(first.content_type.find('=') + 1);
  const auto second = multipart({{"a", "", "tricky " + boundary}});
  EXPECT_EQ(second.content_type.find(boundary), std::string::npos);
}

TEST(Latin1, becomes_utf8) {
  EXPECT_EQ(utf8_from_latin1("Pe\xF1"
                             "a \xC9t\xE9"),
            "Peña Été");
}

}  // namespace
}  // namespace geonce
