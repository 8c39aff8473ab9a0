#include "tiers/memory_tier.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

namespace geonce {
namespace {

// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP
// 2023). A new entry goes into a small queue. Who was asked for twice before reaching its end moves
// on to the main queue, the others leave and only a fingerprint stays behind; who comes back while
// it is there goes into the main queue at once.
constexpr std::uint8_t kAsksForMain = 2;
constexpr std::uint8_t kMostAsks = 3;
constexpr std::size_t kSmallShare = 10;  // the small queue gets a tenth of the bytes

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::size_t kChunkBits = 6;
constexpr std::size_t kChunkNodes = std::size_t{1} << kChunkBits;
constexpr std::size_t kFirstBuckets = 16;
constexpr std::size_t kMostShards = 256;
constexpr std::size_t kLeastShardBytes = std::size_t{1} << 20U;

/// What malloc takes for `size` bytes: eight more, in steps of 16, at least 32 (glibc, 64 bits).
constexpr std::size_t heap_block(std::size_t size) {
  return std::max<std::size_t>(32, (size + 8 + 15) / 16 * 16);
}

std::size_t heap_bytes(const std::string& text) {
  static const std::size_t inside = std::string().capacity();
  return text.capacity() > inside ? heap_block(text.capacity() + 1) : 0;
}

std::size_t heap_bytes(const Answer& answer) {
  constexpr std::size_t kCounts = 16;  // std::make_shared puts them in front of the answer
  std::size_t sum = heap_block(kCounts + sizeof(Answer));
  for (const auto* text : {&answer.provider,
                           &answer.formatted,
                           &answer.place_id,
                           &answer.house_number,
                           &answer.street,
                           &answer.unit,
                           &answer.city,
                           &answer.state,
                           &answer.postcode,
                           &answer.reason})
    sum += heap_bytes(*text);
  return sum;
}

enum class Queue : std::uint8_t { small, main };

struct Node {
  Slot slot;
  std::uint32_t newer = kNone,
                older = kNone;  // neighbours in the queue; `older` also links free nodes
  std::uint32_t heap = 0;       // bytes of the answer
  std::uint8_t asks = 0;
  Queue queue = Queue::small;
  Cached cached;
};

/// A part of the keys under a lock of its own: an open-addressing index over nodes in chunks.
class alignas(64) Shard {
 public:
  void set_limit(std::size_t bytes) { limit_ = bytes; }

  /// heard  null: what was confirmed too long ago will do as well
  std::optional<Cached> find(std::uint32_t tag, const Slot& slot, Mono now, const Heard* heard) {
    const std::lock_guard lock(mutex_);
    const std::size_t bucket = bucket_of(tag, slot);
    if (bucket == kNoBucket) {
      ++stats_.misses;
      return std::nullopt;
    }
    const std::uint32_t at = index_[bucket].node;
    Node& found = node(at);
    if (found.cached.fresh_until <= now) {
      ++stats_.misses;
      remove(at, bucket);
      return std::nullopt;
    }
    if (!is_good(found.cached, now, heard)) {
      ++stats_.misses;
      return std::nullopt;
    }
    ++stats_.hits;
    if (found.asks < kMostAsks) ++found.asks;
    return found.cached;
  }

  void store(std::uint32_t tag,
             const Slot& slot,
             const Cached& cached,
             std::size_t heap,
             Mono now,
             const Heard* heard) {
    const std::lock_guard lock(mutex_);
    if (heard != nullptr && heard->is_over(slot, cached.gen, cached.as_of)) return;
    Queue queue = Queue::small;
    std::uint8_t asks = 0;
    if (const std::size_t bucket = bucket_of(tag, slot); bucket != kNoBucket) {
      const std::uint32_t at = index_[bucket].node;
      const Node& present = node(at);
      if (present.cached.fresh_until > now) {
        if (present.cached.gen > cached.gen) return;
        // What has to be read again is, and is the same: from here on it is good once more.
        if (present.cached.gen == cached.gen && is_good(present.cached, now, heard)) return;
        queue = present.queue;
        asks = present.asks;
      }
      remove(at, bucket);
    } else if (is_ghost(tag)) {
      queue = Queue::main;
      ++stats_.admitted;
    }
    if (cached.fresh_until <= now) return;
    // Room is made before the entry comes in, so it cannot be the one that has to go.
    while (bytes_ + bytes_to_add(heap) > limit_) {
      if (entries_ == 0) {
        ++stats_.turned_away;
        return;
      }
      evict(now);
    }
    insert(tag, slot, cached, heap, queue, asks);
  }

