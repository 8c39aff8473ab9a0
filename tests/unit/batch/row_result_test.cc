#include "batch/row_result.h"

#include <clocale>
#include <limits>
#include <locale>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace geonce {
namespace {

using namespace std::string_literals;

std::string cell(const RowResult& result, std::string_view name) {
  const auto columns = result_columns(ColumnSet::full);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] != name) continue;
    std::string out;
    append_cell(result, i, out);
    return out;
  }
  return "no such column";
}

RowResult match(double lat, double lng) {
  RowResult result;
  result.status = RowStatus::match;
  result.at = LatLng{lat, lng};
  return result;
}

TEST(RowResult, the_order_of_the_columns_is_fixed) {  // 49
  const std::vector<std::string_view> expected{
      "status",     "lat",   "lng",      "precision",   "confidence",   "formatted",   "country",
      "provider",   "cache", "key",      "error",       "house_number", "street",      "unit",
      "city",       "state", "postcode", "place_id",    "partial",      "key_version", "fetched_at",
      "expires_at", "cost",  "attempts", "building_key"};
  const auto full = result_columns(ColumnSet::full);
  EXPECT_EQ(std::vector(full.begin(), full.end()), expected);
  const auto brief = result_columns(ColumnSet::short_set);
  EXPECT_EQ(std::vector(brief.begin(), brief.end()),
            std::vector(expected.begin(), expected.begin() + 11));
}

struct Degrees {
  double value;
  const char* text;
};

TEST(RowResult, degrees_have_seven_decimals) {
  for (const Degrees& d : {Degrees{41.8781136, "41.8781136"},
                           {-87.6297982, "-87.6297982"},
                           {0, "0.0000000"},
                           {-0.0, "0.0000000"},
                           {-0.00000001, "0.0000000"},
                           {-0.0000001, "-0.0000001"},
                           {5, "5.0000000"},
                           {12.34567894, "12.3456789"},
                           {12.34567896, "12.3456790"},
                           {-179.99999999, "-180.0000000"},
                           {std::numeric_limits<double>::quiet_NaN(), ""}})
    EXPECT_EQ(cell(match(d.value, 1), "lat"), d.text) << d.value;
}

TEST(RowResult, a_row_without_a_match_has_no_coordinates_never_zeros) {  // 31
  for (const auto status : {RowStatus::no_match,
                            RowStatus::ambiguous,
                            RowStatus::low_quality,
                            RowStatus::empty,
                            RowStatus::bad_row,
                            RowStatus::error}) {
    RowResult result = match(1, 2);
    result.status = status;
    EXPECT_EQ(cell(result, "lat"), "") << to_string(status);
    EXPECT_EQ(cell(result, "lng"), "") << to_string(status);
    EXPECT_EQ(cell(result, "status"), to_string(status));
  }
  RowResult nothing;
  for (const std::string_view column : result_columns(ColumnSet::full).subspan(1))
    EXPECT_EQ(cell(nothing, column), "") << column;
}

class CommaPoint : public std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

TEST(RowResult, a_comma_locale_changes_nothing) {  // 34
  const std::locale old = std::locale::global(std::locale(std::locale(), new CommaPoint));
  const bool has_c_locale = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  RowResult result = match(48.85, -1234.5);
  result.confidence = 0.875;
  result.cost = Money{1'234'567'800};
  result.attempts = 1234;
  result.fetched_at = 1'796'046'190'999;
  EXPECT_EQ(cell(result, "lat"), "48.8500000");
  EXPECT_EQ(cell(result, "lng"), "-1234.5000000");
  EXPECT_EQ(cell(result, "confidence"), "0.875");
  EXPECT_EQ(cell(result, "cost"), "1234.5678");
  EXPECT_EQ(cell(result, "attempts"), "1234");
  EXPECT_EQ(cell(result, "fetched_at"), "2026-11-30T13:43:10Z");
  std::locale::global(old);
  std::setlocale(LC_NUMERIC, "C");
  RecordProperty("de_DE installed", has_c_locale ? "yes" : "no");
}

TEST(RowResult, cells_of_an_answer) {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{1, 2};
  answer.precision = Precision::rooftop;
  answer.confidence = 1.0;
  answer.partial = true;
  answer.provider = "places";
  answer.formatted = "1 Oak\nSt\0, Reno"s;
  answer.country = Country('U', 'S');
  answer.house_number = "1";
  answer.place_id = "p1";
  RowResult result = row_result(answer);
  result.key = Key{};
  EXPECT_EQ(cell(result, "status"), "match");
  EXPECT_EQ(cell(result, "precision"), "rooftop");
  EXPECT_EQ(cell(result, "confidence"), "1");
  EXPECT_EQ(cell(result, "formatted"), "1 Oak St, Reno") << "one line, no NUL (44)";
  EXPECT_EQ(cell(result, "country"), "US");
  EXPECT_EQ(cell(result, "provider"), "places");
  EXPECT_EQ(cell(result, "key"), "n1_" + std::string(64, '0'));
  EXPECT_EQ(cell(result, "key_version"), "1");
  EXPECT_EQ(cell(result, "partial"), "true");
  EXPECT_EQ(cell(result, "house_number"), "1");
  EXPECT_EQ(cell(result, "place_id"), "p1");

  answer.kind = AnswerKind::rejected;
  answer.reason = "in another country than asked";
  result = row_result(answer);
  EXPECT_EQ(cell(result, "status"), "low_quality");
  EXPECT_EQ(cell(result, "lat"), "");
  EXPECT_EQ(cell(result, "error"), "in another country than asked");

  answer.kind = AnswerKind::no_match;
  EXPECT_EQ(cell(row_result(answer), "precision"), "");
}

TEST(RowResult, every_status_comes_back_from_its_word) {
  for (int i = 0; i < 7; ++i) {
    const auto status = static_cast<RowStatus>(i);
    EXPECT_EQ(parse_row_status(to_string(status)), status);
  }
  EXPECT_EQ(parse_row_status(""), std::nullopt);
  EXPECT_EQ(parse_row_status("matched"), std::nullopt);
}

}  // namespace
}  // namespace geonce
