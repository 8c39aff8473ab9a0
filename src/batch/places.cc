#include "batch/places.h"

#include <array>
#include <charconv>
#include <optional>

#include "batch/columns.h"
#include "core/normalize.h"
#include "core/place_keys.h"

namespace geonce {
namespace {

constexpr std::size_t kTransaction = 1'000;
constexpr std::size_t kShown = 10;  // refusals that are told one by one

enum Part : std::size_t {
  lon,
  lat,
  number,
  street,
  unit,
  city,
  district,
  region,
  postcode,
  id,
  country,
  kParts
};
constexpr std::array<std::string_view, kParts> kNames{"lon",
                                                      "lat",
                                                      "number",
                                                      "street",
                                                      "unit",
                                                      "city",
                                                      "district",
                                                      "region",
                                                      "postcode",
                                                      "id",
                                                      "country"};

using Columns = std::array<std::optional<std::size_t>, kParts>;

Result<Columns> columns_of(const std::string& map, std::span<const std::string> columns) {
  Columns found;
  std::string_view rest = map;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const auto equals = item.find('=');
    const auto* const part = std::find(kNames.begin(), kNames.end(), item.substr(0, equals));
    if (equals == std::string_view::npos || part == kNames.end())
      return fail(ErrorCode::usage,
                  "--map: \"{}\" is not PART=COLUMN with one of the parts {}",
                  item,
                  fmt::join(kNames, ", "));
    auto column = find_column(item.substr(equals + 1), columns);
    if (!column) return fail(column.error());
    found.at(static_cast<std::size_t>(part - kNames.begin())) = *column;
  }
  for (std::size_t part = 0; part < kParts; ++part)
    if (!found.at(part))
      if (auto column = find_column(kNames.at(part), columns)) found.at(part) = *column;
  for (const Part needed : {lon, lat, street})
    if (!found.at(needed))
      return fail(ErrorCode::usage,
                  "no column for {}: say --map {}=COLUMN; the columns are: {}",
                  kNames.at(needed),
                  kNames.at(needed),
                  fmt::join(columns, ", "));
  return found;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

std::optional<double> degrees(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The point of a row, or why it is none.
Result<PlaceRow> point_of(const Chunk& chunk,
                          const Record& record,
                          const Columns& columns,
                          const PlacesOptions& options,
                          Normalizer& normalizer) {
  const auto part = [&](Part which) {
    return columns.at(which) ? chunk.field(record, *columns.at(which)) : std::string_view{};
  };
  const auto part_or = [&](Part which, std::string_view of_file) {
    const std::string_view text = part(which);
    return is_blank(text) ? of_file : text;
  };
  const auto lat_deg = degrees(part(lat));
  const auto lng_deg = degrees(part(lon));
  if (!lat_deg || !lng_deg || !is_valid({*lat_deg, *lng_deg}))
    return fail(ErrorCode::bad_csv,
                "LON and LAT are not degrees (a decimal point, within ±180 and ±90)");
  PlaceRow row;
  row.at = {*lat_deg, *lng_deg};
  row.id = part(id);
  row.house_number = part(number);
  row.street = part(street);
  row.unit = part(unit);
  row.city = part_or(city, options.city);
  row.district = part(district);
  row.region = part_or(region, options.region);
  row.postcode = part_or(postcode, options.postcode);

  QueryView query;
  query.house_number = row.house_number;
  query.road = row.street;
  query.unit = row.unit;
  query.city = row.city;
  query.state = row.region;
  query.postcode = row.postcode;
  query.country = options.country;
  query.country_text = part(country);
  auto canonical = normalizer.normalize(query);
  if (!canonical) return fail(canonical.error());
  row.country = canonical->country;
  row.keys = place_keys(*canonical);
  return row;
}

}  // namespace

Result<PlacesReport> load_places(Store& store,
                                 const PlacesOptions& options,
                                 const std::function<void(const PlacesReport&)>& notice) {
  auto input = RowInput::open(options.input);
  if (!input) return fail(input.error());
  const auto columns = columns_of(options.map, input->shape().columns);
  if (!columns) return fail(columns.error());

  PlacesReport report;
  bool replace = !options.add;
  std::vector<PlaceRow> rows;
  const auto flush = [&]() -> Result<void> {
    auto loaded = store.load_places(
        options.source, replace, rows, Deadline::in(std::chrono::minutes{5}, system_clock()));
    if (!loaded) return loaded;
    report.loaded += static_cast<std::int64_t>(rows.size());
    replace = false;
    rows.clear();
    notice(report);
    return {};
  };

  Normalizer normalizer;
  Chunk chunk;
  for (;;) {
    auto more = input->next(chunk);
    if (!more) return fail(more.error());
    if (!*more) break;
    input->parse(chunk);
    for (const Record& record : chunk.records) {
      if (record.problem == RowProblem::blank) continue;
      ++report.rows;
      auto point =
          record.problem == RowProblem::none
              ? point_of(chunk, record, *columns, options, normalizer)
              : Result<PlaceRow>(
                    fail(ErrorCode::bad_csv, "{}", explain(record, input->shape().columns.size())));
      if (!point) {
        if (++report.refused <= static_cast<std::int64_t>(kShown))
          report.refusals.push_back({chunk.row_number(record), point.error().message});
        continue;
      }
      rows.push_back(std::move(*point));
      if (rows.size() == kTransaction)
        if (auto flushed = flush(); !flushed) return fail(flushed.error());
    }
    chunk.clear();
  }
  if (!rows.empty() || replace)
    if (auto flushed = flush(); !flushed) return fail(flushed.error());
  return report;
}

}  // namespace geonce
