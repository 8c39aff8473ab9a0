#include "providers/check.h"

#include <algorithm>

#include <boost/json.hpp>

#include "providers/decode.h"

namespace geonce {
namespace {

namespace json = boost::json;

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string(text));
}

/// JSON with numbers as people write them; the library's own has 4.8E1 for 48.
std::string plain_json(const json::value& value) {
  std::string out;
  if (const auto* array = value.if_array()) {
    for (const auto& element : *array) out += (out.empty() ? "[" : ",") + plain_json(element);
    return out.empty() ? "[]" : out + "]";
  }
  if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object)
      out +=
          (out.empty() ? "{" : ",") + json::serialize(json::value(name)) + ":" + plain_json(member);
    return out.empty() ? "{}" : out + "}";
  }
  return value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
}

std::string_view outcome_word(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::match:
      return "match";
    case OutcomeKind::no_match:
      return "no_match";
    case OutcomeKind::ambiguous:
      return "ambiguous";
    case OutcomeKind::pending:
      return "pending";
    case OutcomeKind::refused:
    case OutcomeKind::not_sent:
    case OutcomeKind::unknown:
      break;
  }
  return "error";
}

/// What would be remembered: an ambiguous answer is one, and only an explicit no-match is a
/// negative one.
std::string_view cache_word(const Outcome& outcome, const Terms& terms) {
  if (terms.keep == Terms::Keep::nothing) return "none";
  if (outcome.kind == OutcomeKind::match || outcome.kind == OutcomeKind::ambiguous)
    return "positive";
  return outcome.kind == OutcomeKind::no_match ? "negative" : "none";
}

/// Milliseconds as seconds: a whole number where it is one.
json::value seconds(std::chrono::milliseconds delay) {
  if (delay.count() % 1'000 == 0) return delay.count() / 1'000;
  return static_cast<double>(delay.count()) / 1'000;
}

void describe(const Outcome& outcome, const Spec& spec, json::object& out) {
  out["outcome"] = outcome_word(outcome.kind);
  if (outcome.failure != FailureClass::none) {
    out["class"] = to_string(outcome.failure);
    if (outcome.failure == FailureClass::retry_after) out["delay_s"] = seconds(outcome.delay);
  }
  if (!outcome.reason.empty()) out["reason"] = outcome.reason;
  if (outcome.kind == OutcomeKind::match) {
    const Answer& answer = outcome.answer;
    json::object result;
    result["lat"] = answer.at->lat_deg;
    result["lon"] = answer.at->lng_deg;
    result["precision"] = to_string(answer.precision);
    result["confidence"] =
        answer.confidence ? json::value(*answer.confidence) : json::value(nullptr);
    result["formatted"] = text_or_null(answer.formatted);
    result["place_id"] = text_or_null(answer.place_id);
    result["partial"] = answer.partial;
    result["country"] =
        text_or_null(answer.country.is_known() ? std::string(answer.country.code()) : "");
    out["result"] = std::move(result);
  }
  out["cache"] = cache_word(outcome, spec.terms);
  out["billed"] = to_string(outcome.billed);
}

json::object check_bulk(const Spec& spec, const SavedResponse& response, const Transfer& transfer) {
  json::object out;
  const BulkContents contents = look_into_bulk(spec, transfer.response);
  if (contents.refusal) {
    describe(*contents.refusal, spec, out);
    return out;
  }
  const std::vector<std::string>& refs = response.submitted ? *response.submitted : contents.refs;
  const bool has_refs =
      std::ranges::any_of(contents.refs, [](const auto& ref) { return !ref.empty(); });
  std::vector<ProviderAsk> asks;
  for (const auto& ref : refs) {
    ProviderAsk ask;
    ask.ref = ref;
    ask.query.text = ref;
    asks.push_back(std::move(ask));
  }
  const auto outcomes = decode(spec, transfer, asks, true);
  out["outcome"] = "batch";
  json::array items;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    json::object item;
    if (has_refs)
      item["ref"] = refs[i];
    else
      item["ref"] = i;
    describe(outcomes[i], spec, item);
    items.push_back(std::move(item));
  }
  out["items"] = std::move(items);
  return out;
}

std::string kept_text(const Terms& terms) {
  switch (terms.keep) {
    case Terms::Keep::nothing:
      return "nothing";
    case Terms::Keep::limited:
      return fmt::format("{} days", terms.keep_for.count() / 24);
    case Terms::Keep::unlimited:
      return "unlimited";
  }
  return "nothing";
}

