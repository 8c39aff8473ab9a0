#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

TEST(Docs, every_link_to_a_file_leads_somewhere) {
  static const std::regex kLink(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
  const fs::path root = GEONCE_SOURCE_DIR;
  std::vector<fs::path> pages{root / "README.md"};
  for (const auto* folder : {"docs", "man", "tests", "examples", "changes", "src", "bench"})
    if (fs::exists(root / folder))
      for (const auto& entry : fs::recursive_directory_iterator(root / folder))
        if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::size_t links = 0;
  for (const auto& page : pages) {
    std::stringstream in;
    in << std::ifstream(page).rdbuf();
    const auto text = in.str();
    for (std::sregex_iterator it(text.begin(), text.end(), kLink), end; it != end; ++it, ++links)
      EXPECT_TRUE(fs::exists(page.parent_path() / (*it)[1].str())) << page << ": " << (*it)[1];
  }
  EXPECT_GT(links, 40U);
}

}  // namespace
