#include "gateway/compat/dialect.h"

#include <algorithm>

#include "gateway/problem.h"

namespace geonce {

void answer_in(const Words& words,
               EndpointContext& context,
               const ServerRequest& request,
               const QueryView& query,
               HttpReply reply) {
  const auto manner = manner_of(request, {}, context.parts);
  if (!manner) return reply.send(words.of_error(manner.error()));
  answer(context,
         query,
         *manner,
         std::move(reply),
         [words](std::string_view key, const Resolved& resolved, const AskManner&, UtcMs now) {
           if (!resolved.answer) {
             auto response = words.of_error(*resolved.error);
             add_retry_after(response, *resolved.error);
             return response;
           }
           const bool is_match = resolved.answer->kind == AnswerKind::match && resolved.answer->at;
           auto response = words.of_answer(is_match ? resolved.answer.get() : nullptr);
           add_source(response, key, resolved, now);
           return response;
         });
}

bool read_parameters(EndpointContext& context,
                     const ServerRequest& request,
                     const Words& words,
                     HttpReply& reply) {
  const auto read = context.parameters.read(request.query);
  if (!read) reply.send(words.of_error(read.error()));
  return read.has_value();
}

std::string_view only_one(std::string_view countries) {
  return countries.find(',') == std::string_view::npos ? countries : std::string_view();
}

std::string street_line_of(const Answer& answer) {
  std::string line = answer.house_number;
  if (!line.empty() && !answer.street.empty()) line += ' ';
  return line + answer.street;
}

std::string line_of(const Answer& answer) {
  if (!answer.formatted.empty()) return answer.formatted;
  std::string line = street_line_of(answer);
  const auto add = [&line](std::string_view part, std::string_view between) {
    if (part.empty()) return;
    if (!line.empty()) line += between;
    line += part;
  };
  add(answer.unit, ", ");
  add(answer.city, ", ");
  add(answer.state, ", ");
  add(answer.postcode, " ");
  if (answer.country.is_known()) add(answer.country.code(), ", ");
  return line;
}

ServerResponse json_response(std::string body, int status) {
  ServerResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

void write_point(JsonWriter& json, const LatLng& at) {
  json.name("geometry");
  json.open();
  json.member("type", "Point");
  json.name("coordinates");
  json.open_list();
  json.value(at.lng_deg);
  json.value(at.lat_deg);
  json.close_list();
  json.close();
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  return out;
}

}  // namespace geonce
