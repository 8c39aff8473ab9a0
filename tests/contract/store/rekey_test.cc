#include <gmock/gmock.h>

#include "contract/store/store_contract.h"

// A new secret or new rules make new keys; what was bought under the old ones is filed anew.

namespace geonce::contract {
namespace {

using testing::ElementsAre;
using enum Rekeyed;

constexpr std::string_view kSpelling = R"({"text":"1 some street"})";  // what `ask` asks

Rekey from_to(std::uint32_t from, std::uint32_t to) {
  return {slot(from), slot(to), std::string(kSpelling), "image of the new key", building(to)};
}

std::vector<Rekeyed> rekey(geonce::Store& store, const std::vector<Rekey>& rekeys) {
  auto done = store.rekey(rekeys, Deadline::never());
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return done ? *done : std::vector<Rekeyed>(rekeys.size());
}

TEST_P(Store, an_answer_moves_to_its_new_key_with_the_life_it_has_left) {
  buy(slot(1), match());
  clock_.advance(1h);
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(moved));
  EXPECT_FALSE(find(slot(1)));
  const auto found = find(slot(2));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->answer, match());
  EXPECT_EQ(found->fresh_left, kFresh - 1h);
  EXPECT_EQ(take(slot(2)).verdict, Verdict::fresh);
  EXPECT_EQ(take(slot(1)).verdict, Verdict::send) << "nothing is left under the old key";
}

TEST_P(Store, a_moved_answer_says_what_its_new_key_is_made_of) {
  buy(slot(1), match());
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(moved));
  const auto entry = store_->entry(slot(2), Deadline::never());
  ASSERT_TRUE(entry && *entry);
  EXPECT_EQ((*entry)->pre_image, "image of the new key");
  EXPECT_EQ((*entry)->building_key, building(2));
  EXPECT_EQ((*entry)->query_json, kSpelling) << "what was bought stays what it was";
  EXPECT_EQ((*entry)->gen, 1);
}

TEST_P(Store, an_answer_that_was_bought_for_another_spelling_does_not_move) {
  buy(slot(1), match());
  auto other = from_to(1, 2);
  other.query_json = R"({"text":"1 some street, apt 2"})";
  EXPECT_THAT(rekey(*store_, {other, from_to(8, 9), from_to(1, 1)}),
              ElementsAre(stayed, stayed, stayed));
  EXPECT_TRUE(find(slot(1)));
  EXPECT_FALSE(find(slot(2)));
  EXPECT_EQ((*store_->entry(slot(1), Deadline::never()))->pre_image, ask(slot(1)).pre_image);
}

TEST_P(Store, of_two_answers_of_one_address_the_later_is_left_in_whatever_order_they_come) {
  for (const bool later_first : {false, true}) {
    const std::uint32_t n = later_first ? 10 : 20;
    buy(slot(n), match(50));
    clock_.advance(1h);
    buy(slot(n + 1), match(60));
    const auto one = from_to(n, n + 2);
    const auto two = from_to(n + 1, n + 2);
    EXPECT_THAT(rekey(*store_, later_first ? std::vector{two, one} : std::vector{one, two}),
                ElementsAre(moved, merged));
    EXPECT_FALSE(find(slot(n)));
    EXPECT_FALSE(find(slot(n + 1))) << "the other is gone, so that nothing brings it back";
    ASSERT_TRUE(find(slot(n + 2)));
    EXPECT_EQ(find(slot(n + 2))->answer->at->lat_deg, 60);
    const auto entry = store_->entry(slot(n + 2), Deadline::never());
    ASSERT_TRUE(entry && *entry);
    EXPECT_EQ((*entry)->query_json, kSpelling);
    EXPECT_EQ((*entry)->pre_image, "image of the new key");
  }
}

