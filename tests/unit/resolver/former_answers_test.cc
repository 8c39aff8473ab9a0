// Versions of the rules, secrets, and what was bought under those that are past. n0 is made up
// (tests/support/older_rules.h).
#include "resolver/former_answers.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resolver/live.h"
#include "support/child_process.h"
#include "support/fake_provider.h"
#include "support/faulty_store.h"
#include "support/filed_answers.h"
#include "support/memory_spool.h"
#include "support/older_rules.h"
#include "support/scripted_reader.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kSpelling = "12 Oak St, Reno, NV 89501";
const std::string kSameToN1 = "12 Oak Street, Reno, NV 89501";  // n0: another key
const std::string kUnit1 = "12 Oak St Apt 1, Reno, NV 89501";
const std::string kUnit2 = "12 Oak St Apt 2, Reno, NV 89501";  // n0: the same key as unit 1

const std::string kK1 = "k1 0123456789abcdef0123456789abcdef\n";
const std::string kK2 = "k2 fedcba9876543210fedcba9876543210\n";

KeyRing ring_of(const std::string& secrets) {
  return secrets.empty() ? KeyRing::plain() : KeyRing::parse(secrets).value();
}
/// The same secrets in a program of version n1 that knows of n0.
KeyRing since_n0(const std::string& secrets = "") {
  return ring_of(secrets).with_former_rules(kSinceN0);
}

std::string n0(const std::string& text) { return pre_image_of_n0(us(text).view()).value(); }
/// The system's, but that the store's days go by when told.
class StoreClock : public Clock {
 public:
  [[nodiscard]] UtcMs now_utc() const override { return system_clock().now_utc() + ahead_.count(); }
  [[nodiscard]] Mono now() const override { return system_clock().now(); }
  void advance(milliseconds by) { ahead_ += by; }

 private:
  milliseconds ahead_{0};
};

/// A program on a store: all that a process has for itself.
class Process {
 public:
  Process(Store& store, KeyRing ring) : ring_(std::move(ring)) {
    resolver_ = open_resolver({.store = store,
                               .memory = *memory_,
                               .spool = spool_,
                               .clock = system_clock(),
                               .owner = make_uuid(system_clock()),
                               .chain = {provider_},
                               .life = {},
                               .accept = {},
                               .options = {},
                               .ring = &ring_});
  }
  Ask ask(const std::string& text, AskOptions options = {}) const {
    Ask ask;
    ask.query = us(text);
    ask.slot = slot(text);
    ask.options = std::move(options);
    return ask;
  }
  [[nodiscard]] Slot slot(const std::string& text) const { return {1, ring_.key(n1(text))}; }
  Resolved get(const std::string& text, AskOptions options = {}) {
    return resolver_->resolve({ask(text, std::move(options))}, Deadline::never()).front();
  }
  std::vector<Resolved> resolve(const std::vector<Ask>& asks) {
    return resolver_->resolve(asks, Deadline::never());
  }
  /// What the answer says it is for; "": none.
  std::string answer(const std::string& text, AskOptions options = {}) {
    const auto resolved = get(text, std::move(options));
    return resolved.answer ? resolved.answer->formatted : "";
  }
  Resolved peek(const std::string& text) {
    const auto question = ask(text);
    return resolver_->peek({&question, 1}, Deadline::never()).front();
  }
  [[nodiscard]] std::size_t calls() const { return provider_->lookups(); }
  [[nodiscard]] const KeyRing& ring() const { return ring_; }

 private:
  KeyRing ring_;
  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>("alpha");
  MemorySpool spool_;
  std::unique_ptr<MemoryTier> memory_ = open_memory_tier(1U << 20U, system_clock());
  std::unique_ptr<Resolver> resolver_;
};

class FormerAnswers : public testing::Test {
 protected:
  FormerAnswers() : sqlite_(open()), store_(*sqlite_) {}

  std::unique_ptr<Store> open() {
    SqliteOptions options;
    options.path = dir_.file("store.db");
    options.clock = &clock_;
    auto store = open_sqlite_store(options);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }

  /// An answer that was bought for a spelling, filed under the key of `image`.
  Slot remember(const std::string& text,
                const std::string& image,
                const KeyRing& ring,
                std::string says,
                const std::string& query_json = "") {
    const auto slot = file(*sqlite_,
                           ring,
                           image,
                           query_json.empty() ? to_json(us(text)) : query_json,
                           std::move(says));
    clock_.advance(1min);
    return slot;
  }
  Slot remember_as_n0(const std::string& text, std::string says = "from n0") {
    return remember(text, n0(text), KeyRing::plain(), std::move(says));
  }
  std::optional<EntryRow> entry(const Slot& slot) {
    const auto row = sqlite_->entry(slot, Deadline::never());
    EXPECT_TRUE(row);
    return *row;
  }
  std::vector<EntryRow> entries() {
    EntryFilter filter;
    filter.limit = 1'000;
    return *sqlite_->entries(filter, Deadline::never());
  }

  TempDir dir_;
  StoreClock clock_;
  std::unique_ptr<Store> sqlite_;
  FaultyStore store_;
};

TEST_F(FormerAnswers, an_answer_of_the_last_version_is_served_without_a_call_and_filed_anew) {
  const auto old = remember_as_n0(kSpelling);
  Process process(store_, since_n0());
  const auto resolved = process.get(kSpelling);
  ASSERT_TRUE(resolved.answer);
  EXPECT_EQ(resolved.answer->formatted, "from n0");
  EXPECT_EQ(resolved.source, AnswerSource::db);
  EXPECT_EQ(process.calls(), 0U);
  EXPECT_FALSE(entry(old));
  const auto moved = entry(process.slot(kSpelling));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->pre_image, n1(kSpelling));
  EXPECT_EQ(moved->building_key, process.slot(kSpelling).key);
  EXPECT_EQ(moved->query_json, to_json(us(kSpelling)));

  Process later(store_, KeyRing::plain());
  EXPECT_EQ(later.answer(kSpelling), "from n0") << "found directly: who knows nothing of n0 has it";
  EXPECT_EQ(later.answer(kSameToN1), "from n0");
  EXPECT_EQ(later.calls(), 0U);
}

TEST_F(FormerAnswers, who_does_not_know_the_last_version_buys) {
  remember_as_n0(kSpelling);
  Process process(store_, KeyRing::plain());
  EXPECT_EQ(process.answer(kSpelling), kSpelling);
  EXPECT_EQ(process.calls(), 1U);
}

TEST_F(FormerAnswers, every_version_is_found_under_every_secret) {
  const std::string all = kK2 + kK1 + "plain";
  std::size_t n = 0;
  for (const auto& [secrets, is_n0] : std::initializer_list<std::pair<std::string, bool>>{
           {kK1, false}, {"", false}, {kK2, true}, {kK1, true}, {"", true}}) {
    const std::string text = std::to_string(++n) + " Elm St, Reno, NV 89501";
    const auto old = remember(text, is_n0 ? n0(text) : n1(text), ring_of(secrets), "kept");
    Process process(store_, since_n0(all));
    EXPECT_EQ(process.answer(text), "kept") << n;
    EXPECT_EQ(process.calls(), 0U) << n;
    EXPECT_FALSE(entry(old)) << n;
    const auto moved = entry({1, ring_of(kK2).key(n1(text))});
    ASSERT_TRUE(moved) << n;
    EXPECT_EQ(moved->building_key, moved->slot.key);
  }
  EXPECT_THAT(entries(), SizeIs(n));
}

// --- a split: one key of n0, two of n1

TEST_F(FormerAnswers, an_answer_is_not_served_for_an_address_that_only_the_old_rules_took_for_its) {
  const auto old = remember_as_n0(kUnit1, "the flat of unit 1");
  ASSERT_EQ(n0(kUnit1), n0(kUnit2));
  Process process(store_, since_n0());
  AskOptions free;
  free.cache_only = true;
  EXPECT_EQ(process.answer(kUnit2, free), "");
  EXPECT_EQ(process.answer(kUnit2), kUnit2) << "bought";
  EXPECT_EQ(process.calls(), 1U);
  EXPECT_TRUE(entry(old)) << "its own spelling has not been asked yet";

  EXPECT_EQ(process.answer(kUnit1), "the flat of unit 1");
  EXPECT_EQ(process.calls(), 1U);
  EXPECT_FALSE(entry(old));
  Process later(store_, since_n0());
  EXPECT_EQ(later.answer(kUnit1), "the flat of unit 1");
  EXPECT_EQ(later.answer(kUnit2), kUnit2);
  EXPECT_EQ(later.answer("12 Oak St, Reno, NV 89501", free), "") << "nor for the whole building";
  EXPECT_EQ(later.calls(), 0U);
}