  void forget(std::uint32_t tag, const Ended& ended) {
    const std::lock_guard lock(mutex_);
    const std::size_t bucket = bucket_of(tag, ended.slot);
    if (bucket != kNoBucket && node(index_[bucket].node).cached.gen <= ended.gen)
      remove(index_[bucket].node, bucket);
  }

  std::size_t sweep(Mono now) {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const List* list : {&small_, &main_}) {
      for (std::uint32_t at = list->oldest; at != kNone;) {
        const std::uint32_t next = node(at).newer;
        if (node(at).cached.fresh_until <= now) {
          remove(at);
          ++count;
        }
        at = next;
      }
    }
    return count;
  }

  void add_to(MemoryTierStats& sum) const {
    const std::lock_guard lock(mutex_);
    sum.hits += stats_.hits;
    sum.misses += stats_.misses;
    sum.admitted += stats_.admitted;
    sum.turned_away += stats_.turned_away;
    sum.evicted += stats_.evicted;
    sum.bytes += bytes_;
    sum.entries += entries_;
  }

  static std::uint32_t tag_of(std::size_t hash) { return static_cast<std::uint32_t>(hash); }

 private:
  using Chunk = std::array<Node, kChunkNodes>;
  struct Bucket {
    std::uint32_t tag = 0;
    std::uint32_t node = kNone;
  };
  struct Ghost {
    std::uint32_t tag = 0;
    std::uint32_t when = 0;  // 0: never
  };
  struct List {
    std::uint32_t newest = kNone, oldest = kNone;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kNoBucket = SIZE_MAX;
  static constexpr std::size_t kBucketBytes = sizeof(Bucket) + sizeof(Ghost);
  static constexpr std::size_t kChunkBytes =
      heap_block(sizeof(Chunk)) + 2 * sizeof(void*);  // its pointer too

  static bool is_good(const Cached& cached, Mono now, const Heard* heard) {
    return heard == nullptr || heard->good_in_memory_until(cached.as_of) > now;
  }

  Node& node(std::uint32_t at) { return (*chunks_[at >> kChunkBits])[at & (kChunkNodes - 1)]; }
  List& list(Queue queue) { return queue == Queue::small ? small_ : main_; }
  [[nodiscard]] std::size_t mask() const { return index_.size() - 1; }

  std::size_t bucket_of(std::uint32_t tag, const Slot& slot) {
    if (index_.empty()) return kNoBucket;
    for (std::size_t i = tag & mask();; i = (i + 1) & mask()) {
      if (index_[i].node == kNone) return kNoBucket;
      if (index_[i].tag == tag && node(index_[i].node).slot == slot) return i;
    }
  }

  [[nodiscard]] bool must_grow() const { return (entries_ + 1) * 8 > index_.size() * 7; }
  [[nodiscard]] std::size_t grown_buckets() const {
    return std::max(kFirstBuckets, index_.size() * 2);
  }

  /// What one more entry takes; a growing index stands beside the old one for a moment.
  [[nodiscard]] std::size_t bytes_to_add(std::size_t heap) const {
    return heap + (free_ == kNone ? kChunkBytes : 0) +
           (must_grow() ? grown_buckets() * kBucketBytes : 0);
  }

  void grow() {
    std::vector<Bucket> old(grown_buckets());
    old.swap(index_);
    ghosts_.assign(index_.size(),
                   {});  // while there is room to grow nobody has left for want of it
    bytes_ += (index_.size() - old.size()) * kBucketBytes;
    for (const Bucket& bucket : old)
      if (bucket.node != kNone) put_in_index(bucket);
  }

  void put_in_index(const Bucket& bucket) {
    std::size_t i = bucket.tag & mask();
    while (index_[i].node != kNone) i = (i + 1) & mask();
    index_[i] = bucket;
  }

