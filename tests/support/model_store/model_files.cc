#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/model_store/model_world.h"

// Places and batches: what files bring and take.

namespace geonce {

using model::after;

namespace {

std::array<std::uint8_t, 16> digest_of(const Key& key) {
  std::array<std::uint8_t, 16> digest;
  std::memcpy(digest.data(), key.bytes.data(), digest.size());
  return digest;
}

/// To 1e-6 degrees, as one number.
std::int64_t rounded(const LatLng& at) {
  return std::llround((at.lat_deg + 90) * 1e6) * 360'000'001 +
         std::llround((at.lng_deg + 180) * 1e6);
}

}  // namespace

void ModelWorld::load_places(std::string_view source,
                             bool replace_source,
                             std::span<const PlaceRow> rows,
                             UtcMs now) {
  auto at = std::find_if(
      sources_.begin(), sources_.end(), [&](const auto& one) { return one.second.name == source; });
  if (at == sources_.end())
    at = sources_
             .emplace(static_cast<std::int64_t>(sources_.size()) + 1, Source{std::string(source)})
             .first;
  auto& [number, of_source] = *at;
  if (replace_source) {
    std::erase_if(places_, [&](const auto& place) { return place.second.source == number; });
    for (auto& [digest, points] : place_keys_)
      std::erase_if(points, [&](const auto& point) { return !places_.contains(point.second); });
    of_source.points = of_source.keys = 0;
  }
  for (const PlaceRow& row : rows) {
    places_[++last_place_] = {number, rounded(row.at), row};
    for (const Key& key : row.keys)
      of_source.keys +=
          place_keys_[digest_of(key)].emplace(rounded(row.at), last_place_).second ? 1 : 0;
  }
  of_source.points += static_cast<std::int64_t>(rows.size());
  of_source.loaded_at = now;
}

std::optional<PlaceHit> ModelWorld::find_place(std::span<const Key> keys) const {
  for (const Key& key : keys) {
    const auto points = place_keys_.find(digest_of(key));
    if (points == place_keys_.end() || points->second.empty()) continue;
    std::set<std::int64_t> different;
    std::int64_t first = INT64_MAX;
    for (const auto& [at, place] : points->second) {
      different.insert(at);
      first = std::min(first, place);
    }
    PlaceHit hit{places_.at(first).row, different.size()};
    hit.place.keys.clear();
    return hit;
  }
  return std::nullopt;
}

PlacesStats ModelWorld::places_stats() const {
  PlacesStats stats;
  for (const auto& [number, source] : sources_) {
    stats.by_source.emplace_back(source.name, source.points);
    stats.points += source.points;
    stats.keys += source.keys;
    stats.loaded_at = std::max(stats.loaded_at, source.loaded_at);
  }
  std::sort(stats.by_source.begin(), stats.by_source.end());
  return stats;
}

BatchHead ModelWorld::open_batch(std::string_view identity,
                                 std::string_view label,
                                 BatchStart start,
                                 const BatchId& new_id,
                                 UtcMs now) {
  const auto latest = std::find_if(batches_.rbegin(), batches_.rend(), [&](const auto& batch) {
    return batch.second.head.identity == identity;
  });
  if (start != BatchStart::restart && latest != batches_.rend()) {
    const BatchHead& head = latest->second.head;
    const bool is_unfinished_refresh =
        head.refresh_before > 0 && head.state != "complete" && head.state != "complete_with_errors";
    if (start == BatchStart::resume || is_unfinished_refresh) return head;
  }
  BatchHead head;
  head.id = new_id;
  head.identity = identity;
  head.label = label;
  head.state = "running";
  head.created_at = head.updated_at = now;
  head.refresh_before = start == BatchStart::refresh ? now : 0;
  batches_[++last_batch_] = {head, {}};
  head.is_new = true;
  return head;
}

std::optional<std::string> ModelWorld::batch_chunk(const BatchId& id,
                                                   std::int64_t number,
                                                   UtcMs now) const {
  for (const auto& [order, batch] : batches_) {
    const auto chunk = batch.chunks.find(number);
    if (batch.head.id == id && chunk != batch.chunks.end() && chunk->second.erase_after > now)
      return chunk->second.bytes;
  }
  return std::nullopt;
}

bool ModelWorld::save_chunks(const BatchId& id, std::span<const BatchChunk> chunks, UtcMs now) {
  for (auto& [order, batch] : batches_) {
    if (batch.head.id != id) continue;
    for (const BatchChunk& chunk : chunks) {
      const bool is_forgotten =
          std::any_of(forgotten_.begin(), forgotten_.end(), [&](const auto& one) {
            return one.second >= batch.head.created_at &&
                   chunk.bytes.find(one.first) != std::string::npos;
          });
      if (chunk.erase.count() > 0 && is_forgotten) continue;
      if (chunk.erase.count() > 0)
        batch.chunks[chunk.number] = {after(now, chunk.erase), chunk.bytes};
      else
        batch.chunks.erase(chunk.number);
    }
    batch.head.updated_at = now;
    return true;
  }
  return false;
}

bool ModelWorld::close_batch(const BatchHead& head, UtcMs now) {
  for (auto& [order, batch] : batches_) {
    if (batch.head.id != head.id) continue;
    batch.head.label = head.label;
    batch.head.state = head.state;
    batch.head.rows = head.rows;
    batch.head.summary_json = head.summary_json;
    batch.head.updated_at = now;
    return true;
  }
  return false;
}

std::vector<BatchHead> ModelWorld::batches(std::size_t limit) const {
  std::vector<BatchHead> heads;
  for (auto batch = batches_.rbegin(); batch != batches_.rend() && heads.size() < limit; ++batch)
    heads.push_back(batch->second.head);
  return heads;
}

void ModelWorld::sweep_batches(std::size_t limit, UtcMs now, SweepReport& report) {
  constexpr UtcMs kHeadLife = 30LL * 24 * 3'600'000;
  const auto most = static_cast<std::int64_t>(limit);
  const auto most_chunks = std::max<std::int64_t>(1, most / 20);
  for (auto& [order, batch] : batches_)
    for (auto chunk = batch.chunks.begin();
         chunk != batch.chunks.end() && report.chunks < most_chunks;) {
      const bool is_over = chunk->second.erase_after <= now;
      report.chunks += is_over ? 1 : 0;
      chunk = is_over ? batch.chunks.erase(chunk) : std::next(chunk);
    }
  for (auto batch = batches_.begin(); batch != batches_.end() && report.batches < most;) {
    const bool is_over =
        batch->second.chunks.empty() && batch->second.head.updated_at <= now - kHeadLife;
    report.batches += is_over ? 1 : 0;
    batch = is_over ? batches_.erase(batch) : std::next(batch);
  }
}

}  // namespace geonce
