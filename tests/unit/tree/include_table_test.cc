#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const fs::path kRoot = GEONCE_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    const auto at = text.find(separator, from);
    auto part = text.substr(from, at - from);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    if (!part.empty()) parts.push_back(part);
    if (at == std::string::npos) return parts;
    from = at + separator.size();
  }
}

/// The lines of a fenced block of docs/architecture.md.
std::vector<std::string> block(const std::string& name) {
  const auto page = read(kRoot / "docs/architecture.md");
  const auto fence = "```" + name + "\n";
  const auto begin = page.find(fence);
  if (begin == std::string::npos) return {};
  const auto from = begin + fence.size();
  return split(page.substr(from, page.find("```", from) - from), "\n");
}

/// What each folder may include: the arrows, followed to their end.
std::map<std::string, Names> allowed_folders() {
  std::map<std::string, Names> may;
  for (const auto& line : block("include-table")) {
    const auto groups = split(line, "→");
    for (std::size_t i = 0; i < groups.size(); ++i)
      for (const auto& left : split(groups[i], "·")) {
        may[left].insert(left);
        if (i + 1 < groups.size())
          for (const auto& right : split(groups[i + 1], "·")) may[left].insert(right);
      }
  }
  for (std::size_t round = 0; round < may.size(); ++round)
    for (auto& [folder, reach] : may) {
      const Names known = reach;
      for (const auto& next : known) reach.insert(may[next].begin(), may[next].end());
    }
  return may;
}

struct Include {
  fs::path file;
  std::size_t line;
  std::string folder;  // of the file
  std::string target;  // as written
  bool ours;           // "…", not <…>

  [[nodiscard]] std::string where() const {
    return fs::relative(file, kRoot).string() + ":" + std::to_string(line) + " includes " + target;
  }
};

std::vector<fs::path> sources() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src"))
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cc")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Include> includes() {
  static const std::regex kPattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::vector<Include> all;
  for (const auto& file : sources()) {
    const auto folder = fs::relative(file, kRoot / "src").begin()->string();
    std::ifstream in(file);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (std::smatch found; std::regex_search(line, found, kPattern))
        all.push_back({file, number, folder, found[2], found[1] == "\""});
    }
  }
  return all;
}

TEST(IncludeTable, an_include_goes_down_the_arrows_of_the_architecture) {
  const auto may = allowed_folders();
  ASSERT_GE(may.size(), 10U) << "docs/architecture.md has lost its include-table";
  std::size_t seen = 0;
  for (const auto& include : includes()) {
    if (!include.ours) continue;
    ++seen;
    const auto target = include.target.substr(0, include.target.find('/'));
    EXPECT_TRUE(fs::exists(kRoot / "src" / include.target))
        << include.where() << ": ours are written from src/ on, as in \"core/key.h\"";
    ASSERT_TRUE(may.contains(include.folder)) << include.folder << " is not in the include-table";
    EXPECT_TRUE(may.at(include.folder).contains(target)) << include.where();
  }
  EXPECT_GT(seen, 50U);
}

TEST(IncludeTable, no_two_folders_want_each_other) {
  const auto may = allowed_folders();
  for (const auto& [folder, reach] : may)
    for (const auto& other : reach)
      EXPECT_TRUE(folder == other || !may.at(other).contains(folder)) << folder << " and " << other;
}

TEST(IncludeTable, what_the_build_links_is_what_may_be_included) {
  static const std::regex kPattern(
      R"(geonce_folder\((\w+) DEPENDS ([a-z ]+?)(?: LIBRARIES[^)]*)?\))");
  const auto may = allowed_folders();
  const auto text = read(kRoot / "src/CMakeLists.txt");
  std::size_t seen = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), kPattern), end; it != end; ++it) {
    ++seen;
    const std::string folder = (*it)[1];
    ASSERT_TRUE(may.contains(folder)) << folder;
    for (const auto& depends : split((*it)[2], " "))
      EXPECT_TRUE(may.at(folder).contains(depends)) << folder << " links " << depends;
  }
  EXPECT_GE(seen, 9U);
}

TEST(IncludeTable, headers_of_the_outside_world_stay_behind_their_door) {
  std::map<std::string, Names> doors;
  for (const auto& line : block("library-table")) {
    const auto sides = split(line, "→");
    ASSERT_EQ(sides.size(), 2U) << line;
    const auto folders = split(sides[1], "·");
    doors[sides[0]] = Names(folders.begin(), folders.end());
  }
  ASSERT_GE(doors.size(), 5U) << "docs/architecture.md has lost its library-table";
  for (const auto& include : includes())
    for (const auto& [prefix, folders] : doors)
      if (!include.ours && include.target.starts_with(prefix)) {
        EXPECT_TRUE(folders.contains(include.folder)) << include.where();
      }
}

TEST(Tree, every_header_is_guarded_by_pragma_once) {
  for (const auto& file : sources())
    if (file.extension() == ".h") {
      EXPECT_TRUE(read(file).starts_with("#pragma once\n")) << file;
    }
}

TEST(Tree, every_source_includes_its_own_header_first) {
  const auto all = includes();
  for (const auto& file : sources()) {
    auto header = file;
    header.replace_extension(".h");
    if (file.extension() != ".cc" || !fs::exists(header)) continue;
    const auto first = std::find_if(
        all.begin(), all.end(), [&](const Include& include) { return include.file == file; });
    ASSERT_NE(first, all.end()) << file;
    EXPECT_EQ(first->target, fs::relative(header, kRoot / "src").string()) << file;
  }
}

}  // namespace
