#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch/chunk.h"
#include "batch/columns.h"
#include "batch/counts.h"
#include "batch/input.h"
#include "core/normalize.h"
#include "resolver/resolver.h"

namespace geonce {

/// One distinct address of a chunk and what became of it.
struct Asked {
  Ask ask;
  Resolved resolved;
  UtcMs erase_at = 0;  // when the terms end the batch's own copy; 0: none may be kept
  int attempts = 0;
  bool is_final = false;     // nothing would be gained by asking again
  bool is_replayed = false;  // from the batch's own rows in the store
};

/// One row: either the index of its distinct address, or what is wrong with it.
struct RowRef {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t asked = kNone;
  bool is_first = false;  // the first row of this address in the chunk
  bool is_empty = false;
  bool is_kept = false;              // an earlier run's row, echoed
  std::optional<ErrorCode> refusal;  // the address itself is at fault
  std::uint32_t problem = kNone;     // index into `problems`
};

/// A chunk on its way from bytes to answers.
struct RowWork {
  std::int64_t number = 0;
  Chunk chunk;
  std::vector<RowRef> rows;
  std::vector<Asked> asked;
  std::vector<std::string> problems;
  std::atomic<std::size_t> pending{0};
  std::string output, exceptions;  // formatted rows
  BatchCounts counts;              // of these rows
  std::optional<Error> failure;    // formatting failed: the run stops
};

/// Parses, maps and keys the rows of a chunk, and finds its distinct addresses. One per thread.
class RowReader {
 public:
  RowReader(const RowInput& input,
            const Mapping& mapping,
            const PreviousRows* previous,
            bool retry_negative)
      : input_(&input), mapping_(&mapping), previous_(previous), retry_negative_(retry_negative) {}

  void read(RowWork& work, Pool pool);

 private:
  /// A spelling that was read before. Files repeat themselves, and a look is cheaper than a
  /// reading.
  struct Spelling {
    std::string text;
    Country country;
    Keyed keyed;
  };
  static constexpr std::size_t kSpellings = 32'768;

  Result<Keyed> key_of_row(QueryView& query);

  const RowInput* input_;
  const Mapping* mapping_;
  const PreviousRows* previous_;
  bool retry_negative_;
  Normalizer normalizer_;
  std::string scratch_;
  std::vector<std::uint32_t> table_;  // open addressing over `asked`, rebuilt per chunk
  std::vector<Spelling> spellings_ =
      std::vector<Spelling>(kSpellings);  // by hash; the last one stays
};

/// The batch's own copy of a chunk's answers (docs/formats/batch.md).
std::string encode_chunk(const RowWork& work);
/// Fills what the copy knows into `work.asked`, matched by key. Foreign or broken bytes fill
/// nothing.
void decode_chunk(std::string_view bytes, RowWork& work);

}  // namespace geonce
