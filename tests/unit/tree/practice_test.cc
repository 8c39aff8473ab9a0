#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// `Suite.name` of the tests in C++, `test_name` of those in Python.
std::set<std::string> tests_there_are() {
  static const std::regex kCpp(R"(\b(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\s*\))");
  static const std::regex kPython(R"(\bdef (test_\w+)\()");
  std::set<std::string> names;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(GEONCE_SOURCE_DIR) / "tests")) {
    const auto extension = entry.path().extension();
    if (extension != ".cc" && extension != ".h" && extension != ".py") continue;
    const auto text = read(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), kCpp), end; it != end; ++it)
      names.insert((*it)[1].str() + "." + (*it)[2].str());
    for (std::sregex_iterator it(text.begin(), text.end(), kPython), end; it != end; ++it)
      names.insert((*it)[1].str());
  }
  return names;
}

TEST(Practice, every_test_that_the_table_names_exists) {
  static const std::regex kName(R"(`(\w+\.\w+|test_\w+)`)");
  const auto known = tests_there_are();
  const auto page = read(fs::path(GEONCE_SOURCE_DIR) / "tests/practice.md");
  std::size_t rows = 0;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_search(line, std::regex(R"(^\| \d+ \|)"))) continue;
    ++rows;
    std::size_t names = 0;
    for (std::sregex_iterator it(line.begin(), line.end(), kName), end; it != end; ++it, ++names)
      EXPECT_TRUE(known.contains((*it)[1].str())) << (*it)[1].str();
    EXPECT_GT(names, 0U) << line;
  }
  EXPECT_GE(rows, 40U);
}

}  // namespace
