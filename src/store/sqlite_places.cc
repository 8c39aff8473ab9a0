#include "store/sqlite_places.h"

#include <cmath>
#include <numeric>

#include "store/sqlite_rows.h"

namespace geonce {
namespace {

/// Half of a key is enough to tell addresses apart and makes the largest index a third smaller.
SqliteBlob digest(const Key& key) { return {blob(key).bytes.substr(0, 16)}; }

/// Coordinates rounded to 1e-6 degrees (a hand's breadth) as one integer.
std::int64_t rounded(const LatLng& at) {
  const auto lat = std::llround((at.lat_deg + 90) * 1e6);
  const auto lng = std::llround((at.lng_deg + 180) * 1e6);
  return lat * 360'000'001 + lng;
}

std::int64_t source_number(SqliteWork& work, std::string_view source) {
  {
    auto row = work.db.prepare("SELECT id FROM place_source WHERE name = ?");
    if (row.bind(source).step()) return row.integer(0);
  }
  work.db.prepare("INSERT INTO place_source (name, points, keys, loaded_at) VALUES (?, 0, 0, ?)")
      .bind(source, work.now)
      .run();
  return work.db.last_insert_rowid();
}

void drop_source(SqliteWork& work, std::int64_t number) {
  // One pass over all keys: an index from places to keys would cost every load more than this does.
  work.db.prepare("DELETE FROM place_key WHERE place IN (SELECT id FROM place WHERE source = ?)")
      .bind(number)
      .run();
  work.db.prepare("DELETE FROM place WHERE source = ?").bind(number).run();
  work.db.prepare("UPDATE place_source SET points = 0, keys = 0 WHERE id = ?").bind(number).run();
}

std::optional<PlaceRow> read_place(SqliteWork& work, std::int64_t id) {
  auto row = work.db.prepare(
      "SELECT source_id, lat_deg, lng_deg, house_number, street, unit, city, district, region, "
      "postcode, "
      "country FROM place WHERE id = ?");
  if (!row.bind(id).step()) return std::nullopt;
  PlaceRow place;
  place.id = row.bytes(0);
  place.at = {row.real(1), row.real(2)};
  place.house_number = row.bytes(3);
  place.street = row.bytes(4);
  place.unit = row.bytes(5);
  place.city = row.bytes(6);
  place.district = row.bytes(7);
  place.region = row.bytes(8);
  place.postcode = row.bytes(9);
  if (const auto code = row.bytes(10); code.size() == 2) place.country = Country(code[0], code[1]);
  return place;
}

std::optional<PlaceHit> find_place(SqliteWork& work, std::span<const Key> keys) {
  for (const auto& key : keys) {
    std::int64_t place = 0;
    PlaceHit hit;
    {
      auto row =
          work.db.prepare("SELECT count(DISTINCT at), min(place) FROM place_key WHERE digest = ?");
      if (!row.bind(digest(key)).step() || row.integer(0) == 0) continue;
      hit.candidates = static_cast<std::size_t>(row.integer(0));
      place = row.integer(1);
    }
    auto found = read_place(work, place);
    if (!found) return std::nullopt;
    hit.place = std::move(*found);
    return hit;
  }
  return std::nullopt;
}

}  // namespace

void load_places(SqliteWork& work,
                 std::string_view source,
                 bool replace_source,
                 std::span<const PlaceRow> rows) {
  const auto number = source_number(work, source);
  if (replace_source) drop_source(work, number);
  std::int64_t keys = 0;
  for (const auto& place : rows) {
    work.db
        .prepare(
            "INSERT INTO place (source, source_id, lat_deg, lng_deg, house_number, street, unit, "
            "city, "
            "district, region, postcode, country) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(number,
              place.id,
              place.at.lat_deg,
              place.at.lng_deg,
              place.house_number,
              place.street,
              place.unit,
              place.city,
              place.district,
              place.region,
              place.postcode,
              place.country.code())
        .run();
    const auto id = work.db.last_insert_rowid();
    for (const auto& key : place.keys) {
      work.db.prepare("INSERT OR IGNORE INTO place_key VALUES (?, ?, ?)")
          .bind(digest(key), rounded(place.at), id)
          .run();
      keys += work.db.changes();
    }
    if (work.db.has_failed()) return;
  }
  work.db
      .prepare(
          "UPDATE place_source SET points = points + ?, keys = keys + ?, loaded_at = ? WHERE id = "
          "?")
      .bind(rows.size(), keys, work.now, number)
      .run();
}

std::vector<std::optional<PlaceHit>> find_places(SqliteWork& work,
                                                 std::span<const std::vector<Key>> keys) {
  std::vector<std::optional<PlaceHit>> hits(keys.size());
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  for (const auto index : order) hits[index] = find_place(work, keys[index]);
  return hits;
}

PlacesStats places_stats(SqliteWork& work) {
  PlacesStats stats;
  auto row =
      work.db.prepare("SELECT name, points, keys, loaded_at FROM place_source ORDER BY name");
  while (row.step()) {
    stats.by_source.emplace_back(row.bytes(0), row.integer(1));
    stats.points += row.integer(1);
    stats.keys += row.integer(2);
    stats.loaded_at = std::max(stats.loaded_at, row.integer(3));
  }
  return stats;
}

}  // namespace geonce
