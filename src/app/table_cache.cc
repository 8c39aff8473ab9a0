#include "app/table_cache.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "app/terms_of_providers.h"
#include "core/normalize.h"
#include "core/query.h"
#include "io/postgres.h"

namespace geonce {
namespace {

using Json = boost::json::object;

constexpr int kPage = 1'000;
// What such caches take for a life when they write none.
constexpr UtcMs kUsualLife = 30LL * 24 * 3'600'000;

const boost::json::value* first_of(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto* value = object.if_contains(name); value != nullptr && !value->is_null())
      return value;
  return nullptr;
}
std::string text_of(const Json& object, std::initializer_list<const char*> names) {
  const auto* value = first_of(object, names);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}
std::optional<double> number_of(const Json& object, std::initializer_list<const char*> names) {
  const auto* value = first_of(object, names);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

/// Our own word, or one of those that Google uses and many copy.
Precision precision_of(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (const auto own = parse_precision(word)) return *own;
  if (word == "range_interpolated") return Precision::interpolated;
  if (word == "geometric_center") return Precision::street;
  if (word == "approximate") return Precision::locality;
  return Precision::unknown;
}

Result<Answer> answer_from(std::string_view text, const std::string& provider) {
  boost::system::error_code error;
  auto value = boost::json::parse(text.empty() ? "null" : text, error);
  // Written as text into a column that is text: a JSON text in a JSON text.
  if (!error && value.is_string()) value = boost::json::parse(value.get_string(), error);
  if (error) return fail(ErrorCode::invalid_address, "`result` is no JSON");
  Answer answer;
  answer.provider = provider;
  if (value.is_null()) return answer;
  if (!value.is_object()) return fail(ErrorCode::invalid_address, "`result` is no JSON object");
  const Json& object = value.get_object();
  if (const auto who = text_of(object, {"provider", "provider_id", "source"}); !who.empty())
    answer.provider = who;
  if (object.empty()) return answer;
  const auto lat = number_of(object, {"lat", "latitude"});
  const auto lng = number_of(object, {"lng", "lon", "longitude"});
  if (!lat || !lng) return fail(ErrorCode::invalid_address, "`result` has no `lat` and `lng`");
  answer.kind = AnswerKind::match;
  answer.at = LatLng{*lat, *lng};
  if (!is_valid(*answer.at) || (*lat == 0 && *lng == 0))
    return fail(ErrorCode::invalid_address, "`lat` and `lng` are no place on Earth, or 0, 0");
  answer.precision = precision_of(text_of(object, {"precision", "location_type", "accuracy"}));
  const auto confidence = number_of(object, {"confidence"});
  if (confidence && *confidence >= 0 && *confidence <= 1) answer.confidence = confidence;
  answer.formatted = text_of(object, {"formatted_address", "formatted"});
  answer.place_id = text_of(object, {"place_id"});
  return answer;
}

/// Rows to entries under the keys of this configuration.
class RowReader {
 public:
  RowReader(const TableCache& cache,
            const Config& config,
            const KeyRing& ring,
            SecondReader* second)
      : cache_(cache), config_(config), ring_(ring), normalizer_(ring, second) {}

  /// Columns as in `page_sql`.
  Result<EntryRow> read(const PgRows& rows, int row) {
    EntryRow entry;
    auto answer = answer_from(rows.bytes(row, 3), cache_.provider);
    if (!answer) return fail(answer.error());
    QueryView view;
    view.text = rows.bytes(row, 1);
    view.country = config_.batch.default_country;
    if (const auto code = rows.bytes(row, 2); !code.empty()) {
      const auto country = parse_country(code);
      if (!country) return fail(ErrorCode::invalid_address, "`country_code` is no country");
      view.country = *country;
    }
    const Query query = Query::from(view);
    const auto canonical = normalizer_.normalize(query.view());
    if (!canonical) return fail(canonical.error());
    entry.query_json = to_json(query);
    entry.pre_image = pre_image(*canonical);
    entry.slot = {kDefaultPool, ring_.key(entry.pre_image)};
    entry.building_key = ring_.key(building_pre_image(*canonical));
    const UtcMs expires = rows.integer(row, 4);
    entry.answered_at = rows.integer(row, 5);
    if (expires == 0 && entry.answered_at == 0)
      return fail(ErrorCode::invalid_address, "neither `expires_at` nor `updated_at`");
    if (entry.answered_at == 0) entry.answered_at = expires - kUsualLife;
    entry.fresh_until = expires == 0 ? entry.answered_at + kUsualLife : expires;
    if (answer->kind == AnswerKind::no_match) {
      entry.no_match_streak = 1;
      entry.fresh_until = std::min(
          entry.fresh_until, entry.answered_at + milliseconds{config_.life.no_match_first}.count());
      entry.stale_until = entry.fresh_until;
    } else {
      entry.stale_until = entry.fresh_until + milliseconds{config_.life.stale}.count();
    }
    entry.erase_after = entry.stale_until;
    entry.answer = std::make_shared<const Answer>(std::move(*answer));
    return entry;
  }

 private:
  const TableCache& cache_;
  const Config& config_;
  const KeyRing& ring_;
  Normalizer normalizer_;
};

/// Columns that a table does not have are NULL in the row as JSON.
std::string page_sql(std::string_view table) {
  constexpr std::string_view kMs =
      "floor(extract(epoch FROM (j ->> '{}')::timestamptz) * 1000)::bigint";
  return fmt::format(
      "SELECT k, j ->> 'raw_input', j ->> 'country_code', (j -> 'result')::text, {}, {} FROM "
      "(SELECT "
      "t.cache_key::text AS k, to_jsonb(t) AS j FROM {} AS t WHERE t.cache_key::text > $1 ORDER BY "
      "t.cache_key::text LIMIT {}) AS page ORDER BY k",
      fmt::format(fmt::runtime(kMs), "expires_at"),
      fmt::format(fmt::runtime(kMs), "updated_at"),
      table,
      kPage);
}

Result<std::string> checked_name(PgConnection& connection, const std::string& table) {
  const std::vector<PgParam> params{PgParam::text(table)};
  const auto found = connection.query(
      "SELECT to_regclass($1)::text, (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = "
      "to_regclass($1) AND a.attname IN ('cache_key', 'raw_input', 'result') AND NOT "
      "a.attisdropped)",
      params,
      Deadline::never(),
      system_clock());
  if (!found) return fail(found.error());
  if (found->bytes(0, 0).empty())
    return fail(ErrorCode::usage, "{} has no table {}", connection.where(), table);
  if (found->integer(0, 1) != 3)
    return fail(ErrorCode::usage,
                "{} in {} has not the columns cache_key, raw_input and result",
                table,
                connection.where());
  return std::string(found->bytes(0, 0));
}

/// Of one address in one page the youngest is filed first, of equally young ones the more precise.
void put_best_first(std::vector<EntryRow>& page) {
  std::ranges::stable_sort(page, [](const EntryRow& a, const EntryRow& b) {
    if (a.answered_at != b.answered_at) return a.answered_at > b.answered_at;
    return a.answer->precision < b.answer->precision;
  });
}

Result<void> file(std::vector<EntryRow>& page, Store& store, TableReport& report) {
  put_best_first(page);
  const auto filed = store.import_entries(page, Deadline::never());
  if (!filed) return fail(filed.error());
  report.stored += std::ranges::count(*filed, Imported::stored);
  report.older += std::ranges::count(*filed, Imported::older);
  report.expired += std::ranges::count(*filed, Imported::expired);
  return {};
}

}  // namespace

Result<TableReport> adopt_table(
    const TableCache& cache,
    Store& store,
    const Config& config,
    const KeyRing& ring,
    SecondReader* second,
    const std::function<void(std::string_view key, const std::string& why)>& bad_row) {
  const auto terms = TermsOfProviders::of(config);
  if (!terms) return fail(terms.error());
  auto connection = PgConnection::open({cache.uri, {}});
  if (!connection) return fail(connection.error());
  const auto table = checked_name(**connection, cache.table);
  if (!table) return fail(table.error());
  const std::string sql = page_sql(*table);
  RowReader reader(cache, config, ring, second);
  TableReport report;
  for (std::string after;;) {
    const std::vector<PgParam> params{PgParam::text(after)};
    const auto rows = (*connection)->query(sql, params, Deadline::never(), system_clock());
    if (!rows) return fail(rows.error());
    std::vector<EntryRow> page;
    for (int row = 0; row < rows->size(); ++row) {
      ++report.rows;
      auto entry = reader.read(*rows, row);
      if (!entry) {
        // What it cannot say now it may say later, and then under another key.
        if (entry.error().code == ErrorCode::reader_unavailable) return fail(entry.error());
        ++report.bad;
        bad_row(rows->bytes(row, 0), entry.error().message);
        continue;
      }
      const Terms* allowed = terms->find(entry->answer->provider);
      if (allowed == nullptr || !TermsOfProviders::apply(*allowed, *entry)) {
        ++report.not_allowed;
        continue;
      }
      ++(entry->answer->kind == AnswerKind::match ? report.matches : report.no_matches);
      page.push_back(std::move(*entry));
    }
    if (!cache.plan && !page.empty())
      if (auto filed = file(page, store, report); !filed) return fail(filed.error());
    if (rows->size() < kPage) return report;
    after = rows->bytes(rows->size() - 1, 0);
  }
}

}  // namespace geonce
