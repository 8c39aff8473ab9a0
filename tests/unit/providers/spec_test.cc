#include "providers/spec.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace geonce {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlain = R"(spec = 1
name = "plain"

[ask]
url = "https://geo.example/search"
query = { q = "{address}", key = "{secret}" }

[answer]
items = "/features"
lat = "/geometry/1"
lon = "/geometry/0"
precision = { at = "/accuracy", parcel = "rooftop", at_the_door = "rooftop", street = "street" }
confidence = { at = "/score", divide_by = 100 }

[[error]]
status = 402
class = "fatal"
)";

/// `kPlain` with one text replaced, or with lines at its end.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kPlain);
  if (from.empty()) return text + std::string(to);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Spec, says_what_the_file_says) {
  const auto spec = parse_spec(kPlain, "plain.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "plain");
  EXPECT_EQ(spec->origin, "plain.toml");
  EXPECT_TRUE(spec->needs_secret);
  EXPECT_FALSE(spec->needs_user_agent);
  EXPECT_EQ(spec->reading.precision.size(), 3U);
  EXPECT_EQ(spec->reading.confidence->divide_by, 100);
  EXPECT_EQ(spec->reading.errors.at(0).failure, FailureClass::fatal);
  EXPECT_FALSE(spec->bulk.has_value());
}

TEST(Spec, the_example_of_the_documentation_is_one) {
  std::ifstream in(fs::path(GEONCE_SOURCE_DIR) / "docs/formats/spec.md");
  std::ostringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const auto start = text.find("```toml\n") + 8;
  ASSERT_LT(start, text.size());
  const auto spec = parse_spec(text.substr(start, text.find("```", start) - start), "spec.md");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "example");
}

TEST(Spec, without_terms_nothing_may_be_kept) {
  EXPECT_EQ(parse_spec(kPlain, "x")->terms.keep, Terms::Keep::nothing);
  const auto days = parse_spec(
      changed("[ask]", "terms = { persist_days = 30, fields = [\"lat\", \"lon\"] }\n[ask]"), "x");
  ASSERT_TRUE(days) << days.error().message;
  EXPECT_EQ(days->terms.keep, Terms::Keep::limited);
  EXPECT_EQ(days->terms.keep_for, std::chrono::hours{720});
  EXPECT_EQ(days->terms.keep_fields, (std::vector<std::string>{"lat", "lon"}));
  EXPECT_EQ(parse_spec(changed("[ask]", "terms = { persist_days = \"unlimited\" }\n[ask]"), "x")
                ->terms.keep,
            Terms::Keep::unlimited);
}

TEST(Spec, bulk_costs_what_a_single_lookup_costs_unless_it_says_otherwise) {
  const auto one = parse_spec(changed("[ask]", "price = { single_microusd = 500 }\n[ask]"), "x");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->prices.bulk, Money{500});
  const auto two = parse_spec(
      changed("[ask]", "price = { single_microusd = 500, bulk_microusd = 200 }\n[ask]"), "x");
  EXPECT_EQ(two->prices.bulk, Money{200});
}

constexpr std::string_view kBulk = R"(
[bulk]
max = 100
url = "https://geo.example/batch"
[bulk.json]
item = "{address}"
[bulk.answer]
items = "/results"
)";