std::string countries_text(const std::vector<Country>& countries) {
  if (countries.empty()) return "all";
  std::string text;
  for (const Country country : countries)
    text += (text.empty() ? "" : " ") + std::string(country.code());
  return text;
}

std::string price_text(Money price) { return price == Money{} ? "free" : to_string(price); }

}  // namespace

std::string check(const Spec& spec, const SavedResponse& response) {
  Transfer transfer;
  transfer.end = TransferEnd::complete;
  transfer.response.status = response.status;
  transfer.response.body = response.body;
  for (const auto& [name, value] : response.headers) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    transfer.response.headers.emplace_back(std::move(lower), value);
  }
  json::object out;
  if (response.bulk && !spec.bulk) {
    out["outcome"] = "error";
    out["class"] = to_string(FailureClass::fatal);
    out["reason"] = "this provider has no bulk endpoint";
    out["cache"] = "none";
    return plain_json(out);
  }
  if (response.bulk) return plain_json(check_bulk(spec, response, transfer));
  describe(decode(spec, transfer, std::vector<ProviderAsk>(1), false).front(), spec, out);
  return plain_json(out);
}

std::optional<std::pair<std::string, std::string>> parse_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  auto value = line.substr(colon + 1);
  while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
  while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
  return std::pair(std::string(line.substr(0, colon)), std::string(value));
}

Result<std::vector<std::string>> parse_submitted(std::string_view json_text) {
  boost::system::error_code error;
  const auto value = json::parse(json_text, error);
  const auto* array = error ? nullptr : value.if_array();
  std::vector<std::string> all;
  if (array != nullptr)
    for (const auto& element : *array)
      if (auto scalar = element.is_bool() ? std::nullopt : scalar_text(element))
        all.push_back(std::move(*scalar));
  if (array == nullptr || all.size() != array->size())
    return fail(
        ErrorCode::usage,
        R"(what was submitted has to be a JSON array of references or texts, like ["1", "2"])");
  return all;
}

std::string list_text(const Specs& specs) {
  std::string out = fmt::format("{:<12} {:>9} {:>9} {:>7} {:>7} {:<10} {}\n",
                                "provider",
                                "price",
                                "in bulk",
                                "bulk",
                                "rate/s",
                                "may keep",
                                "countries");
  for (const auto& [name, spec] : specs)
    out += fmt::format("{:<12} {:>9} {:>9} {:>7} {:>7} {:<10} {}\n",
                       name,
                       price_text(spec.prices.single),
                       spec.bulk ? price_text(spec.prices.bulk) : "-",
                       spec.bulk ? fmt::format("{}", spec.bulk->max) : "-",
                       spec.rate_per_s > 0 ? fmt::format("{:g}", spec.rate_per_s) : "-",
                       kept_text(spec.terms),
                       countries_text(spec.countries));
  return out;
}

std::string show_text(const Spec& spec) {
  std::string out;
  const auto line = [&](std::string_view name, std::string_view value) {
    out += fmt::format("# {:<13} {}\n", name, value);
  };
  line("name", spec.name);
  line("title", spec.title);
  if (!spec.facts.empty()) line("facts", spec.facts);
  line("file", spec.origin);
  line("countries", countries_text(spec.countries));
  line("price", fmt::format("{} a lookup", price_text(spec.prices.single)));
  if (spec.bulk)
    line("bulk",
         fmt::format(
             "up to {} addresses a call, {} each", spec.bulk->max, price_text(spec.prices.bulk)));
  line("rate",
       spec.rate_per_s > 0 ? fmt::format("{:g} lookups a second", spec.rate_per_s)
                           : "no limit known");
  line("at once", fmt::format("{} calls", spec.concurrency));
  line("may keep", kept_text(spec.terms));
  if (!spec.terms.keep_fields.empty())
    line("of it", fmt::format("{}", fmt::join(spec.terms.keep_fields, ", ")));
  if (!spec.terms.attribution.empty()) line("attribution", spec.terms.attribution);
  line("key", spec.needs_secret ? "needed: secret_file or secret_env" : "none");
  line("user agent", spec.needs_user_agent ? "needed: user_agent" : "optional");
  if (spec.no_match_rechecks > 0)
    line("no match",
         fmt::format("asked again {} time(s) before it counts", spec.no_match_rechecks));
  return out + "\n" + spec.text;
}

}  // namespace geonce
