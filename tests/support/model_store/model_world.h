#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/store.h"
#include "support/model_store/model_store.h"

namespace geonce {

/// What the model remembers, and the rules of buying over it. `now` is one instant for a whole
/// transaction.
class ModelWorld {
 public:
  std::mutex mutex;
  ModelDefect defect = ModelDefect::none;

  // model_purchase.cc
  std::optional<Found> find(const Slot& slot, UtcMs now) const;
  /// nullopt: the intent was used before.
  std::optional<Taken> take(const TakeRequest& request, UtcMs now);
  Advanced advance(const AdvanceRequest& request, UtcMs now);
  Committed commit(const CommitRequest& request, UtcMs now);
  Released release(const ReleaseRequest& request, UtcMs now);

  // model_upkeep.cc
  bool invalidate(const Slot& slot, UtcMs now);
  Forgotten forget(const ForgetRequest& request, UtcMs now);
  Rekeyed rekey(const Rekey& rekey, UtcMs now);
  void pin(const Slot& slot,
           const Answer& answer,
           std::string_view query_json,
           std::string_view pre_image,
           const std::optional<Key>& building_key,
           UtcMs now);
  Imported import_entry(const EntryRow& entry, UtcMs now);
  bool reconcile(const Reconciliation& found, UtcMs now);
  std::vector<OpenIntent> open_intents(const OwnerId& owner, std::span<const IntentId> also) const;
  std::optional<EntryRow> entry(const Slot& slot, UtcMs now) const;
  std::vector<EntryRow> entries(const EntryFilter& filter, UtcMs now) const;
  std::vector<LedgerRow> ledger(const LedgerFilter& filter) const;
  std::vector<LedgerSum> ledger_sums(const LedgerFilter& filter) const;
  SweepReport sweep(std::size_t limit, UtcMs now);
  milliseconds lease(std::string_view name, const OwnerId& owner, milliseconds life, UtcMs now);
  StoreStats stats() const;

  // model_ended.cc
  EndedSince ended_since(std::string_view cursor, std::size_t limit) const;
  std::vector<EndedWindow> untold(std::size_t limit) const;
  void told(std::span<const std::int64_t> numbers);

  // model_files.cc
  void load_places(std::string_view source,
                   bool replace_source,
                   std::span<const PlaceRow> rows,
                   UtcMs now);
  std::optional<PlaceHit> find_place(std::span<const Key> keys) const;
  PlacesStats places_stats() const;
  BatchHead open_batch(std::string_view identity,
                       std::string_view label,
                       BatchStart start,
                       const BatchId& new_id,
                       UtcMs now);
  std::optional<std::string> batch_chunk(const BatchId& id, std::int64_t number, UtcMs now) const;
  bool save_chunks(const BatchId& id, std::span<const BatchChunk> chunks, UtcMs now);
  bool close_batch(const BatchHead& head, UtcMs now);
  std::vector<BatchHead> batches(std::size_t limit) const;
  void sweep_batches(std::size_t limit, UtcMs now, SweepReport& report);

 private:
  enum class Phase : std::uint8_t { in_flight, cooling, blocked };
  struct Entry {
    std::int64_t gen = 0;
    std::shared_ptr<const Answer> answer;  // null: a tombstone
    UtcMs answered_at = 0, fresh_until = 0, stale_until = 0, erase_after = 0;
    int no_match_streak = 0;
    bool pinned = false;
    std::optional<IntentId> intent;
    std::string query_json, pre_image;
    std::optional<Key> building_key;
  };
  struct Claim {
    std::int64_t gen = 0;
    int attempt = 1;
    IntentId intent;
    OwnerId owner;
    std::int64_t fence = 0;
    Phase phase = Phase::in_flight;
    UtcMs deadline = 0;
    std::string provider;
    std::set<std::string> asked;
    bool ignores_no_match = false;
    std::string query_json, pre_image;
  };
  /// Where in the ledger the events of an intent stand.
  struct Fate {
    static constexpr std::uint32_t kNowhere = UINT32_MAX;
    Fate() { rows.fill(kNowhere); }
    std::array<std::uint32_t, 7> rows;
    OwnerId owner;  // of `prepared`
  };
  struct UuidHash {
    std::size_t operator()(const Uuid& uuid) const {
      std::uint64_t head = 0, tail = 0;
      std::memcpy(&head, uuid.bytes.data(), sizeof head);
      std::memcpy(&tail, uuid.bytes.data() + 8, sizeof tail);
      return (head ^ (tail * 0x9E3779B97F4A7C15U)) * 0xBF58476D1CE4E5B9U;
    }
  };
  struct Place {
    std::int64_t source = 0;
    std::int64_t rounded = 0;
    PlaceRow row;
  };
  struct Batch {
    BatchHead head;
    struct Chunk {
      UtcMs erase_after = 0;
      std::string bytes;
    };
    std::map<std::int64_t, Chunk> chunks;
  };
  struct Source {
    std::string name;
    std::int64_t points = 0, keys = 0;
    UtcMs loaded_at = 0;
  };
  using Digest = std::array<std::uint8_t, 16>;