TEST_F(FormerAnswers, it_is_not_served_stale_either_and_not_when_nobody_can_be_asked) {
  remember_as_n0(kUnit1, "the flat of unit 1");
  clock_.advance(25h);
  Process process(store_, since_n0());
  AskOptions free;
  free.cache_only = true;
  EXPECT_EQ(process.answer(kUnit2, free), "");
  EXPECT_EQ(process.answer(kUnit1, free), "the flat of unit 1");
}

TEST_F(FormerAnswers, an_answer_whose_spelling_cannot_be_read_is_nobodys) {
  remember(kSpelling, n0(kSpelling), KeyRing::plain(), "whose?", "{}");
  remember(kUnit1, n0(kUnit1) + "x", KeyRing::plain(), "whose?", "no JSON");
  Process process(store_, since_n0());
  EXPECT_EQ(process.answer(kSpelling), kSpelling);
  EXPECT_EQ(process.calls(), 1U);
}

TEST_F(FormerAnswers, an_old_program_that_buys_for_another_spelling_meanwhile_is_noticed) {
  const auto old = remember_as_n0(kUnit1, "the flat of unit 1");
  bool is_done = false;
  store_.set_fault([&](std::string_view operation) -> std::optional<Error> {
    if (operation == "rekey" && !std::exchange(is_done, true))
      remember_as_n0(kUnit2, "the flat of unit 2");
    return std::nullopt;
  });
  Process process(store_, since_n0());
  EXPECT_EQ(process.answer(kUnit1), kUnit1) << "bought, not the neighbour's";
  EXPECT_TRUE(is_done);
  ASSERT_TRUE(entry(old));
  EXPECT_EQ(entry(old)->answer->formatted, "the flat of unit 2");
  EXPECT_EQ(process.answer(kUnit2), "the flat of unit 2");
  EXPECT_EQ(process.calls(), 1U);
}

// --- a merge: two keys of n0, one of n1

TEST_F(FormerAnswers, of_two_that_are_one_address_now_the_later_is_left) {
  remember_as_n0(kSpelling, "the earlier");
  const auto later = remember_as_n0(kSameToN1, "the later");
  ASSERT_NE(n0(kSpelling), n0(kSameToN1));
  Process process(store_, since_n0());
  EXPECT_EQ(process.answer(kSpelling), "the earlier") << "all that is known of this spelling";
  EXPECT_EQ(process.answer(kSameToN1), "the earlier") << "it is one address";
  EXPECT_TRUE(entry(later)) << "nobody looks for more than an answer";

  clock_.advance(24h - 90s);  // the earlier has been fresh
  Process next(store_, since_n0());
  EXPECT_EQ(next.answer(kSameToN1), "the later");
  EXPECT_EQ(next.calls(), 0U);
  EXPECT_THAT(entries(), SizeIs(1));
}

TEST_F(FormerAnswers, of_one_spelling_under_many_keys_the_latest_is_left) {
  remember(kSpelling, n1(kSpelling), ring_of(kK1), "n1.k1, first");
  remember(kSpelling, n0(kSpelling), ring_of(kK2), "n0.k2, last of all");
  const auto slot = remember(kSpelling, n0(kSpelling), ring_of(kK1), "n0.k1, dropped");
  ASSERT_TRUE(sqlite_->invalidate(std::span(&slot, 1), Deadline::never()));
  Process process(store_, since_n0(kK2 + kK1));
  EXPECT_EQ(process.answer(kSpelling), "n0.k2, last of all");
  EXPECT_EQ(process.calls(), 0U);
}

TEST_F(FormerAnswers, a_pinned_answer_beats_a_later_one) {
  const Slot pinned{1, KeyRing::plain().key(n0(kSpelling))};
  Answer answer = FakeProvider::match("a person says").answer;
  ASSERT_TRUE(sqlite_->pin(
      pinned, answer, to_json(us(kSpelling)), n0(kSpelling), std::nullopt, Deadline::never()));
  clock_.advance(1h);
  remember(kSpelling, n0(kSpelling), ring_of(kK1), "later");
  Process process(store_, since_n0(kK1 + "plain"));
  EXPECT_EQ(process.answer(kSpelling), "a person says");
  ASSERT_TRUE(entry(process.slot(kSpelling)));
  EXPECT_TRUE(entry(process.slot(kSpelling))->pinned);
  EXPECT_THAT(entries(), SizeIs(1));
}

