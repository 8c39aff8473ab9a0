#include "batch/known_rows.h"

#include <functional>

namespace geonce {
namespace {

std::size_t bytes_of(const KnownRow& row) {
  constexpr std::size_t kOverhead = 48;  // of two blocks in the heap
  constexpr std::size_t kAnswer = sizeof(Answer) + 256;
  return sizeof row + kOverhead + row.bytes.capacity() + row.keyed.pre_image.capacity() +
         (row.answer ? kAnswer : 0);
}

}  // namespace

KnownRows::KnownRows(std::size_t max_bytes) : max_shard_bytes_(max_bytes / kShards) {}

std::uint64_t KnownRows::hash_of(Spelling spelling) {
  return std::hash<std::string_view>()(spelling) | 1U << 31U;  // never 0
}

KnownRows::Way* KnownRows::way_of(Set& set, std::uint64_t hash) {
  for (Way& way : set)
    if (way.hash == hash) return &way;
  return nullptr;
}

/// A way for a newcomer: one without a row, else one whose row was not used since this last came
/// by, so that a file's rare spellings do not push out its frequent ones.
KnownRows::Way* KnownRows::free_way(Shard& shard, Set& set) {
  for (Way& way : set)
    if (way.hash == 0) return &way;
  for (std::size_t i = 0; i < kWays; ++i) {
    Way& way = set.at(++shard.turn % kWays);
    if (!way.row) return &way;
  }
  for (std::size_t i = 0; i < kWays; ++i) {
    Way& way = set.at(++shard.turn % kWays);
    if (!way.was_used) return &way;
    way.was_used = false;
  }
  return nullptr;
}

KnownRows::Look KnownRows::look(Spelling spelling) {
  const std::uint64_t hash = hash_of(spelling);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  Set& set = set_of(shard, hash);
  Way* way = way_of(set, hash);
  if (way != nullptr) {
    if (!way->row) return {nullptr, true};
    if (way->row->spelling() != spelling) return {};  // another one of the same hash has come first
    way->was_used = true;
    return {way->row, true};
  }
  way = free_way(shard, set);
  if (way == nullptr) return {};
  if (way->row) shard.bytes -= bytes_of(*way->row);
  *way = {hash, nullptr, false};
  return {};
}

void KnownRows::put(KnownRow known) {
  known.bytes.shrink_to_fit();
  const auto row = std::make_shared<const KnownRow>(std::move(known));
  const std::uint64_t hash = hash_of(row->spelling());
  const std::size_t size = bytes_of(*row);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  Way* way = way_of(set_of(shard, hash), hash);
  if (way == nullptr) return;
  const std::size_t before = way->row ? bytes_of(*way->row) : 0;
  // Whoever is in the way of the newcomer goes if it has not been used for a round.
  for (std::size_t i = 0; i < kWays * 4 && shard.bytes - before + size > max_shard_bytes_; ++i) {
    ++shard.turn;
    Way& other = shard.sets[shard.turn / kWays % kSets].at(shard.turn % kWays);
    if (&other == way || !other.row) continue;
    if (!other.was_used) {
      shard.bytes -= bytes_of(*other.row);
      other = {};
    }
    other.was_used = false;
  }
  if (shard.bytes - before + size > max_shard_bytes_) return;
  shard.bytes += size - before;
  way->row = row;
}

}  // namespace geonce
