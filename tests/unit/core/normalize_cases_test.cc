// The published cases: pairs of spellings that are, or are not, the same address.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/normalize.h"
#include "support/shared_cases.h"

namespace geonce {
namespace {

struct Case {
  bool same = false;
  std::string a, b, country, rule, tier;
};

std::filesystem::path cases_path() { return shared_cases("normalize/public.tsv"); }

std::vector<std::string> columns(const std::string& line, char separator) {
  std::vector<std::string> found(1);
  for (const char c : line) {
    if (c == separator) {
      found.emplace_back();
    } else {
      found.back() += c;
    }
  }
  return found;
}

std::vector<Case> cases() {
  std::ifstream file(cases_path());
  std::vector<Case> rows;
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    const auto cells = columns(line, '\t');
    if (cells.size() >= 6)
      rows.push_back({cells[0] == "same", cells[1], cells[2], cells[3], cells[4], cells[5]});
  }
  return rows;
}

std::string key_text(const std::string& text, const std::string& country) {
  Normalizer normalizer;
  QueryView query;
  query.text = text;
  query.country = Country(country[0], country[1]);
  const auto canonical = normalizer.normalize(query);
  EXPECT_TRUE(canonical.has_value()) << text << ": " << canonical.error().message;
  return canonical ? pre_image(*canonical) : "";
}

/// Both sides; a row may give each side a country of its own (`IE|AU`).
std::pair<std::string, std::string> keys(const Case& row) {
  const auto countries = columns(row.country, '|');
  return {key_text(row.a, countries.front()), key_text(row.b, countries.back())};
}

std::string shown(std::string bytes) {
  for (char& c : bytes)
    if (c == '\x1F') c = '|';
  return bytes;
}

class PublishedCases : public testing::Test {
 protected:
  void SetUp() override {
    GEONCE_NEEDS_CASES(cases_path());
    rows_ = cases();
    ASSERT_FALSE(rows_.empty());
  }
  std::vector<Case> rows_;
};

TEST_F(PublishedCases, different_addresses_never_share_a_key) {
  for (const auto& row : rows_) {
    if (row.same) continue;
    const auto [a, b] = keys(row);
    EXPECT_NE(a, b) << row.country << " " << row.rule << ": " << row.a << " / " << row.b << "\n"
                    << shown(a);
  }
}

TEST_F(PublishedCases, spellings_of_one_address_share_a_key) {
  for (const auto& row : rows_) {
    if (!row.same) continue;
    const auto [a, b] = keys(row);
    EXPECT_EQ(a, b) << row.country << " " << row.rule << " (" << row.tier << "): " << row.a << " / "
                    << row.b << "\n"
                    << shown(a) << "\n"
                    << shown(b);
  }
}

TEST_F(PublishedCases, a_canonical_text_reads_back_as_itself) {
  Normalizer normalizer;
  for (const auto& row : rows_) {
    for (const auto* text : {&row.a, &row.b}) {
      QueryView query;
      query.text = *text;
      query.country = Country(row.country[0], row.country[1]);
      const auto once = normalizer.normalize(query);
      ASSERT_TRUE(once.has_value()) << *text;
      const std::string line = normalizer.canonical_text(*once);
      query.text = line;
      const auto twice = normalizer.normalize(query);
      ASSERT_TRUE(twice.has_value()) << line;
      EXPECT_EQ(shown(pre_image(*once)), shown(pre_image(*twice))) << *text << " → " << line;
    }
  }
}

}  // namespace
}  // namespace geonce
