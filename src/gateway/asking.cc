#include "gateway/asking.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gateway/answer_json.h"
#include "gateway/problem.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

/// errors    usage
Result<std::int64_t> whole(std::string_view what, std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0)
    return fail(ErrorCode::usage, "{} takes a whole number", what);
  return number;
}

Result<void> read_directive(std::string_view name,
                            std::string_view value,
                            UtcMs now,
                            AskOptions& options) {
  if (same_word(name, "only-if-cached")) {
    options.cache_only = true;
  } else if (same_word(name, "no-cache")) {
    options.refresh_before = kRefreshAll;
  } else if (same_word(name, "max-age")) {
    const auto seconds = whole("max-age", value);
    if (!seconds) return fail(seconds.error());
    options.refresh_before =
        std::max(options.refresh_before, now - std::min(*seconds, now / 1000) * 1000);
  } else if (same_word(name, "stale-if-error")) {
    const auto seconds = whole("stale-if-error", value);
    if (!seconds) return fail(seconds.error());
    options.serve_stale = *seconds > 0;
  }
  return {};
}

Result<void> read_cache_control(std::string_view list, UtcMs now, AskOptions& options) {
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    auto item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const auto first = std::min(item.find_first_not_of(" \t"), item.size());
    item.remove_prefix(first);
    item = item.substr(0, item.find_last_not_of(" \t") + 1);
    const auto equals = std::min(item.find('='), item.size());
    const auto value = item.substr(std::min(equals + 1, item.size()));
    if (auto read = read_directive(item.substr(0, equals), value, now, options); !read) return read;
  }
  return {};
}

bool is_hit(AnswerSource source) {
  switch (source) {
    case AnswerSource::l1:
    case AnswerSource::redis:
    case AnswerSource::db:
    case AnswerSource::places:
    case AnswerSource::negative:
    case AnswerSource::stale:
      return true;
    case AnswerSource::coalesced:
    case AnswerSource::paid:
      return false;
  }
  return false;
}

void write_feature(JsonWriter& json, std::string_view key, const Resolved& resolved) {
  const Answer& answer = *resolved.answer;
  json.open();
  json.member("type", "Feature");
  json.name("geometry");
  if (answer.at && answer.kind == AnswerKind::match) {
    json.open();
    json.member("type", "Point");
    json.name("coordinates");
    json.open_list();
    json.value(answer.at->lng_deg);
    json.value(answer.at->lat_deg);
    json.close_list();
    json.close();
  } else {
    json.null();
  }
  json.name("properties");
  write_answer(json, key, resolved);
  json.close();
}

/// Answers a query that memory does not know.
void answer_later(const GatewayParts& parts,
                  const QueryView& query,
                  const Keyed& keyed,
                  const AskManner& manner,
                  std::shared_ptr<HttpReply> reply,
                  const Respond& respond) {
  std::vector<Ask> asks;
  asks.push_back(ask_of(query, keyed, manner));
  parts.resolver.start(
      std::move(asks),
      Deadline::in(manner.patience, parts.clock),
      [&parts, manner, key = parts.ring.text(keyed.key), reply = std::move(reply), respond](
          std::size_t /*index*/, const Resolved& resolved) {
        reply->send(respond(key, resolved, manner, parts.clock.now_utc()));
      });
}

ServerResponse keyless(const Error& error,
                       const GatewayParts& parts,
                       const AskManner& manner,
                       const Respond& respond) {
  Resolved resolved;
  resolved.error = error;
  return respond({}, resolved, manner, parts.clock.now_utc());
}

/// The same where the second reader has to say what the key is.
void answer_slowly(EndpointContext& context,
                   const QueryView& query,
                   Country country,
                   const AskManner& manner,
                   std::shared_ptr<HttpReply> reply,
                   const Respond& respond) {
  Query bytes = Query::from(query);
  bytes.country = country;
  context.slow.push([&parts = context.parts, bytes = std::move(bytes), manner, reply, respond](
                        Normalizer& normalizer) {
    const auto keyed = normalizer.key(bytes.view());
    if (!keyed) return reply->send(keyless(keyed.error(), parts, manner, respond));
    answer_later(parts, bytes.view(), *keyed, manner, reply, respond);
  });
}

}  // namespace

bool is_for_second(const EndpointContext& context, const Keyed& keyed) {
  return context.parts.second != nullptr && keyed.mode == Mode::unparsed;
}

