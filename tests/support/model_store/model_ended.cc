#include <string>

#include "support/model_store/model_world.h"

// Windows that ended before their time.

namespace geonce {

/// Replaces what is there; tiers may still hold it.
void ModelWorld::put(const Slot& slot, Entry entry, UtcMs now) {
  const Entry* old = look_up(entries_, slot);
  const Claim* claim = look_up(claims_, slot);
  const bool may_be_held = old != nullptr && old->answer && old->gen != entry.gen &&
                           (entry.answer ? old->fresh_until : old->erase_after) > now;
  const bool is_by_hand = !entry.answer || entry.pinned;
  if (may_be_held || (is_by_hand && claim != nullptr && claim->phase == Phase::in_flight)) {
    const auto number = static_cast<std::int64_t>(ended_.size()) + 1;
    ended_.push_back({number, slot, entry.answer ? entry.gen - 1 : entry.gen});
    untold_.insert(number);
  }
  entries_[slot] = std::move(entry);
}

void ModelWorld::note_erased(const Slot& slot, const Entry& entry, UtcMs now) {
  if (!entry.answer || entry.fresh_until <= now) return;
  const auto number = static_cast<std::int64_t>(ended_.size()) + 1;
  ended_.push_back({number, slot, entry.gen});
  untold_.insert(number);
}

Forgotten ModelWorld::forget(const ForgetRequest& request, UtcMs now) {
  Forgotten forgotten;
  const auto negatives = no_matches_.find(request.slot);
  if (negatives != no_matches_.end())
    forgotten.negatives = static_cast<std::int64_t>(negatives->second.size());
  forgotten.entries = invalidate(request.slot, now) ? 1 : 0;
  if (Claim* claim = look_up(claims_, request.slot)) {
    const bool is_in_flight = claim->phase == Phase::in_flight;
    forgotten.claims = is_in_flight && claim->query_json.empty() ? 0 : 1;
    if (!is_in_flight) {
      claims_.erase(request.slot);
    } else {
      claim->query_json.clear();
      claim->pre_image.clear();
    }
  }
  std::vector<Key> keys = request.former;
  keys.push_back(request.slot.key);
  for (const Key& key : keys) {
    const std::string bytes(key.bytes.begin(), key.bytes.end());
    forgotten_[bytes] = now;
    for (auto& [number, batch] : batches_)
      forgotten.chunks +=
          static_cast<std::int64_t>(std::erase_if(batch.chunks, [&](const auto& chunk) {
            return chunk.second.bytes.find(bytes) != std::string::npos;
          }));
  }
  return forgotten;
}

EndedSince ModelWorld::ended_since(std::string_view cursor, std::size_t limit) const {
  EndedSince since;
  since.cursor = std::to_string(ended_.size());
  since.has_untold = !untold_.empty();
  if (cursor.empty()) return since;
  const auto seen = std::stoul(std::string(cursor));
  since.has_gap = ended_.size() - seen > limit;
  if (!since.has_gap)
    since.windows.assign(ended_.begin() + static_cast<std::ptrdiff_t>(seen), ended_.end());
  return since;
}

std::vector<EndedWindow> ModelWorld::untold(std::size_t limit) const {
  std::vector<EndedWindow> windows;
  for (const std::int64_t number : untold_)
    if (windows.size() < limit) windows.push_back(ended_[static_cast<std::size_t>(number - 1)]);
  return windows;
}

void ModelWorld::told(std::span<const std::int64_t> numbers) {
  for (const std::int64_t number : numbers) untold_.erase(number);
}

}  // namespace geonce
