#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <boost/json.hpp>

#include "gateway/answer_json.h"
#include "gateway/asking.h"
#include "gateway/endpoint.h"
#include "gateway/problem.h"

namespace geonce {
namespace {

struct QueryField {
  std::string_view name;
  std::string_view QueryView::*in_view;
};

// What both GET and POST take, and `country`.
constexpr std::array kFields{
    QueryField{"q", &QueryView::text},
    QueryField{"house_number", &QueryView::house_number},
    QueryField{"street", &QueryView::road},
    QueryField{"unit", &QueryView::unit},
    QueryField{"city", &QueryView::city},
    QueryField{"state", &QueryView::state},
    QueryField{"postcode", &QueryView::postcode},
    QueryField{"house", &QueryView::house},
    QueryField{"po_box", &QueryView::po_box},
    QueryField{"suburb", &QueryView::suburb},
    QueryField{"language", &QueryView::language},
};

constexpr std::array<std::string_view, kFields.size() + 2> kParameters = [] {
  std::array<std::string_view, kFields.size() + 2> names{};
  for (std::size_t i = 0; i < kFields.size(); ++i) names[i] = kFields[i].name;
  names[kFields.size()] = "country";
  names[kFields.size() + 1] = "timeout_ms";
  return names;
}();

QueryView query_of(const EndpointContext& context) {
  QueryView query;
  for (const QueryField& field : kFields)
    query.*field.in_view = context.parameters.value(field.name);
  query.country_text = context.parameters.value("country");
  query.country = context.parts.options.default_country;
  return query;
}

// --- several queries in one request

/// A request with several queries, until the last one is answered.
struct Many {
  Many(const GatewayParts& given, AskManner wanted, HttpReply to)
      : parts(given), manner(std::move(wanted)), reply(std::move(to)) {}

  struct Item {
    std::string key;  // in its text form; empty: the query has none
    Resolved resolved;
  };

  const GatewayParts& parts;
  AskManner manner;
  HttpReply reply;
  boost::json::monotonic_resource memory;
  boost::json::value body;  // what the views point to
  std::vector<QueryView> queries;
  std::vector<Item> items;            // of the same index
  std::atomic<std::size_t> open = 0;  // queries without an answer

