#include "simulation/provider.h"

#include <charconv>

namespace geonce::sim {
namespace {

constexpr std::size_t kWordSize = 9;  // a letter and eight digits

}  // namespace

SimProvider::SimProvider(std::string name, bool reads_refusals_as_no_match)
    : reads_refusals_as_no_match_(reads_refusals_as_no_match) {
  traits_.name = std::move(name);
  traits_.terms.keep = Terms::Keep::unlimited;
  traits_.price_single = {500};
  traits_.price_bulk = {300};
}

Result<void> SimProvider::call(std::span<const ProviderAsk>,
                               bool,
                               Deadline,
                               std::function<bool()>,
                               std::function<void(Transfer)>) {
  return fail(ErrorCode::internal, "the world carries the calls");
}

void SimProvider::add_word(std::string& body, Word word, std::size_t answer) {
  body += static_cast<char>(word);
  std::string digits = std::to_string(answer);
  body.append(kWordSize - 1 - digits.size(), '0');
  body += digits;
}

std::size_t SimProvider::number_of(const Answer& answer) {
  std::size_t number = SIZE_MAX;
  const char* end = answer.formatted.data() + answer.formatted.size();
  if (std::from_chars(answer.formatted.data(), end, number).ptr != end) return SIZE_MAX;
  return number;
}

std::vector<Outcome> SimProvider::decode(const Transfer& transfer,
                                         std::span<const ProviderAsk> asks,
                                         bool /*bulk*/) const {
  std::vector<Outcome> outcomes;
  outcomes.reserve(asks.size());
  const std::string_view body = transfer.response.body;
  for (const ProviderAsk& ask : asks) {
    if (transfer.response.status != 200) {
      outcomes.push_back(refusal(transfer.response.status, transfer));
      continue;
    }
    std::size_t place = 0;
    std::from_chars(ask.ref.data(), ask.ref.data() + ask.ref.size(), place);
    const std::string_view word = body.substr(place * kWordSize, kWordSize);
    outcomes.push_back(outcome_of(static_cast<Word>(word[0]), word.substr(1)));
  }
  return outcomes;
}

Outcome SimProvider::outcome_of(Word word, std::string_view number) const {
  Outcome outcome;
  outcome.http_status = 200;
  outcome.billed = Billed::yes;
  outcome.price = traits_.price_single;
  outcome.answer.formatted = number;
  outcome.answer.precision = Precision::rooftop;
  switch (word) {
    case Word::match:
      outcome.kind = OutcomeKind::match;
      outcome.answer.at = LatLng{1, 2};
      break;
    case Word::coarse:
      outcome.kind = OutcomeKind::match;
      outcome.answer.at = LatLng{1, 2};
      outcome.answer.precision = Precision::region;
      break;
    case Word::no_match:
      outcome.kind = OutcomeKind::no_match;
      break;
    case Word::ambiguous:
      outcome.kind = OutcomeKind::ambiguous;
      break;
    case Word::hopeless:
      outcome.kind = OutcomeKind::refused;
      outcome.failure = FailureClass::permanent;
      outcome.billed = Billed::no;
      break;
    case Word::unreadable:
      outcome.kind = OutcomeKind::unknown;
      outcome.billed = Billed::unknown;
      break;
  }
  return outcome;
}

Outcome SimProvider::refusal(int status, const Transfer& transfer) const {
  Outcome outcome;
  outcome.http_status = status;
  outcome.billed = Billed::no;
  if (reads_refusals_as_no_match_) {
    outcome.kind = OutcomeKind::no_match;
    outcome.answer.formatted = transfer.response.body;
    return outcome;
  }
  outcome.kind = OutcomeKind::refused;
  outcome.failure = status == 400   ? FailureClass::permanent
                    : status == 401 ? FailureClass::fatal
                    : status == 429 ? FailureClass::retry_after
                                    : FailureClass::retry;
  if (status == 429 && !transfer.response.headers.empty()) {
    const std::string& seconds = transfer.response.headers.front().second;
    outcome.delay = std::chrono::seconds{std::atoi(seconds.c_str())};
  }
  return outcome;
}

}  // namespace geonce::sim