TEST(Spec, every_mistake_is_named_with_its_file_and_line) {
  struct Row {
    std::string name, toml;
    int line;
    std::string says;
  };
  const auto bulk = [&](std::string_view from, std::string_view to) {
    std::string text(kBulk);
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed("", text.replace(at, from.size(), to));
  };
  const std::vector<Row> rows{
      {"no TOML", changed("name = ", "name == "), 2, ""},
      {"no version", changed("spec = 1\n", ""), 1, "spec = 1 is missing"},
      {"a newer version", changed("spec = 1", "spec = 2"), 1, "spec = 1 only"},
      {"no name", changed("name = \"plain\"\n", ""), 1, "name is missing"},
      {"a bad name", changed("\"plain\"", "\"Plain Co\""), 1, "name has to be"},
      {"an unknown key", changed("[ask]", "colour = 3\n[ask]"), 4, "unknown key \"colour\""},
      {"an unknown key in a table", changed("items =", "item ="), 9, "unknown key \"answer.item\""},
      {"an unknown key in a rule",
       changed("class = \"fatal\"", "class = \"fatal\"\nklass = 1"),
       18,
       "klass"},
      {"a wrong type", changed("\"plain\"", "5"), 2, "name: a text is wanted, not a whole number"},
      {"a table where a text belongs",
       changed("url = \"https://geo.example/search\"", "url = {}"),
       5,
       "ask.url"},
      {"a bad pointer", changed("\"/geometry/1\"", "\"geometry/1\""), 10, "no JSON Pointer"},
      {"a bad pointer in a table",
       changed("at = \"/accuracy\"", "at = \"accuracy\""),
       12,
       "no JSON Pointer"},
      {"an unknown precision",
       changed("\"rooftop\", at", "\"roof\", at"),
       12,
       "\"roof\" is not one of rooftop"},
      {"an unknown class",
       changed("\"fatal\"", "\"deadly\""),
       17,
       "\"deadly\" is not one of retry"},
      {"no class", changed("class = \"fatal\"", ""), 15, "error.class is missing"},
      {"an unknown word", changed("{address}", "{adress}"), 6, "\"adress\" is no word"},
      {"no URL", changed("url = \"https://geo.example/search\"\n", ""), 4, "ask.url is missing"},
      {"another protocol", changed("https://geo", "ftp://geo"), 5, "https://"},
      {"a status that is none", changed("status = 402", "status = 42"), 16, "status"},
      {"a status class that is none", changed("status = 402", "status = \"4xy\""), 16, "status"},
      {"no longitude", changed("lon = \"/geometry/0\"\n", ""), 8, "lat and lon"},
      {"two ways of coordinates", changed("lon =", "lon_lat = \"/x\"\nlon ="), 8, "lat and lon"},
      {"no answer",
       changed(std::string(kPlain.substr(kPlain.find("[answer]"), 250))
                   .substr(0, kPlain.find("[[error]]") - kPlain.find("[answer]")),
               ""),
       1,
       "[answer] is missing"},
      {"a negative price",
       changed("[ask]", "price = { single_microusd = -1 }\n[ask]"),
       4,
       "price.single_microusd"},
      {"an outcome that cannot be billed",
       changed("[ask]", "price = { bills = [\"error\"] }\n[ask]"),
       4,
       "\"error\" is not one of"},
      {"an unknown country", changed("[ask]", "countries = [\"XQ\"]\n[ask]"), 4, "XQ"},
      {"an unknown field in the terms",
       changed("[ask]", "terms = { persist_days = 1, fields = [\"colour\"] }\n[ask]"),
       4,
       "colour"},
      {"terms without days",
       changed("[ask]", "terms = { share = true }\n[ask]"),
       4,
       "terms.persist_days is missing"},
      {"a scale of nothing", changed("divide_by = 100", "divide_by = 0"), 13, "divide_by"},
      {"a confidence beyond one", changed("divide_by = 100", "exact = 2"), 13, "from 0 to 1"},
      {"a range upside down",
       changed("status = 402", "between = { \"/n\" = [5, 1] }"),
       16,
       "[lowest, highest]"},
      {"a GET with a body",
       changed("[ask]", "[ask]\nmethod = \"GET\"\njson = { q = \"{address}\" }"),
       4,
       "POST"},
      {"bulk without a size", bulk("max = 100\n", ""), 19, "bulk.max is missing"},
      {"bulk without an answer",
       bulk("[bulk.answer]\nitems = \"/results\"\n", ""),
       19,
       "bulk.answer is missing"},
      {"bulk without a form", bulk("[bulk.json]\nitem = \"{address}\"\n", ""), 19, "json"},
      {"a bulk query that differs by address",
       bulk("[bulk.json]", "query = { c = \"{country}\" }\n[bulk.json]"),
       19,
       "differs from address to address"},
      {"a key without a reference", bulk("item = ", "key = \"{city}\"\nitem = "), 22, "{ref}"},
      {"a CSV without a reference",
       bulk("[bulk.json]\nitem = \"{address}\"",
            "[bulk.csv]\nfile_field = \"f\"\ncolumns = [[\"a\", \"{address}\"]]"),
       22,
       "{ref}"},
      {"a CSV answer without coordinates",
       bulk("items = \"/results\"", "format = \"csv\"\nref = \"/id\""),
       24,
       "CSV"},
      {"a CSV answer with coordinates that are no column",
       bulk("items = \"/results\"",
            "format = \"csv\"\nref = \"/id\"\nlat = \"/at/0\"\nlon = \"/lon\""),
       24,
       "is no column"},
      {"needs of something unknown",
       bulk("[bulk.json]", "needs = [[\"road\", \"planet\"]]\n[bulk.json]"),
       22,
       "\"planet\" is not one of"},
      {"a rule that nobody reads",
       bulk("[bulk.json]", "[[bulk.no_match]]\nstatus = 200\n[bulk.json]"),
       22,
       "no_match"},
  };
  for (const Row& row : rows) {
    const auto spec = parse_spec(row.toml, "dir/mine.toml");
    ASSERT_FALSE(spec) << row.name;
    EXPECT_EQ(spec.error().code, ErrorCode::invalid_config);
    const std::string prefix = fmt::format("dir/mine.toml:{}: ", row.line);
    EXPECT_TRUE(spec.error().message.starts_with(prefix))
        << row.name << ": " << spec.error().message;
    EXPECT_NE(spec.error().message.find(row.says), std::string::npos)
        << row.name << ": " << spec.error().message;
  }
  EXPECT_TRUE(parse_spec(changed("", kBulk), "x"))
      << "the rows above change one thing of a good file";
}

class SpecFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("geonce-specs-{}", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_;
};

TEST_F(SpecFolder, the_six_built_in_specs_are_there_without_one) {
  const auto specs = load_specs({});
  ASSERT_TRUE(specs) << specs.error().message;
  for (const char* name : {"ban", "census", "geocodio", "google", "nominatim", "opencage"})
    EXPECT_TRUE(specs->contains(name)) << name;
}

TEST_F(SpecFolder, a_file_adds_a_provider_or_replaces_the_built_in_one) {
  put("any_name.toml", kPlain);
  put("my google.toml", changed("\"plain\"", "\"google\""));
  put("notes.txt", "not a spec");
  put("being_written.toml", "");  // geonce provider show plain > being_written.toml
  const auto specs = load_specs(folder_);
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_TRUE(specs->contains("plain"));
  EXPECT_TRUE(specs->contains("ban"));
  EXPECT_EQ(specs->at("google").origin, (folder_ / "my google.toml").string());
}

TEST_F(SpecFolder, a_broken_file_or_two_of_one_name_stop_the_start) {
  put("b.toml", kPlain);
  put("a.toml", kPlain);
  auto specs = load_specs(folder_);
  ASSERT_FALSE(specs);
  EXPECT_NE(specs.error().message.find("b.toml both describe"), std::string::npos)
      << specs.error().message;
  put("a.toml", "spec = 1\nname = \"a\"\nsurprise = true\n");
  specs = load_specs(folder_);
  ASSERT_FALSE(specs);
  EXPECT_NE(specs.error().message.find("a.toml:"), std::string::npos) << specs.error().message;
  specs = load_specs(folder_ / "missing");
  ASSERT_FALSE(specs);
  EXPECT_EQ(specs.error().code, ErrorCode::io_failed);
}

}  // namespace
}  // namespace geonce
