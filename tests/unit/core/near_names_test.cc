#include "core/near_names.h"

#include <vector>

#include <gtest/gtest.h>

namespace geonce {
namespace {

TEST(NearNames, distance_counts_insertions_drops_replacements_and_swaps_of_neighbours) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("store", "STORE"), 0U);
  EXPECT_EQ(edit_distance("stoer", "store"), 1U);
  EXPECT_EQ(edit_distance("rooftp", "rooftop"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(NearNames, the_nearest_is_offered_and_nothing_when_none_is_near) {
  const std::vector<std::string> names{"rooftop", "parcel", "street"};
  EXPECT_EQ(did_you_mean("rooftp", names), " (did you mean \"rooftop\"?)");
  EXPECT_EQ(did_you_mean("postcode", names), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace geonce
