// libFuzzer: the first bytes choose the dialect and the size of the chunks, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "support/csv_oracle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const geonce::Dialect dialect{(data[0] & 1) != 0 ? ',' : '\t',
                                (data[0] & 2) != 0 ? '"' : '\0',
                                (data[0] & 4) != 0 ? geonce::LineEnd::cr : geonce::LineEnd::lf};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string difference =
      geonce::oracle::difference(text, dialect, 1 + data[1] * std::size_t{4});
  if (difference.empty()) return 0;
  std::fprintf(stderr, "%s\n", difference.c_str());
  std::abort();
}
