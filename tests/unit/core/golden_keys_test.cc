#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/normalize.h"

// Keys that were given out (tests/fixtures/keys/README.md). A difference here is a new version of
// the form, not a new expectation.

namespace geonce {
namespace {

struct GoldenRow {
  std::string country, query, pre_image, key;  // `|` in the pre-image stands for the byte 1F
};

std::string golden_file() {
  return fmt::format(GEONCE_SOURCE_DIR "/tests/fixtures/keys/n{}.tsv", kKeyVersion);
}

/// Comments and the head come as rows that have only a `country`: the whole line.
std::vector<GoldenRow> read_golden() {
  std::ifstream file(golden_file());
  std::vector<GoldenRow> rows;
  for (std::string line; std::getline(file, line);) {
    GoldenRow row;
    const std::array columns{&row.country, &row.query, &row.pre_image, &row.key};
    std::size_t column = 0;
    for (const char letter : line) {
      if (letter == '\t' && column + 1 < columns.size())
        ++column;
      else
        *columns[column] += letter;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_example(const GoldenRow& row) { return row.country.size() == 2; }

Query query_of(const GoldenRow& row) {
  Query query;
  if (row.query.starts_with('{'))
    query = query_from_json(row.query).value();
  else
    query.text = row.query;
  query.country = row.country == "ZZ" ? Country() : Country(row.country[0], row.country[1]);
  return query;
}

/// What this program makes of the row's query.
GoldenRow made_of(const GoldenRow& row, Normalizer& normalizer) {
  const Query query = query_of(row);
  const auto canonical = normalizer.normalize(query.view());
  const auto keyed = normalizer.key(query.view());
  if (!canonical || !keyed) return {row.country, row.query, "refused", "refused"};
  GoldenRow made{row.country, row.query, pre_image(*canonical), to_text(keyed->key)};
  EXPECT_EQ(to_text(sha256(made.pre_image)), made.key) << row.query;
  std::replace(made.pre_image.begin(), made.pre_image.end(), '\x1F', '|');
  return made;
}

TEST(GoldenKeys, are_the_ones_that_were_given_out) {
  const auto rows = read_golden();
  ASSERT_GE(rows.size(), 300U) << golden_file();
  Normalizer normalizer;
  std::map<std::string, int> examples;
  for (const GoldenRow& row : rows) {
    if (!is_example(row)) continue;
    ++examples[row.country];
    const GoldenRow made = made_of(row, normalizer);
    EXPECT_EQ(made.pre_image, row.pre_image) << row.country << ": " << row.query;
    EXPECT_EQ(made.key, row.key) << row.country << ": " << row.query;
    if (row.key == "refused") continue;
    EXPECT_EQ(to_text(parse_key(row.key).value()), row.key);
  }
  EXPECT_GE(examples["US"], 150);
  EXPECT_GE(examples["CA"], 50);
  EXPECT_GE(examples.size(), 40U) << "countries";
}

/// The many rows of n1_many.tsv: country, text, key.
std::vector<GoldenRow> read_many() {
  std::ifstream file(
      fmt::format(GEONCE_SOURCE_DIR "/tests/fixtures/keys/n{}_many.tsv", kKeyVersion));
  std::vector<GoldenRow> rows;
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find('\t');
    const auto last = line.rfind('\t');
    if (line.starts_with('#') || first == last) continue;
    rows.push_back({line.substr(0, first),
                    line.substr(first + 1, last - first - 1),
                    "",
                    line.substr(last + 1)});
  }
  return rows;
}

std::size_t count_wrong(std::span<const GoldenRow> rows) {
  Normalizer normalizer;
  std::size_t wrong = 0;
  for (const GoldenRow& row : rows) {
    const auto keyed = normalizer.key(query_of(row).view());
    if (keyed && to_text(keyed->key) == row.key) continue;
    if (++wrong <= 5) ADD_FAILURE() << row.country << ": " << row.query;
  }
  return wrong;
}

TEST(GoldenKeys, of_ten_thousand_addresses_are_the_same_on_one_thread_and_on_sixteen) {
  const auto rows = read_many();
  ASSERT_GE(rows.size(), 10'000U);
  EXPECT_EQ(count_wrong(rows), 0U);
  std::array<std::size_t, 16> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t& sum : wrong) threads.emplace_back([&rows, &sum] { sum = count_wrong(rows); });
  }
  EXPECT_EQ(wrong, (std::array<std::size_t, 16>{}));
}

/// An answer is kept with its query, from which its key is made again.
TEST(GoldenKeys, are_those_of_the_query_that_is_kept) {
  Normalizer normalizer;
  const auto rows = read_many();
  for (std::size_t i = 0; i < rows.size(); i += 5) {
    for (const std::string_view field : {std::string_view(), std::string_view(rows[i].country)}) {
      QueryView view;
      view.text = rows[i].query;
      view.country_text = field;
      const auto keyed = normalizer.key(view);
      if (!keyed) continue;
      Query kept = Query::from(view);
      kept.country = keyed->country;
      const auto again = normalizer.key(query_from_json(to_json(kept)).value().view());
      ASSERT_TRUE(again) << view.text;
      EXPECT_EQ(again->key, keyed->key) << view.text;
    }
  }
  for (const char* nation : {"England", " SCOTLAND", "Wales", "northern ireland"}) {
    QueryView view;
    view.text = "12 High St, Newport";
    view.country_text = nation;
    Query kept = Query::from(view);
    kept.country = Country('G', 'B');
    EXPECT_EQ(normalizer.key(kept.view())->key, normalizer.key(view)->key) << nation;
  }
}

/// Not a test of the program: with GEONCE_FILL_KEYS=1 it fills rows that have neither pre-image nor
/// key, and fails, so that it is noticed. It never changes a row that is filled.
TEST(GoldenKeys, have_no_empty_rows) {
  auto rows = read_golden();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets a variable
  const bool fills = std::getenv("GEONCE_FILL_KEYS") != nullptr;
  Normalizer normalizer;
  std::vector<std::string> empty;
  for (GoldenRow& row : rows) {
    if (!is_example(row) || !row.pre_image.empty() || !row.key.empty()) continue;
    empty.push_back(row.query);
    if (fills) row = made_of(row, normalizer);
  }
  EXPECT_TRUE(empty.empty()) << empty.size() << " rows have no key yet; see "
                             << "tests/fixtures/keys/README.md. The first: " << empty.front();
  if (!fills || empty.empty()) return;
  std::ofstream file(golden_file());
  for (const GoldenRow& row : rows) {
    file << row.country;
    if (is_example(row)) file << '\t' << row.query << '\t' << row.pre_image << '\t' << row.key;
    file << '\n';
  }
}

}  // namespace
}  // namespace geonce
