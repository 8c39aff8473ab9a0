#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "batch/row_result.h"
#include "core/answer.h"
#include "core/clock.h"
#include "core/normalize.h"
#include "resolver/resolver.h"

namespace geonce {

/// How an address is written in a row: its text, or its fields joined. Within a run the same
/// spelling always has the same key.
using Spelling = std::string_view;

/// What a run found out about one spelling, as the next row that is spelt so is told it. Immutable.
struct KnownRow {
  /// Three texts in one block of memory, since they are used together: the spelling; the `cells` as
  /// RowWriter::append_cells writes them (empty: see `answer`); the batch's `copy` of the answer.
  std::string bytes;
  std::uint32_t spelling_size = 0, cells_size = 0;
  Keyed keyed;
  bool took_defaults = false;  // the file's default city or state is part of the key
  bool has_answer = false;     // false: the key alone is known
  RowStatus status = RowStatus::error;
  AnswerSource source = AnswerSource::l1;
  UtcMs answered_at = 0;
  UtcMs expires_at = 0;                  // 0: as long as the run
  UtcMs erase_at = 0;                    // as in `Asked`
  std::shared_ptr<const Answer> answer;  // only where the output's format has no cells

  [[nodiscard]] Spelling spelling() const { return Spelling(bytes).substr(0, spelling_size); }
  [[nodiscard]] std::string_view cells() const {
    return std::string_view(bytes).substr(spelling_size, cells_size);
  }
  [[nodiscard]] std::string_view copy() const {
    return std::string_view(bytes).substr(spelling_size + cells_size);
  }
  [[nodiscard]] bool is_answered(UtcMs now) const {
    return has_answer && (expires_at == 0 || now < expires_at);
  }
};

/// The spellings that a run met more than once. Files repeat themselves, and what is known here
/// needs no reading, no look into a tier and no formatting. A spelling that never comes again costs
/// eight bytes and no room that another could have. Any thread.
class KnownRows {
 public:
  /// max_bytes   of all that is known together; beyond it, what was not asked for lately goes
  explicit KnownRows(std::size_t max_bytes);

  struct Look {
    std::shared_ptr<const KnownRow> row;
    bool is_repeat = false;  // seen before: worth a `put`
  };
  Look look(Spelling spelling);
  void put(KnownRow known);

 private:
  static constexpr std::size_t kShards = 64, kSets = 512, kWays = 4;
  /// One spelling; `hash` 0 = none. `row` null: seen once.
  struct Way {
    std::uint64_t hash = 0;
    std::shared_ptr<const KnownRow> row;
    bool was_used = false;
  };
  using Set = std::array<Way, kWays>;
  struct Shard {
    std::mutex mutex;
    std::vector<Set> sets = std::vector<Set>(kSets);
    std::size_t bytes = 0;
    std::uint32_t turn = 0;
  };

  static std::uint64_t hash_of(Spelling spelling);
  Shard& shard_of(std::uint64_t hash) { return shards_.at(hash % kShards); }
  static Set& set_of(Shard& shard, std::uint64_t hash) {
    return shard.sets[hash / kShards % kSets];
  }
  static Way* way_of(Set& set, std::uint64_t hash);
  static Way* free_way(Shard& shard, Set& set);

  std::size_t max_shard_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace geonce