  template <class Map>
  static auto* look_up(Map& map, const Slot& slot) {
    const auto at = map.find(slot);
    return at == map.end() ? nullptr : &at->second;
  }
  std::optional<Found> look(const Entry& entry, UtcMs now) const;
  [[nodiscard]] const LedgerRow* event_of(const IntentId& intent, LedgerEvent event) const;
  [[nodiscard]] bool has(const IntentId& intent, LedgerEvent event) const {
    return event_of(intent, event) != nullptr;
  }
  [[nodiscard]] bool is_settled(const IntentId& intent) const;
  bool note(LedgerRow row, const OwnerId& owner, UtcMs now);
  bool note_outcome(LedgerEvent event,
                    const Slot& slot,
                    std::int64_t gen,
                    const CallRecord& call,
                    bool is_late,
                    bool is_redundant,
                    UtcMs now);
  void prepare(const Slot& slot, Claim& claim, Cause cause, bool bulk, Money price, UtcMs now);
  struct Next {
    std::optional<std::size_t> step;
    StepMask answered = 0;
  };
  [[nodiscard]] Next next_step(const Slot& slot,
                               const std::vector<std::string>& chain,
                               std::size_t from,
                               const Claim& claim,
                               UtcMs now) const;
  [[nodiscard]] bool is_ours(const Claim* claim, std::int64_t fence) const;
  void end_claim(const Slot& slot, Claim& claim, UtcMs now);
  [[nodiscard]] std::int64_t gen_beyond(const Slot& slot) const;
  void put(const Slot& slot, Entry entry, UtcMs now);
  void note_erased(const Slot& slot, const Entry& entry, UtcMs now);

  std::map<Slot, Entry> entries_;
  std::map<Slot, Claim> claims_;
  std::map<Slot, std::map<std::string, UtcMs>> no_matches_;
  std::vector<LedgerRow> ledger_;  // in the order of writing
  std::unordered_map<IntentId, Fate, UuidHash> fates_;

  std::map<std::string, UtcMs> forgotten_;  // the bytes of a key
  std::vector<EndedWindow> ended_;          // the n-th has the number n
  std::set<std::int64_t> untold_;

  std::map<std::int64_t, Source> sources_;
  std::map<std::int64_t, Place> places_;
  std::map<Digest, std::set<std::pair<std::int64_t, std::int64_t>>> place_keys_;  // (at, place)
  std::int64_t last_place_ = 0;
  std::map<std::int64_t, Batch> batches_;
  std::int64_t last_batch_ = 0;
  std::map<std::string, std::pair<OwnerId, UtcMs>> leases_;
};

namespace model {

/// Far enough to be never, near enough that sums with it do not overflow: 9999-12-31.
inline constexpr UtcMs kNever = 253'402'300'799'000;
inline constexpr milliseconds kLongest{std::chrono::hours{24} * 36'525};
/// An invalidated key remembers its gen so long, and a call may be so old and still fill a window.
inline constexpr milliseconds kTombstoneLife{std::chrono::hours{24} * 30};

inline UtcMs after(UtcMs now, milliseconds span) {
  return now + std::clamp(span, milliseconds{0}, kLongest).count();
}
inline milliseconds left(UtcMs until, UtcMs now) {
  return std::min(milliseconds{until - now}, kLongest);
}

}  // namespace model
}  // namespace geonce
