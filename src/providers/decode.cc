#include "providers/decode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include <boost/json.hpp>

#include "core/clock.h"
#include "core/letters.h"
#include "providers/table_text.h"

namespace geonce {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// --- bodies --------------------------------------------------------------------------------------

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

/// The body in UTF-8: by the charset of its Content-Type, else as the spec says. Bytes that are no
/// UTF-8 although they should be are taken for ISO-8859-1, so that one odd letter does not cost an
/// answer.
std::string utf8_body(const Spec& spec, const HttpResponse& response) {
  std::string_view body = response.body;
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  const std::string type = lowered(response.header("content-type"));
  bool latin1 = spec.latin1;
  if (const auto at = type.find("charset="); at != std::string::npos) {
    std::string_view charset = std::string_view(type).substr(at + 8);
    if (charset.starts_with('"')) charset.remove_prefix(1);
    if (charset.starts_with("utf-8")) latin1 = false;
    if (charset.starts_with("iso-8859-1")) latin1 = true;
  }
  return latin1 || !is_utf8(body) ? utf8_from_latin1(body) : std::string(body);
}

std::optional<json::value> parse_json(std::string_view text) {
  boost::system::error_code error;
  auto value = json::parse(text, error);
  return error ? std::nullopt : std::optional(std::move(value));
}

// --- how long to wait ----------------------------------------------------------------------------

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, IMF-fixdate) in seconds since 1970.
std::optional<std::int64_t> http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT"))
    return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = -1;
    const auto part = text.substr(at, length);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc{} && end == part.data() + part.size() ? value : -1;
  };
  const auto month = std::ranges::find(kMonths, text.substr(8, 3)) - kMonths.begin();
  const int day = number(5, 2), year = number(12, 4);
  const int hour = number(17, 2), minute = number(20, 2), second = number(23, 2);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month) + 1},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

