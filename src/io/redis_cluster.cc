#include "io/redis_cluster.h"

#include <array>

namespace geonce {
namespace {

constexpr std::array<std::uint16_t, 256> crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

std::uint16_t crc16(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0;
  for (const char c : bytes)
    crc = (crc << 8U) ^ kTable[((crc >> 8U) ^ static_cast<std::uint8_t>(c)) & 0xFFU];
  return static_cast<std::uint16_t>(crc);
}

}  // namespace

std::uint16_t redis_slot(std::string_view key) {
  if (const auto open = key.find('{'); open != std::string_view::npos) {
    const auto close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % kRedisSlots;
}

Result<std::vector<RedisShard>> read_redis_shards(RedisReply reply, const RedisEndpoint& asked) {
  std::vector<RedisShard> shards;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const RedisReply run = reply.at(i);
    const auto first = run.at(0).integer();
    const auto last = run.at(1).integer();
    const auto port = run.at(2).at(1).integer();
    const bool is_slots = first && last && *first >= 0 && *first <= *last &&
                          *last < static_cast<std::int64_t>(kRedisSlots);
    if (!is_slots || !port || *port <= 0 || *port > 65'535)
      return fail(ErrorCode::io_failed, "its list of slots is not understood");
    RedisEndpoint master{std::string(run.at(2).at(0).text()), static_cast<int>(*port), {}};
    if (master.host.empty() || master.host == "?") master.host = asked.host;
    auto shard = std::find_if(shards.begin(), shards.end(), [&](const RedisShard& known) {
      return known.master == master;
    });
    if (shard == shards.end()) shard = shards.insert(shards.end(), {std::move(master), {}});
    shard->slots.emplace_back(static_cast<std::uint16_t>(*first),
                              static_cast<std::uint16_t>(*last));
  }
  if (shards.empty()) return fail(ErrorCode::io_failed, "no node of the cluster serves any slot");
  return shards;
}

std::optional<RedisRedirect> read_redis_redirect(std::string_view error,
                                                 const RedisEndpoint& asked) {
  RedisRedirect redirect;
  redirect.only_once = error.starts_with("ASK ");
  if (!redirect.only_once && !error.starts_with("MOVED ")) return std::nullopt;
  const auto space = error.rfind(' ');
  auto where = error.substr(space + 1);
  std::string with_host;
  if (where.rfind(':') == 0) {
    with_host = asked.host;
    with_host += where;
    where = with_host;
  }
  // An IPv6 address stands there without brackets; the port is behind the last colon either way.
  auto to = parse_redis_endpoint(where, 0);
  if (!to || to->port == 0) return std::nullopt;
  redirect.to = std::move(*to);
  return redirect;
}

}  // namespace geonce
