#include "io/redis_exchange.h"

#include <algorithm>

#include <poll.h>

namespace geonce {
namespace {

using std::chrono::milliseconds;

Mono real_now() { return std::chrono::steady_clock::now(); }

/// One talk under way.
class Side {
 public:
  Side(RedisTalk& talk, milliseconds patience) : talk_(talk), patience_(patience) {}

  [[nodiscard]] bool is_over() const {
    return talk_.failure.has_value() || (talk_.chunks.empty() && in_flight_.empty());
  }
  [[nodiscard]] Mono until() const { return heard_ + patience_; }
  [[nodiscard]] pollfd waiting() const {
    return {talk_.connection->socket(), talk_.connection->wanted_events(), 0};
  }
  void fail_with(Error error) {
    talk_.failure = std::move(error);
    while (!in_flight_.empty()) {
      talk_.chunks.push_front(std::move(in_flight_.back()));
      in_flight_.pop_back();
    }
  }

  template <class Sent, class Reply>
  void step(const Sent& sent, const Reply& reply) {
    for (;;) {
      while (!talk_.chunks.empty() && in_flight_.size() < kRedisChunksInFlight) {
        if (in_flight_.empty()) heard_ = real_now();
        in_flight_.push_back(std::move(talk_.chunks.front()));
        talk_.chunks.pop_front();
        sent(in_flight_.back().id);
        talk_.connection->send(in_flight_.back().bytes);
      }
      auto pumped = talk_.connection->pump();
      // What came before the end of a connection still counts.
      auto heard = take_replies(reply);
      if (!heard) return fail_with(std::move(heard.error()));
      if (is_over()) return;
      if (!pumped) return fail_with(std::move(pumped.error()));
      if (talk_.chunks.empty() || in_flight_.size() == kRedisChunksInFlight) return;
    }
  }

 private:
  template <class Reply>
  Result<void> take_replies(const Reply& reply) {
    while (!in_flight_.empty()) {
      auto next = talk_.connection->next();
      if (!next) return fail(next.error());
      if (!*next) return {};
      heard_ = real_now();
      reply(in_flight_.front().id, taken_, (*next)->look());
      if (++taken_ < in_flight_.front().replies) continue;
      taken_ = 0;
      in_flight_.pop_front();
    }
    return {};
  }

  RedisTalk& talk_;
  const milliseconds patience_;
  std::deque<RedisChunk> in_flight_;
  std::size_t taken_ = 0;  // replies to the first of them
  Mono heard_ = real_now();
};

}  // namespace

void converse(std::span<RedisTalk> talks,
              milliseconds patience,
              Deadline deadline,
              const Clock& clock,
              const std::function<void(std::size_t id)>& sent,
              const std::function<void(std::size_t id, std::size_t n, RedisReply)>& reply) {
  const bool is_bounded = deadline.at != Mono::max();
  const Mono last = is_bounded ? real_now() + deadline.left(clock) : Mono::max();
  std::vector<Side> sides;
  sides.reserve(talks.size());
  for (RedisTalk& talk : talks) sides.emplace_back(talk, patience);
  for (Side& side : sides)
    if (!side.is_over()) side.step(sent, reply);

  std::vector<pollfd> waiting;
  std::vector<Side*> open;
  for (;;) {
    waiting.clear();
    open.clear();
    Mono next = last;
    for (Side& side : sides) {
      if (side.is_over()) continue;
      open.push_back(&side);
      waiting.push_back(side.waiting());
      next = std::min(next, side.until());
    }
    if (open.empty()) return;
    const auto left = std::chrono::ceil<milliseconds>(next - real_now()).count();
    ::poll(waiting.data(),
           waiting.size(),
           static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    const Mono now = real_now();
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (waiting[i].revents != 0) open[i]->step(sent, reply);
      if (!open[i]->is_over() && now >= std::min(open[i]->until(), last))
        open[i]->fail_with({ErrorCode::io_failed,
                            fmt::format("no answer within {} ms", patience.count()),
                            {},
                            {},
                            {}});
    }
  }
}

}  // namespace geonce
