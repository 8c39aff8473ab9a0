#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "contract/store/store_contract.h"
#include "support/postgres_server.h"

// What a server does that is far away: it is slow, it goes away, and it comes back.

namespace geonce::contract {
namespace {

using testing::HasSubstr;
using testing::Not;

/// One database, stores on it by the system's clock, and a hand on the server.
class PostgresTrouble : public testing::Test {
 protected:
  PostgresTrouble() {
    options_.uri = server_.uri(database_);
    EXPECT_TRUE(migrate_postgres_store(options_));
  }
  ~PostgresTrouble() override { server_.drop_database(database_); }

  [[nodiscard]] std::unique_ptr<geonce::Store> open() const {
    auto store = open_postgres_store(options_);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  [[nodiscard]] std::unique_ptr<PgConnection> connect() const {
    return std::move(*PgConnection::open({options_.uri, {}}));
  }
  static TakeRequest ask(const Slot& where) {
    TakeRequest request;
    request.slot = where;
    request.intent = new_intent();
    request.owner = new_intent();
    request.life = 10min;
    request.chain = std::make_shared<const std::vector<std::string>>(1, "alpha");
    return request;
  }
  static CommitRequest answer_to(const TakeRequest& request, const Taken& taken) {
    CommitRequest end;
    end.slot = request.slot;
    end.fence = taken.fence;
    end.gen = taken.gen;
    end.call = CallRecord{request.intent, "alpha", 200, "", "", Billed::yes, 1, Money{5'000}};
    end.answer = std::make_shared<const Answer>(match());
    end.life = {kFresh, kStale, kErase};
    return end;
  }
  static void run(PgConnection& connection, const std::string& sql) {
    const auto done = connection.script(sql, Deadline::never(), system_clock());
    EXPECT_TRUE(done) << done.error().message;
  }

  PostgresServer& server_ = PostgresServer::the();
  const std::string database_ = server_.make_database();
  PostgresOptions options_;
};

TEST_F(PostgresTrouble, a_take_whose_end_nobody_saw_is_the_same_take_when_it_is_repeated) {
  const auto store = open();
  const auto other = connect();
  const auto request = ask(slot(1));
  // Somebody sits on the slot, so the statement waits in the server beyond our deadline.
  run(*other,
      "BEGIN; SELECT geonce.lock_slot(1, decode('" +
          to_hex({reinterpret_cast<const char*>(request.slot.key.bytes.data()), 32}) +
          "', 'hex'))");
  const auto late = store->take({&request, 1}, Deadline::in(100ms, system_clock()));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::deadline_exceeded);
  EXPECT_THAT(late.error().message, HasSubstr("not known"));
  run(*other, "ROLLBACK");
  const auto again = store->take({&request, 1}, Deadline::never());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->front().verdict, Verdict::send);
  const auto sums = store->ledger_sums({}, Deadline::never());
  ASSERT_EQ(sums->size(), 1U);
  EXPECT_EQ(sums->front().prepared, 1);
  const auto committed =
      store->commit(std::vector{answer_to(request, again->front())}, Deadline::never());
  EXPECT_TRUE(committed->front().stored && committed->front().held);
}

TEST_F(PostgresTrouble, one_who_waits_for_a_slot_does_not_hold_up_those_who_want_others) {
  const auto store = open();
  const auto other = connect();
  const auto stuck = ask(slot(1));
  run(*other,
      "BEGIN; SELECT geonce.lock_slot(1, decode('" +
          to_hex({reinterpret_cast<const char*>(stuck.slot.key.bytes.data()), 32}) + "', 'hex'))");
  std::jthread waiting([&] {
    EXPECT_EQ(store->take({&stuck, 1}, Deadline::never())->front().verdict, Verdict::send);
  });
  const auto control = connect();
  const auto waits = [&] {
    return control
               ->query(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "datname = current_database()",
                   {},
                   Deadline::never(),
                   system_clock())
               ->integer(0, 0) > 0;
  };
  while (!waits()) {
  }
  const auto request = ask(slot(2));
  EXPECT_EQ(store->take({&request, 1}, Deadline::in(20s, system_clock()))->front().verdict,
            Verdict::send);
  run(*other, "ROLLBACK");
}

TEST_F(PostgresTrouble, connections_that_are_cut_again_and_again_cost_no_purchase_and_no_answer) {
  const auto store = open();
  constexpr int kCuts = 15;
  constexpr int kBetween = 8;
  std::atomic<int> stored{0}, cuts{0};
  std::jthread cutter([&] {
    const auto control = connect();
    for (int round = 0; round < kCuts; ++round) {
      for (int seen = stored; seen < round * kBetween; seen = stored) stored.wait(seen);
      const auto cut = control->query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
          "current_database() AND pid <> pg_backend_pid()",
          {},
          Deadline::never(),
          system_clock());
      if (cut) cuts += cut->size();
    }
  });
  {
    std::vector<std::jthread> buyers;
    for (std::uint32_t t = 0; t < 4; ++t)
      buyers.emplace_back([&, t] {
        for (std::uint32_t n = 0; n < kCuts * kBetween / 4; ++n) {
          const auto request = ask(slot(t * 10'000 + n));
          // As a caller does it: an unknown end is asked for again with the same intent.
          for (;;) {
            const auto taken = store->take({&request, 1}, Deadline::never());
            if (!taken) continue;
            ASSERT_EQ(taken->front().verdict, Verdict::send);
            const std::vector end{answer_to(request, taken->front())};
            auto committed = store->commit(end, Deadline::never());
            while (!committed) committed = store->commit(end, Deadline::never());
            ASSERT_TRUE(committed->front().stored);
            break;
          }
          ++stored;
          stored.notify_all();
        }
      });
  }
  cutter.join();
  EXPECT_GE(cuts, kCuts);
  const auto sums = store->ledger_sums({}, Deadline::never());
  ASSERT_TRUE(sums) << sums.error().message;
  EXPECT_EQ(sums->front().prepared, stored);
  EXPECT_EQ(sums->front().answered, stored);
  EXPECT_EQ(sums->front().redundant, 0);
  EXPECT_TRUE(store->check(Deadline::never()));
}

TEST_F(PostgresTrouble, points_are_not_loaded_twice_after_a_doubt) {
  const auto store = open();
  const auto other = connect();
  run(*other, "BEGIN; LOCK TABLE geonce.place");
  PlaceRow place;
  place.at = {60, 11};
  place.keys = {slot(1).key};
  const auto late =
      store->load_places("own", false, {&place, 1}, Deadline::in(100ms, system_clock()));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("not known"));
  run(*other, "ROLLBACK");
  // Whether the first has happened is for the caller to see; nobody did it a second time.
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (store->places_stats(Deadline::never())->points == 0 &&
         std::chrono::steady_clock::now() < until) {
  }
  EXPECT_LE(store->places_stats(Deadline::never())->points, 1);
}

TEST_F(PostgresTrouble, an_answer_that_cannot_be_read_is_a_miss_and_is_bought_anew) {
  const auto store = open();
  auto request = ask(slot(1));
  const auto taken = store->take({&request, 1}, Deadline::never());
  ASSERT_TRUE(store->commit(std::vector{answer_to(request, taken->front())}, Deadline::never()));
  server_.run(database_, "UPDATE geonce.entry SET payload = '\\xffffff'");
  EXPECT_FALSE((*store->find({&request.slot, 1}, Deadline::never()))[0]);
  EXPECT_EQ(store->check(Deadline::never()).error().code, ErrorCode::store_corrupt);
  request = ask(slot(1));
  const auto again = store->take({&request, 1}, Deadline::never());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->front().verdict, Verdict::send);
  EXPECT_EQ(again->front().gen, 2);
  ASSERT_TRUE(store->commit(std::vector{answer_to(request, again->front())}, Deadline::never()));
  EXPECT_TRUE((*store->find({&request.slot, 1}, Deadline::never()))[0]);
  EXPECT_TRUE(store->check(Deadline::never()));
}

TEST_F(PostgresTrouble, what_the_server_would_not_take_as_text_does_not_lose_an_answer) {
  const auto store = open();
  const auto request = ask(slot(1));
  const auto taken = store->take({&request, 1}, Deadline::never());
  auto end = answer_to(request, taken->front());
  end.call->provider_request_id = std::string("a\0b", 3);
  end.call->reason = "caf\xe9";
  ASSERT_TRUE(store->commit({&end, 1}, Deadline::never()));
  LedgerFilter filter;
  filter.event = LedgerEvent::answered;
  const auto rows = store->ledger(filter, Deadline::never());
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().provider_request_id, "a?b");
  EXPECT_EQ(rows->front().reason, "caf?");
}

TEST_F(PostgresTrouble, of_several_hosts_the_one_that_answers_is_taken) {
  PostgresOptions how;
  const auto uri = server_.uri(database_);
  const auto host = uri.find("127.0.0.1");
  how.uri = uri.substr(0, host) + "127.0.0.1:1," + uri.substr(host);
  const auto store = open_postgres_store(how);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->stats(Deadline::never()));
}

