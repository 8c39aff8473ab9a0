#include "resolver/listener.h"

#include <functional>

#include <gmock/gmock.h>

#include "support/faulty_store.h"
#include "support/model_store/model_store.h"

// What becomes of an answer in this process when another process drops it.

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Slot slot(std::uint8_t n) {
  Slot slot;
  slot.key.bytes[0] = n;
  return slot;
}

/// What processes share, as a list of what it was told.
class SharedTier final : public Tier {
 public:
  Result<std::vector<std::optional<Cached>>> find(std::span<const Slot> slots, Deadline) override {
    return std::vector<std::optional<Cached>>(slots.size());
  }
  Result<void> store(std::span<const Remembered>, Deadline) override { return {}; }
  Result<void> forget(std::span<const Ended> windows, Deadline) override {
    if (is_away) return fail(ErrorCode::io_failed, "away");
    for (const Ended& ended : windows) told.emplace_back(ended.slot, ended.gen);
    return {};
  }
  bool is_away = false;
  std::vector<std::pair<Slot, std::int64_t>> told;
};

/// Notes for what nobody is to be let in any more.
class Doors final : public Resolver {
 public:
  void start(std::vector<Ask>, Deadline, std::function<void(std::size_t, Resolved)>) override {}
  std::optional<Resolved> remembered(const Slot&, const AskOptions&) override { return {}; }
  std::vector<Resolved> resolve(std::vector<Ask>, Deadline) override { return {}; }
  std::vector<Resolved> peek(std::span<const Ask>, Deadline) override { return {}; }
  void have_ended(std::span<const Ended> windows) override {
    for (const Ended& ended : windows) closed.push_back(ended.slot);
  }
  void may_have_ended() override { ++all_closed; }
  [[nodiscard]] ResolverStats stats() const override { return {}; }
  void drain(Deadline) override {}
  std::vector<Slot> closed;
  int all_closed = 0;
};

class Listening : public testing::Test {
 protected:
  /// One more process, which has bought an answer that the others may have read.
  void buy(const Slot& where, milliseconds life = 1h) {
    TakeRequest take;
    take.slot = where;
    take.intent = make_uuid(system_clock());
    take.chain = std::make_shared<const std::vector<std::string>>(1, "alpha");
    const auto taken = others_->take({&take, 1}, Deadline::never());
    ASSERT_TRUE(taken);
    CommitRequest commit;
    commit.slot = where;
    commit.fence = taken->front().fence;
    commit.gen = taken->front().gen;
    commit.call = CallRecord{};
    commit.call->intent = take.intent;
    commit.call->provider = "alpha";
    commit.answer = answer_;
    commit.life = {life, life, life};
    ASSERT_TRUE(others_->commit({&commit, 1}, Deadline::never()));
  }
  void drop(const Slot& where) { ASSERT_TRUE(others_->invalidate({&where, 1}, Deadline::never())); }
  /// Reads from the store; what it read gets into memory when `arrive` says so.
  std::function<void()> read(const Slot& where) {
    const Mono asked = clock_.now();
    const auto found = others_->find({&where, 1}, Deadline::never());
    EXPECT_TRUE(found && found->front());
    const Found entry = *found->front();
    return [this, where, entry, asked] {
      memory_->store_one(
          where, {entry.answer, entry.gen, asked + entry.fresh_left, entry.answered_at, 0, asked});
    };
  }
  void fetch(const Slot& where) { read(where)(); }
  bool remembers(const Slot& where) { return memory_->find_one(where).has_value(); }
  bool has_as_stale(const Slot& where) { return memory_->find_unconfirmed(where).has_value(); }
  void cut_off() {
    store_.set_fault([](std::string_view operation) -> std::optional<Error> {
      if (operation != "ended_since") return std::nullopt;
      return Error{ErrorCode::store_unavailable, "away", "store", {}, {}};
    });
  }

  Listener& listener() {
    if (listener_) return *listener_;
    listener_ = std::make_unique<Listener>(ListenerParts{
        store_, heard_, *memory_, doors_, has_shared_ ? &shared_ : nullptr, clock_, 0ms});
    clock_.advance(1ms);  // what is read from here on was read behind the first look
    return *listener_;
  }

