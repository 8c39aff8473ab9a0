#include "resolver/resolver.h"

namespace geonce {

bool SpendCap::reserve(Money price) {
  return spent_.with([&](Spent& spent) {
    const bool fits = (!max_calls_ || spent.calls < *max_calls_) &&
                      (!max_cost_ || spent.cost + price <= *max_cost_);
    if (!fits) {
      spent.was_refused = true;
      return false;
    }
    ++spent.calls;
    spent.cost += price;
    return true;
  });
}

void SpendCap::give_back(Money price) {
  spent_.with([&](Spent& spent) {
    --spent.calls;
    spent.cost = spent.cost - price;
  });
}

void SpendCap::settle(Money reserved, Money actual) {
  spent_.with([&](Spent& spent) { spent.cost = spent.cost - reserved + actual; });
}

std::int64_t SpendCap::calls() const {
  return spent_.with([](const Spent& spent) { return spent.calls; });
}

Money SpendCap::cost() const {
  return spent_.with([](const Spent& spent) { return spent.cost; });
}

bool SpendCap::was_hit() const {
  return spent_.with([](const Spent& spent) { return spent.was_refused; });
}

std::string_view to_string(AnswerSource source) {
  switch (source) {
    case AnswerSource::l1:
      return "l1";
    case AnswerSource::redis:
      return "redis";
    case AnswerSource::db:
      return "db";
    case AnswerSource::places:
      return "places";
    case AnswerSource::coalesced:
      return "coalesced";
    case AnswerSource::paid:
      return "paid";
    case AnswerSource::negative:
      return "negative";
    case AnswerSource::stale:
      return "stale";
  }
  return "";
}

}  // namespace geonce