TEST_F(FormerAnswers, what_was_dropped_since_is_bought_and_not_found_under_the_old_key) {
  remember_as_n0(kSpelling);
  Process process(store_, since_n0());
  const auto slot = process.slot(kSpelling);
  ASSERT_TRUE(sqlite_->invalidate(std::span(&slot, 1), Deadline::never()));
  EXPECT_EQ(process.answer(kSpelling), kSpelling);
  EXPECT_EQ(process.calls(), 1U);
  EXPECT_THAT(entries(), SizeIs(1));
}

// --- a second reader, which gives a key to what was in one piece

const std::string kInOnePiece = "12 Main St West Chester";
const std::string kOneMore = "12 Main St West Chester Apt 2";  // n0: the same key

/// Reads both, and asks as a program does that has it.
class WithReader {
 public:
  WithReader() {
    reader_.answers["12 main st west chester"] = {
        {"house_number", "12"}, {"road", "main st"}, {"city", "west chester"}};
    reader_.answers["main st west chester 12"] = {
        {"road", "main st"}, {"city", "west chester"}, {"house_number", "12"}};
  }
  [[nodiscard]] Keyed keyed(const std::string& text, const KeyRing& ring) {
    return Normalizer(ring, &reader_).key(us(text).view()).value();
  }
  Ask ask(const std::string& text, const KeyRing& ring) {
    const auto keyed = this->keyed(text, ring);
    Ask ask;
    ask.slot = {1, keyed.key};
    ask.pre_image = keyed.pre_image;
    ask.query = us(text);
    return ask;
  }

 private:
  ScriptedReader reader_;
};

TEST_F(FormerAnswers, what_was_bought_before_a_second_reader_read_it_is_found_and_filed_anew) {
  WithReader with;
  const std::string read = with.keyed(kInOnePiece, KeyRing::plain()).pre_image;
  ASSERT_NE(read, "");
  ASSERT_NE(read, n1(kInOnePiece));
  std::size_t calls = 0;
  for (const auto& [image, secrets] :
       std::initializer_list<std::pair<std::string, std::string>>{{n1(kInOnePiece), ""},
                                                                  {n1(kInOnePiece), kK1},
                                                                  {read, ""},
                                                                  {n0(kInOnePiece), kK1},
                                                                  {n0(kInOnePiece), ""}}) {
    const auto old = remember(kInOnePiece, image, ring_of(secrets), "kept");
    Process process(store_, since_n0(kK1 + "plain"));
    const auto ask = with.ask(kInOnePiece, process.ring());
    const auto resolved = process.resolve({ask}).front();
    EXPECT_TRUE(resolved.answer && resolved.answer->formatted == "kept") << image << secrets;
    calls += process.calls();
    EXPECT_FALSE(entry(old)) << image << secrets;
    ASSERT_TRUE(entry(ask.slot)) << image << secrets;
    EXPECT_EQ(entry(ask.slot)->pre_image, read);
    ASSERT_TRUE(sqlite_->invalidate(std::span(&ask.slot, 1), Deadline::never()));
    clock_.advance(1min);
  }
  EXPECT_EQ(calls, 0U);
}

TEST_F(FormerAnswers, of_what_a_second_reader_took_for_one_the_key_with_an_older_secret_is_enough) {
  const std::string other_way = "Main St West Chester 12";
  WithReader with;
  const std::string read = with.keyed(kInOnePiece, KeyRing::plain()).pre_image;
  ASSERT_EQ(with.keyed(other_way, KeyRing::plain()).pre_image, read);
  ASSERT_NE(n1(other_way), n1(kInOnePiece));
  remember(other_way, read, KeyRing::plain(), "kept");
  Process process(store_, since_n0(kK1 + "plain"));
  EXPECT_EQ(process.resolve({with.ask(kInOnePiece, process.ring())}).front().answer->formatted,
            "kept");
  EXPECT_EQ(process.calls(), 0U);
}

