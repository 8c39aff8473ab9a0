#include "app/transfer.h"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/json.hpp>

#include "app/terms_of_providers.h"
#include "core/json_text.h"
#include "core/normalize.h"
#include "core/query.h"
#include "core/utc_text.h"
#include "providers/spec.h"

namespace geonce {
namespace {

constexpr std::size_t kPage = 1'000;  // entries in one transaction

struct TextField {
  const char* name;
  std::string Answer::*member;
};
constexpr std::array<TextField, 10> kTextFields{{{"provider", &Answer::provider},
                                                 {"formatted", &Answer::formatted},
                                                 {"place_id", &Answer::place_id},
                                                 {"house_number", &Answer::house_number},
                                                 {"street", &Answer::street},
                                                 {"unit", &Answer::unit},
                                                 {"city", &Answer::city},
                                                 {"state", &Answer::state},
                                                 {"postcode", &Answer::postcode},
                                                 {"reason", &Answer::reason}}};

constexpr std::array kKinds{
    AnswerKind::match, AnswerKind::no_match, AnswerKind::ambiguous, AnswerKind::rejected};

// --- out ---------------------------------------------------------------------------------------

boost::json::object json_of(const Answer& answer) {
  boost::json::object object{{"kind", to_string(answer.kind)}};
  if (answer.at) {
    object["lat"] = answer.at->lat_deg;
    object["lng"] = answer.at->lng_deg;
    object["precision"] = to_string(answer.precision);
  }
  if (answer.confidence) object["confidence"] = *answer.confidence;
  if (answer.partial) object["partial"] = true;
  if (answer.country.is_known()) object["country"] = answer.country.code();
  for (const auto& [name, member] : kTextFields)
    if (!(answer.*member).empty()) object[name] = answer.*member;
  return object;
}

std::string line_of(const EntryRow& entry, const KeyRing& ring) {
  boost::json::object object{{"key", ring.text(entry.slot.key)}};
  boost::system::error_code error;
  if (auto query = boost::json::parse(entry.query_json, error); !error) object["query"] = query;
  object["answer"] = json_of(*entry.answer);
  object["answered_at"] = utc_text(entry.answered_at);
  if (entry.pinned) {
    object["pinned"] = true;
  } else {
    object["fresh_until"] = utc_text(entry.fresh_until);
    object["stale_until"] = utc_text(entry.stale_until);
    object["erase_after"] = utc_text(entry.erase_after);
  }
  if (entry.no_match_streak > 0) object["no_match_streak"] = entry.no_match_streak;
  return json_text(object) + '\n';
}

// --- in ----------------------------------------------------------------------------------------

using Json = boost::json::object;

std::string text_of(const Json& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  const auto* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}
std::optional<double> number_of(const Json& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}
bool is_true(const Json& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Result<std::shared_ptr<const Answer>> answer_from(const Json& object) {
  auto answer = std::make_shared<Answer>();
  const std::string kind = text_of(object, "kind");
  const auto* const found =
      std::ranges::find_if(kKinds, [&kind](AnswerKind one) { return to_string(one) == kind; });
  if (found == kKinds.end())
    return fail(ErrorCode::invalid_address,
                "answer.kind is not match, no_match, ambiguous or rejected");
  answer->kind = *found;
  const auto lat = number_of(object, "lat");
  const auto lng = number_of(object, "lng");
  if (lat && lng) answer->at = LatLng{*lat, *lng};
  if (answer->at && !is_valid(*answer->at))
    return fail(ErrorCode::invalid_address, "answer.lat and answer.lng are no place on Earth");
  if (answer->kind == AnswerKind::match && !answer->at)
    return fail(ErrorCode::invalid_address, "a match has no answer.lat and answer.lng");
  answer->precision = parse_precision(text_of(object, "precision")).value_or(Precision::unknown);
  answer->confidence = number_of(object, "confidence");
  answer->partial = is_true(object, "partial");
  if (const auto code = text_of(object, "country"); !code.empty()) {
    const auto country = parse_country(code);
    if (!country) return fail(ErrorCode::invalid_address, "answer.country is no country");
    answer->country = *country;
  }
  for (const auto& [name, member] : kTextFields) (*answer).*member = text_of(object, name);
  return answer;
}

/// Lines to entries under the keys of this configuration.
class LineReader {
 public:
  LineReader(const KeyRing& ring, SecondReader* second) : ring_(ring), normalizer_(ring, second) {}

  /// errors    invalid_address and others, without the address
  Result<EntryRow> read(std::string_view line) {
    boost::system::error_code error;
    const auto value = boost::json::parse(line, error);
    if (error || !value.is_object()) return fail(ErrorCode::invalid_address, "not a JSON object");
    const Json& object = value.get_object();
    const Json* answer = object_in(object, "answer");
    const Json* query_object = object_in(object, "query");
    if (answer == nullptr || query_object == nullptr)
      return fail(ErrorCode::invalid_address, "no `query` or no `answer`");
    EntryRow entry;
    auto read_answer = answer_from(*answer);
    if (!read_answer) return fail(read_answer.error());
    entry.answer = std::move(*read_answer);
    const auto query = query_from_json(boost::json::serialize(*query_object));
    if (!query) return fail(query.error());
    const auto canonical = normalizer_.normalize(query->view());
    if (!canonical) return fail(canonical.error());
    entry.query_json = to_json(*query);
    entry.pre_image = pre_image(*canonical);
    entry.slot = {kDefaultPool, ring_.key(entry.pre_image)};
    entry.building_key = ring_.key(building_pre_image(*canonical));
    entry.pinned = is_true(object, "pinned");
    entry.no_match_streak = static_cast<int>(number_of(object, "no_match_streak").value_or(0));
    if (auto lived = read_life(object, entry); !lived) return fail(lived.error());
    return entry;
  }

 private:
  static const Json* object_in(const Json& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    return value == nullptr ? nullptr : value->if_object();
  }

  static Result<void> read_life(const Json& object, EntryRow& entry) {
    struct Instant {
      const char* name;
      UtcMs EntryRow::*member;
      bool is_needed;
    };
    const std::array<Instant, 4> instants{{{"answered_at", &EntryRow::answered_at, true},
                                           {"fresh_until", &EntryRow::fresh_until, !entry.pinned},
                                           {"stale_until", &EntryRow::stale_until, false},
                                           {"erase_after", &EntryRow::erase_after, !entry.pinned}}};
    for (const auto& [name, member, is_needed] : instants) {
      const auto text = text_of(object, name);
      if (text.empty() && !is_needed) continue;
      const auto at = parse_utc(text);
      if (!at)
        return fail(ErrorCode::invalid_address,
                    "`{}` is no instant in UTC such as 2026-05-01T12:00:00Z",
                    name);
      entry.*member = *at;
    }
    entry.stale_until = std::max(entry.stale_until, entry.fresh_until);
    return {};
  }

  const KeyRing& ring_;
  Normalizer normalizer_;
};

Result<void> file_page(std::vector<EntryRow>& page,
                       Store& store,
                       Deadline deadline,
                       TransferReport& report) {
  const auto filed = store.import_entries(page, deadline);
  if (!filed) return fail(filed.error());
  for (const Imported one : *filed) switch (one) {
      case Imported::stored:
        ++report.stored;
        break;
      case Imported::older:
        ++report.older;
        break;
      case Imported::expired:
        ++report.expired;
        break;
    }
  page.clear();
  return {};
}

}  // namespace

Result<TransferReport> export_answers(Store& store,
                                      const KeyRing& ring,
                                      const Clock& clock,
                                      LineOut& out) {
  TransferReport report;
  EntryFilter filter;
  filter.limit = kPage;
  for (;;) {
    const auto page = store.entries(filter, Deadline::never());
    if (!page) return fail(page.error());
    if (page->empty()) break;
    filter.after = page->back().slot;
    std::string lines;
    const UtcMs now = clock.now_utc();
    for (const EntryRow& entry : *page) {
      if (entry.answer == nullptr) continue;
      ++report.answers;
      if (!entry.pinned && entry.erase_after <= now) {
        ++report.expired;
        continue;
      }
      ++report.written;
      lines += line_of(entry, ring);
    }
    if (auto written = out.write(lines); !written) return fail(written.error());
  }
  return report;
}

Result<TransferReport> import_answers(std::istream& in,
                                      Store& store,
                                      const Config& config,
                                      const KeyRing& ring,
                                      SecondReader* second,
                                      Deadline deadline) {
  const auto terms = TermsOfProviders::of(config);
  if (!terms) return fail(terms.error());
  TransferReport report;
  LineReader reader(ring, second);
  std::vector<EntryRow> page;
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line == "\r") continue;
    ++report.answers;
    auto entry = reader.read(line);
    if (!entry) {
      // What it cannot say now it may say later, and then under another key.
      if (entry.error().code == ErrorCode::reader_unavailable) return fail(entry.error());
      if (++report.unreadable == 1)
        report.first_unreadable = fmt::format("line {}: {}", number, entry.error().message);
      continue;
    }
    if (!entry->pinned) {
      const Terms* allowed = terms->find(entry->answer->provider);
      if (allowed == nullptr) ++report.unknown_providers[entry->answer->provider];
      if (allowed == nullptr || !TermsOfProviders::apply(*allowed, *entry)) {
        ++report.not_allowed;
        continue;
      }
    }
    page.push_back(std::move(*entry));
    if (page.size() < kPage) continue;
    if (auto filed = file_page(page, store, deadline, report); !filed) return fail(filed.error());
  }
  if (in.bad()) return fail(ErrorCode::io_failed, "the file could not be read to its end");
  if (!page.empty())
    if (auto filed = file_page(page, store, deadline, report); !filed) return fail(filed.error());
  return report;
}

}  // namespace geonce
