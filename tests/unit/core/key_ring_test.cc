#include "core/key_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using testing::HasSubstr;

const std::string kOld = "k1 0123456789abcdef0123456789abcdef\n";
const std::string kNew = "k2 fedcba9876543210fedcba9876543210\n";

TEST(KeyRing, without_a_secret_anybody_can_make_a_key) {
  EXPECT_EQ(KeyRing::plain().key("abc"), sha256("abc"));
  EXPECT_EQ(KeyRing::plain().text(sha256("abc")), to_text(sha256("abc")));
  EXPECT_FALSE(KeyRing::plain().has_secret());
  EXPECT_TRUE(KeyRing::plain().former("abc").empty());
}

// Python: hmac.new(b"0123456789abcdef0123456789abcdef", b"abc", "sha256").hexdigest()
TEST(KeyRing, a_secret_makes_the_keys_of_rfc_2104) {
  const auto ring = KeyRing::parse(kOld);
  ASSERT_TRUE(ring) << ring.error().message;
  EXPECT_EQ(ring->text(ring->key("abc")),
            "n1.k1_a60c859a6827c5ea576a48d8d368672fbfe4667c6a927428284a0cb3859cc1d6");
  const auto long_secret = KeyRing::parse("k1 " + std::string(200, 'x'));
  ASSERT_TRUE(long_secret);
  EXPECT_EQ(long_secret->text(long_secret->key("abc")),
            "n1.k1_343c0393c4ae8ef0398a29a5155358e5cad0b9fcb70afdb8cd9d0e83abdd9378");
}

TEST(KeyRing, the_newest_secret_stands_first_and_the_older_ones_are_still_known) {
  const auto old = KeyRing::parse(kOld);
  const auto ring = KeyRing::parse("# rotated in May\n" + kNew + "\n" + kOld + "plain\n");
  ASSERT_TRUE(ring) << ring.error().message;
  EXPECT_EQ(ring->prefix(), "n1.k2_");
  EXPECT_NE(ring->key("abc"), old->key("abc"));
  EXPECT_THAT(ring->former("abc"), testing::ElementsAre(old->key("abc"), sha256("abc")));
}

TEST(KeyRing, a_file_that_is_none_is_refused_by_line_and_never_shows_a_secret) {
  const auto refused = [](const std::string& text, const std::string& words) {
    const auto ring = KeyRing::parse(text);
    ASSERT_FALSE(ring) << text;
    EXPECT_EQ(ring.error().code, ErrorCode::invalid_config);
    EXPECT_THAT(ring.error().message, HasSubstr(words));
    EXPECT_THAT(ring.error().message, testing::Not(HasSubstr("fedcba98")));
  };
  refused("", "no secret");
  refused("# nothing\n", "no secret");
  refused("plain\n", "line 1: a secret stands before plain");
  refused(kNew + "plain\n" + kOld, "line 3: plain is the oldest");
  refused("K1 fedcba9876543210fedcba9876543210", "line 1: the secret's id comes first");
  refused("k1 fedcba98", "line 1: behind the id stands the secret");
  refused("fedcba9876543210fedcba9876543210", "line 1: the secret's id");
  refused(kNew + kNew, "line 2: this id stands above already");
}

TEST(KeyRing, a_key_is_read_back_whatever_secret_its_text_names) {
  const auto ring = KeyRing::parse(kNew);
  const Key key = ring->key("abc");
  EXPECT_EQ(parse_key(ring->text(key)), key);
  EXPECT_EQ(parse_key(to_text(key)), key);
  EXPECT_FALSE(parse_key("n1.K2_" + std::string(64, '0')));
  EXPECT_FALSE(parse_key("n1._" + std::string(64, '0')));
  EXPECT_FALSE(parse_key("n1.k2" + std::string(64, '0')));
}

}  // namespace
}  // namespace geonce
