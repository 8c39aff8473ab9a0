#include "tiers/redis_value.h"

#include <gtest/gtest.h>

namespace geonce {
namespace {

Answer some_answer() {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{1.5, -2.5};
  answer.provider = "example";
  answer.formatted = "1 Example Street";
  return answer;
}

TEST(RedisValue, comes_back_as_it_was) {
  const std::string bytes = encode(7, 1'800'000'000'000, 11, 12, some_answer());
  const auto value = decode_redis_value(bytes);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->gen, 7);
  EXPECT_EQ(value->dead_at_ms, 1'800'000'000'000);
  EXPECT_EQ(value->answered_at, 11);
  EXPECT_EQ(value->expires_at, 12);
  ASSERT_TRUE(value->answer);
  EXPECT_EQ(*value->answer, some_answer());
  EXPECT_EQ(gen_of_redis_value(bytes), 7);
}

TEST(RedisValue, says_that_a_window_is_over) {
  const auto value = decode_redis_value(encode_ended(9));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->gen, 9);
  EXPECT_FALSE(value->answer);
}

// docs/formats/redis.md: the script reads these places in every codec.
TEST(RedisValue, has_its_head_where_the_script_looks) {
  const std::string bytes = encode(0x0102030405, 0x0A0B0C, 0, 0, some_answer());
  EXPECT_EQ(bytes.substr(0, 20),
            std::string("gn\x01\x01\0\0\0\x01\x02\x03\x04\x05\0\0\0\0\0\x0A\x0B\x0C", 20));
}

TEST(RedisValue, is_a_miss_when_it_is_cut_or_changed_or_of_another_codec) {
  const std::string whole = encode(7, 1'800'000'000'000, 11, 12, some_answer());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_redis_value(std::string_view(whole).substr(0, size))) << size;
  for (const std::size_t at : {0, 1, 2, 3}) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] + 1);
    EXPECT_FALSE(decode_redis_value(other)) << at;
  }
  std::string codec_2 = whole;
  codec_2[2] = 2;
  EXPECT_EQ(gen_of_redis_value(codec_2), 7) << "the head stays the same in every codec";
  std::string far = whole;
  far[4] = static_cast<char>(0x7F);
  EXPECT_FALSE(gen_of_redis_value(far)) << "no store counts that far";
}

TEST(RedisValue, is_filed_under_prefix_pool_and_the_raw_key) {
  Slot slot;
  slot.pool = 0x01020304;
  slot.key.bytes.fill(0xAB);
  EXPECT_EQ(redis_key("p:", slot), "p:\x01\x02\x03\x04" + std::string(32, '\xAB'));
}

}  // namespace
}  // namespace geonce
