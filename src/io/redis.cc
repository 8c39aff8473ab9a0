#include "io/redis.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include <openssl/evp.h>

#include "core/guarded.h"
#include "core/key.h"
#include "io/redis_exchange.h"
#include "io/redis_node.h"
#include "io/redis_topology.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kKeysInChunk = 500;
constexpr std::size_t kBytesInChunk = 256U << 10U;
constexpr std::size_t kKeysInScript = 50;
constexpr std::size_t kBytesInScript = 32U << 10U;
constexpr int kMostRounds = 4;  // of being sent elsewhere
constexpr milliseconds kSentinelEvery{2'000};
constexpr milliseconds kClusterEvery{10'000};
constexpr milliseconds kInTroubleEvery{500};
constexpr milliseconds kLookAtMostEvery{50};
constexpr milliseconds kRefusalEvery{60'000};

Mono real_now() { return std::chrono::steady_clock::now(); }

/// One key on its way to its server.
struct Item {
  std::size_t index = 0;
  std::optional<RedisEndpoint> to;  // where a server has sent us
  bool is_asking = false;           // … for this once
  bool must_load = false;           // the script was not known there
};

/// What is said of the items, and what becomes of the replies.
struct Work {
  const RedisScript* script = nullptr;
  /// Writes one command about the first of `items`, at least one of them. Returns about how many.
  std::function<std::size_t(
      std::span<const Item> items, const RedisClock& clock, std::string& bytes)>
      write;
  /// The reply to such a command.
  std::function<void(std::span<const Item> items, RedisReply reply, RedisMoment when)> take;
};

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

class Client final : public Redis {
 public:
  Client(RedisOptions options, std::unique_ptr<RedisTls> tls, const Clock& clock)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        manner_(manner_of(clock)),
        scout_(options_.target, manner_, tls_.get()),
        keeper_([this](const std::stop_token& stop) { keep(stop); }) {}
  ~Client() override {
    keeper_.request_stop();
    call_keeper();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<void> get(std::span<const std::string> keys,
                   Deadline deadline,
                   const Visit& visit) override {
    Work work;
    work.write = [&](std::span<const Item> items, const RedisClock&, std::string& bytes) {
      append_redis_command_head(bytes, items.size() + 1);
      append_redis_word(bytes, "MGET");
      for (const Item& item : items) append_redis_word(bytes, keys[item.index]);
      return items.size();
    };
    work.take = [&](std::span<const Item> items, RedisReply reply, RedisMoment when) {
      for (std::size_t i = 0; i < items.size(); ++i)
        if (reply.at(i).is_text()) visit(items[i].index, reply.at(i).text(), when);
    };
    return carry_out(keys, work, deadline);
  }

  Result<void> run(const RedisScript& script,
                   std::span<const std::string> keys,
                   Deadline deadline,
                   const RedisWords& words) override {
    RedisWords::List list;
    std::string body;
    Work work;
    work.script = &script;
    work.write = [&](std::span<const Item> items, const RedisClock& clock, std::string& bytes) {
      list.clear();
      body.clear();
      words.common(clock, list);
      std::size_t count = 0;
      std::size_t size = 0;
      for (const Item& item : items.first(std::min(items.size(), kKeysInScript))) {
        const std::size_t before = list.size();
        words.of_key(item.index, clock, list);
        for (std::size_t i = before; i < list.size(); ++i) size += list[i].size();
        append_redis_word(body, keys[item.index]);
        ++count;
        if (size >= kBytesInScript) break;
      }
      append_redis_command_head(bytes, 3 + count + list.size());
      append_redis_word(bytes, "EVALSHA");
      append_redis_word(bytes, script.sha1);
      append_redis_word(bytes, std::to_string(count));
      bytes += body;
      for (const std::string& word : list) append_redis_word(bytes, word);
      return count;
    };
    work.take = [](auto, auto, auto) {};
    return carry_out(keys, work, deadline);
  }

  Result<void> call(std::string_view channel, Deadline deadline) override {
    std::string bytes;
    append_redis_command(bytes, {"PUBLISH", channel, ""});
    const auto reply = ask_anybody(bytes, deadline);
    if (!reply) return fail(reply.error());
    if (reply->look().is_error()) return fail(error_of(std::string(reply->look().text())));
    return {};
  }

  Result<std::string> describe(Deadline deadline) override;
  Result<std::vector<RedisNodeState>> examine(Deadline deadline) override;

 private:
  Result<HeldRedisReply> ask_anybody(std::string_view command, Deadline deadline);

  struct Chunk {
    RedisNode* node = nullptr;
    std::vector<Item> items;
    std::size_t together = 0;       // how many of them one command may be about
    std::vector<std::size_t> ends;  // per command: after the last of its items
    bool is_asking = false, must_load = false;
    RedisMoment when;

    /// Those that the n-th command is about.
    [[nodiscard]] std::span<const Item> about(std::size_t n) const {
      const std::size_t begin = n == 0 ? 0 : ends[n - 1];
      return std::span(items).subspan(begin, ends[n] - begin);
    }
  };
  struct Course {
    std::vector<Item> again;
    std::optional<Error> why;
    void note(Error error) {
      if (!why) why = std::move(error);
    }
  };

  RedisManner manner_of(const Clock& clock) {
    RedisManner manner;
    const RedisTarget& target = options_.target;
    manner.login.user = target.user;
    manner.login.password = target.password;
    manner.login.database = target.database;
    manner.login.must_be_master = target.kind == RedisTarget::Kind::sentinel;
    manner.login.tls = tls_.get();
    manner.patience = options_.patience;
    manner.notice = options_.notice;
    manner.call_keeper = [this] { call_keeper(); };
    manner.clock = &clock;
    return manner;
  }

  // --- the keeper
  // ------------------------------------------------------------------------------------

  void call_keeper() {
    const std::lock_guard lock(mutex_);
    is_called_ = true;
    wake_.notify_all();
  }

  void keep(const std::stop_token& stop) {
    Mono look_at = real_now();
    while (!stop.stop_requested()) {
      if (const Mono now = real_now(); now >= look_at || must_look_.load()) {
        must_look_ = false;
        look_around();
        look_at = real_now() + pause();
      }
      Mono next = look_at;
      const auto topology = topology_now();
      if (topology)
        for (const auto& node : topology->nodes) next = std::min(next, node->tend());
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, next, [&] { return is_called_ || stop.stop_requested(); });
      is_called_ = false;
    }
  }

  [[nodiscard]] milliseconds pause() const {
    const auto topology = topology_now();
    if (options_.target.kind == RedisTarget::Kind::standalone) return std::chrono::hours{24};
    if (!topology || topology->has_down_node()) return kInTroubleEvery;
    return topology->is_cluster ? kClusterEvery : kSentinelEvery;
  }

  void look_around() {
    const auto before = topology_now();
    auto found = scout_.look(before.get());
    std::string news;
    {
      const std::lock_guard lock(mutex_);
      if (found && !topology_ && !why_nobody_.empty()) news = "is found";
      if (!found && !topology_ && why_nobody_.empty())
        news = found.error().message + "; it is left alone until it works again";
      // Without an answer the old picture holds: its nodes may serve all the same.
      if (found) topology_ = std::move(*found);
      if (!found) why_nobody_ = found.error().message;
      wake_.notify_all();
    }
    if (!news.empty()) options_.notice(fmt::format("redis {} {}", to_text(options_.target), news));
  }

  std::shared_ptr<const RedisTopology> topology_now() const {
    const std::lock_guard lock(mutex_);
    return topology_;
  }

  /// Waits for the first look around, as long as for a reply.
  Result<std::shared_ptr<const RedisTopology>> topology() {
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, real_now() + options_.patience, [this] {
      return topology_ != nullptr || !why_nobody_.empty();
    });
    if (topology_) return topology_;
    return fail(ErrorCode::io_failed,
                "redis {}: {}",
                to_text(options_.target),
                why_nobody_.empty() ? "not connected yet" : why_nobody_);
  }

  void look_soon() {
    // Servers in trouble send many of us elsewhere at once.
    const Mono now = real_now();
    Mono last = looked_at_.load();
    if (now - last < kLookAtMostEvery || !looked_at_.compare_exchange_strong(last, now)) return;
    must_look_ = true;
    call_keeper();
  }

  // --- the work
  // --------------------------------------------------------------------------------------

  Result<void> carry_out(std::span<const std::string> keys, const Work& work, Deadline deadline) {
    if (keys.empty()) return {};
    const auto topology = this->topology();
    if (!topology) return fail(topology.error());
    Course course;
    std::vector<Item> items(keys.size());
    for (std::size_t i = 0; i < items.size(); ++i) items[i].index = i;
    for (int round = 0; round < kMostRounds && !items.empty(); ++round) {
      auto chunks = sort(std::move(items), keys, **topology, course);
      talk(chunks, work, deadline, course);
      items = std::exchange(course.again, {});
    }
    if (!items.empty()) course.note(error_of("the servers send us from one to the other"));
    if (course.why) return fail(std::move(*course.why));
    return {};
  }

  static Error error_of(std::string message) {
    return {ErrorCode::io_failed, std::move(message), "redis", {}, {}};
  }

  std::vector<Chunk> sort(std::vector<Item> items,
                          std::span<const std::string> keys,
                          const RedisTopology& topology,
                          Course& course) {
    std::vector<Chunk> chunks;
    std::map<std::tuple<RedisNode*, bool, bool>, std::size_t> open;
    for (Item& item : items) {
      RedisNode* node = item.to ? topology.at(*item.to) : topology.serving(keys[item.index]);
      if (node == nullptr) {
        look_soon();
        course.note(error_of("redis: nobody known serves some of the keys"));
        continue;
      }
      const auto kind = std::tuple(node, item.is_asking, item.must_load);
      auto at = open.find(kind);
      if (at == open.end() || chunks[at->second].items.size() == kKeysInChunk) {
        Chunk chunk;
        chunk.node = node;
        chunk.is_asking = item.is_asking;
        chunk.must_load = item.must_load;
        chunk.together = topology.is_cluster ? 1 : kKeysInChunk;
        chunks.push_back(std::move(chunk));
        at = open.insert_or_assign(kind, chunks.size() - 1).first;
      }
      chunks[at->second].items.push_back(std::move(item));
    }
    return chunks;
  }

  /// Everything that is to be said in this round, over one connection per node.
  void talk(std::vector<Chunk>& sorted, const Work& work, Deadline deadline, Course& course) {
    std::vector<RedisNode*> nodes;
    std::vector<std::unique_ptr<RedisConnection>> connections;
    std::vector<RedisTalk> talks;
    std::vector<Chunk> chunks;
    for (Chunk& chunk : sorted) {
      auto at = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), chunk.node) -
                                         nodes.begin());
      if (at == nodes.size()) {
        auto borrowed = chunk.node->borrow();
        if (!borrowed) {
          course.note(borrowed.error());
          look_soon();
        }
        nodes.push_back(chunk.node);
        connections.push_back(borrowed ? std::move(*borrowed) : nullptr);
        talks.push_back({connections.back().get(), {}});
      }
      if (connections[at]) write(std::move(chunk), work, talks[at], chunks);
    }
    std::vector<RedisTalk> open;
    std::vector<std::size_t> open_of;
    for (std::size_t i = 0; i < talks.size(); ++i) {
      if (!connections[i]) continue;
      open.push_back(std::move(talks[i]));
      open_of.push_back(i);
    }
    std::vector<const Error*> broken(nodes.size(), nullptr);
    std::vector<std::optional<Error>> unable(nodes.size());
    const auto node_index = [&](const Chunk& chunk) {
      return static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), chunk.node) -
                                      nodes.begin());
    };
    converse(
        open,
        options_.patience,
        deadline,
        *manner_.clock,
        [&](std::size_t id) { chunks[id].when.asked = manner_.clock->now(); },
        [&](std::size_t id, std::size_t n, RedisReply reply) {
          const std::size_t node = node_index(chunks[id]);
          took(chunks[id], n, reply, *connections[node], work, course, unable[node]);
        });
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t at = open_of[i];
      if (open[i].failure) {
        course.note(*open[i].failure);
        nodes[at]->failed(*open[i].failure);
        look_soon();
      } else if (unable[at]) {
        nodes[at]->failed(*unable[at], true);
        look_soon();
      } else {
        nodes[at]->give_back(std::move(connections[at]));
      }
    }
  }

  /// Turns a sorted chunk into bytes; into several where it would be too large.
  void write(Chunk chunk, const Work& work, RedisTalk& talk, std::vector<Chunk>& chunks) {
    std::vector<Item> items = std::move(chunk.items);
    const RedisClock clock = talk.connection->server_clock();
    for (std::size_t at = 0; at < items.size();) {
      Chunk part = chunk;
      RedisChunk out;
      append_redis_command(out.bytes, {"TIME"});
      if (chunk.must_load) append_redis_command(out.bytes, {"SCRIPT", "LOAD", work.script->text});
      while (at < items.size() && out.bytes.size() < kBytesInChunk) {
        if (chunk.is_asking) append_redis_command(out.bytes, {"ASKING"});
        const auto next = std::span<const Item>(items).subspan(at);
        const std::size_t count =
            work.write(next.first(std::min(next.size(), chunk.together)), clock, out.bytes);
        part.items.insert(
            part.items.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count));
        part.ends.push_back(part.items.size());
        at += count;
      }
      out.replies = 1 + (part.must_load ? 1U : 0U) + part.ends.size() * (part.is_asking ? 2U : 1U);
      out.id = chunks.size();
      part.must_load = chunk.must_load;
      chunks.push_back(std::move(part));
      talk.chunks.push_back(std::move(out));
    }
  }

  void took(Chunk& chunk,
            std::size_t n,
            RedisReply reply,
            RedisConnection& connection,
            const Work& work,
            Course& course,
            std::optional<Error>& unable) {
    if (n == 0) {
      // Rounded up here, and down where an end is set: so no life grows by what is cut off.
      chunk.when.server_ms = connection.note_time(reply) + 1;
      if (reply.is_error()) took_error(chunk, {}, reply, course, unable);
      return;
    }
    n -= 1;
    if (chunk.must_load) {
      if (n == 0) return;
      n -= 1;
    }
    if (chunk.is_asking) {
      if (n % 2 == 0) return;
      n /= 2;
    }
    const auto items = chunk.about(n);
    if (reply.is_error()) return took_error(chunk, items, reply, course, unable);
    work.take(items, reply, chunk.when);
  }

  /// items  what the command was about; none: it was about the server
  void took_error(const Chunk& chunk,
                  std::span<const Item> items,
                  RedisReply reply,
                  Course& course,
                  std::optional<Error>& unable) {
    const auto text = reply.text();
    const auto word = first_word(text);
    const auto redirect = read_redis_redirect(text, chunk.node->endpoint());
    if (redirect && !items.empty()) {
      if (!redirect->only_once) look_soon();
      for (const Item& item : items)
        course.again.push_back({item.index, redirect->to, redirect->only_once, false});
      return;
    }
    if (word == "NOSCRIPT" && !items.empty() && !items.front().must_load) {
      for (const Item& item : items)
        course.again.push_back({item.index, item.to, item.is_asking, true});
      return;
    }
    if (word == "TRYAGAIN" && !items.empty()) {
      course.again.insert(course.again.end(), items.begin(), items.end());
      return;
    }
    Error error = error_of(fmt::format("redis {}: {}", to_text(chunk.node->endpoint()), text));
    const bool is_unable = word == "LOADING" || word == "NOAUTH";
    if (is_unable) unable = error_of(std::string(text));
    if (word == "READONLY" || word == "CLUSTERDOWN" || word == "MASTERDOWN") look_soon();
    if (!items.empty() && !is_unable) refuses(text);
    course.note(std::move(error));
  }

  /// A server that works and does not do what it is asked for, for want of memory or of rights:
  /// that is worth a line, and no more than one a minute.
  void refuses(std::string_view text) {
    const Mono now = real_now();
    Mono last = refused_at_.load();
    if (now - last < kRefusalEvery || !refused_at_.compare_exchange_strong(last, now)) return;
    options_.notice(fmt::format("redis {} refuses a command: {}", to_text(options_.target), text));
  }

  const RedisOptions options_;
  const std::unique_ptr<RedisTls> tls_;
  const RedisManner manner_;
  RedisScout scout_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool is_called_ = false;
  std::shared_ptr<const RedisTopology> topology_;
  std::string why_nobody_;  // the first look around was in vain
  std::atomic<bool> must_look_{false};
  std::atomic<Mono> looked_at_{Mono()};
  std::atomic<Mono> refused_at_{Mono()};
  std::jthread keeper_;  // last, because it uses all of the above
};

