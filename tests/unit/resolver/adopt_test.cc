#include "resolver/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/normalize.h"
#include "support/fake_provider.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// A process that dies: what it did with the store and the spool before is done here by hand.
class Adopt : public testing::Test {
 protected:
  Adopt() {
    auto opened = open_sqlite_store({.path = dir_.file("store.db")});
    EXPECT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    auto spool = open_spool(dir_.file("spool"), owner_, SpoolSync::none);
    EXPECT_TRUE(spool) << spool.error().message;
    spool_ = std::move(*spool);
    add_provider("alpha");
  }

  FakeProvider& add_provider(const std::string& name) {
    providers_.push_back(std::make_shared<FakeProvider>(name));
    return *providers_.back();
  }

  static Slot slot(std::uint8_t n) {
    Slot slot;
    slot.key.bytes.fill(n);
    return slot;
  }
  IntentId take(std::uint8_t n, const std::string& text) {
    Query query;
    query.text = text;
    query.country = Country('U', 'S');
    TakeRequest request;
    request.slot = slot(n);
    request.intent = make_uuid(system_clock());
    request.owner = owner_;
    request.query_json = to_json(query);
    if (const auto canonical = Normalizer().normalize(query.view()))
      request.pre_image = pre_image(*canonical);
    std::vector<std::string> names;
    for (const auto& provider : providers_) names.push_back(provider->traits().name);
    request.chain = std::make_shared<const std::vector<std::string>>(std::move(names));
    for (const auto& provider : providers_)
      request.prices.push_back(provider->traits().price_single);
    const auto taken = store_->take(std::span(&request, 1), Deadline::never());
    EXPECT_TRUE(taken);
    EXPECT_EQ(taken->front().verdict, Taken::Verdict::send);
    return request.intent;
  }
  void answer(std::vector<IntentId> intents,
              int status = 200,
              const std::string& provider = "alpha") {
    SpooledResponse response;
    response.bulk = intents.size() > 1;
    response.intents = std::move(intents);
    response.provider = provider;
    response.http_status = status;
    ASSERT_TRUE(spool_->mark_sent(response.intents));
    ASSERT_TRUE(spool_->append(response));
  }
  Result<AdoptReport> die_and_adopt() {
    spool_.reset();
    return adopt(dir_.file("spool"),
                 {*store_, system_clock(), {providers_.begin(), providers_.end()}, {}, {}, {}});
  }
  std::optional<Found> find(std::uint8_t n) {
    const Slot which = slot(n);
    auto found = store_->find(std::span(&which, 1), Deadline::never());
    EXPECT_TRUE(found);
    return found->front();
  }
  std::vector<std::string> events_of(std::uint8_t n) {
    LedgerFilter filter;
    filter.slot = slot(n);
    filter.newest_first = false;
    std::vector<std::string> events;
    const auto rows = store_->ledger(filter, Deadline::never());
    EXPECT_TRUE(rows);
    for (const auto& row : *rows) events.emplace_back(to_string(row.event));
    return events;
  }

  TempDir dir_;
  OwnerId owner_ = make_uuid(system_clock());
  std::unique_ptr<Store> store_;
  std::unique_ptr<Spool> spool_;
  std::vector<std::shared_ptr<FakeProvider>> providers_;
};

TEST_F(Adopt, an_answer_that_was_received_is_stored_and_never_bought_again) {
  answer({take(1, "1 Sample St")});
  const auto report = die_and_adopt();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->spools, 1U);
  EXPECT_EQ(report->answered, 1U);
  ASSERT_TRUE(find(1));
  EXPECT_EQ(find(1)->answer->formatted, "1 Sample St");
  EXPECT_EQ(find(1)->answer->provider, "alpha");
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "answered"));
}

TEST_F(Adopt, an_adopted_answer_is_filed_with_its_building) {
  answer({take(1, "48 Bramble Ct Apt 3, Dayton, OH 45402")});
  ASSERT_TRUE(die_and_adopt());
  const auto entry = store_->entry(slot(1), Deadline::never());
  ASSERT_TRUE(entry && *entry);
  Query building;
  building.text = "48 Bramble Ct, Dayton, OH 45402";
  building.country = Country('U', 'S');
  EXPECT_EQ((*entry)->building_key, Normalizer().key(building.view())->key);
}