void answer(EndpointContext& context,
            const QueryView& query,
            const AskManner& manner,
            HttpReply reply,
            const Respond& respond) {
  const GatewayParts& parts = context.parts;
  const auto keyed = context.normalizer.key(query);
  if (!keyed) return reply.send(keyless(keyed.error(), parts, manner, respond));
  const auto kept = [&reply] { return std::make_shared<HttpReply>(std::move(reply)); };
  if (is_for_second(context, *keyed))
    return answer_slowly(context, query, keyed->country, manner, kept(), respond);
  Slot slot;
  slot.key = keyed->key;
  if (const auto known = parts.resolver.remembered(slot, manner.options))
    return reply.send(respond(parts.ring.text(keyed->key), *known, manner, parts.clock.now_utc()));
  answer_later(parts, query, *keyed, manner, kept(), respond);
}

Result<AskManner> manner_of(const ServerRequest& request,
                            std::string_view timeout,
                            const GatewayParts& parts) {
  AskManner manner;
  manner.patience = parts.options.deadline;
  if (!timeout.empty()) {
    const auto given = whole("timeout_ms", timeout);
    if (!given) return fail(given.error());
    manner.patience = std::min(manner.patience, milliseconds{*given});
  }
  for (const HttpField& field : request.fields) {
    if (same_word(field.name, "cache-control")) {
      auto read = read_cache_control(field.value, parts.clock.now_utc(), manner.options);
      if (!read) return fail(read.error());
    } else if (same_word(field.name, "accept")) {
      manner.as_geojson |= field.value.find("application/geo+json") != std::string_view::npos;
    }
  }
  return manner;
}

Ask ask_of(const QueryView& query, const Keyed& keyed, const AskManner& manner) {
  Ask ask;
  ask.slot.key = keyed.key;
  ask.pre_image = keyed.pre_image;
  ask.query = Query::from(query);
  ask.query.country = keyed.country;
  ask.quality = keyed.quality;
  ask.options = manner.options;
  ask.options.waits_for_store = false;
  return ask;
}

void add_source(ServerResponse& response,
                std::string_view key,
                const Resolved& resolved,
                UtcMs now) {
  std::string& out = response.fields;
  out.reserve(256);
  const auto at = std::back_inserter(out);
  if (is_hit(resolved.source)) {
    out += "Cache-Status: geonce; hit";
    if (resolved.expires_at != 0)
      fmt::format_to(at, "; ttl={}", (resolved.expires_at - now) / 1000);
    out += "; detail=";
    out += to_string(resolved.source);
  } else {
    out += "Cache-Status: geonce; fwd=miss";
    if (resolved.is_stored) out += "; stored";
    if (resolved.source == AnswerSource::coalesced) out += "; collapsed";
  }
  out += "\r\n";
  if (resolved.answered_at != 0)
    fmt::format_to(at, "Age: {}\r\n", std::max<UtcMs>(now - resolved.answered_at, 0) / 1000);
  out += resolved.cost.micro_usd > 0 ? "Geonce-Billed: 1\r\n" : "Geonce-Billed: 0\r\n";
  if (resolved.intent) fmt::format_to(at, "Geonce-Intent: {}\r\n", to_string(*resolved.intent));
  out.append("Geonce-Key: ").append(key).append("\r\n");
}

ServerResponse response_of(std::string_view key,
                           const Resolved& resolved,
                           const AskManner& manner,
                           UtcMs now) {
  if (!resolved.answer) {
    auto response = problem(*resolved.error);
    const bool in_doubt = resolved.error->billed == Billed::unknown;
    response.add("Geonce-Billed", in_doubt ? "?" : resolved.cost.micro_usd > 0 ? "1" : "0");
    if (resolved.intent) response.add("Geonce-Intent", to_string(*resolved.intent));
    if (!key.empty()) response.add("Geonce-Key", key);
    return response;
  }
  ServerResponse response;
  response.content_type = manner.as_geojson ? "application/geo+json" : "application/json";
  add_source(response, key, resolved, now);
  response.body.reserve(640);
  JsonWriter json(response.body);
  if (manner.as_geojson)
    write_feature(json, key, resolved);
  else
    write_answer(json, key, resolved);
  response.body += '\n';
  return response;
}

}  // namespace geonce
