#include <gmock/gmock.h>

#include "contract/store/store_contract.h"

// A new secret makes new keys; what was bought under the old ones is filed anew.

namespace geonce::contract {
namespace {

using testing::ElementsAre;

std::vector<std::optional<Found>> rekey(geonce::Store& store, std::vector<Rekey> rekeys) {
  auto moved = store.rekey(rekeys, Deadline::never());
  EXPECT_TRUE(moved) << (moved ? "" : moved.error().message);
  return moved ? *moved : std::vector<std::optional<Found>>(rekeys.size());
}

TEST_P(Store, an_answer_moves_to_its_new_key_with_the_life_it_has_left) {
  buy(slot(1), match());
  clock_.advance(1h);
  const auto moved = rekey(*store_, {{slot(1), slot(2), {}, {}}});
  ASSERT_TRUE(moved[0]);
  EXPECT_EQ(*moved[0]->answer, match());
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
  EXPECT_TRUE(rekey(*store_, {{slot(1), slot(2), "new image", building(2)}})[0]);
  auto entry = store_->entry(slot(2), Deadline::never());
  ASSERT_TRUE(entry && *entry);
  EXPECT_EQ((*entry)->pre_image, "new image");
  EXPECT_EQ((*entry)->building_key, building(2));
  EXPECT_TRUE(rekey(*store_, {{slot(2), slot(3), {}, {}}})[0]) << "… or that it is as before";
  entry = store_->entry(slot(3), Deadline::never());
  ASSERT_TRUE(entry && *entry);
  EXPECT_EQ((*entry)->pre_image, "new image");
  EXPECT_EQ((*entry)->building_key, building(2));
}

TEST_P(Store, nothing_moves_onto_an_answer_or_a_call_that_is_there) {
  buy(slot(1), match(50));
  buy(slot(2), match(60));
  EXPECT_FALSE(rekey(*store_, {{slot(1), slot(2), {}, {}}})[0]);
  EXPECT_EQ(find(slot(2))->answer->at->lat_deg, 60);
  (void)take(slot(3));
  EXPECT_FALSE(rekey(*store_, {{slot(1), slot(3), {}, {}}})[0]);
  EXPECT_TRUE(find(slot(1)));
}

TEST_P(Store, an_answer_that_is_being_bought_anew_stays_until_the_call_has_ended) {
  buy(slot(1), match());
  clock_.advance(kFresh);
  const auto request = ask(slot(1));
  const auto taken = take(request);
  ASSERT_EQ(taken.verdict, Verdict::send);
  EXPECT_FALSE(rekey(*store_, {{slot(1), slot(2), {}, {}}})[0]);
  EXPECT_TRUE(commit(answer_to(request, taken, match(60))).stored);
  EXPECT_TRUE(rekey(*store_, {{slot(1), slot(2), {}, {}}})[0]);
  EXPECT_EQ(find(slot(2))->answer->at->lat_deg, 60);
}

TEST_P(Store, of_two_old_keys_of_one_address_the_first_moves) {
  buy(slot(1), match(50));
  buy(slot(2), match(60));
  const auto moved =
      rekey(*store_,
            {{slot(1), slot(3), {}, {}}, {slot(2), slot(3), {}, {}}, {slot(8), slot(9), {}, {}}});
  EXPECT_TRUE(moved[0]);
  EXPECT_FALSE(moved[1]);
  EXPECT_FALSE(moved[2]) << "nothing was there";
  EXPECT_EQ(find(slot(3))->answer->at->lat_deg, 50);
}

}  // namespace
}  // namespace geonce::contract