/// One command that is not about keys. Waits for a first connection.
Result<HeldRedisReply> Client::ask_anybody(std::string_view command, Deadline deadline) {
  Error why = error_of("redis: not connected yet");
  while (!deadline.has_passed(*manner_.clock)) {
    const auto topology = this->topology();
    if (!topology) return fail(topology.error());
    auto connection = (*topology)->nodes.front()->borrow();
    if (!connection) {
      if ((*topology)->has_down_node()) return fail(connection.error());
      why = connection.error();
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, real_now() + options_.patience);
      continue;
    }
    auto reply = (*connection)->ask(command, 1, options_.patience);
    if (!reply) {
      (*topology)->nodes.front()->failed(reply.error());
      return fail(reply.error());
    }
    (*topology)->nodes.front()->give_back(std::move(*connection));
    return std::move(reply->front());
  }
  return fail(std::move(why));
}

Result<std::string> Client::describe(Deadline deadline) {
  std::string info;
  append_redis_command(info, {"INFO", "server"});
  const auto reply = ask_anybody(info, deadline);
  if (!reply) return fail(reply.error());
  auto text = reply->look().text();
  constexpr std::string_view kVersion = "redis_version:";
  const auto at = text.find(kVersion);
  std::string version = "of an unknown version";
  if (at != std::string_view::npos) {
    text.remove_prefix(at + kVersion.size());
    version = text.substr(0, text.find('\r'));
  }
  const auto masters = topology_now()->nodes.size();
  return fmt::format("{} ({}, {} {})",
                     to_text(options_.target),
                     version,
                     masters,
                     masters == 1 ? "master" : "masters");
}

