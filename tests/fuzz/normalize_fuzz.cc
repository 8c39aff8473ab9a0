#include <cstddef>
#include <cstdint>

#include "support/normalize_probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  probe_normalizer({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