  void take_from_index(std::size_t hole) {
    for (std::size_t i = (hole + 1) & mask(); index_[i].node != kNone; i = (i + 1) & mask()) {
      const std::size_t home = index_[i].tag & mask();
      if (((i - home) & mask()) >= ((i - hole) & mask())) {
        index_[hole] = index_[i];
        hole = i;
      }
    }
    index_[hole] = {};
  }

  void add_chunk() {
    const auto first = static_cast<std::uint32_t>(chunks_.size() << kChunkBits);
    chunks_.push_back(std::make_unique<Chunk>());
    bytes_ += kChunkBytes;
    for (std::uint32_t i = kChunkNodes; i-- > 0;) {
      node(first + i).older = free_;
      free_ = first + i;
    }
  }

  void insert(std::uint32_t tag,
              const Slot& slot,
              const Cached& cached,
              std::size_t heap,
              Queue queue,
              std::uint8_t asks) {
    if (must_grow()) grow();
    if (free_ == kNone) add_chunk();
    const std::uint32_t at = free_;
    Node& fresh = node(at);
    free_ = fresh.older;
    fresh.slot = slot;
    fresh.cached = cached;
    fresh.heap = static_cast<std::uint32_t>(heap);
    fresh.asks = asks;
    put_in_index({tag, at});
    push(at, queue);
    bytes_ += heap;
    ++entries_;
  }

  void remove(std::uint32_t at) {
    const std::uint32_t tag = Shard::tag_of(SlotHash{}(node(at).slot));
    std::size_t bucket = tag & mask();
    while (index_[bucket].node != at) bucket = (bucket + 1) & mask();
    remove(at, bucket);
  }

  void remove(std::uint32_t at, std::size_t bucket) {
    Node& gone = node(at);
    take_from_index(bucket);
    unlink(at);
    bytes_ -= gone.heap;
    --entries_;
    gone.cached.answer.reset();
    gone.older = free_;
    free_ = at;
  }

  void push(std::uint32_t at, Queue queue) {
    Node& pushed = node(at);
    List& to = list(queue);
    pushed.queue = queue;
    pushed.newer = kNone;
    pushed.older = to.newest;
    (to.newest == kNone ? to.oldest : node(to.newest).newer) = at;
    to.newest = at;
    to.bytes += sizeof(Node) + pushed.heap;
  }

  void unlink(std::uint32_t at) {
    const Node& gone = node(at);
    List& from = list(gone.queue);
    (gone.newer == kNone ? from.newest : node(gone.newer).older) = gone.older;
    (gone.older == kNone ? from.oldest : node(gone.older).newer) = gone.newer;
    from.bytes -= sizeof(Node) + gone.heap;
  }

  /// Takes out exactly one entry. There is one. Having been asked for helps nobody whose life is
  /// over.
  void evict(Mono now) {
    while (main_.oldest == kNone ||
           (small_.oldest != kNone && small_.bytes > limit_ / kSmallShare)) {
      const std::uint32_t at = small_.oldest;
      if (node(at).asks < kAsksForMain) {
        remember_ghost(at);
        ++stats_.turned_away;
        remove(at);
        return;
      }
      unlink(at);
      push(at, Queue::main);
      ++stats_.admitted;
    }
    while (node(main_.oldest).asks > 0 && node(main_.oldest).cached.fresh_until > now) {
      const std::uint32_t at = main_.oldest;
      --node(at).asks;
      unlink(at);
      push(at, Queue::main);
    }
    ++stats_.evicted;
    remove(main_.oldest);
  }

  void remember_ghost(std::uint32_t at) {
    const std::uint32_t tag = Shard::tag_of(SlotHash{}(node(at).slot));
    ghosts_[tag & mask()] = {tag, ++ghost_clock_};
  }

  /// True once per departure, for as many departures as there are entries here.
  bool is_ghost(std::uint32_t tag) {
    if (ghosts_.empty()) return false;
    Ghost& ghost = ghosts_[tag & mask()];
    if (ghost.when == 0 || ghost.tag != tag || ghost_clock_ - ghost.when > entries_) return false;
    ghost = {};
    return true;
  }