  FakeClock clock_;
  std::shared_ptr<ModelWorld> world_ = make_model_world();
  std::unique_ptr<Store> others_ = open_model_store(world_, clock_);
  FaultyStore store_{*others_};
  Heard heard_{{60s, 5s, 100, 1h}, clock_};
  std::unique_ptr<MemoryTier> memory_ = open_memory_tier(1U << 20U, clock_, &heard_);
  SharedTier shared_;
  bool has_shared_ = true;
  Doors doors_;
  std::shared_ptr<const Answer> answer_ = std::make_shared<const Answer>();
  std::unique_ptr<Listener> listener_;
};

TEST_F(Listening, what_another_process_dropped_is_gone_from_memory_after_the_next_look) {
  listener();
  buy(slot(1));
  buy(slot(2));
  fetch(slot(1));
  fetch(slot(2));
  drop(slot(1));
  EXPECT_TRUE(remembers(slot(1))) << "nobody has looked yet";
  EXPECT_TRUE(listener().look());
  EXPECT_FALSE(remembers(slot(1)));
  EXPECT_TRUE(remembers(slot(2)));
  EXPECT_THAT(doors_.closed, ElementsAre(slot(1)));
}

TEST_F(Listening, an_answer_that_was_read_before_the_drop_does_not_come_in_behind_it) {
  listener();
  buy(slot(1));
  const auto slow = read(slot(1));
  drop(slot(1));
  EXPECT_TRUE(listener().look());
  slow();
  EXPECT_FALSE(remembers(slot(1)));
  buy(slot(1));
  fetch(slot(1));
  EXPECT_TRUE(remembers(slot(1))) << "the next window is another matter";
}

TEST_F(Listening, memory_gives_out_nothing_when_the_store_cannot_be_asked_for_long) {
  listener();
  buy(slot(1));
  fetch(slot(1));
  cut_off();
  clock_.advance(4s);
  EXPECT_FALSE(listener().look());
  EXPECT_TRUE(remembers(slot(1)));
  clock_.advance(1s + 1ms);
  EXPECT_FALSE(listener().look());
  EXPECT_FALSE(remembers(slot(1)));
  store_.set_fault({});
  EXPECT_TRUE(listener().look());
  EXPECT_TRUE(remembers(slot(1))) << "all that was dropped meanwhile is known now";
}

TEST_F(Listening, while_the_store_is_away_memory_has_its_answers_as_stale_for_an_hour) {
  listener();
  buy(slot(1), 2h);
  fetch(slot(1));
  EXPECT_FALSE(heard_.is_store_away());
  cut_off();
  EXPECT_FALSE(listener().look());
  EXPECT_TRUE(heard_.is_store_away());
  clock_.advance(59min);
  EXPECT_FALSE(remembers(slot(1)));
  EXPECT_TRUE(has_as_stale(slot(1)));
  clock_.advance(2min);
  EXPECT_FALSE(has_as_stale(slot(1))) << "it may have been dropped so long ago";
}

TEST_F(Listening, not_even_as_stale_is_there_what_is_beyond_its_life_or_known_to_be_over) {
  listener();
  buy(slot(1), 30min);
  buy(slot(2), 2h);
  fetch(slot(1));
  fetch(slot(2));
  drop(slot(2));
  cut_off();
  clock_.advance(31min);
  EXPECT_FALSE(has_as_stale(slot(1)));
  EXPECT_TRUE(has_as_stale(slot(2)));
  store_.set_fault({});
  EXPECT_TRUE(listener().look());
  EXPECT_FALSE(heard_.is_store_away());
  EXPECT_FALSE(has_as_stale(slot(2)));
}

TEST_F(Listening, what_is_read_again_after_a_minute_is_good_once_more_and_lives_no_longer) {
  listener();
  buy(slot(1), 90s);
  fetch(slot(1));
  clock_.advance(61s);
  listener().look();
  EXPECT_FALSE(remembers(slot(1)));
  fetch(slot(1));
  EXPECT_TRUE(remembers(slot(1)));
  clock_.advance(29s);
  listener().look();
  EXPECT_FALSE(remembers(slot(1)));
  EXPECT_FALSE(has_as_stale(slot(1)));
}

