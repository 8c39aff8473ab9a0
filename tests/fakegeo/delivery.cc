#include "delivery.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <zlib.h>

namespace fakegeo {
namespace {

constexpr std::size_t kMiB = 1 << 20;

std::string html_page(int status) {
  return fmt::format(
      "<html><head><title>{0} {1}</title></head><body><h1>{1}</h1>"
      "<p>This page is no JSON.</p></body></html>\n",
      status,
      reason_of(status));
}

std::string retry_after_value(const std::string& text) {
  constexpr std::string_view kDate = "date:+";
  if (!text.starts_with(kDate)) return text;
  long offset_s = 0;
  std::from_chars(text.data() + kDate.size(), text.data() + text.size(), offset_s);
  return http_date(offset_s);
}

Answer status_answer(const Ask& ask, const Rule& rule) {
  const std::string message =
      rule.message.empty() ? std::string(reason_of(rule.status)) : rule.message;
  Answer answer = provider_error(ask.dialect, rule.status, rule.code, message, false);
  if (rule.is_html) {
    answer.body = html_page(rule.status);
    answer.content_type = "text/html; charset=UTF-8";
  }
  if (rule.body) answer.body = *rule.body;
  if (!rule.content_type.empty()) answer.content_type = rule.content_type;
  if (!rule.retry_after.empty())
    answer.headers.emplace_back("Retry-After", retry_after_value(rule.retry_after));
  return answer;
}

std::vector<std::size_t> edited_order(const Ask& ask, const Rule& rule) {
  std::vector<std::size_t> order = natural_order(ask);
  if (rule.action == Action::items_reordered) {
    std::reverse(order.begin(), order.end());
    return order;
  }
  std::vector<std::size_t> chosen = rule.items;
  if (chosen.empty()) chosen.push_back(rule.action == Action::items_missing ? order.size() - 1 : 0);
  std::vector<std::size_t> out;
  for (const std::size_t i : order) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), i) != chosen.end();
    if (rule.action == Action::items_missing && is_chosen) continue;
    out.push_back(i);
    if (rule.action == Action::items_doubled && is_chosen) out.push_back(i);
  }
  return out;
}

/// Gzip that inflates to `mib` MiB of blanks, about 1 KiB per MiB. One block of 1 MiB ends in a
/// full flush, after which nothing refers back, so its bytes may be repeated as they are.
std::string gzip_bomb(std::uint64_t mib) {
  const std::string blanks(kMiB, ' ');
  std::string block(kMiB, '\0');
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(blanks.data()));
  stream.avail_in = static_cast<uInt>(blanks.size());
  stream.next_out = reinterpret_cast<Bytef*>(block.data());
  stream.avail_out = static_cast<uInt>(block.size());
  deflate(&stream, Z_FULL_FLUSH);
  block.resize(block.size() - stream.avail_out);
  deflateEnd(&stream);

  const uLong block_crc =
      crc32(0, reinterpret_cast<const Bytef*>(blanks.data()), static_cast<uInt>(blanks.size()));
  uLong crc = 0;
  std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
  for (std::uint64_t i = 0; i < mib; ++i) {
    out += block;
    crc = crc32_combine(crc, block_crc, static_cast<z_off_t>(kMiB));
  }
  out += std::string("\x03\x00", 2);  // an empty last block
  const auto append_le32 = [&out](std::uint64_t value) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
  };
  append_le32(crc);
  append_le32(mib * kMiB);
  return out;
}

Answer make_answer(const Ask& ask, const Rule& rule) {
  switch (rule.action) {
    case Action::status:
      return status_answer(ask, rule);
    case Action::in_body_error:
      return provider_error(ask.dialect, rule.status, rule.code, rule.message, true);
    case Action::empty_results:
      return no_match(ask);
    case Action::text: {
      Answer answer;
      answer.content_type = rule.content_type.empty() ? "text/plain" : rule.content_type;
      answer.body = rule.body.value_or("PROXY_OVER_QUERY_LIMIT");
      return answer;
    }
    case Action::items_missing:
    case Action::items_reordered:
    case Action::items_doubled:
      return answer(ask, rule.version, edited_order(ask, rule));
    default:
      return answer(ask, rule.version, natural_order(ask));
  }
}

Delivery harmed(Answer answer, const Rule& rule, bool keep_alive) {
  using End = Delivery::End;
  const End rest = keep_alive && !rule.then_close ? End::keep : End::close;
  const auto whole = [&] {
    return response_head(answer, answer.body.size(), keep_alive) + answer.body;
  };
  switch (rule.action) {
    case Action::half_body:
      answer.body.resize(answer.body.size() / 2);
      return {.bytes = whole(), .tail = {}, .end = rest};
    case Action::wrong_length: {
      const auto declared = static_cast<std::int64_t>(answer.body.size()) + rule.delta;
      const auto length = static_cast<std::size_t>(std::max<std::int64_t>(declared, 0));
      return {.bytes = response_head(answer, length, keep_alive) + answer.body,
              .tail = {},
              .end = End::close};
    }
    case Action::cut_head: {
      const std::string head = response_head(answer, answer.body.size(), keep_alive);
      return {.bytes = head.substr(0, head.size() / 2), .tail = {}, .end = End::close};
    }
    case Action::cut_body: {
      const std::string head = response_head(answer, answer.body.size(), keep_alive);
      return {.bytes = head + answer.body.substr(0, answer.body.size() / 2),
              .tail = {},
              .end = End::close};
    }
    case Action::close:
      return {.bytes = {}, .tail = {}, .end = rule.with_reset ? End::reset : End::close};
    case Action::hang:
      return {.bytes = {}, .tail = {}, .end = End::silent};
    case Action::slow:
      return {.bytes = whole(), .tail = {}, .end = rest, .bytes_per_s = rule.bytes_per_s};
    case Action::endless_chunks: {
      answer.headers.emplace_back("Transfer-Encoding", "chunked");
      return {.bytes = response_head(answer, std::nullopt, keep_alive),
              .tail = fmt::format("400\r\n{:1024}\r\n", ""),
              .end = End::repeat};
    }
    case Action::gzip_bomb:
      answer.headers.emplace_back("Content-Encoding", "gzip");
      answer.body = gzip_bomb(rule.inflated_mib);
      return {.bytes = whole(), .tail = {}, .end = rest};
    case Action::twice:
      return {.bytes = whole() + whole(), .tail = {}, .end = rest};
    default:
      return {.bytes = whole(), .tail = {}, .end = rest};
  }
}

}  // namespace

Delivery deliver(const Ask& ask, const Rule* rule, bool keep_alive) {
  if (rule == nullptr) return deliver(answer(ask, 0, natural_order(ask)), keep_alive);
  return harmed(make_answer(ask, *rule), *rule, keep_alive);
}

Delivery deliver(const Answer& answer, bool keep_alive) {
  return {.bytes = response_head(answer, answer.body.size(), keep_alive) + answer.body,
          .tail = {},
          .end = keep_alive ? Delivery::End::keep : Delivery::End::close};
}

}  // namespace fakegeo
