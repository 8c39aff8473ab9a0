#include "core/key_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/normalize.h"

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

// --- versions of the rules

constexpr std::array<FormerRules, 2> kTwoOlder{
    {{0,
      [](const QueryView& query) -> Result<std::string> {
        return fmt::format("geonce\x1Fn0\x1F{}", query.text);
      }},
     {-1, [](const QueryView& query) -> Result<std::string> {
        if (query.text == "new") return fail(ErrorCode::invalid_address, "unknown then");
        return fmt::format("geonce\x1Fn-1\x1F{}", query.text);
      }}}};

QueryView query_of(std::string_view text) {
  QueryView query;
  query.text = text;
  return query;
}

TEST(KeyRing, the_keys_an_address_had_are_those_of_each_version_under_each_secret) {
  const auto k1 = KeyRing::parse(kOld);
  const auto k2 = KeyRing::parse(kNew);
  const auto ring = KeyRing::parse(kNew + kOld + "plain")->with_former_rules(kTwoOlder);
  EXPECT_THAT(ring.former(query_of("x"), "image", "image"),
              testing::ElementsAre(k1->key("image"),
                                   sha256("image"),
                                   k2->key("geonce\x1Fn0\x1Fx"),
                                   k1->key("geonce\x1Fn0\x1Fx"),
                                   sha256("geonce\x1Fn0\x1Fx"),
                                   k2->key("geonce\x1Fn-1\x1Fx"),
                                   k1->key("geonce\x1Fn-1\x1Fx"),
                                   sha256("geonce\x1Fn-1\x1Fx")));
  EXPECT_EQ(ring.former(query_of("new"), "image", "image").size(), 5U)
      << "what a version could not read has no key of it";
  EXPECT_TRUE(KeyRing::plain().with_former_rules(kTwoOlder).has_former());
  EXPECT_THAT(KeyRing::plain().former(query_of("x"), "what a reader read", "the text"),
              testing::ElementsAre(sha256("the text")));
}

TEST(KeyRing, what_stands_before_a_key_names_the_version_and_the_secret_that_made_it) {
  const auto ring = KeyRing::parse(kNew + kOld + "plain");
  const auto k1 = KeyRing::parse(kOld);
  const std::string image = "geonce\x1Fn0\x1Fx";
  EXPECT_EQ(ring->prefix(ring->key(image), image), "n0.k2_");
  EXPECT_EQ(ring->prefix(k1->key(image), image), "n0.k1_");
  EXPECT_EQ(ring->prefix(sha256(image), image), "n0_");
  EXPECT_EQ(parse_key("n0.k1_" + to_hex(k1->key(image))), k1->key(image));
  EXPECT_FALSE(parse_key("n_" + std::string(64, '0')));
  EXPECT_FALSE(parse_key("nx_" + std::string(64, '0')));
  EXPECT_EQ(ring->prefix(Key{}, image), ring->prefix()) << "made of something else";
  EXPECT_EQ(ring->prefix(Key{}, ""), ring->prefix());
}

TEST(KeyRing, this_program_has_no_older_rules_and_its_own_have_the_number_that_keys_show) {
  EXPECT_TRUE(former_rules().empty());
  EXPECT_FALSE(KeyRing::plain().has_former());
  QueryView query = query_of("12 Oak St, Reno, NV 89501");
  query.country = Country('U', 'S');
  EXPECT_THAT(pre_image(*Normalizer().normalize(query)),
              testing::StartsWith(fmt::format("geonce\x1Fn{}\x1F", kKeyVersion)));
}

}  // namespace
}  // namespace geonce