TEST_F(FormerAnswers, an_answer_for_more_than_what_was_read_is_not_taken_for_it) {
  WithReader with;
  ASSERT_EQ(n0(kInOnePiece), n0(kOneMore));
  remember_as_n0(kOneMore, "the flat's");
  Process process(store_, since_n0());
  auto ask = with.ask(kInOnePiece, process.ring());
  EXPECT_EQ(process.resolve({ask}).front().answer->formatted, kInOnePiece) << "bought";
  EXPECT_EQ(process.calls(), 1U);
}

// --- the rest of a request

TEST_F(FormerAnswers, a_stale_one_is_filed_anew_and_refreshed_under_its_new_key) {
  remember_as_n0(kSpelling);
  clock_.advance(25h);
  Process process(store_, since_n0());
  EXPECT_EQ(process.answer(kSpelling), kSpelling);
  EXPECT_EQ(process.calls(), 1U);
  const auto row = entry(process.slot(kSpelling));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->gen, 2) << "the window after the one that moved";
  EXPECT_THAT(entries(), SizeIs(1));
}

TEST_F(FormerAnswers, a_look_ahead_finds_them_and_moves_nothing) {
  const auto old = remember_as_n0(kUnit1, "the flat of unit 1");
  Process process(store_, since_n0());
  EXPECT_EQ(process.peek(kUnit1).answer->formatted, "the flat of unit 1");
  EXPECT_FALSE(process.peek(kUnit2).answer);
  EXPECT_TRUE(entry(old));
  EXPECT_FALSE(entry(process.slot(kUnit1)));
}

TEST_F(FormerAnswers, of_many_at_once_each_gets_its_own) {
  Process process(store_, since_n0());
  AskOptions free;
  free.cache_only = true;
  std::vector<Ask> asks;
  for (int n = 0; n < 300; ++n) {
    const auto text = fmt::format("{} Elm St Apt {}, Reno, NV 89501", n / 2, n % 2);
    if (n % 2 == 0) remember_as_n0(text, text);
    asks.push_back(process.ask(text, free));
  }
  const auto resolved = process.resolve(asks);
  for (std::size_t n = 0; n < asks.size(); ++n)
    EXPECT_EQ(resolved[n].answer ? resolved[n].answer->formatted : "",
              n % 2 == 0 ? asks[n].query.text : "");
  EXPECT_EQ(process.calls(), 0U);
}

TEST_F(FormerAnswers, a_store_that_cannot_say_what_stands_under_a_former_key_costs_no_call) {
  remember_as_n0(kSpelling);
  for (const std::string broken : {"entry", "rekey"}) {
    store_.set_fault([&](std::string_view operation) -> std::optional<Error> {
      if (operation != broken) return std::nullopt;
      return Error{ErrorCode::store_busy, "busy", {}, {}, {}};
    });
    Process process(store_, since_n0());
    const auto resolved = process.get(kSpelling);
    ASSERT_TRUE(resolved.error);
    EXPECT_EQ(resolved.error->code, ErrorCode::store_busy);
    EXPECT_FALSE(process.peek(kSpelling).answer && broken == "entry");
    EXPECT_EQ(process.calls(), 0U);
  }
}

TEST_F(FormerAnswers, two_processes_at_once_find_all_and_buy_nothing) {
  constexpr int kAddresses = 200;
  const auto text = [](int n) { return fmt::format("{} Elm St, Reno, NV 89501", n); };
  for (int n = 0; n < kAddresses; ++n) remember_as_n0(text(n), text(n));
  sqlite_.reset();  // a fork must not share it
  std::vector<ChildProcess> children;
  for (const bool backwards : {false, true})
    children.emplace_back([&, backwards] {
      const auto store = open();
      Process process(*store, since_n0());
      std::vector<Ask> asks;
      for (int n = 0; n < kAddresses; ++n)
        asks.push_back(process.ask(text(backwards ? kAddresses - 1 - n : n)));
      for (const Ask& ask : asks) {
        const auto found = process.answer(ask.query.text);
        EXPECT_EQ(found, ask.query.text);
      }
      EXPECT_EQ(process.calls(), 0U);
    });
  for (ChildProcess& child : children) EXPECT_TRUE(child.join());
  sqlite_ = open();
  EXPECT_THAT(entries(), SizeIs(kAddresses));
  for (int n = 0; n < kAddresses; ++n)
    EXPECT_TRUE(entry({1, KeyRing::plain().key(n1(text(n)))})) << n;
}

}  // namespace
}  // namespace geonce