TEST_F(Adopt, each_address_of_a_bulk_call_gets_its_own_answer_although_some_are_stored_already) {
  const auto first = take(1, "1 Sample St");
  const auto second = take(2, "2 Sample St");
  const auto third = take(3, "3 Sample St");
  answer({first, second, third});
  CommitRequest commit;
  commit.slot = slot(2);
  commit.gen = 1;
  commit.call.emplace();
  commit.call->intent = second;
  commit.call->provider = "alpha";
  Answer stored = FakeProvider::match("2 Sample St").answer;
  commit.answer = std::make_shared<const Answer>(stored);
  commit.life = {1h, 2h, 3h};
  ASSERT_TRUE(store_->commit(std::span(&commit, 1), Deadline::never()));
  const auto report = die_and_adopt();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->answered, 2U);
  EXPECT_EQ(find(1)->answer->formatted, "1 Sample St");
  EXPECT_EQ(find(3)->answer->formatted, "3 Sample St");
}

TEST_F(Adopt, a_call_without_an_answer_is_unknown_at_once_and_one_that_was_not_sent_is_void) {
  const auto sent = take(1, "1 Sample St");
  ASSERT_TRUE(spool_->mark_sent(std::span(&sent, 1)));
  (void)take(2, "2 Sample St");
  const auto report = die_and_adopt();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->unknown, 1U);
  EXPECT_EQ(report->voided, 1U);
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "unknown"));
  EXPECT_THAT(events_of(2), ElementsAre("prepared", "void"));
  const auto sums = store_->ledger_sums({}, Deadline::never());
  EXPECT_EQ(sums->front().in_doubt, Money{500}) << "what the call that was sent may have cost";
  // Nobody has to wait for the deadline of the dead.
  owner_ = make_uuid(system_clock());
  (void)take(1, "1 Sample St");
  (void)take(2, "2 Sample St");
}

TEST_F(Adopt, a_refusal_is_a_refusal_after_the_death_as_well) {
  answer({take(1, "1 Sample St")}, 503);
  const auto report = die_and_adopt();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->refused, 1U);
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "refused"));
  EXPECT_FALSE(find(1));
}

TEST_F(Adopt, a_no_match_of_the_only_provider_is_a_negative_entry_and_of_one_of_two_is_not) {
  providers_[0]->know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  answer({take(1, "1 Sample St")});
  ASSERT_TRUE(die_and_adopt());
  ASSERT_TRUE(find(1));
  EXPECT_EQ(find(1)->answer->kind, AnswerKind::no_match);

  add_provider("beta");
  owner_ = make_uuid(system_clock());
  spool_ = std::move(*open_spool(dir_.file("spool"), owner_, SpoolSync::none));
  answer({take(2, "2 Sample St")});
  ASSERT_TRUE(die_and_adopt());
  EXPECT_FALSE(find(2));
  EXPECT_THAT(events_of(2), ElementsAre("prepared", "answered"));
  TakeRequest next;
  next.slot = slot(2);
  next.intent = make_uuid(system_clock());
  next.owner = make_uuid(system_clock());
  next.chain =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"alpha", "beta"});
  const auto taken = store_->take(std::span(&next, 1), Deadline::never());
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->front().step, 1U) << "alpha's no-match is remembered";
}

class AdoptedChain : public Adopt {
 protected:
  /// alpha's answer is none to be content with, and noted; beta is to be asked next.
  void SetUp() override {
    add_provider("beta");
    providers_[0]->know = [](const ProviderAsk& ask) {
      auto outcome = FakeProvider::match(ask.query.one_line());
      outcome.answer.precision = Precision::region;
      return outcome;
    };
    first_ = take(1, "1 Sample St");
    answer({first_});
    AdvanceRequest on;
    on.slot = slot(1);
    on.fence = store_->open_intents(owner_, {}, Deadline::never())->front().fence;
    on.gen = 1;
    on.call.intent = first_;
    on.call.provider = "alpha";
    on.call.billed = Billed::yes;
    on.next_intent = second_;
    on.chain =
        std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"alpha", "beta"});
    const auto advanced = store_->advance(std::span(&on, 1), Deadline::never());
    ASSERT_TRUE(advanced);
    ASSERT_EQ(advanced->front().verdict, Advanced::Verdict::send);
  }
  void expect_alphas_answer() {
    const auto report = die_and_adopt();
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_TRUE(find(1)) << "it was paid for";
    EXPECT_EQ(find(1)->answer->provider, "alpha");
    EXPECT_EQ(find(1)->answer->kind, AnswerKind::rejected);
    EXPECT_TRUE(store_->open_intents(owner_, {}, Deadline::never())->empty());
  }

  IntentId first_, second_ = make_uuid(system_clock());
};

