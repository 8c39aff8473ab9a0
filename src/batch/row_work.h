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
#include "batch/known_rows.h"
#include "core/normalize.h"
#include "resolver/resolver.h"

namespace geonce {

/// One distinct address of a chunk and what became of it.
struct Asked {
  Slot slot;
  std::string pre_image;  // where a second reader read it
  Country country;
  Quality quality = Quality::none;
  bool took_defaults = false;  // the file's default city or state
  std::uint32_t row = 0;       // the first row of this address: its spelling is the one sent
  std::shared_ptr<const KnownRow> known;  // answered by an earlier row; then `resolved` is empty
  Resolved resolved;
  UtcMs erase_at = 0;  // when the terms end the batch's own copy; 0: none may be kept
  int attempts = 0;
  bool is_final = false;            // nothing would be gained by asking again
  bool is_replayed = false;         // from the batch's own rows in the store
  std::optional<Key> building_key;  // only where the output has the column
};

/// One row: either the index of its distinct address, or what is wrong with it.
struct RowRef {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t asked = kNone;
  bool is_first = false;  // the first row of this address in the chunk
  bool is_empty = false;
  bool is_kept = false;              // an earlier run's row, echoed
  std::optional<ErrorCode> refusal;  // it has no key: the address is at fault, or was not read
  std::uint32_t problem = kNone;     // index into `problems`
  std::uint32_t repeated = kNone;    // index into `repeated`
};

/// A chunk on its way from bytes to answers.
struct RowWork {
  std::int64_t number = 0;
  Chunk chunk;
  std::vector<RowRef> rows;
  std::vector<Asked> asked;
  std::vector<std::string> problems;
  std::vector<KnownRow> repeated;  // spellings seen before, whose answer is to be remembered now
  std::atomic<std::size_t> pending{0};
  std::string output, exceptions;  // formatted rows
  BatchCounts counts;              // of these rows
  std::optional<Error> failure;    // formatting failed: the run stops
};

/// Parses, maps and keys the rows of a chunk, and finds its distinct addresses. One per thread. A
/// second reader is asked once, for all rows that need it.
class RowReader {
 public:
  /// known     what all readers of a run remember together
  RowReader(const RowInput& input,
            const Mapping& mapping,
            const PreviousRows* previous,
            bool retry_negative,
            KnownRows& known,
            const KeyRing& ring = KeyRing::plain(),
            SecondReader* second = nullptr)
      : input_(&input),
        mapping_(&mapping),
        previous_(previous),
        retry_negative_(retry_negative),
        known_(&known),
        normalizer_(ring, second),
        built_in_(ring) {}

  /// now       what is known and fresh then answers at once
  void read(RowWork& work, Pool pool, UtcMs now);
  /// Of all addresses of a chunk that has been read, but those whose cells are written already.
  void add_building_keys(RowWork& work);

 private:
  /// A row whose address is read and whose key may still wait for the second reader.
  struct Row {
    std::size_t index = 0;
    KnownRows::Look look;
    bool is_answered = false;          // by `look`
    bool took_defaults = false;        // the file's default city or state
    std::optional<KnownRow> repeated;  // the spelling was seen before and is to be remembered
  };
  /// What the row asks; false: nothing, and its place says why.
  bool query_of_row(RowWork& work, std::size_t index, QueryView& query);
  /// nullopt: it waits for the second reader. Sets `took_defaults`.
  std::optional<Result<Keyed>> key_of_row(Row& row, QueryView& query);
  void file(RowWork& work, Row& row, const Result<Keyed>& keyed, Pool pool);
  void problem(RowWork& work, std::size_t index, std::string text);
  Spelling spelling_of(const QueryView& query);

  const RowInput* input_;
  const Mapping* mapping_;
  const PreviousRows* previous_;
  bool retry_negative_;
  KnownRows* known_;
  Normalizer normalizer_;
  Normalizer built_in_;  // of what the second reader had no reading, or was not asked
  std::string scratch_, spelling_;
  std::vector<std::uint32_t> table_;  // open addressing over `asked`, rebuilt per chunk
};

/// What a provider is to be asked about this address.
Query query_of(const Mapping& mapping, const RowWork& work, const Asked& asked);

/// The batch's own copy of a chunk's answers (docs/formats/batch.md).
std::string encode_chunk(const RowWork& work);
/// What it says of one address behind the key.
void append_copy(const Resolved& resolved, UtcMs erase_at, std::string& out);
/// Fills what the copy knows into `work.asked`, matched by key. Foreign or broken bytes fill
/// nothing.
void decode_chunk(std::string_view bytes, RowWork& work);

}  // namespace geonce
