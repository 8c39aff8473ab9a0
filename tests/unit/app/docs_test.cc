// What the reference pages say of the program is what the program says of itself.

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/row_result.h"
#include "core/error.h"
#include "resolver/resolver.h"

namespace geonce {
namespace {

using testing::HasSubstr;

std::string page(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(std::string(GEONCE_SOURCE_DIR "/docs/reference/") + name).rdbuf();
  return text.str();
}

TEST(Docs, every_error_is_in_the_table_with_its_exit_code) {
  const auto text = page("exit-codes.md");
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    const auto& error = row(static_cast<ErrorCode>(i));
    const auto begin = text.find(fmt::format("| `{}` |", error.name));
    ASSERT_NE(begin, std::string::npos) << error.name;
    EXPECT_THAT(
        text.substr(begin, text.find('\n', begin) - begin),
        HasSubstr(fmt::format("| {} | {} |", error.exit_code, error.retryable ? "yes" : "no")));
    EXPECT_THAT(text, HasSubstr(fmt::format("\n| {} | ", error.exit_code)));
  }
}

struct Meaning {
  std::string_view name, text;
};
constexpr Meaning kMeanings[] = {
#include "gateway/tables/problems.inc"
};

TEST(Docs, every_problem_is_explained_in_the_words_of_the_gateway) {
  const auto text = page("http.md");
  for (const Meaning& meaning : kMeanings)
    EXPECT_THAT(text,
                HasSubstr(fmt::format("\n| `/problems/{}` | {} |", meaning.name, meaning.text)));
}

TEST(Docs, every_error_that_a_question_may_meet_is_a_problem) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (code == ErrorCode::invalid_config || code == ErrorCode::not_found ||
        code == ErrorCode::bad_encoding || code == ErrorCode::bad_csv)
      continue;  // of files
    std::string name(to_string(code));
    std::ranges::replace(name, '_', '-');
    EXPECT_TRUE(std::ranges::count(kMeanings, name, &Meaning::name) == 1) << name;
  }
}

TEST(Docs, every_column_is_described_in_its_order) {
  const auto text = page("columns.md");
  std::size_t from = 0;
  for (const auto& column : result_columns(ColumnSet::full)) {
    from = text.find(fmt::format("`{}`", column), from);
    ASSERT_NE(from, std::string::npos) << column;
  }
}

TEST(Docs, every_row_status_and_every_source_is_described) {
  const auto text = page("columns.md");
  for (int i = 0; i <= static_cast<int>(RowStatus::error); ++i)
    EXPECT_THAT(text, HasSubstr(fmt::format("\n| `{}` |", to_string(static_cast<RowStatus>(i)))));
  for (int i = 0; i <= static_cast<int>(AnswerSource::stale); ++i)
    EXPECT_THAT(text,
                HasSubstr(fmt::format("\n| `{}` |", to_string(static_cast<AnswerSource>(i)))));
}

TEST(Docs, every_precision_is_named) {
  const auto text = page("columns.md");
  for (int i = 0; i <= static_cast<int>(Precision::unknown); ++i)
    EXPECT_THAT(text, HasSubstr(fmt::format("`{}`", to_string(static_cast<Precision>(i)))));
}

}  // namespace
}  // namespace geonce