TEST_P(Store, a_pinned_answer_is_left_however_late_the_other_is) {
  for (const bool pin_moves : {false, true}) {
    const std::uint32_t n = pin_moves ? 10 : 20;
    const std::uint32_t pin = pin_moves ? n : n + 1;
    ASSERT_TRUE(store_->pin(
        slot(pin), match(48, 2, "person"), kSpelling, "", std::nullopt, Deadline::never()));
    clock_.advance(1h);
    buy(slot(pin_moves ? n + 1 : n), match(60));
    EXPECT_THAT(rekey(*store_, {from_to(n, n + 1)}), ElementsAre(merged));
    ASSERT_TRUE(find(slot(n + 1)));
    EXPECT_TRUE(find(slot(n + 1))->pinned);
    EXPECT_EQ(find(slot(n + 1))->answer->at->lat_deg, 48);
    EXPECT_FALSE(find(slot(n)));
  }
}

TEST_P(Store, what_was_dropped_is_not_brought_back_by_an_older_answer_and_by_a_newer_one_it_is) {
  buy(slot(1), match(50));
  clock_.advance(1h);
  const auto dropped = slot(2);
  ASSERT_TRUE(store_->invalidate({&dropped, 1}, Deadline::never()));
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(merged));
  EXPECT_FALSE(find(slot(1)));
  EXPECT_FALSE(find(slot(2)));
  clock_.advance(1h);
  buy(slot(1), match(60));
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(merged));
  ASSERT_TRUE(find(slot(2)));
  EXPECT_EQ(find(slot(2))->answer->at->lat_deg, 60);
  EXPECT_EQ(find(slot(2))->gen, 2) << "beyond the tombstone's";
}

TEST_P(Store, an_entry_whose_life_is_over_is_in_nobodys_way) {
  buy(slot(2), match(50));
  clock_.advance(kErase);
  buy(slot(1), match(60));
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(merged));
  ASSERT_TRUE(find(slot(2)));
  EXPECT_EQ(find(slot(2))->answer->at->lat_deg, 60);
}

TEST_P(Store, nothing_moves_into_a_call_that_is_on_its_way) {
  buy(slot(1), match(50));
  const auto request = ask(slot(2));
  const auto taken = take(request);
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(stayed));
  EXPECT_TRUE(find(slot(1)));
  EXPECT_TRUE(commit(answer_to(request, taken, match(60))).stored);
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(merged));
  EXPECT_EQ(find(slot(2))->answer->at->lat_deg, 60);
}

TEST_P(Store, what_is_bought_anew_under_the_old_key_meanwhile_is_the_later_answer) {
  buy(slot(1), match(50));
  clock_.advance(kFresh);
  auto request = ask(slot(1));
  request.query_json = R"({"text":"1 some str."})";
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(moved));
  EXPECT_TRUE(commit(answer_to(request, taken, match(60))).stored) << "paid is paid";
  auto again = from_to(1, 2);
  again.query_json = request.query_json;
  EXPECT_THAT(rekey(*store_, {again}), ElementsAre(merged));
  EXPECT_EQ(find(slot(2))->answer->at->lat_deg, 60);
}

TEST_P(Store, a_claim_stays_with_the_key_it_was_made_under_and_with_it_the_bytes_it_would_send) {
  buy(slot(1), match(50));
  clock_.advance(kFresh);
  auto request = ask(slot(1));  // of another spelling that had this key then
  request.query_json = R"({"text":"1 some street, apt 2"})";
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_TRUE(release(ending(ReleaseRequest::Kind::unknown, request, taken)).held);
  EXPECT_THAT(rekey(*store_, {from_to(1, 2)}), ElementsAre(moved));
  const auto next = take(ask(slot(2)));
  ASSERT_EQ(next.verdict, Verdict::send);
  EXPECT_EQ(next.query_json, kSpelling);
  const auto under_the_old = take(ask(slot(1)));
  EXPECT_EQ(under_the_old.query_json, request.query_json);
}

}  // namespace
}  // namespace geonce::contract
