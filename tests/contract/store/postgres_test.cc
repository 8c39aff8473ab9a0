#include "contract/store/store_contract.h"
#include "support/postgres_server.h"

namespace geonce::contract {
namespace {

/// A database of its own. Its instants come from the server, so the server is told when the test's
/// clock moves: geonce.now() of this one database reads a table.
class PostgresWorld final : public StoreWorld {
 public:
  ~PostgresWorld() override {
    control_.reset();
    PostgresServer::the().drop_database(database_);
  }

  Result<std::unique_ptr<geonce::Store>> open(Clock* clock) override {
    PostgresOptions options;
    options.uri = PostgresServer::the().uri(database_);
    options.clock = clock;
    auto store = open_postgres_store(options);
    if (store && clock != nullptr) clock_moved(clock->now_utc());
    return store;
  }

  void clock_moved(UtcMs now) override {
    if (!control_) {
      auto control = PgConnection::open({PostgresServer::the().uri(database_), {}});
      ASSERT_TRUE(control) << control.error().message;
      control_ = std::move(*control);
      tell(
          "CREATE TABLE IF NOT EXISTS geonce.test_clock (ms bigint);"
          "CREATE OR REPLACE FUNCTION geonce.now() RETURNS bigint LANGUAGE sql VOLATILE AS "
          "'SELECT ms FROM geonce.test_clock'");
    }
    tell(fmt::format(
        "BEGIN; DELETE FROM geonce.test_clock; INSERT INTO geonce.test_clock VALUES ({}); COMMIT",
        now));
  }

 private:
  void tell(const std::string& sql) {
    const auto done = control_->script(sql, Deadline::never(), system_clock());
    ASSERT_TRUE(done) << done.error().message;
  }

  const std::string database_ = PostgresServer::the().make_database();
  std::unique_ptr<PgConnection> control_;
};

}  // namespace

StoreFactory postgres_factory() {
  return {"postgres", [] { return std::make_unique<PostgresWorld>(); }};
}

}  // namespace geonce::contract
