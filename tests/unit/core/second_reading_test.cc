#include "core/second_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scripted_reader.h"

namespace geonce {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Country kPortugal('P', 'T');

QueryView text_in(std::string_view text, Country country) {
  QueryView query;
  query.text = text;
  query.country = country;
  return query;
}

class SecondReadingTest : public testing::Test {
 protected:
  Canonical read(std::string_view text, Country country = kPortugal) {
    const auto canonical = normalizer_.normalize(text_in(text, country));
    EXPECT_TRUE(canonical.has_value()) << canonical.error().message;
    return canonical.value_or(Canonical{});
  }
  static Canonical built_in(std::string_view text, Country country = kPortugal) {
    return Normalizer().normalize(text_in(text, country)).value_or(Canonical{});
  }

  ScriptedReader reader_;
  Normalizer normalizer_{KeyRing::plain(), &reader_};
};

TEST_F(SecondReadingTest, a_text_in_one_piece_is_divided_and_read_as_fields) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};
  ASSERT_EQ(built_in("12 Rua Augusta Lisboa").mode, Mode::unparsed);
  const auto canonical = read("12 Rua Augusta  LISBOA");
  EXPECT_EQ(canonical.mode, Mode::parsed);
  EXPECT_EQ(canonical.house, "12");
  EXPECT_EQ(canonical.road, "rua augusta");
  EXPECT_EQ(canonical.locality, "lisboa");
  EXPECT_EQ(canonical.backend, reader_.backend());
  EXPECT_EQ(canonical.quality, Quality::no_postcode);

  QueryView fields;
  fields.country = kPortugal;
  fields.house_number = "12";
  fields.road = "Rua Augusta";
  fields.city = "Lisboa";
  auto same = Normalizer().normalize(fields).value_or(Canonical{});
  same.backend = reader_.backend();
  EXPECT_EQ(canonical, same) << "the same rules as of fields";
}

TEST_F(SecondReadingTest, its_keys_are_in_a_space_of_their_own) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};
  const auto canonical = read("12 Rua Augusta Lisboa");
  EXPECT_THAT(pre_image(canonical), testing::StartsWith("geonce\x1Fn1\x1Fp:0123456789abcdef\x1Fp"));
  auto built_in_reading = canonical;
  built_in_reading.backend.clear();
  EXPECT_NE(key_of(canonical), key_of(built_in_reading));
  ScriptedReader other("p:fedcba9876543210");
  other.answers = reader_.answers;
  const auto elsewhere =
      Normalizer(KeyRing::plain(), &other).key(text_in("12 Rua Augusta Lisboa", kPortugal));
  ASSERT_TRUE(elsewhere.has_value());
  EXPECT_NE(elsewhere->key, key_of(canonical));
}

TEST_F(SecondReadingTest, a_pre_image_of_it_reads_back_whoever_reads) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};
  const auto canonical = read("12 Rua Augusta Lisboa");
  const auto parsed = parse_pre_image(pre_image(canonical));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, canonical);
  const auto text = normalizer_.canonical_text(canonical);
  EXPECT_EQ(built_in(text), canonical);
  EXPECT_EQ(read(text), canonical);
  // The buffers of a normalizer do not remember it.
  EXPECT_EQ(read("Rua Augusta 12, Lisboa").backend, "");
  for (const char* wrong : {"p:0123", "p:0123456789ABCDEF", "q:0123456789abcdef", "p", ""}) {
    auto bytes = pre_image(canonical);
    bytes.replace(10, 18, wrong);
    EXPECT_FALSE(parse_pre_image(bytes).has_value()) << wrong;
  }
}

TEST_F(SecondReadingTest, only_free_text_in_one_piece_is_asked) {
  read("Rua Augusta 12, Lisboa");
  QueryView fields;
  fields.country = kPortugal;
  fields.road = "12 Rua Augusta Lisboa";
  ASSERT_TRUE(normalizer_.normalize(fields).has_value());
  const auto unparsed = pre_image(built_in("12 Rua Augusta Lisboa"));
  EXPECT_EQ(read(unparsed), built_in("12 Rua Augusta Lisboa"));
  EXPECT_THAT(reader_.asked, IsEmpty());
  read("12 Rua Augusta Lisboa");
  EXPECT_THAT(reader_.asked, ElementsAre("12 rua augusta lisboa"));
}

