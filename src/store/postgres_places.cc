#include "store/postgres_places.h"

#include <algorithm>
#include <cmath>

#include "store/postgres_rows.h"

namespace geonce {
namespace {

using enum PgType;

/// Half of a key is enough to tell addresses apart and makes the largest index a third smaller.
PgBytes digest(const Key& key) { return {bytes_of(key).bytes.substr(0, 16)}; }

/// Coordinates rounded to 1e-6 degrees (a hand's breadth) as one integer.
std::int64_t rounded(const LatLng& at) {
  const auto lat = std::llround((at.lat_deg + 90) * 1e6);
  const auto lng = std::llround((at.lng_deg + 180) * 1e6);
  return lat * 360'000'001 + lng;
}

PlaceHit hit_from(const PgRows& rows, int row) {
  PlaceHit hit;
  hit.candidates = static_cast<std::size_t>(rows.integer(row, 1));
  auto& place = hit.place;
  place.id = rows.bytes(row, 2);
  place.at = {rows.real(row, 3), rows.real(row, 4)};
  place.house_number = rows.bytes(row, 5);
  place.street = rows.bytes(row, 6);
  place.unit = rows.bytes(row, 7);
  place.city = rows.bytes(row, 8);
  place.district = rows.bytes(row, 9);
  place.region = rows.bytes(row, 10);
  place.postcode = rows.bytes(row, 11);
  if (const auto code = rows.bytes(row, 12); code.size() == 2)
    place.country = Country(code[0], code[1]);
  return hit;
}

}  // namespace

Result<void> load_places(PostgresWorkers& workers,
                         std::string_view source,
                         bool replace_source,
                         std::span<const PlaceRow> rows,
                         Deadline deadline) {
  PgLists places{text, real8, real8, bigint, text, text, text, text, text, text, text, text};
  PgLists keys{bigint, bytea};
  std::int64_t number = 0;
  for (const auto& row : rows) {
    places.row(row.id,
               row.at.lat_deg,
               row.at.lng_deg,
               rounded(row.at),
               row.house_number,
               row.street,
               row.unit,
               row.city,
               row.district,
               row.region,
               row.postcode,
               row.country.code());
    ++number;
    for (const auto& key : row.keys) keys.row(number, digest(key));
  }
  std::vector<PgParam> params{PgParam::text(source), PgParam::boolean(replace_source)};
  for (const auto* lists : {&places, &keys})
    for (auto& param : lists->params()) params.push_back(std::move(param));
  // Once: a second run would add every point again.
  auto done = workers.query(
      "SELECT geonce.load_places($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
      "$16)",
      params,
      deadline,
      PgRepeat::never);
  if (!done) return fail(done.error());
  return {};
}

Result<std::vector<std::optional<PlaceHit>>> find_places(PostgresWorkers& workers,
                                                         std::span<const std::vector<Key>> keys,
                                                         Deadline deadline) {
  PgLists lists{bigint, bytea};
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const auto& key : keys[i]) lists.row(i, digest(key));
  const auto rows =
      workers.query("SELECT * FROM geonce.find_places($1, $2)", lists.params(), deadline);
  if (!rows) return fail(rows.error());
  std::vector<std::optional<PlaceHit>> hits(keys.size());
  for (int row = 0; row < rows->size(); ++row)
    hits.at(static_cast<std::size_t>(rows->integer(row, 0))) = hit_from(*rows, row);
  return hits;
}

Result<PlacesStats> places_stats(PostgresWorkers& workers, Deadline deadline) {
  const auto rows = workers.query(
      "SELECT name, points, keys, loaded_at FROM geonce.place_source ORDER BY name "
      "COLLATE \"C\"",
      {},
      deadline);
  if (!rows) return fail(rows.error());
  PlacesStats stats;
  for (int row = 0; row < rows->size(); ++row) {
    stats.by_source.emplace_back(rows->bytes(row, 0), rows->integer(row, 1));
    stats.points += rows->integer(row, 1);
    stats.keys += rows->integer(row, 2);
    stats.loaded_at = std::max(stats.loaded_at, rows->integer(row, 3));
  }
  return stats;
}

}  // namespace geonce