TEST_F(Listening, an_answer_is_read_again_after_a_minute_however_well_one_hears) {
  listener();
  buy(slot(1));
  fetch(slot(1));
  for (int second = 0; second < 60; ++second) {
    EXPECT_TRUE(remembers(slot(1)));
    clock_.advance(1s);
    listener().look();
  }
  EXPECT_FALSE(remembers(slot(1)));
}

TEST_F(Listening, what_the_shared_tier_was_not_told_it_is_told_at_the_next_look) {
  listener();
  shared_.is_away = true;
  buy(slot(1));
  drop(slot(1));
  EXPECT_TRUE(listener().look());
  EXPECT_THAT(shared_.told, IsEmpty());
  shared_.is_away = false;
  EXPECT_TRUE(listener().look());
  EXPECT_THAT(shared_.told, ElementsAre(std::pair(slot(1), 2)));
  EXPECT_TRUE(listener().look());
  EXPECT_EQ(shared_.told.size(), 1U) << "once is enough";
}

TEST_F(Listening, who_told_and_died_before_noting_it_has_it_told_again) {
  buy(slot(1));
  drop(slot(1));
  store_.set_fault([](std::string_view operation) -> std::optional<Error> {
    if (operation != "told") return std::nullopt;
    return Error{ErrorCode::store_unavailable, "away", "store", {}, {}};
  });
  EXPECT_FALSE(hand_over(store_, shared_, Deadline::never()));
  store_.set_fault({});
  EXPECT_EQ(*hand_over(store_, shared_, Deadline::never()), 1U);
  EXPECT_EQ(shared_.told.size(), 2U);
  EXPECT_EQ(*hand_over(store_, shared_, Deadline::never()), 0U);
}

TEST_F(Listening, what_the_shared_tier_may_still_hold_is_not_believed_from_the_start_on) {
  shared_.is_away = true;
  buy(slot(1));
  drop(slot(1));
  EXPECT_FALSE(heard_.trusts_shared()) << "who has not looked yet knows nothing";
  listener();
  EXPECT_TRUE(heard_.trusts_shared());
  EXPECT_TRUE(heard_.is_over(slot(1), 1, clock_.now() + 1ms));
  EXPECT_FALSE(heard_.is_over(slot(1), 3, clock_.now() + 1ms));
  shared_.is_away = false;
  listener().look();
  clock_.advance(3min);
  listener().look();
  EXPECT_FALSE(heard_.is_over(slot(1), 1, clock_.now())) << "the shared tier knows by itself";
}

TEST_F(Listening, who_has_missed_too_much_begins_anew) {
  listener();
  buy(slot(1));
  fetch(slot(1));
  buy(slot(2));
  const auto slow = read(slot(2));
  for (int n = 0; n <= 10'001; ++n) {
    drop(slot(3));
    buy(slot(3));
  }
  clock_.advance(1ms);
  EXPECT_TRUE(listener().look());
  EXPECT_EQ(doors_.all_closed, 2) << "at the start, and now";
  EXPECT_FALSE(remembers(slot(1)));
  slow();
  EXPECT_FALSE(remembers(slot(2))) << "it may be over, nobody knows";
  EXPECT_FALSE(heard_.trusts_shared()) << "more was not told than can be remembered";
  clock_.advance(1ms);
  EXPECT_TRUE(listener().look());
  EXPECT_TRUE(heard_.trusts_shared()) << "now it was told all";
  fetch(slot(2));
  EXPECT_TRUE(remembers(slot(2)));
}

TEST_F(Listening, without_a_shared_tier_nothing_is_handed_over) {
  has_shared_ = false;
  listener();
  buy(slot(1));
  drop(slot(1));
  EXPECT_TRUE(listener().look());
  EXPECT_EQ(others_->untold(10, Deadline::never())->size(), 1U);
}

}  // namespace
}  // namespace geonce