TEST_F(SecondReadingTest, spellings_with_one_key_are_one_question) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};
  const auto once = read("12 Rua Augusta Lisboa");
  EXPECT_EQ(read("12 RUA  AUGUSTA LISBOÃ, Portugal"), once);
  EXPECT_THAT(reader_.asked, ElementsAre("12 rua augusta lisboa", "12 rua augusta lisboa"));
}

TEST_F(SecondReadingTest, our_words_are_kept_where_the_reader_drops_marks) {
  const Country nobody;
  reader_.answers["3 hauptplatz fürth"] = {
      {"house_number", "3"}, {"road", "hauptplatz"}, {"city", "furth"}};
  reader_.answers["3 hauptplatz furth"] = reader_.answers["3 hauptplatz fürth"];
  EXPECT_EQ(read("3 Hauptplatz Fürth", nobody).locality, "fürth");
  EXPECT_EQ(read("3 Hauptplatz Furth", nobody).locality, "furth");
}

TEST_F(SecondReadingTest, parts_that_are_no_fields_are_extra) {
  reader_.answers["casa azul 12 rua augusta baixa lisboa"] = {{"house", "casa azul"},
                                                              {"house_number", "12"},
                                                              {"road", "rua augusta"},
                                                              {"suburb", "baixa"},
                                                              {"city", "lisboa"}};
  EXPECT_EQ(read("Casa Azul 12 Rua Augusta Baixa Lisboa", Country()).extra, "casa azul, baixa");
}

struct Doubtful {
  const char* name;
  std::vector<TextPart> parts;
};

TEST_F(SecondReadingTest, a_reading_that_cannot_be_relied_on_leaves_the_text_in_one_piece) {
  const std::string text = "12 rua augusta lisboa";
  for (const auto& [name, parts] : std::vector<Doubtful>{
           {"none", {}},
           {"words lost", {{"house_number", "12"}, {"city", "lisboa"}}},
           {"an unknown label", {{"house_number", "12"}, {"planet", "rua augusta lisboa"}}},
           {"two roads", {{"road", "12 rua"}, {"city", "augusta"}, {"road", "lisboa"}}},
           {"no road", {{"house_number", "12"}, {"city", "rua augusta lisboa"}}},
           {"another country",
            {{"house_number", "12"}, {"road", "rua augusta"}, {"country", "lisboa"}}}}) {
    reader_.answers[text] = parts;
    EXPECT_EQ(read(text), built_in(text)) << name;
  }
}

TEST_F(SecondReadingTest, what_the_built_in_rules_are_certain_of_is_not_denied) {
  constexpr Country kUs('U', 'S');
  const std::string text = "12 Main St West Chester NV 89501-1234";
  const auto certain = built_in(text, kUs);
  ASSERT_EQ(certain.mode, Mode::unparsed);
  ASSERT_EQ(certain.postcode, "89501-1234");
  const std::string line = "12 main st west chester, nv 89501-1234";
  const std::vector<TextPart> good{{"house_number", "12"},
                                   {"road", "main st"},
                                   {"city", "west chester"},
                                   {"state", "nv"},
                                   {"postcode", "89501-1234"}};
  reader_.answers[line] = good;
  EXPECT_EQ(read(text, kUs).backend, reader_.backend());
  EXPECT_EQ(read(text, kUs).postcode, "89501");
  EXPECT_EQ(read(text, kUs).locality, "west chester");
  for (const std::size_t part : {3U, 4U}) {
    reader_.answers[line] = good;
    reader_.answers[line][part].label = "suburb";
    EXPECT_EQ(read(text, kUs), certain) << good[part].label;
  }
}

