// Every saved response of every provider is read as its `expected.json` says: the repository's own
// under tests/fixtures/providers, and the shared cases where they are at hand.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "providers/check.h"
#include "support/shared_cases.h"

namespace geonce {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  EXPECT_TRUE(in) << "cannot read " << path;
  return std::move(bytes).str();
}

json::object read_object(const fs::path& path) { return json::parse(read_file(path)).as_object(); }

const Specs& specs() {
  static const Specs loaded = [] {
    auto result = load_specs({});
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? std::move(*result) : Specs{};
  }();
  return loaded;
}

fs::path own_fixtures() { return fs::path(GEONCE_SOURCE_DIR) / "tests/fixtures/providers"; }

void expect_number(const json::value& wanted,
                   const json::value& got,
                   double tolerance,
                   std::string_view name) {
  if (wanted.is_null()) {
    EXPECT_TRUE(got.is_null()) << name << ": " << got;
    return;
  }
  ASSERT_TRUE(got.is_number()) << name << ": " << got;
  EXPECT_NEAR(wanted.to_number<double>(), got.to_number<double>(), tolerance) << name;
}

void expect_result(const json::object& wanted, const json::object& got) {
  expect_number(wanted.at("lat"), got.at("lat"), 1e-7, "lat");
  expect_number(wanted.at("lon"), got.at("lon"), 1e-7, "lon");
  expect_number(wanted.at("confidence"), got.at("confidence"), 0.005, "confidence");
  EXPECT_EQ(wanted.at("precision"), got.at("precision"));
  EXPECT_EQ(wanted.at("formatted"), got.at("formatted"));
  EXPECT_EQ(wanted.at("place_id"), got.at("place_id"));
  for (const std::string_view name : {"partial", "country"})
    if (wanted.contains(name)) {
      EXPECT_EQ(wanted.at(name), got.at(name)) << name;
    }
}

void expect_outcome(const json::object& wanted,
                    const json::object& got,
                    const json::object* result) {
  const auto outcome = wanted.at("outcome") == json::value("no_result") ? json::value("no_match")
                                                                        : wanted.at("outcome");
  ASSERT_EQ(outcome, got.at("outcome")) << got;
  EXPECT_EQ(outcome == json::value("error"), got.contains("class")) << got;
  for (const std::string_view name : {"class", "delay_s", "billed"})
    if (wanted.contains(name)) {
      EXPECT_EQ(wanted.at(name), got.at(name)) << name << " of " << got;
    }
  const std::string word(outcome.as_string());
  const std::string cache = word == "no_match"                       ? "negative"
                            : word == "match" || word == "ambiguous" ? "positive"
                                                                     : "none";
  EXPECT_EQ(got.at("cache"), json::value(cache));
  ASSERT_EQ(word == "match", got.contains("result")) << got;
  if (word == "match" && result != nullptr) expect_result(*result, got.at("result").as_object());
}

SavedResponse saved(const json::object& wanted, const fs::path& folder) {
  SavedResponse response;
  response.status = static_cast<int>(wanted.at("http_status").as_int64());
  if (const auto* headers = wanted.if_contains("headers"))
    for (const auto& [name, value] : headers->as_object())
      response.headers.emplace_back(name, std::string(value.as_string()));
  if (const auto* type = wanted.if_contains("content_type"))
    response.headers.emplace_back("Content-Type", std::string(type->as_string()));
  response.body = read_file(folder / std::string(wanted.at("file").as_string()));
  response.bulk = wanted.contains("items") || wanted.contains("mode");
  if (const auto* submitted = wanted.if_contains("submitted")) {
    response.submitted.emplace();
    for (const auto& ref : submitted->as_array()) response.submitted->emplace_back(ref.as_string());
  }
  return response;
}

/// One folder: `expected.json` and the files it names.
void expect_folder(const Spec& spec, const fs::path& folder) {
  const auto expected = read_object(folder / "expected.json");
  std::size_t files = 0;
  for (const auto& [name, node] : expected.at("responses").as_object()) {
    SCOPED_TRACE(fmt::format("{}/{}", folder.string(), std::string_view(name)));
    const auto& wanted = node.as_object();
    const auto got = json::parse(check(spec, saved(wanted, folder))).as_object();
    ++files;
    if (!wanted.contains("items")) {
      const auto* own = wanted.if_contains("result");
      const json::object* result = own != nullptr ? &own->as_object()
                                   : name == "ok" ? &expected
                                                  : nullptr;
      expect_outcome(wanted, got, result);
      continue;
    }
    ASSERT_EQ(got.at("outcome"), json::value("batch")) << got;
    const auto& items = wanted.at("items").as_array();
    ASSERT_EQ(items.size(), got.at("items").as_array().size()) << got;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto& item = items[i].as_object();
      const auto& got_item = got.at("items").as_array()[i].as_object();
      EXPECT_EQ(item.contains("ref") ? item.at("ref") : item.at("index"), got_item.at("ref"));
      expect_outcome(item, got_item, item.contains("lat") ? &item : nullptr);
    }
  }
  EXPECT_GE(files, 3U);
}

TEST(ProviderFixtures, every_built_in_spec_has_saved_answers_and_reads_them) {
  ASSERT_FALSE(specs().empty());
  for (const auto& [name, spec] : specs()) {
    const fs::path folder = own_fixtures() / name;
    ASSERT_TRUE(fs::exists(folder / "expected.json"))
        << "a provider comes with answers in " << folder;
    expect_folder(spec, folder);
  }
}

TEST(ProviderFixtures, every_shared_case_of_a_built_in_spec_is_read_as_expected) {
  const fs::path cases = shared_cases("providers");
  GEONCE_NEEDS_CASES(cases);
  std::size_t folders = 0;
  for (const auto& [name, spec] : specs()) {
    if (!fs::exists(cases / name / "expected.json")) continue;
    expect_folder(spec, cases / name);
    ++folders;
  }
  EXPECT_EQ(folders, specs().size());
}

}  // namespace
}  // namespace geonce
