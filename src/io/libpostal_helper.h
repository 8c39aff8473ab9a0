#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace geonce {

/// The word that makes `geonce` the process that holds libpostal instead of the program.
inline constexpr std::string_view kLibpostalHelper = "libpostal-helper";

/// How that process is to be run.
struct LibpostalHelperOptions {
  std::string library;  // a name that the loader knows, or a path
  std::string data;     // folder
  int question_ms = 0;  // it ends itself when one question takes longer
  int load_ms = 0;      // or reading the model
  int parent = 0;       // process id
};

/// The arguments behind the program's name.
std::vector<std::string> words_of(const LibpostalHelperOptions& options);

/// Opens libpostal and answers at Child::kSocket until the other side is gone. The only process in
/// which libpostal's code runs: it may hang, crash and take gigabytes.
///
/// words     those of `words_of`, without kLibpostalHelper
/// returns   the exit code
int serve_libpostal(std::span<char* const> words);

}  // namespace geonce