TEST_F(PostgresTrouble, nobody_who_listens_is_said_without_the_password) {
  PostgresOptions how;
  how.uri = "postgres://app:geheim@127.0.0.1:1/geonce";
  const auto store = open_postgres_store(how);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::store_unavailable);
  EXPECT_THAT(store.error().message, Not(HasSubstr("geheim")));
}

// Numbers are given out before the commits: the one that commits late has the lower number.
TEST_F(PostgresTrouble, the_end_of_a_window_is_heard_in_whatever_order_it_is_committed) {
  const auto store = open();
  for (std::uint32_t n = 1; n <= 2; ++n) {
    const auto request = ask(slot(n));
    const auto taken = store->take({&request, 1}, Deadline::never());
    const auto end = answer_to(request, taken->front());
    ASSERT_TRUE(store->commit({&end, 1}, Deadline::never()));
  }
  std::string cursor = store->ended_since("", 100, Deadline::never())->cursor;
  const auto hear = [&] {
    auto since = store->ended_since(cursor, 100, Deadline::never());
    EXPECT_TRUE(since && !since->has_gap);
    cursor = since->cursor;
    std::vector<Slot> slots;
    for (const auto& window : since->windows) slots.push_back(window.slot);
    return slots;
  };
  const auto slow = connect();
  run(*slow,
      fmt::format("BEGIN; SELECT geonce.invalidate(ARRAY[1::bigint], ARRAY['\\x{}'::bytea])",
                  to_hex(slot(1).key)));
  const Slot fast = slot(2);
  ASSERT_TRUE(store->invalidate({&fast, 1}, Deadline::never()));
  EXPECT_THAT(hear(), testing::ElementsAre(fast));
  EXPECT_THAT(hear(), testing::IsEmpty());
  run(*slow, "COMMIT");
  EXPECT_THAT(hear(), testing::ElementsAre(slot(1)));
  EXPECT_THAT(hear(), testing::IsEmpty());
}

}  // namespace
}  // namespace geonce::contract
