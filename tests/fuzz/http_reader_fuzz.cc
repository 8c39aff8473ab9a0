// Any bytes, cut anywhere: the reader sees the same requests as when they come in one piece.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "io/http_reader.h"

namespace {

using geonce::HttpReader;

std::vector<std::string> read(std::string_view bytes, std::size_t piece) {
  HttpReader reader({512, 2048});
  std::vector<std::string> seen;
  while (!bytes.empty()) {
    const auto room = reader.room();
    const auto size = std::min({room.size(), bytes.size(), piece});
    std::memcpy(room.data(), bytes.data(), size);
    reader.took(size);
    bytes.remove_prefix(size);
    auto step = reader.next();
    for (; step == HttpReader::Step::complete; step = reader.next()) {
      std::string text(reader.request().path);
      for (const auto& field : reader.request().fields) text.append(field.name).append(field.value);
      seen.push_back(text.append(reader.request().body));
      reader.drop();
    }
    if (step == HttpReader::Step::fault) {
      seen.emplace_back("fault");
      break;
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = read(bytes, SIZE_MAX);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}})
    if (read(bytes, piece) != whole) __builtin_trap();
  return 0;
}
