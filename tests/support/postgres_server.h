#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "io/postgres.h"
#include "support/temp_dir.h"

namespace geonce {

/// A Postgres server of the test program's own: made and started when first asked for, gone with
/// the program. It does not care for the loss of power, so it is quick.
class PostgresServer {
 public:
  static PostgresServer& the() {
    static PostgresServer server;
    return server;
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer() { stop(SIGQUIT); }

  /// Of a database, over TCP.
  [[nodiscard]] std::string uri(const std::string& database,
                                const std::string& role = "postgres") const {
    return fmt::format("postgres://{}@127.0.0.1:{}/{}", role, port_, database);
  }
  /// A new and empty database.
  std::string make_database() {
    const auto name = fmt::format("test_{}_{}", ::getpid(), ++databases_);
    run("postgres", fmt::format("CREATE DATABASE {}", name));
    return name;
  }
  void drop_database(const std::string& name) {
    run("postgres", fmt::format("DROP DATABASE IF EXISTS {} WITH (FORCE)", name));
  }
  /// SQL on a connection of its own.
  void run(const std::string& database, const std::string& sql) {
    auto connection = PgConnection::open({uri(database), {}});
    ASSERT_TRUE(connection) << connection.error().message;
    auto done = (*connection)->script(sql, Deadline::never(), system_clock());
    ASSERT_TRUE(done) << done.error().message;
  }

  /// SIGQUIT: as if it had crashed. SIGINT: connections are cut, and all is written first.
  void stop(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// On the port it had before.
  void start() {
    pid_ = spawn({binary("postgres"),
                  "-D",
                  data(),
                  "-k",
                  folder_.path(),
                  "-p",
                  std::to_string(port_),
                  "-c",
                  "listen_addresses=127.0.0.1",
                  "-c",
                  "max_connections=200",
                  "-c",
                  "fsync=off",
                  "-c",
                  "full_page_writes=off",
                  "-c",
                  "autovacuum_naptime=10s"});
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!PgConnection::open({uri("postgres"), {}})) {
      if (::waitpid(pid_, nullptr, WNOHANG) != 0 || std::chrono::steady_clock::now() > until) {
        std::fprintf(stderr, "Postgres did not start:\n%s\n", folder_.read("log").c_str());
        std::abort();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{10});  // asks the server each time
    }
  }

 private:
  PostgresServer() : port_(free_port()) {
    user_ = ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr;
    if (::geteuid() == 0 && user_ == nullptr) user_ = ::getpwnam("nobody");
    if (user_ != nullptr && ::chown(folder_.path().c_str(), user_->pw_uid, user_->pw_gid) != 0)
      std::abort();
    const auto made = spawn({binary("initdb"),
                             "-D",
                             data(),
                             "-U",
                             "postgres",
                             "-A",
                             "trust",
                             "-E",
                             "UTF8",
                             "--locale=C",
                             "--no-sync",
                             "--wal-segsize=1"});
    int status = 0;
    if (::waitpid(made, &status, 0) != made || status != 0) {
      std::fprintf(stderr,
                   "initdb failed; is postgresql-15 installed (scripts/packages.sh test)?\n%s\n",
                   folder_.read("log").c_str());
      std::abort();
    }
    start();
  }

  [[nodiscard]] std::string data() const { return folder_.file("data"); }

  /// Debian keeps the server's programs out of the search path.
  static std::string binary(const std::string& name) {
    const auto debian = "/usr/lib/postgresql/15/bin/" + name;
    return std::filesystem::exists(debian) ? debian : name;
  }

  static int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      std::abort();
    ::close(socket);
    return ntohs(address.sin_port);
  }

  /// As the unprivileged user, for root may not run a server; ends with this program.
  [[nodiscard]] pid_t spawn(const std::vector<std::string>& command) const {
    std::vector<char*> words;
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const auto log = folder_.file("log");
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (user_ != nullptr && (::setgid(user_->pw_gid) != 0 || ::setuid(user_->pw_uid) != 0))
      ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::chdir("/") != 0) ::_exit(126);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }

  TempDir folder_;
  const passwd* user_ = nullptr;
  int port_;
  pid_t pid_ = -1;
  int databases_ = 0;
};

}  // namespace geonce
