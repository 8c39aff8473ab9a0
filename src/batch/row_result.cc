#include "batch/row_result.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace geonce {
namespace {

constexpr std::array<std::string_view, 7> kStatuses{
    "match", "no_match", "ambiguous", "low_quality", "empty", "bad_row", "error"};

enum class Column : std::uint8_t {
  status,
  lat,
  lng,
  precision,
  confidence,
  formatted,
  country,
  provider,
  cache,
  key,
  error,
  house_number,
  street,
  unit,
  city,
  state,
  postcode,
  place_id,
  partial,
  key_version,
  fetched_at,
  expires_at,
  cost,
  attempts,
  building_key,
};
constexpr std::array<std::string_view, 25> kColumns{
    "status",     "lat",   "lng",      "precision",   "confidence",   "formatted",   "country",
    "provider",   "cache", "key",      "error",       "house_number", "street",      "unit",
    "city",       "state", "postcode", "place_id",    "partial",      "key_version", "fetched_at",
    "expires_at", "cost",  "attempts", "building_key"};
constexpr std::size_t kShort = 11;
static_assert(kColumns[kShort - 1] == "error");
static_assert(kColumns[static_cast<std::size_t>(Column::building_key)] == "building_key");

// std::to_chars: no locale has a say (a comma there would break both CSV and URLs).
void append_fixed(double value, int decimals, bool trims_zeros, std::string& out) {
  if (!std::isfinite(value)) return;
  std::array<char, 400> digits{};
  const auto [end, error] = std::to_chars(
      digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, decimals);
  if (error != std::errc{}) return;
  std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string_view::npos)
    text.remove_prefix(1);
  if (trims_zeros && text.find('.') != std::string_view::npos) {
    text.remove_suffix(text.size() - 1 - text.find_last_not_of('0'));
    if (text.ends_with('.')) text.remove_suffix(1);
  }
  out += text;
}

// Text of a provider stays in its cell and on its line: NUL goes, other controls become blanks.
void append_text(std::string_view text, std::string& out) {
  for (const char c : text)
    if (c != '\0') out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
}

void append_key(const std::optional<Key>& key, std::string_view prefix, std::string& out) {
  if (!key) return;
  out += prefix;
  out += to_hex(*key);
}

// RFC 3339, whole seconds.
void append_time(UtcMs at, std::string& out) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds{at}};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<seconds>(time - day)};
  out += fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     clock.hours().count(),
                     clock.minutes().count(),
                     clock.seconds().count());
}

}  // namespace

std::string_view to_string(RowStatus status) {
  return kStatuses.at(static_cast<std::size_t>(status));
}

std::optional<RowStatus> parse_row_status(std::string_view word) {
  for (std::size_t i = 0; i < kStatuses.size(); ++i)
    if (kStatuses[i] == word) return static_cast<RowStatus>(i);
  return std::nullopt;
}

RowResult row_result(const Answer& answer) {
  RowResult result;
  switch (answer.kind) {
    case AnswerKind::match:
      result.status = RowStatus::match;
      break;
    case AnswerKind::no_match:
      result.status = RowStatus::no_match;
      break;
    case AnswerKind::ambiguous:
      result.status = RowStatus::ambiguous;
      break;
    case AnswerKind::rejected:
      result.status = RowStatus::low_quality;
      break;
  }
  const bool has_place = answer.kind == AnswerKind::match || answer.kind == AnswerKind::rejected;
  if (has_place) {
    result.at = answer.at;
    result.precision = answer.precision;
    result.partial = answer.partial;
  }
  result.confidence = answer.confidence;
  result.formatted = answer.formatted;
  result.country = answer.country;
  result.provider = answer.provider;
  result.error = answer.reason;
  result.house_number = answer.house_number;
  result.street = answer.street;
  result.unit = answer.unit;
  result.city = answer.city;
  result.state = answer.state;
  result.postcode = answer.postcode;
  result.place_id = answer.place_id;
  return result;
}

std::span<const std::string_view> result_columns(ColumnSet set) {
  return std::span(kColumns).first(set == ColumnSet::full ? kColumns.size() : kShort);
}

bool is_json_literal(std::size_t column) {
  switch (static_cast<Column>(column)) {
    case Column::lat:
    case Column::lng:
    case Column::confidence:
    case Column::partial:
    case Column::key_version:
    case Column::cost:
    case Column::attempts:
      return true;
    default:
      return false;
  }
}

bool is_free_text(std::size_t column) {
  switch (static_cast<Column>(column)) {
    case Column::status:
    case Column::lat:
    case Column::lng:
    case Column::precision:
    case Column::confidence:
    case Column::country:
    case Column::key:
    case Column::partial:
    case Column::key_version:
    case Column::cost:
    case Column::attempts:
    case Column::building_key:
      return false;
    default:
      return true;  // times too: a colon can be a delimiter
  }
}

void append_cell(const RowResult& r, std::size_t column, std::string& out) {
  const auto degrees = [&](double LatLng::*part) {
    if (r.status == RowStatus::match && r.at) append_fixed((*r.at).*part, 7, false, out);
  };
  switch (static_cast<Column>(column)) {
    case Column::status:
      out += to_string(r.status);
      break;
    case Column::lat:
      degrees(&LatLng::lat_deg);
      break;
    case Column::lng:
      degrees(&LatLng::lng_deg);
      break;
    case Column::precision:
      if (r.precision) out += to_string(*r.precision);
      break;
    case Column::confidence:
      if (r.confidence) append_fixed(*r.confidence, 4, true, out);
      break;
    case Column::formatted:
      append_text(r.formatted, out);
      break;
    case Column::country:
      if (r.country.is_known()) out += r.country.code();
      break;
    case Column::provider:
      append_text(r.provider, out);
      break;
    case Column::cache:
      append_text(r.cache, out);
      break;
    case Column::key:
      append_key(r.key, r.key_prefix, out);
      break;
    case Column::error:
      append_text(r.error, out);
      break;
    case Column::house_number:
      append_text(r.house_number, out);
      break;
    case Column::street:
      append_text(r.street, out);
      break;
    case Column::unit:
      append_text(r.unit, out);
      break;
    case Column::city:
      append_text(r.city, out);
      break;
    case Column::state:
      append_text(r.state, out);
      break;
    case Column::postcode:
      append_text(r.postcode, out);
      break;
    case Column::place_id:
      append_text(r.place_id, out);
      break;
    case Column::partial:
      if (r.partial) out += *r.partial ? "true" : "false";
      break;
    case Column::key_version:
      if (r.key) out += std::to_string(kKeyVersion);
      break;
    case Column::fetched_at:
      if (r.fetched_at) append_time(*r.fetched_at, out);
      break;
    case Column::expires_at:
      if (r.expires_at) append_time(*r.expires_at, out);
      break;
    case Column::cost:
      if (r.cost) append_fixed(static_cast<double>(r.cost->micro_usd) / 1e6, 6, true, out);
      break;
    case Column::attempts:
      if (r.attempts) out += std::to_string(*r.attempts);
      break;
    case Column::building_key:
      append_key(r.building_key, r.key_prefix, out);
      break;
  }
}

}  // namespace geonce
