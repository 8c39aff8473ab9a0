#include <future>

#include <gtest/gtest.h>

#include "resolver/live.h"
#include "support/fake_provider.h"
#include "support/faulty_store.h"
#include "support/memory_spool.h"
#include "support/temp_dir.h"

// What callers get while the store cannot be asked.

namespace geonce {
namespace {

using namespace std::chrono_literals;

class StoreAway : public testing::Test {
 protected:
  StoreAway() {
    auto opened = open_sqlite_store({.path = dir_.file("store.db")});
    EXPECT_TRUE(opened) << opened.error().message;
    sqlite_ = std::move(*opened);
    store_ = std::make_unique<FaultyStore>(*sqlite_);
    resolver_ = open_resolver({.store = *store_,
                               .memory = *memory_,
                               .spool = spool_,
                               .clock = system_clock(),
                               .owner = make_uuid(system_clock()),
                               .chain = {provider_},
                               .places = false,
                               .life = {},
                               .accept = {},
                               .options = {},
                               .heard = &heard_});
  }
  static Ask ask(int n, AskOptions options = {}) {
    Ask ask;
    ask.query.text = std::to_string(n) + " Sample St, Springfield, IL 62701";
    ask.query.country = Country('U', 'S');
    Normalizer normalizer;
    ask.slot.key = normalizer.key(ask.query.view())->key;
    ask.options = std::move(options);
    return ask;
  }
  Resolved one(const Ask& question, Deadline deadline = Deadline::never()) {
    return resolver_->resolve({question}, deadline).front();
  }
  static Error away() { return {ErrorCode::store_unavailable, "away", "store", {}, {}}; }
  void goes_away() {
    store_->set_fault([](std::string_view) { return std::optional(away()); });
  }
  static ErrorCode code(const Resolved& resolved) {
    return resolved.error ? resolved.error->code : ErrorCode::internal;
  }

  TempDir dir_;
  std::unique_ptr<Store> sqlite_;
  std::unique_ptr<FaultyStore> store_;
  MemorySpool spool_;
  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>("alpha");
  // Whatever is in memory has to be read again at once, while the store is there.
  Heard heard_{{.max_age = 0ms, .max_age_cut_off = 5s, .stale_cut_off = 1h}, system_clock()};
  std::unique_ptr<MemoryTier> memory_ = open_memory_tier(1U << 20U, system_clock(), &heard_);
  std::unique_ptr<Resolver> resolver_;
};

TEST_F(StoreAway, while_it_answers_nothing_is_stale) {
  EXPECT_EQ(one(ask(1)).source, AnswerSource::paid);
  EXPECT_EQ(one(ask(1)).source, AnswerSource::db);
}

TEST_F(StoreAway, what_memory_holds_is_given_out_marked_stale_when_it_fails) {
  (void)one(ask(1));
  goes_away();
  const Resolved held = one(ask(1));
  ASSERT_TRUE(held.answer);
  EXPECT_EQ(held.source, AnswerSource::stale);
  EXPECT_EQ(code(held), ErrorCode::store_unavailable);
  EXPECT_EQ(provider_->lookups(), 1U);
  const Resolved unknown = one(ask(2));
  EXPECT_FALSE(unknown.answer);
  EXPECT_EQ(code(unknown), ErrorCode::store_unavailable);
}

TEST_F(StoreAway, nobody_waits_for_it_who_has_something_in_memory_once_it_is_known) {
  (void)one(ask(1));
  goes_away();
  heard_.heard_nothing();
  const auto read = store_->slots_read.load();
  EXPECT_EQ(one(ask(1)).source, AnswerSource::stale);
  EXPECT_EQ(store_->slots_read, read);
  store_->set_fault({});
  heard_.heard_all(system_clock().now());
  EXPECT_EQ(one(ask(1)).source, AnswerSource::db);
}

TEST_F(StoreAway, at_his_deadline_a_caller_is_given_what_memory_holds) {
  (void)one(ask(1));
  std::promise<void> comes_back;
  store_->set_fault([back = comes_back.get_future().share()](std::string_view) {
    back.wait();
    return std::optional<Error>();
  });
  const Resolved held = one(ask(1), Deadline::in(1ms, system_clock()));
  EXPECT_EQ(held.source, AnswerSource::stale);
  EXPECT_EQ(code(held), ErrorCode::deadline_exceeded);
  const Resolved unknown = one(ask(2), Deadline::in(1ms, system_clock()));
  EXPECT_FALSE(unknown.answer);
  comes_back.set_value();
}

TEST_F(StoreAway, who_wants_no_stale_answer_gets_the_error) {
  (void)one(ask(1));
  goes_away();
  AskOptions fresh;
  fresh.serve_stale = false;
  EXPECT_FALSE(one(ask(1, fresh)).answer);
  heard_.heard_nothing();
  EXPECT_FALSE(one(ask(1, fresh)).answer);
}

TEST_F(StoreAway, who_does_not_want_to_wait_is_refused_at_once_where_it_is_known_to_be_away) {
  AskOptions hasty;
  hasty.waits_for_store = false;
  EXPECT_EQ(one(ask(1, hasty)).source, AnswerSource::paid);
  heard_.heard_nothing();
  const auto read = store_->slots_read.load();
  const Resolved refused = one(ask(2, hasty));
  EXPECT_EQ(code(refused), ErrorCode::store_unavailable);
  EXPECT_GT(refused.error->retry_after, 0ms);
  EXPECT_EQ(store_->slots_read, read);
  EXPECT_EQ(one(ask(1, hasty)).source, AnswerSource::stale) << "that is better than nothing";
  EXPECT_EQ(one(ask(2)).source, AnswerSource::paid) << "who waits finds it there after all";
}

}  // namespace
}  // namespace geonce
