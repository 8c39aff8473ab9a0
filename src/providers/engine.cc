#include "providers/engine.h"

#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "providers/decode.h"
#include "providers/table_text.h"

namespace geonce {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxBody = 4U << 20U;  // after decompression; answers have a few KB
constexpr std::size_t kMaxBulkBody = 64U << 20U;

/// Some list of `needs` is there in full, and no part would be left behind.
bool fits_fields(const Query& query,
                 const std::vector<std::vector<QueryPart>>& needs,
                 const std::vector<QueryPart>& carries) {
  constexpr std::array kParts{&Query::house_number,
                              &Query::road,
                              &Query::unit,
                              &Query::city,
                              &Query::state,
                              &Query::postcode,
                              &Query::house,
                              &Query::po_box,
                              &Query::suburb};
  const bool text_is_street = !query.text.empty() && street_line(query) == query.text;
  if (!query.text.empty() && !text_is_street) return false;
  const auto is_said = [&](QueryPart part) {
    return !(query.*part).empty() || (part == &Query::road && text_is_street);
  };
  for (const QueryPart part : kParts)
    if (is_said(part) && std::ranges::find(carries, part) == carries.end()) return false;
  return needs.empty() || std::ranges::any_of(needs, [&](const auto& parts) {
           return std::ranges::all_of(parts, is_said);
         });
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

/// `key=value&…`, with what has nothing to say left out.
std::string encoded_pairs(const NamedTemplates& templates, const Filling& filling) {
  std::string out;
  for (const auto& [name, text] : templates) {
    const auto value = text.fill(filling, nullptr);
    if (!value) continue;
    if (!out.empty()) out += '&';
    out += percent_encoded(name) + "=" + percent_encoded(*value);
  }
  return out;
}

std::string with_base(std::string url, std::string_view base) {
  if (base.empty()) return url;
  while (base.ends_with('/')) base.remove_suffix(1);
  const auto host = url.find("://") + 3;
  const auto path = url.find_first_of("/?", host);
  return std::string(base) + (path == std::string::npos ? "" : url.substr(path));
}

/// The items in the place of the body where they belong.
json::value placed(json::value items, const Pointer& at) {
  if (at.text().empty()) return items;
  // Steps of `list_at` are names only; an array in the way to a list makes no sense.
  std::string rest = at.text();
  while (!rest.empty()) {
    const auto slash = rest.rfind('/');
    json::object outer;
    outer[rest.substr(slash + 1)] = std::move(items);
    items = std::move(outer);
    rest.resize(slash);
  }
  return items;
}

void put_bulk_body(HttpRequest& request,
                   const Spec& spec,
                   const ProviderSettings& settings,
                   std::span<const ProviderAsk> asks) {
  const Bulk& bulk = *spec.bulk;
  const auto filling_of = [&](const ProviderAsk& ask) {
    return Filling{&ask.query, settings.secret, ask.ref, spec.ascii};
  };
  if (bulk.item) {
    json::value items = bulk.key ? json::value(json::object()) : json::value(json::array());
    for (const ProviderAsk& ask : asks) {
      const Filling filling = filling_of(ask);
      auto item = fill(*bulk.item, filling);
      if (bulk.key)
        items.get_object()[bulk.key->fill(filling, nullptr).value_or(ask.ref)] =
            std::move(item).value_or(nullptr);
      else
        items.get_array().push_back(std::move(item).value_or(nullptr));
    }
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = json::serialize(placed(std::move(items), bulk.list_at));
    return;
  }
  std::string file;
  Cells cells;
  for (const auto& [name, text] : bulk.columns) cells.push_back(name);
  if (bulk.header) file += csv_line(cells, bulk.quotes);
  for (const ProviderAsk& ask : asks) {
    cells.clear();
    const Filling filling = filling_of(ask);
    for (const auto& [name, text] : bulk.columns)
      cells.push_back(text.fill(filling, nullptr).value_or(""));
    file += csv_line(cells, bulk.quotes);
  }
  std::vector<FormPart> parts;
  const Filling common{nullptr, settings.secret, {}, false};
  for (const auto& [name, text] : bulk.form)
    if (auto value = text.fill(common, nullptr)) parts.push_back({name, "", std::move(*value)});
  parts.push_back({bulk.file_field, bulk.file_name, std::move(file)});
  auto form = multipart(parts);
  request.headers.emplace_back("Content-Type", std::move(form.content_type));
  request.body = std::move(form.body);
}

class SpecProvider : public Provider {
 public:
  SpecProvider(Spec spec, ProviderSettings settings, HttpClient& http)
      : spec_(std::move(spec)), settings_(std::move(settings)), http_(http) {
    if (settings_.price_single) spec_.prices.single = *settings_.price_single;
    if (settings_.price_bulk) spec_.prices.bulk = *settings_.price_bulk;
    if (settings_.terms) spec_.terms = *settings_.terms;
    if (settings_.concurrency) spec_.concurrency = *settings_.concurrency;
    if (settings_.rate_per_s) spec_.rate_per_s = *settings_.rate_per_s;
    if (settings_.timeout) spec_.ask.timeout = *settings_.timeout;
    if (!settings_.bulk) spec_.bulk.reset();
    if (spec_.bulk && settings_.bulk_timeout) spec_.bulk->request.timeout = *settings_.bulk_timeout;
    traits_.name = spec_.name;
    traits_.terms = spec_.terms;
    traits_.price_single = spec_.prices.single;
    traits_.price_bulk = spec_.prices.bulk;
    traits_.bulk_max = spec_.bulk ? spec_.bulk->max : 0;
    traits_.concurrency = spec_.concurrency;
    traits_.rate_per_s = spec_.rate_per_s;
    traits_.countries = spec_.countries;
    traits_.wants_user_agent = spec_.needs_user_agent;
    traits_.no_match_rechecks = spec_.no_match_rechecks;
    traits_.single_timeout = spec_.ask.timeout;
    if (spec_.bulk) traits_.bulk_timeout = spec_.bulk->request.timeout;
  }

  [[nodiscard]] const ProviderTraits& traits() const override { return traits_; }
  [[nodiscard]] bool takes_bulk(const Query& query) const override {
    return geonce::takes_bulk(spec_, query);
  }

  Result<void> call(std::span<const ProviderAsk> asks,
                    bool bulk,
                    Deadline deadline,
                    std::function<bool()> sending,
                    std::function<void(Transfer)> done) override {
    auto request = build_request(spec_, settings_, asks, bulk);
    if (!request) return fail(std::move(request.error()));
    request->total_timeout = std::min(request->total_timeout, deadline.left(system_clock()));
    http_.start(std::move(*request), std::move(sending), std::move(done));
    return {};
  }

  [[nodiscard]] std::vector<Outcome> decode(const Transfer& transfer,
                                            std::span<const ProviderAsk> asks,
                                            bool bulk) const override {
    return geonce::decode(spec_, transfer, asks, bulk);
  }

 private:
  Spec spec_;
  const ProviderSettings settings_;
  HttpClient& http_;
  ProviderTraits traits_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_provider(Spec spec,
                                                ProviderSettings settings,
                                                HttpClient& http) {
  if (spec.needs_secret && settings.secret.empty())
    return fail(ErrorCode::invalid_config,
                "the provider {0} needs a key: set providers.{0}.secret_file or secret_env",
                spec.name);
  if (spec.needs_user_agent && settings.user_agent.empty())
    return fail(
        ErrorCode::invalid_config,
        "the provider {0} wants to know who asks: set providers.{0}.user_agent to a name and a "
        "way to reach you",
        spec.name);
  return std::make_unique<SpecProvider>(std::move(spec), std::move(settings), http);
}

Result<HttpRequest> build_request(const Spec& spec,
                                  const ProviderSettings& settings,
                                  std::span<const ProviderAsk> asks,
                                  bool bulk) {
  GEONCE_EXPECTS(bulk ? spec.bulk.has_value() && !asks.empty() : asks.size() == 1);
  const RequestForm& form = bulk ? spec.bulk->request : spec.ask;
  const Query& query = asks[0].query;
  const Filling filling{&query, settings.secret, asks[0].ref, spec.ascii};
  const bool as_fields = !bulk && spec.fields && query.view().is_structured() &&
                         fits_fields(query, spec.fields->needs, spec.fields->carries);

  const Template& address = as_fields && spec.fields->url ? *spec.fields->url : form.url;
  auto url = address.fill(filling, percent_encoded);
  const bool says_nothing = std::ranges::any_of(
      asks, [&](const ProviderAsk& ask) { return ask.query.one_line().empty(); });
  if (!url || says_nothing) return fail(ErrorCode::invalid_address, "there is no address to send");

  HttpRequest request;
  request.method = form.method;
  request.url = with_base(std::move(*url), settings.base_url);
  request.total_timeout = form.timeout;
  request.max_body = bulk ? kMaxBulkBody : kMaxBody;
  const std::string pairs = encoded_pairs(as_fields ? spec.fields->query : form.query, filling);
  if (!pairs.empty())
    request.url += (request.url.find('?') == std::string::npos ? "?" : "&") + pairs;
  for (const auto& [name, text] : form.headers)
    if (auto value = text.fill(filling, nullptr))
      request.headers.emplace_back(name, std::move(*value));
  if (!settings.user_agent.empty()) request.headers.emplace_back("User-Agent", settings.user_agent);

  if (bulk) {
    put_bulk_body(request, spec, settings, asks);
  } else if (form.json) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = json::serialize(fill(*form.json, filling).value_or(nullptr));
  } else if (!form.form.empty()) {
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = encoded_pairs(form.form, filling);
  }
  return request;
}

bool takes_bulk(const Spec& spec, const Query& query) {
  if (!spec.bulk) return false;
  const Bulk& bulk = *spec.bulk;
  const std::string line = address_line(query, spec.ascii);
  if (line.empty() || (bulk.max_chars != 0 && characters(line) > bulk.max_chars)) return false;
  if (!bulk.countries.empty() && query.country.is_known() &&
      std::ranges::find(bulk.countries, query.country) == bulk.countries.end())
    return false;
  const bool says_language = std::ranges::any_of(
      spec.ask.query, [](const auto& q) { return q.second.uses(Placeholder::language); });
  if (!query.language.empty() && says_language) return false;
  return bulk.needs.empty() || fits_fields(query, bulk.needs, bulk.carries);
}

}  // namespace geonce
