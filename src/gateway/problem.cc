#include "gateway/problem.h"

#include <algorithm>

#include <fmt/format.h>

#include "gateway/json_writer.h"

namespace geonce {
namespace {

ServerResponse made(int status, std::string_view name, std::string_view detail) {
  ServerResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  std::string type = fmt::format("/problems/{}", name);
  std::ranges::replace(type, '_', '-');
  JsonWriter json(response.body);
  json.open();
  json.member("type", type);
  json.member("title", reason_phrase(status));
  json.member("status", status);
  json.member("detail", detail);
  return response;
}

}  // namespace

ServerResponse problem(int status, std::string_view name, std::string_view detail) {
  auto response = made(status, name, detail);
  response.body += "}\n";
  return response;
}

ServerResponse problem(const Error& error) {
  const ErrorRow& kind = row(error.code);
  auto response = made(kind.http_status, kind.name, error.message);
  JsonWriter json(response.body);
  json.member("error", kind.name);
  json.member("retryable", kind.retryable);
  if (!error.source.empty()) json.member("source", error.source);
  json.close();
  response.body += '\n';
  add_retry_after(response, error);
  return response;
}

void add_retry_after(ServerResponse& response, const Error& error) {
  if (!row(error.code).retryable && error.retry_after.count() <= 0) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(error.retry_after).count();
  response.add("Retry-After", std::to_string(std::max<std::int64_t>(seconds, 1)));
}

}  // namespace geonce
