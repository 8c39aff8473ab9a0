#include "batch/chunk.h"

namespace geonce {

void Chunk::clear() {
  bytes.clear();
  records.clear();
  fields.clear();
  unescaped.clear();
  first_row = row_count = begin_offset = end_offset = raw_offset = 0;
}

}  // namespace geonce