TEST_F(SecondReadingTest, the_name_of_the_country_says_nothing_new_and_of_an_unknown_one_it_stays) {
  reader_.answers["calle mayor 5 madrid spain"] = {
      {"road", "calle mayor"}, {"house_number", "5"}, {"city", "madrid"}, {"country", "spain"}};
  EXPECT_EQ(read("calle mayor 5 madrid spain", Country()).extra, "spain");
}

TEST_F(SecondReadingTest, scripts_that_are_read_as_one_text_are_not_asked) {
  read("三田 5", Country('J', 'P'));
  read("ถนน สุขุมวิท", Country('T', 'H'));
  EXPECT_THAT(reader_.asked, IsEmpty());
}

TEST_F(SecondReadingTest, what_has_too_many_words_for_an_address_is_not_asked) {
  std::string text;
  for (int word = 0; word < 65; ++word) text += "wort ";
  read(text, Country());
  EXPECT_THAT(reader_.asked, IsEmpty());
  read(text.substr(5), Country());
  EXPECT_THAT(reader_.asked, SizeIs(1));
}

TEST_F(SecondReadingTest, an_address_that_is_not_read_has_no_key) {
  reader_.is_down = true;
  const auto key = normalizer_.key(text_in("12 Rua Augusta Lisboa", kPortugal));
  ASSERT_FALSE(key.has_value());
  EXPECT_EQ(key.error().code, ErrorCode::reader_unavailable);
  EXPECT_FALSE(normalizer_.normalize(text_in("12 Rua Augusta Lisboa", kPortugal)).has_value());
  EXPECT_TRUE(normalizer_.key(text_in("Rua Augusta 12, Lisboa", kPortugal)).has_value());
}

TEST_F(SecondReadingTest, bytes_that_are_no_text_are_a_fault_and_no_reading) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "\xFFlisboa"}};
  const auto key = normalizer_.key(text_in("12 Rua Augusta Lisboa", kPortugal));
  ASSERT_FALSE(key.has_value());
  EXPECT_EQ(key.error().code, ErrorCode::reader_unavailable);
}

TEST_F(SecondReadingTest, many_are_asked_at_once_and_have_the_keys_of_one_by_one) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};
  const std::vector<std::string> texts{
      "12 Rua Augusta Lisboa", "Rua Augusta 12, Lisboa", "13 Rua Augusta Lisboa"};
  std::vector<std::optional<Result<Keyed>>> keys;
  for (const auto& text : texts) keys.push_back(normalizer_.key_or_wait(text_in(text, kPortugal)));
  EXPECT_EQ(reader_.requests, 0);
  EXPECT_FALSE(keys[0].has_value());
  EXPECT_TRUE(keys[1].has_value());
  EXPECT_FALSE(keys[2].has_value());
  const auto waiting = normalizer_.keys_of_waiting();
  EXPECT_EQ(reader_.requests, 1);
  ASSERT_THAT(waiting, SizeIs(2));
  for (const auto& [key, text] : {std::pair{waiting[0], texts[0]}, {waiting[1], texts[2]}}) {
    const auto alone = normalizer_.key(text_in(text, kPortugal));
    ASSERT_TRUE(key.has_value() && alone.has_value());
    EXPECT_EQ(key->key, alone->key);
    EXPECT_EQ(key->pre_image, alone->pre_image);
  }
  EXPECT_THAT(normalizer_.keys_of_waiting(), IsEmpty());
}

TEST_F(SecondReadingTest, a_key_it_has_made_says_what_it_is_made_of) {
  reader_.answers["12 rua augusta lisboa"] = {
      {"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};
  const auto before = Normalizer().key(text_in("12 Rua Augusta Lisboa", kPortugal));
  const auto now = normalizer_.key(text_in("12 Rua Augusta Lisboa", kPortugal));
  ASSERT_TRUE(before.has_value() && now.has_value());
  EXPECT_NE(now->key, before->key);
  EXPECT_EQ(sha256(now->pre_image), now->key);
  const auto unread = normalizer_.key(text_in("13 Rua Augusta Lisboa", kPortugal));
  ASSERT_TRUE(unread.has_value());
  EXPECT_EQ(unread->pre_image, "");
}

}  // namespace
}  // namespace geonce