/// Seconds, or a date seen from the answer's own Date. nullopt when malformed or in the past.
std::optional<milliseconds> header_delay(const Spec& spec, const HttpResponse& response) {
  const std::string_view text = response.header(spec.delay_header);
  if (text.empty()) return std::nullopt;
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    return milliseconds{error == std::errc{}
                            ? std::min<std::int64_t>(seconds, 1'000'000'000) * 1'000
                            : 1'000'000'000'000};
  }
  const auto until = http_date(text);
  if (!until) return std::nullopt;
  const auto from = http_date(response.header("date")).value_or(system_clock().now_utc() / 1'000);
  return *until >= from ? std::optional(milliseconds{(*until - from) * 1'000}) : std::nullopt;
}

std::optional<milliseconds> body_delay(const Spec& spec, const json::value* body) {
  if (!spec.delay_at || body == nullptr) return std::nullopt;
  const auto* value = spec.delay_at->find(*body);
  const auto seconds = value != nullptr ? plain_number(*value) : std::nullopt;
  if (!seconds || *seconds < 0) return std::nullopt;
  return milliseconds{static_cast<std::int64_t>(std::min(*seconds, 1e9) * 1'000)};
}

// --- one body, one outcome -----------------------------------------------------------------------

bool is_success(int status) { return status >= 200 && status <= 299; }

std::string clean(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return text;
}

/// Reads one response of one provider: the single answer, the refusal of a bulk call, or an item of
/// it.
class Reader {
 public:
  Reader(const Spec& spec, const HttpResponse& response, Money price)
      : spec_(spec), response_(response), price_(price) {}

  /// The whole judgement of one body or item.
  [[nodiscard]] Outcome judge(const Reading& reading, const Evidence& subject) const {
    const auto some_holds = [&](const std::vector<Condition>& rules) {
      // A rule without a status speaks of answers, not of errors.
      return std::ranges::any_of(rules, [&](const Condition& rule) {
        return (!rule.status.empty() || is_success(subject.status)) && rule.holds(subject);
      });
    };
    if (some_holds(reading.no_match)) return answered(OutcomeKind::no_match, "");
    if (some_holds(reading.ambiguous))
      return answered(OutcomeKind::ambiguous, "the provider has several equal candidates");
    if (some_holds(reading.pending))
      return answered(OutcomeKind::pending, "accepted; the answer comes later");
    if (auto refused = refusal(reading, subject)) return std::move(*refused);
    if (subject.body == nullptr) return unreadable(kUnparsed);
    return candidate(reading, subject);
  }

  /// What the error rules and the status say; nullopt: nothing against reading the body.
  [[nodiscard]] std::optional<Outcome> refusal(const Reading& reading,
                                               const Evidence& subject) const {
    for (const ErrorRule& rule : reading.errors)
      if (rule.when.holds(subject)) {
        Outcome outcome = refused(rule.failure, rule.reason, subject);
        if (rule.failure == FailureClass::retry_after) {
          const auto hint = delay_hint(subject);
          set_delay(outcome, hint ? hint : rule.delay);
        }
        if (rule.billed) settle(outcome, *rule.billed);
        return outcome;
      }
    if (is_success(subject.status)) return std::nullopt;
    return refused(class_of_status(subject.status), "", subject);
  }

  [[nodiscard]] Outcome unreadable(std::string_view why) const {
    Outcome outcome = blank(OutcomeKind::unknown);
    outcome.failure = FailureClass::retry;
    outcome.reason = why;
    outcome.billed = in_doubt();
    return outcome;
  }

  static constexpr std::string_view kUnparsed = "the body is not what the provider sends";
  static constexpr std::string_view kMisshapen = "the answer has another shape than expected";

 private:
  [[nodiscard]] Billed in_doubt() const { return price_ == Money{} ? Billed::no : Billed::unknown; }

  [[nodiscard]] Outcome blank(OutcomeKind kind) const {
    Outcome outcome;
    outcome.kind = kind;
    outcome.http_status = response_.status;
    outcome.price = price_;
    outcome.answer.provider = spec_.name;
    if (!spec_.request_id_header.empty())
      outcome.provider_request_id = clean(std::string(response_.header(spec_.request_id_header)));
    return outcome;
  }

  [[nodiscard]] Outcome answered(OutcomeKind kind, std::string_view reason) const {
    Outcome outcome = blank(kind);
    outcome.reason = reason;
    const auto lists = [&](const std::vector<OutcomeKind>& kinds) {
      return std::ranges::find(kinds, kind) != kinds.end();
    };
    if (price_ == Money{})
      outcome.billed = Billed::no;
    else if (lists(spec_.prices.bills))
      outcome.billed = Billed::yes;
    else
      outcome.billed = lists(spec_.prices.may_bill) ? Billed::unknown : Billed::no;
    if (kind == OutcomeKind::ambiguous) {
      outcome.answer.kind = AnswerKind::ambiguous;
      outcome.answer.reason = reason;
    }
    return outcome;
  }

  static FailureClass class_of_status(int status) {
    switch (status) {
      case 400:
      case 413:
      case 414:
      case 422:
        return FailureClass::permanent;
      case 408:
      case 409:
      case 425:
      case 429:
        return FailureClass::retry;
      default:
        return status >= 500 ? FailureClass::retry : FailureClass::fatal;
    }
  }

  /// A definite "no", or `unknown` where a fault may have come after the work was done.
  [[nodiscard]] Outcome refused(FailureClass failure,
                                std::string_view reason,
                                const Evidence& subject) const {
    Outcome outcome = blank(OutcomeKind::refused);
    outcome.failure = failure;
    outcome.reason =
        reason.empty() ? fmt::format("HTTP status {}", subject.status) : std::string(reason);
    // 503 is sent instead of the work; other server faults may come in the middle of it, and 502
    // and 504 from a proxy that does not know what happened behind it.
    settle(outcome, subject.status >= 500 && subject.status != 503 ? Billed::unknown : Billed::no);
    if (failure == FailureClass::retry && (subject.status == 429 || subject.status == 503))
      if (const auto hint = delay_hint(subject)) set_delay(outcome, hint);
    return outcome;
  }

  /// What is in doubt is `unknown` and not a refusal.
  void settle(Outcome& outcome, Billed billed) const {
    outcome.kind = billed == Billed::unknown ? OutcomeKind::unknown : OutcomeKind::refused;
    outcome.billed = price_ == Money{} ? Billed::no : billed;
  }

  [[nodiscard]] std::optional<milliseconds> delay_hint(const Evidence& subject) const {
    const auto hint = body_delay(spec_, subject.body);
    return hint ? hint : header_delay(spec_, response_);
  }

  void set_delay(Outcome& outcome, std::optional<milliseconds> delay) const {
    outcome.failure = delay ? FailureClass::retry_after : FailureClass::retry;
    outcome.delay = delay.value_or(milliseconds{0});
    if (outcome.delay <= spec_.max_delay) return;
    outcome.failure = FailureClass::fatal;
    outcome.reason += "; the provider wants a pause that is longer than allowed";
  }

  /// The best candidate of a proper answer, or no-match where the list of candidates is empty.
  [[nodiscard]] Outcome candidate(const Reading& reading, const Evidence& subject) const {
    if (!reading.expect.holds(subject)) return unreadable(kMisshapen);
    const json::value* item = subject.body;
    if (!reading.items.empty()) {
      const json::array* list = nullptr;
      for (const Pointer& at : reading.items)
        if (const auto* found = list == nullptr ? at.find(*subject.body) : nullptr)
          list = found->if_array();
      if (list == nullptr) return unreadable(kMisshapen);
      if (list->empty()) return answered(OutcomeKind::no_match, "");
      item = &list->front();
    }
    const auto at = coordinates(reading, *item);
    if (!at) return unreadable("the answer has no usable coordinates");

    Outcome outcome = answered(OutcomeKind::match, "");
    Answer& answer = outcome.answer;
    answer.kind = AnswerKind::match;
    answer.at = *at;
    const Evidence inside{subject.status, item, {}, subject.asked};
    const auto rule = std::ranges::find_if(
        reading.precision, [&](const PrecisionRule& r) { return r.when.holds(inside); });
    if (rule != reading.precision.end()) answer.precision = rule->as;
    if (reading.confidence) answer.confidence = confidence(*reading.confidence, *item);
    answer.partial = reading.partial && reading.partial->holds(inside);
    answer.country = country(reading, *item);
    answer.formatted = clean(reading.formatted.of(*item));
    answer.place_id = clean(reading.place_id.of(*item));
    answer.house_number = clean(reading.house_number.of(*item));
    answer.street = clean(reading.street.of(*item));
    answer.unit = clean(reading.unit.of(*item));
    answer.city = clean(reading.city.of(*item));
    answer.state = clean(reading.state.of(*item));
    answer.postcode = clean(reading.postcode.of(*item));
    return outcome;
  }

  static std::optional<double> first_number(const std::vector<Pointer>& places,
                                            const json::value& item) {
    for (const Pointer& at : places)
      if (const auto* value = at.find(item); value != nullptr && !value->is_null())
        return plain_number(*value);
    return std::nullopt;
  }

  static std::optional<LatLng> coordinates(const Reading& reading, const json::value& item) {
    std::optional<double> lat, lon;
    if (reading.lon_lat) {
      const auto* value = reading.lon_lat->find(item);
      const auto* text = value != nullptr ? value->if_string() : nullptr;
      if (text == nullptr) return std::nullopt;
      const std::string_view both(*text);
      const auto comma = both.find(',');
      if (comma == std::string_view::npos) return std::nullopt;
      lon = plain_number(both.substr(0, comma));
      lat = plain_number(both.substr(comma + 1));
    } else {
      lat = first_number(reading.lat, item);
      lon = first_number(reading.lon, item);
    }
    if (!lat || !lon) return std::nullopt;
    const LatLng at{*lat, *lon};
    return is_valid(at) ? std::optional(at) : std::nullopt;
  }

  static std::optional<double> confidence(const ConfidenceSource& source, const json::value& item) {
    const auto* value = source.at.find(item);
    if (value == nullptr) return std::nullopt;
    if (!source.words.empty()) {
      const auto word = scalar_text(*value);
      const auto found = word ? source.words.find(*word) : source.words.end();
      return found != source.words.end() ? std::optional(found->second) : std::nullopt;
    }
    const auto number = plain_number(*value);
    if (!number || *number < 0 || *number > source.divide_by) return std::nullopt;
    return *number / source.divide_by;
  }

  static Country country(const Reading& reading, const json::value& item) {
    if (reading.country.is_known()) return reading.country;
    const auto found = parse_country(reading.country_text.of(item));
    return found ? *found : Country{};
  }

  const Spec& spec_;
  const HttpResponse& response_;
  const Money price_;
};

// --- many ----------------------------------------------------------------------------------------

/// The items of a bulk answer: JSON values of the body, or CSV rows as objects.
struct Items {
  struct Item {
    const json::value* value = nullptr;
    std::string ref, echo;  // empty: the spec names none
  };
  std::string text;
  std::optional<json::value> body;
  std::vector<json::value> rows;
  std::vector<Item> list;
  bool is_keyed = false;  // every item has a ref
  std::optional<std::string_view> unreadable;
};

std::string text_at(const std::optional<Pointer>& at, const json::value& item) {
  const auto* value = at ? at->find(item) : nullptr;
  return value != nullptr ? scalar_text(*value).value_or("") : "";
}

void read_csv_items(const Bulk& bulk, Items& items) {
  auto table = parse_csv(items.text);
  if (!table || table->empty()) {
    items.unreadable = Reader::kUnparsed;
    return;
  }
  const bool has_header = bulk.answer_columns.empty();
  const Cells names = has_header ? table->front() : bulk.answer_columns;
  if (has_header) {
    table->erase(table->begin());
    for (const Pointer& at : needed_places(bulk))
      if (std::ranges::find(names, at.text().substr(1)) ==
          names.end()) {  // the file came back as it went
        items.unreadable = "the answer lacks the result columns";
        return;
      }
  }
  for (const Cells& cells : *table) {
    if (has_header && cells.size() != names.size()) continue;  // cut: its address stays unknown
    json::object row;
    for (std::size_t i = 0; i < cells.size() && i < names.size(); ++i)
      if (!row.contains(names[i])) row[names[i]] = cells[i];
    items.rows.emplace_back(std::move(row));
  }
  for (const auto& row : items.rows) items.list.push_back({&row, text_at(bulk.ref, row), ""});
  items.is_keyed = true;
}

void read_json_items(const Bulk& bulk, Items& items) {
  const json::value* list = nullptr;
  if (items.body)
    for (const Pointer& at : bulk.items)
      if (const auto* found = list == nullptr ? at.find(*items.body) : nullptr)
        if (found->is_array() || found->is_object()) list = found;
  if (list == nullptr) {
    items.unreadable = items.body ? Reader::kMisshapen : Reader::kUnparsed;
    return;
  }
  if (const auto* object = list->if_object()) {
    items.is_keyed = true;
    for (const auto& [key, value] : *object)
      items.list.push_back({&value, std::string(key), text_at(bulk.echo, value)});
    return;
  }
  for (const auto& value : list->get_array())
    items.list.push_back({&value, text_at(bulk.ref, value), text_at(bulk.echo, value)});
  items.is_keyed = bulk.ref.has_value();
}

Items read_items(const Spec& spec, const HttpResponse& response) {
  Items items;
  items.text = utf8_body(spec, response);
  items.body = parse_json(items.text);
  if (is_success(response.status)) {
    if (spec.bulk->answer_is_csv)
      read_csv_items(*spec.bulk, items);
    else
      read_json_items(*spec.bulk, items);
  }
  return items;
}

std::optional<Outcome> refusal_of(const Spec& spec,
                                  const Reader& reader,
                                  const HttpResponse& response,
                                  const Items& items) {
  const Evidence whole{response.status, items.body ? &*items.body : nullptr, items.text, nullptr};
  if (auto refused = reader.refusal(spec.reading, whole)) return refused;
  if (items.unreadable) return reader.unreadable(*items.unreadable);
  return std::nullopt;
}

/// For each ask the item that answers it, or null. An item that comes twice with two contents
/// answers nothing, and so does a position when their number is not that of the asks.
std::vector<const json::value*> join(const Spec& spec,
                                     const Items& items,
                                     std::span<const ProviderAsk> asks) {
  std::vector<const json::value*> found(asks.size(), nullptr);
  std::vector<bool> spoiled(asks.size(), false);
  const auto give = [&](std::size_t index, const json::value* item) {
    if (found[index] != nullptr && *found[index] != *item) spoiled[index] = true;
    found[index] = item;
  };

  std::unordered_map<std::string, std::vector<std::size_t>> by_ref, by_text;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    by_ref[asks[i].ref].push_back(i);
    if (spec.bulk->key) {
      const Filling filling{&asks[i].query, {}, asks[i].ref, spec.ascii};
      const auto key = spec.bulk->key->fill(filling, nullptr).value_or(asks[i].ref);
      if (key != asks[i].ref) by_ref[key].push_back(i);
    }
    by_text[address_line(asks[i].query, spec.ascii)].push_back(i);
  }
  if (items.is_keyed) {
    for (const auto& item : items.list)
      if (const auto asked = by_ref.find(item.ref); asked != by_ref.end())
        for (const std::size_t i : asked->second) give(i, item.value);
  } else {
    const bool same_number = items.list.size() == asks.size();
    for (std::size_t i = 0; i < items.list.size(); ++i) {
      const auto echoed =
          items.list[i].echo.empty() ? by_text.end() : by_text.find(items.list[i].echo);
      if (echoed == by_text.end()) {
        if (same_number) give(i, items.list[i].value);
        continue;
      }
      // The text that was sent comes back with the answer: it says more than the position.
      const auto& places = echoed->second;
      if (same_number && std::ranges::find(places, i) != places.end())
        give(i, items.list[i].value);
      else
        for (const std::size_t place : places) give(place, items.list[i].value);
    }
  }
  for (std::size_t i = 0; i < asks.size(); ++i)
    if (spoiled[i]) found[i] = nullptr;
  return found;
}

Outcome judge_item(const Spec& spec,
                   const Reader& reader,
                   const HttpResponse& response,
                   const json::value* item,
                   const Query& asked) {
  if (item == nullptr) return reader.unreadable("the answer has nothing for this address");
  const Bulk& bulk = *spec.bulk;
  Evidence subject{response.status, item, {}, &asked};
  if (bulk.status) {
    const auto* value = bulk.status->find(*item);
    const auto number = value != nullptr ? plain_number(*value) : std::nullopt;
    if (!number || *number < 100 || *number > 599) return reader.unreadable(Reader::kMisshapen);
    subject.status = static_cast<int>(*number);
  }
  if (bulk.response) {
    subject.body = bulk.response->find(*item);
    if (subject.body == nullptr && is_success(subject.status))
      return reader.unreadable(Reader::kMisshapen);
  }
  return reader.judge(bulk.reading ? *bulk.reading : spec.reading, subject);
}

std::vector<Outcome> decode_bulk(const Spec& spec,
                                 const Reader& reader,
                                 const HttpResponse& response,
                                 std::span<const ProviderAsk> asks) {
  const Items items = read_items(spec, response);
  if (const auto refused = refusal_of(spec, reader, response, items))
    return {asks.size(), *refused};
  const auto found = join(spec, items, asks);
  std::vector<Outcome> outcomes;
  outcomes.reserve(asks.size());
  for (std::size_t i = 0; i < asks.size(); ++i)
    outcomes.push_back(judge_item(spec, reader, response, found[i], asks[i].query));
  return outcomes;
}

}  // namespace

std::vector<Outcome> decode(const Spec& spec,
                            const Transfer& transfer,
                            std::span<const ProviderAsk> asks,
                            bool bulk) {
  GEONCE_EXPECTS(!bulk || spec.bulk);
  const HttpResponse& response = transfer.response;
  const Reader reader(spec, response, bulk ? spec.prices.bulk : spec.prices.single);
  if (transfer.end != TransferEnd::complete) {
    Outcome outcome = reader.unreadable(transfer.error);
    outcome.http_status = 0;
    if (transfer.end == TransferEnd::not_sent) {
      outcome.kind = OutcomeKind::not_sent;
      outcome.billed = Billed::no;
    }
    return {asks.size(), outcome};
  }
  if (bulk) return decode_bulk(spec, reader, response, asks);

  const std::string text = utf8_body(spec, response);
  const auto body = parse_json(text);
  std::vector<Outcome> outcomes;
  for (const ProviderAsk& ask : asks)
    outcomes.push_back(
        reader.judge(spec.reading, {response.status, body ? &*body : nullptr, text, &ask.query}));
  return outcomes;
}

BulkContents look_into_bulk(const Spec& spec, const HttpResponse& response) {
  const Items items = read_items(spec, response);
  const Reader reader(spec, response, spec.prices.bulk);
  BulkContents contents;
  contents.refusal = refusal_of(spec, reader, response, items);
  std::unordered_set<std::string> seen;
  for (const auto& item : items.list)
    if (!items.is_keyed)
      contents.refs.emplace_back();
    else if (seen.insert(item.ref).second)
      contents.refs.push_back(item.ref);
  return contents;
}

}  // namespace geonce