  void finish() {
    ServerResponse response;
    response.content_type = "application/json";
    response.body.reserve(items.size() * 512);
    JsonWriter json(response.body);
    json.open();
    json.name("results");
    json.open_list();
    for (const Item& item : items) {
      if (item.resolved.answer)
        write_answer(json, item.key, item.resolved);
      else
        write_error(json, item.key, *item.resolved.error);
    }
    json.close_list();
    json.close();
    response.body += '\n';
    reply.send(std::move(response));
  }
};

/// false: some of the keys only the second reader can say.
bool has_own_keys(const EndpointContext& context, const std::vector<Result<Keyed>>& keys) {
  return std::ranges::none_of(
      keys, [&](const Result<Keyed>& keyed) { return keyed && is_for_second(context, *keyed); });
}

std::vector<Result<Keyed>> keys_of(Normalizer& normalizer, const std::vector<QueryView>& queries) {
  std::vector<Result<Keyed>> keys;
  keys.reserve(queries.size());
  for (const QueryView& query : queries) keys.push_back(normalizer.key(query));
  return keys;
}

void start(const std::shared_ptr<Many>& many, const std::vector<Result<Keyed>>& keys) {
  std::vector<Ask> asks;
  std::vector<std::size_t> item_of;
  many->items.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Many::Item& item = many->items[i];
    if (!keys[i]) {
      item.resolved.error = keys[i].error();
      continue;
    }
    item.key = many->parts.ring.text(keys[i]->key);
    asks.push_back(ask_of(many->queries[i], *keys[i], many->manner));
    item_of.push_back(i);
  }
  if (asks.empty()) return many->finish();
  many->open = asks.size();
  many->parts.resolver.start(
      std::move(asks),
      Deadline::in(many->manner.patience, many->parts.clock),
      [many, item_of = std::move(item_of)](std::size_t index, Resolved resolved) {
        many->items[item_of[index]].resolved = std::move(resolved);
        if (many->open.fetch_sub(1, std::memory_order_acq_rel) == 1) many->finish();
      });
}

// --- what a body says

/// errors    usage
Result<QueryView> query_from(const boost::json::value& value, Country standard) {
  QueryView query;
  query.country = standard;
  if (value.is_string()) {
    query.text = std::string_view(value.get_string());
    return query;
  }
  if (!value.is_object())
    return fail(ErrorCode::usage, "a query is a text or an object with the members of GET");
  for (const auto& [name, member] : value.get_object()) {
    if (member.is_null() || std::string_view(name) == "timeout_ms") continue;
    if (!member.is_string())
      return fail(ErrorCode::usage, "\"{}\" is no text", std::string_view(name));
    const std::string_view text = member.get_string();
    const auto* field = std::ranges::find(kFields, std::string_view(name), &QueryField::name);
    if (field != kFields.end())
      query.*field->in_view = text;
    else if (std::string_view(name) == "country")
      query.country_text = text;
    else
      return fail(ErrorCode::usage,
                  "there is no member \"{}\"; known are those of GET and \"queries\"",
                  std::string_view(name));
  }
  return query;
}

/// The list of a body that has several queries; null: it has one.
const boost::json::array* list_in(const boost::json::value& body) {
  if (const auto* list = body.if_array()) return list;
  const auto* object = body.if_object();
  const auto* queries = object != nullptr ? object->if_contains("queries") : nullptr;
  return queries != nullptr ? queries->if_array() : nullptr;
}

/// errors    usage
Result<void> read_list(const boost::json::array& list, Many& many) {
  if (list.size() > many.parts.options.most_queries)
    return fail(ErrorCode::usage,
                "{} queries in one request, and at most {} are taken",
                list.size(),
                many.parts.options.most_queries);
  many.queries.reserve(list.size());
  for (const auto& value : list) {
    auto query = query_from(value, many.parts.options.default_country);
    if (!query)
      return fail(ErrorCode::usage, "query {}: {}", many.queries.size() + 1, query.error().message);
    many.queries.push_back(*query);
  }
  return {};
}

}  // namespace

void get_geocode(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  if (auto read = context.parameters.read(request.query); !read)
    return reply.send(problem(read.error()));
  if (auto known = context.parameters.only(kParameters); !known)
    return reply.send(problem(known.error()));
  const auto manner = manner_of(request, context.parameters.value("timeout_ms"), context.parts);
  if (!manner) return reply.send(problem(manner.error()));
  answer(context, query_of(context), *manner, std::move(reply), response_of);
}

void post_geocode(EndpointContext& context, const ServerRequest& request, HttpReply reply) {
  const auto type = request.field("content-type").value_or("application/json");
  if (!same_word(type.substr(0, type.find(';')), "application/json"))
    return reply.send(problem(415, "unsupported_media_type", "send application/json"));
  auto manner = manner_of(request, {}, context.parts);
  if (!manner) return reply.send(problem(manner.error()));
  const auto many = std::make_shared<Many>(context.parts, std::move(*manner), std::move(reply));
  boost::system::error_code error;
  many->body = boost::json::parse(request.body, error, &many->memory);
  if (error)
    return many->reply.send(problem(400, "bad_json", "the body is no JSON: " + error.message()));
  const auto* list = list_in(many->body);
  if (list == nullptr) {
    const auto query = query_from(many->body, context.parts.options.default_country);
    if (!query) return many->reply.send(problem(query.error()));
    return answer(context, *query, many->manner, std::move(many->reply), response_of);
  }
  if (auto read = read_list(*list, *many); !read) return many->reply.send(problem(read.error()));
  auto keys = keys_of(context.normalizer, many->queries);
  if (has_own_keys(context, keys)) return start(many, keys);
  context.slow.push(
      [many](Normalizer& normalizer) { start(many, keys_of(normalizer, many->queries)); });
}

}  // namespace geonce
