#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/redis_connection.h"
#include "support/temp_dir.h"

namespace geonce {

/// Looks again and again until it is so; false: not within half a minute.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

inline int free_port() {
  // Below the ports the system hands out by itself; by chance, so that programs that look at the
  // same time find others.
  static std::mt19937 chance{std::random_device{}()};
  for (;;) {
    const int next = 10'000 + static_cast<int>(chance() % 20'000);
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(next));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_free =
        ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(probe);
    if (is_free) return next;
  }
}

/// Runs a program to its end. Returns its exit status; 127: it is not installed.
inline int run_program(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// How a server wants to be come to.
struct RedisAccess {
  std::string password;      // of everybody; empty: none
  std::string certificates;  // folder with `server` and `ca`: TLS as well, on a port of its own,
                             // for clients that show a certificate; empty: no TLS
};

/// A redis-server, or with `--sentinel` a sentinel, in a folder of its own; gone with the test.
class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> options = {},
                       std::string config = {},
                       RedisAccess access = {})
      : port_(free_port()), options_(std::move(options)), access_(std::move(access)) {
    if (!access_.password.empty()) config += "requirepass " + access_.password + "\n";
    if (has_tls()) {
      tls_port_ = free_port();
      const std::string& folder = access_.certificates;
      config +=
          "tls-port " + std::to_string(tls_port_) + "\ntls-replication yes\ntls-cluster yes\n";
      config += "tls-cert-file " + folder + "/server.crt\ntls-key-file " + folder + "/server.key\n";
      config += "tls-ca-cert-file " + folder + "/ca.crt\n";
    }
    dir_.write("redis.conf", config);
    start();
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer() {
    if (pid_ > 0) kill();
  }

  void start() {
    std::vector<std::string> words{"redis-server",
                                   dir_.file("redis.conf"),
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--dir",
                                   dir_.path(),
                                   "--daemonize",
                                   "no",
                                   "--logfile",
                                   dir_.file("log")};
    words.insert(words.end(), options_.begin(), options_.end());
    if (std::find(words.begin(), words.end(), "--sentinel") == words.end())
      words.insert(words.end(), {"--save", "", "--appendonly", "no"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int out = ::open(dir_.file("out").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    const bool is_up = comes_true([this] {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return true;
      }
      return answers();
    });
    if (!is_up || pid_ < 0) {
      std::fprintf(stderr,
                   "redis-server does not start (Debian: redis-server, redis-sentinel): %s%s\n",
                   dir_.read("out").c_str(),
                   dir_.read("log").c_str());
      std::abort();
    }
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  void pause() { ::kill(pid_, SIGSTOP); }
  void resume() { ::kill(pid_, SIGCONT); }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool has_tls() const { return !access_.certificates.empty(); }
  /// Where other servers and the programs under test come in.
  [[nodiscard]] int main_port() const { return has_tls() ? tls_port_ : port_; }
  [[nodiscard]] RedisEndpoint endpoint() const { return {"127.0.0.1", port_, {}}; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] const TempDir& dir() const { return dir_; }

  /// What a command says, lists flattened with spaces; errors begin with `error: `.
  std::string command(const std::vector<std::string>& words) {
    const auto said = try_command(words);
    return said ? *said : "error: no answer";
  }
  [[nodiscard]] std::string info(std::string_view name) {
    const std::string all = command({"INFO"});
    const auto at = all.find(std::string(name) + ":");
    if (at == std::string::npos) return {};
    const auto from = at + name.size() + 1;
    return all.substr(from, all.find('\r', from) - from);
  }

 private:
  /// If only to ask for a password.
  [[nodiscard]] bool answers() const {
    RedisLogin login;
    login.is_sentinel = true;
    const auto connection =
        RedisConnection::open(endpoint(), login, std::chrono::seconds{5}, system_clock());
    return connection || connection.error().message.find("NOAUTH") != std::string::npos;
  }
  std::optional<std::string> try_command(const std::vector<std::string>& words) {
    RedisLogin login;
    login.password = access_.password;
    login.is_sentinel = true;  // greets with PING, which an unready server answers with an error
    auto connection =
        RedisConnection::open(endpoint(), login, std::chrono::seconds{5}, system_clock());
    if (!connection) return std::nullopt;
    std::string bytes;
    append_redis_command_head(bytes, words.size());
    for (const std::string& word : words) append_redis_word(bytes, word);
    const auto replies = (*connection)->ask(bytes, 1, std::chrono::seconds{20});
    if (!replies) return std::nullopt;
    return flat(replies->front().look());
  }
  static std::string flat(RedisReply reply) {
    if (reply.is_error()) return "error: " + std::string(reply.text());
    if (reply.is_nil()) return "nil";
    if (const auto number = reply.integer()) return std::to_string(*number);
    if (reply.size() == 0) return std::string(reply.text());
    std::string all;
    for (std::size_t i = 0; i < reply.size(); ++i) all += (i == 0 ? "" : " ") + flat(reply.at(i));
    return all;
  }

  TempDir dir_;
  const int port_;
  const std::vector<std::string> options_;
  const RedisAccess access_;
  int tls_port_ = 0;
  pid_t pid_ = -1;
};

/// Three masters and three replicas, joined by redis-cli.
class RedisClusterServers {
 public:
  explicit RedisClusterServers(const RedisAccess& access = {}) {
    const std::string login = access.password.empty() ? "" : "masterauth " + access.password + "\n";
    for (int i = 0; i < 6; ++i)
      nodes.push_back(std::make_unique<RedisServer>(
          std::vector<std::string>{"--cluster-enabled",
                                   "yes",
                                   "--cluster-node-timeout",
                                   "1000",
                                   "--cluster-port",
                                   std::to_string(free_port()),
                                   "--cluster-replica-validity-factor",
                                   "0",
                                   "--repl-diskless-sync-delay",
                                   "0"},
          login,
          access));
    std::vector<std::string> words{"redis-cli"};
    if (nodes.front()->has_tls())
      words.insert(words.end(),
                   {"--tls",
                    "--cacert",
                    access.certificates + "/ca.crt",
                    "--cert",
                    access.certificates + "/client.crt",
                    "--key",
                    access.certificates + "/client.key"});
    if (!access.password.empty())
      words.insert(words.end(), {"--no-auth-warning", "-a", access.password});
    words.insert(words.end(), {"--cluster", "create"});
    for (const auto& node : nodes)
      words.push_back("127.0.0.1:" + std::to_string(node->main_port()));
    words.insert(words.end(), {"--cluster-replicas", "1", "--cluster-yes"});
    const auto log = nodes.front()->dir().file("create");
    if (run_program(words, log) != 0) {
      std::fprintf(stderr,
                   "no cluster (Debian: redis-tools): %s\n",
                   nodes.front()->dir().read("create").c_str());
      std::abort();
    }
    EXPECT_TRUE(comes_true([this] { return is_whole(); }));
  }

  /// Everybody agrees, and every master has a replica that follows it.
  [[nodiscard]] bool is_whole() {
    int replicas = 0;
    for (const auto& node : nodes) {
      if (node->command({"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos)
        return false;
      if (node->info("role") == "slave" && node->info("master_link_status") == "up") ++replicas;
    }
    return replicas == 3;
  }
  [[nodiscard]] std::string url() const {
    return (nodes.front()->has_tls() ? "rediss+cluster://" : "redis+cluster://") + hosts();
  }
  [[nodiscard]] std::string hosts() const {
    std::string hosts;
    for (const auto& node : nodes)
      hosts += (node == nodes.front() ? "" : ",") + std::string("127.0.0.1:") +
               std::to_string(node->main_port());
    return hosts;
  }
  [[nodiscard]] std::vector<RedisServer*> masters() const {
    std::vector<RedisServer*> found;
    for (const auto& node : nodes)
      if (node->info("role") == "master") found.push_back(node.get());
    return found;
  }

  std::vector<std::unique_ptr<RedisServer>> nodes;
};

/// A master, a replica and three sentinels that watch them under the name `cache`.
class RedisSentinelServers {
 public:
  /// config  more lines for each sentinel
  explicit RedisSentinelServers(const RedisAccess& of_nodes = {},
                                const RedisAccess& of_sentinels = {},
                                std::string config = {})
      : master(std::make_unique<RedisServer>(
            std::vector<std::string>{"--repl-diskless-sync-delay", "0"},
            node_config(of_nodes),
            of_nodes)),
        replica(std::make_unique<RedisServer>(
            std::vector<std::string>{"--replicaof",
                                     "127.0.0.1 " + std::to_string(master->main_port())},
            node_config(of_nodes),
            of_nodes)) {
    config += "sentinel monitor cache 127.0.0.1 " + std::to_string(master->main_port()) +
              " 2\n"
              "sentinel down-after-milliseconds cache 500\n"
              "sentinel failover-timeout cache 2000\n";
    if (!of_nodes.password.empty())
      config += "sentinel auth-pass cache " + of_nodes.password + "\n";
    if (!of_sentinels.password.empty())
      config += "sentinel sentinel-pass " + of_sentinels.password + "\n";
    for (int i = 0; i < 3; ++i)
      sentinels.push_back(std::make_unique<RedisServer>(
          std::vector<std::string>{"--sentinel"}, config, of_sentinels));
    EXPECT_TRUE(comes_true([this] {
      for (const auto& sentinel : sentinels) {
        const auto known = sentinel->command({"SENTINEL", "CKQUORUM", "cache"});
        const auto seen = sentinel->command({"SENTINEL", "REPLICAS", "cache"});
        if (known.find("OK 3 usable") == std::string::npos ||
            seen.find(std::to_string(replica->main_port())) == std::string::npos)
          return false;
      }
      return replica->info("master_link_status") == "up";
    }));
  }
  [[nodiscard]] std::string url() const {
    return (master->has_tls() ? "rediss+sentinel://" : "redis+sentinel://") + hosts() + "/cache";
  }
  [[nodiscard]] std::string hosts() const {
    std::string hosts;
    for (const auto& sentinel : sentinels)
      hosts += (sentinel == sentinels.front() ? "" : ",") + std::string("127.0.0.1:") +
               std::to_string(sentinel->main_port());
    return hosts;
  }

  static std::string node_config(const RedisAccess& access) {
    return access.password.empty() ? "" : "masterauth " + access.password + "\n";
  }

  std::unique_ptr<RedisServer> master, replica;
  std::vector<std::unique_ptr<RedisServer>> sentinels;
};

}  // namespace geonce
