// The process that holds libpostal, without the rest of geonce around it.
#include "io/libpostal_helper.h"

int main(int argc, char** argv) {
  if (argc < 2 || argv[1] != geonce::kLibpostalHelper) return 2;
  return geonce::serve_libpostal({argv + 2, static_cast<std::size_t>(argc - 2)});
}