/// What stands behind `name:` in the text of INFO.
std::string_view info_line(std::string_view info, std::string_view name) {
  for (auto at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1))
    if (at == 0 || info[at - 1] == '\n') {
      info.remove_prefix(at + name.size());
      return info.substr(0, info.find('\r'));
    }
  return {};
}

Result<std::vector<RedisNodeState>> Client::examine(Deadline deadline) {
  // It waits for a first connection.
  if (auto first = describe(deadline); !first) return fail(first.error());
  const auto topology = this->topology();
  if (!topology) return fail(topology.error());
  std::string commands;
  append_redis_command(commands, {"INFO", "memory"});
  append_redis_command(commands, {"TIME"});
  std::vector<RedisNodeState> states;
  for (const auto& node : (*topology)->nodes) {
    RedisNodeState& state = states.emplace_back();
    state.where = to_text(node->endpoint());
    auto connection = node->borrow();
    while (!connection && !node->is_down() && !deadline.has_passed(*manner_.clock)) {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, real_now() + options_.patience);
      lock.unlock();
      connection = node->borrow();
    }
    if (!connection) {
      state.why_not = connection.error().message;
      continue;
    }
    const auto asked = std::chrono::system_clock::now();
    const auto replies = (*connection)->ask(commands, 2, options_.patience);
    if (!replies) {
      node->failed(replies.error());
      state.why_not = replies.error().message;
      continue;
    }
    const auto half = (std::chrono::system_clock::now() - asked) / 2;
    const auto info = (*replies)[0].look().text();
    state.policy = info_line(info, "maxmemory_policy:");
    const auto most = info_line(info, "maxmemory:");
    (void)std::from_chars(most.data(), most.data() + most.size(), state.max_memory);
    std::int64_t seconds = 0, micros = 0;
    const auto read = [](std::string_view text, std::int64_t& value) {
      (void)std::from_chars(text.data(), text.data() + text.size(), value);
    };
    const auto time = (*replies)[1].look();
    read(time.at(0).text(), seconds);
    read(time.at(1).text(), micros);
    const auto own =
        std::chrono::duration_cast<std::chrono::milliseconds>((asked + half).time_since_epoch());
    if (seconds > 0) state.ahead_ms = seconds * 1'000 + micros / 1'000 - own.count();
    node->give_back(std::move(*connection));
  }
  return states;
}

}  // namespace

RedisScript::RedisScript(std::string_view source) : text(source) {
  std::array<unsigned char, 20> digest{};
  unsigned int size = 0;
  GEONCE_EXPECTS(
      EVP_Digest(source.data(), source.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  sha1 = to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

Result<std::unique_ptr<Redis>> open_redis(RedisOptions options, const Clock& clock) {
  std::unique_ptr<RedisTls> tls;
  if (options.target.tls) {
    auto opened = open_redis_tls(options.tls);
    if (!opened) return fail(opened.error());
    tls = std::move(*opened);
  }
  return std::make_unique<Client>(std::move(options), std::move(tls), clock);
}

}  // namespace geonce
