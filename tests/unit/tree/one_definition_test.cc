#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// Two types of one name in one namespace, in different files, compile and link, and then the linker
// keeps one of their destructors for both. No compiler says so; this does.

namespace {

namespace fs = std::filesystem;

struct Definition {
  std::string name, where;
};

std::vector<Definition> definitions_in(const fs::path& file) {
  static const std::regex kType(
      R"(^(?:struct|class|enum class|enum|union) (\w+)( final)?( :.*)? \{)");
  std::vector<Definition> found;
  std::ifstream in(file);
  bool is_anonymous = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line == "namespace {") is_anonymous = true;
    if (line == "}  // namespace") is_anonymous = false;
    std::smatch match;
    if (!is_anonymous && std::regex_search(line, match, kType))
      found.push_back({match[1], file.string() + ":" + std::to_string(number)});
  }
  return found;
}

TEST(Tree, no_two_types_share_a_name) {
  std::map<std::string, std::vector<std::string>> places;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GEONCE_SOURCE_DIR) / "src")) {
    const auto ending = entry.path().extension();
    if (ending != ".h" && ending != ".cc") continue;
    for (const auto& [name, where] : definitions_in(entry.path())) places[name].push_back(where);
  }
  EXPECT_GT(places.size(), 100U) << "the pattern finds the types of the tree";
  for (const auto& [name, where] : places)
    EXPECT_EQ(where.size(), 1U) << name << " is defined at " << where[0] << " and " << where.back();
}

}  // namespace
