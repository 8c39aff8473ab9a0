#include "io/libpostal_talk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using Kind = PostalMessage::Kind;

TEST(LibpostalTalk, a_message_comes_whole_or_not_at_all) {
  std::string bytes;
  append_message(Kind::question, "12 oak", bytes);
  append_message(Kind::load, "", bytes);
  for (std::size_t size = 0; size < 5 + 6; ++size) {
    auto part = bytes.substr(0, size);
    const auto message = take_message(part);
    ASSERT_TRUE(message.has_value()) << size;
    EXPECT_FALSE(message->has_value()) << size;
  }
  const auto first = take_message(bytes);
  ASSERT_TRUE(first.has_value() && first->has_value());
  EXPECT_EQ((*first)->kind, Kind::question);
  EXPECT_EQ((*first)->body, "12 oak");
  const auto second = take_message(bytes);
  ASSERT_TRUE(second.has_value() && second->has_value());
  EXPECT_EQ((*second)->kind, Kind::load);
  EXPECT_EQ(bytes, "");
}

TEST(LibpostalTalk, nonsense_is_an_error) {
  std::string unknown("\0\0\0\0X", 5);
  EXPECT_FALSE(take_message(unknown).has_value());
  std::string endless("\xFF\xFF\xFF\xFFP", 5);
  EXPECT_FALSE(take_message(endless).has_value());
}

TEST(LibpostalTalk, parts_survive_whatever_their_bytes) {
  const std::vector<TextPart> parts{
      {"road", "rua augusta"}, {"", ""}, {std::string(255, 'l'), std::string("\0\xFF\n", 3)}};
  const auto decoded = decode_parts(encode_parts(parts));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, parts);
  EXPECT_EQ(decode_parts(encode_parts({})), std::vector<TextPart>{});
}

TEST(LibpostalTalk, cut_parts_are_an_error) {
  const auto body = encode_parts(std::vector<TextPart>{{"road", "oak"}, {"city", "reno"}});
  const std::size_t first = 5 + 4 + 3;
  for (std::size_t size = 1; size < body.size(); ++size)
    EXPECT_EQ(decode_parts(std::string_view(body).substr(0, size)).has_value(), size == first)
        << size;
}

}  // namespace
}  // namespace geonce