  mutable std::mutex mutex_;
  std::vector<Bucket> index_;  // linear probing, at most 7/8 full
  std::vector<Ghost> ghosts_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t free_ = kNone;
  std::uint32_t ghost_clock_ = 0;
  List small_, main_;
  std::size_t limit_ = 0;
  std::size_t bytes_ = 0;
  std::size_t entries_ = 0;
  MemoryTierStats stats_;
};

class ShardedTier final : public MemoryTier {
 public:
  ShardedTier(std::size_t max_bytes, const Clock& clock, const Heard* heard)
      : clock_(clock),
        heard_(heard),
        shards_(
            std::bit_floor(std::clamp(max_bytes / kLeastShardBytes, std::size_t{1}, kMostShards))) {
    const std::size_t own = sizeof(ShardedTier) + shards_.size() * sizeof(Shard);
    for (Shard& shard : shards_)
      shard.set_limit(max_bytes > own ? (max_bytes - own) / shards_.size() : 0);
  }

  std::optional<Cached> find_one(const Slot& slot) override { return find_at(slot, clock_.now()); }
  std::optional<Cached> find_unconfirmed(const Slot& slot) override {
    const Mono now = clock_.now();
    if (heard_ != nullptr && !heard_->may_serve_stale(now)) return std::nullopt;
    const std::size_t hash = SlotHash{}(slot);
    return shard_of(hash).find(Shard::tag_of(hash), slot, now, nullptr);
  }

  void store_one(const Slot& slot, const Cached& cached) override {
    GEONCE_EXPECTS(cached.answer != nullptr);
    const std::size_t hash = SlotHash{}(slot);
    Cached kept = cached;
    if (heard_ != nullptr)
      kept.fresh_until = std::min(kept.fresh_until, heard_->kept_in_memory_until(kept.as_of));
    shard_of(hash).store(
        Shard::tag_of(hash), slot, kept, heap_bytes(*cached.answer), clock_.now(), heard_);
  }

  Result<std::vector<std::optional<Cached>>> find(std::span<const Slot> slots,
                                                  Deadline /*no waiting here*/) override {
    const Mono now = clock_.now();
    std::vector<std::optional<Cached>> found;
    found.reserve(slots.size());
    for (const Slot& slot : slots) found.push_back(find_at(slot, now));
    return found;
  }

  Result<void> store(std::span<const Remembered> entries, Deadline /*no waiting here*/) override {
    for (const Remembered& entry : entries) store_one(entry.slot, entry.cached);
    return {};
  }

  Result<void> forget(std::span<const Ended> windows, Deadline /*no waiting here*/) override {
    for (const Ended& ended : windows) {
      const std::size_t hash = SlotHash{}(ended.slot);
      shard_of(hash).forget(Shard::tag_of(hash), ended);
    }
    return {};
  }

  void clear() override {
    for (Shard& shard : shards_) shard.sweep(Mono::max());
  }

  std::size_t sweep() override {
    const Mono now = clock_.now();
    std::size_t count = 0;
    for (Shard& shard : shards_) count += shard.sweep(now);
    return count;
  }

  [[nodiscard]] MemoryTierStats stats() const override {
    MemoryTierStats sum;
    sum.bytes = sizeof(ShardedTier) + shards_.size() * sizeof(Shard);
    for (const Shard& shard : shards_) shard.add_to(sum);
    return sum;
  }

 private:
  Shard& shard_of(std::size_t hash) {
    // Other bits than the tag's, which place an entry inside the shard.
    return shards_[(hash >> 40U) & (shards_.size() - 1)];
  }
  std::optional<Cached> find_at(const Slot& slot, Mono now) {
    if (heard_ != nullptr && !heard_->is_connected(now)) return std::nullopt;
    const std::size_t hash = SlotHash{}(slot);
    auto found = shard_of(hash).find(Shard::tag_of(hash), slot, now, heard_);
    if (found && heard_ != nullptr)
      found->fresh_until = std::min(found->fresh_until, heard_->good_in_memory_until(found->as_of));
    return found;
  }

  const Clock& clock_;
  const Heard* const heard_;
  std::vector<Shard> shards_;
};

}  // namespace

std::unique_ptr<MemoryTier> open_memory_tier(std::size_t max_bytes,
                                             const Clock& clock,
                                             const Heard* heard) {
  return std::make_unique<ShardedTier>(max_bytes, clock, heard);
}

}  // namespace geonce