TEST_F(AdoptedChain, the_answer_of_the_first_provider_outlives_a_process_that_asked_the_second) {
  providers_[1]->know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  answer({second_}, 200, "beta");
  expect_alphas_answer();
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "answered", "prepared", "answered"));
}

TEST_F(AdoptedChain, also_when_the_answer_of_the_second_is_lost) {
  ASSERT_TRUE(spool_->mark_sent(std::span(&second_, 1)));
  expect_alphas_answer();
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "answered", "prepared", "unknown"));
}

TEST_F(AdoptedChain, also_when_the_second_was_not_asked) {
  expect_alphas_answer();
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "answered", "prepared", "refused"));
}

TEST_F(AdoptedChain, also_when_an_earlier_call_of_the_window_was_lost) {
  // beta's answer is lost, its claim taken again by the same process, and asked once more.
  ASSERT_TRUE(spool_->mark_sent(std::span(&second_, 1)));
  ReleaseRequest lost;
  lost.kind = ReleaseRequest::Kind::unknown;
  lost.slot = slot(1);
  lost.fence = store_->open_intents(owner_, {}, Deadline::never())->front().fence;
  lost.call.intent = second_;
  lost.call.provider = "beta";
  ASSERT_TRUE(store_->release(std::span(&lost, 1), Deadline::never()));
  const IntentId third = take(1, "1 Sample St");
  providers_[1]->know = [](const ProviderAsk&) { return FakeProvider::no_match(); };
  answer({third}, 200, "beta");
  expect_alphas_answer();
}

TEST_F(AdoptedChain, and_is_not_stored_when_another_has_taken_the_claim_over) {
  ReleaseRequest lost;
  lost.kind = ReleaseRequest::Kind::unknown;
  lost.slot = slot(1);
  lost.fence = store_->open_intents(owner_, {}, Deadline::never())->front().fence;
  lost.call.intent = second_;
  lost.call.provider = "beta";
  ASSERT_TRUE(store_->release(std::span(&lost, 1), Deadline::never()));
  const OwnerId dead = std::exchange(owner_, make_uuid(system_clock()));
  (void)take(1, "1 Sample St");
  owner_ = dead;
  ASSERT_TRUE(die_and_adopt());
  EXPECT_FALSE(find(1)) << "the other is asking, and ends the window";
}

TEST_F(Adopt, an_answer_nobody_can_read_any_more_stays_until_its_provider_is_back) {
  answer({take(1, "1 Sample St")}, 200, "gone");
  const auto report = die_and_adopt();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::no_provider);
  add_provider("gone");
  const auto later =
      adopt(dir_.file("spool"),
            {*store_, system_clock(), {providers_.begin(), providers_.end()}, {}, {}, {}});
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->answered, 1U);
  EXPECT_TRUE(find(1));
}

TEST_F(Adopt, adopting_twice_changes_nothing) {
  const auto intent = take(1, "1 Sample St");
  answer({intent});
  spool_.reset();
  SpooledResponse response;
  response.intents = {intent};
  response.provider = "alpha";
  response.http_status = 200;
  DeadSpool dead;
  dead.owner = owner_;
  dead.responses = {response};
  const AdoptParts parts{
      *store_, system_clock(), {providers_.begin(), providers_.end()}, {}, {}, {}};
  AdoptReport report;
  ASSERT_TRUE(adopt_spool(dead, parts, report));
  ASSERT_TRUE(adopt_spool(dead, parts, report));
  EXPECT_EQ(report.answered, 1U);
  EXPECT_THAT(events_of(1), ElementsAre("prepared", "answered"));
}

}  // namespace
}  // namespace geonce
