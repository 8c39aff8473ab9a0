#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/temp_dir.h"

namespace geonce {

/// A data folder for the stand-in of libpostal (support/fake_libpostal).
class PostalData {
 public:
  PostalData() {
    for (const char* folder : {"address_expansions", "address_parser", "numex", "transliteration"})
      std::filesystem::create_directory(path() / folder);
    write("address_expansions/address_dictionary.dat", "dictionary");
    write("transliteration/transliteration.dat", "letters");
    write("numex/setup", "ok");
    write("address_parser/setup", "ok");
    write("address_parser/answers", "");
  }

  [[nodiscard]] std::filesystem::path path() const { return folder_.path(); }
  void write(std::string_view name, std::string_view bytes) const { folder_.write(name, bytes); }
  /// What is said of a text; see the stand-in.
  void answer(std::string_view text, std::string_view said) {
    answers_ += std::string(text) + '\t' + std::string(said) + '\n';
    write("address_parser/answers", answers_);
  }
  /// The processes that have set up the parser, in order.
  [[nodiscard]] std::vector<int> setups() const {
    std::vector<int> pids;
    std::ifstream in(path() / "setups");
    for (int pid = 0; in >> pid;) pids.push_back(pid);
    return pids;
  }

 private:
  TempDir folder_;
  std::string answers_;
};

}  // namespace geonce
