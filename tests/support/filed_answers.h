#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/key_ring.h"
#include "core/normalize.h"
#include "store/store.h"

namespace geonce {

// What is needed to fill a store as a program of another version, or with another secret, did.

inline Query us(const std::string& text) {
  Query query;
  query.text = text;
  query.country = Country('U', 'S');
  return query;
}

/// The pre-image by the present rules.
inline std::string n1(const std::string& text) {
  return pre_image(Normalizer().normalize(us(text).view()).value());
}

/// Buys `says` for a spelling and files it under the key of `image`.
inline Slot file(Store& store,
                 const KeyRing& ring,
                 const std::string& image,
                 const std::string& query_json,
                 std::string says) {
  TakeRequest take;
  take.slot = {kDefaultPool, ring.key(image)};
  take.intent = make_uuid(system_clock());
  take.owner = make_uuid(system_clock());
  take.chain = std::make_shared<const std::vector<std::string>>(1, "old");
  take.refresh_before = kRefreshAll;
  const auto taken = store.take(std::span(&take, 1), Deadline::never());
  EXPECT_TRUE(taken);
  CommitRequest commit;
  commit.slot = take.slot;
  commit.fence = taken->front().fence;
  commit.gen = taken->front().gen;
  commit.call = CallRecord{take.intent, "old", 200, "", "", Billed::yes, 1, Money{500}};
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{39.5, -119.8};
  answer.precision = Precision::rooftop;
  answer.formatted = std::move(says);
  answer.provider = "old";
  commit.answer = std::make_shared<const Answer>(std::move(answer));
  commit.life = {std::chrono::hours{24}, std::chrono::hours{48}, std::chrono::hours{72}};
  commit.query_json = query_json;
  commit.pre_image = image;
  commit.building_key = ring.key(image);
  const auto committed = store.commit(std::span(&commit, 1), Deadline::never());
  EXPECT_TRUE(committed && committed->front().stored);
  return take.slot;
}

}  // namespace geonce
