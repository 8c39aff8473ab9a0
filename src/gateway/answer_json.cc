#include "gateway/answer_json.h"

#include <array>
#include <utility>

#include "core/utc_text.h"

namespace geonce {

void write_answer(JsonWriter& json, std::string_view key, const Resolved& resolved) {
  const Answer& answer = *resolved.answer;
  json.open();
  json.member("key", key);
  json.member("status", to_string(answer.kind));
  if (answer.at && answer.kind == AnswerKind::match) {
    json.member("lat", answer.at->lat_deg);
    json.member("lng", answer.at->lng_deg);
    json.member("precision", to_string(answer.precision));
    json.member("partial", answer.partial);
  }
  if (answer.confidence) json.member("confidence", *answer.confidence);
  const auto text = [&json](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  text("formatted", answer.formatted);
  const std::array parts{std::pair{"house_number", &answer.house_number},
                         std::pair{"street", &answer.street},
                         std::pair{"unit", &answer.unit},
                         std::pair{"city", &answer.city},
                         std::pair{"state", &answer.state},
                         std::pair{"postcode", &answer.postcode}};
  for (const auto& [name, value] : parts) text(name, *value);
  if (answer.country.is_known()) json.member("country", answer.country.code());
  text("place_id", answer.place_id);
  text("reason", answer.reason);
  text("provider", answer.provider);
  json.member("cache", to_string(resolved.source));
  if (resolved.error) text("stale_because", to_string(resolved.error->code));
  json.member("calls", resolved.calls);
  json.member("cost_microusd", resolved.cost.micro_usd);
  if (resolved.answered_at != 0) json.member("answered_at", utc_text(resolved.answered_at));
  if (resolved.expires_at != 0) json.member("expires_at", utc_text(resolved.expires_at));
  if (!resolved.is_stored) json.member("stored", false);
  json.close();
}

void write_error(JsonWriter& json, std::string_view key, const Error& error) {
  json.open();
  if (!key.empty()) json.member("key", key);
  json.member("status", "error");
  json.member("error", to_string(error.code));
  json.member("detail", error.message);
  json.member("retryable", row(error.code).retryable);
  json.close();
}

}  // namespace geonce
