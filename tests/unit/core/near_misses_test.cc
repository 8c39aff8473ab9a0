#include "core/near_misses.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Canonical us(std::string house, std::string road, std::string locality = "troy") {
  Canonical address;
  address.mode = Mode::parsed;
  address.country = Country('U', 'S');
  address.admin = "ny";
  address.postcode = "12180";
  address.house = std::move(house);
  address.road = std::move(road);
  address.locality = std::move(locality);
  return address;
}

Canonical with(Canonical address, std::string Canonical::*field, std::string value) {
  address.*field = std::move(value);
  return address;
}

Canonical unparsed(std::string words) {
  Canonical address = us("", std::move(words), "");
  address.mode = Mode::unparsed;
  return address;
}

std::string text_of(const NearMissGroup& group) {
  return fmt::format("{} {}|{} {}", to_string(group.likeness), group.a, group.b, group.pairs);
}

/// `abbreviation rd|road 2` for each group.
std::vector<std::string> found(const std::vector<Canonical>& addresses,
                               std::size_t marks_at_once = NearMisses::kMarksAtOnce) {
  NearMisses misses(marks_at_once);
  for (const Canonical& address : addresses) misses.add(address);
  std::vector<std::string> groups;
  for (const NearMissGroup& group : misses.find().groups) groups.push_back(text_of(group));
  return groups;
}

TEST(NearMisses, pairs_that_differ_by_one_word_are_grouped_by_it_most_frequent_first) {
  const std::vector<Canonical> addresses{us("12", "oak rd"),
                                         us("7", "elm lane"),
                                         us("12", "oak road"),
                                         us("14", "oak road"),
                                         us("7", "elm ln"),
                                         us("14", "oak rd"),
                                         us("15", "oak rd"),
                                         us("9", "cedar st"),
                                         us("9", "ceder st")};
  NearMisses misses;
  for (const Canonical& address : addresses) misses.add(address);
  const auto report = misses.find();
  ASSERT_EQ(report.groups.size(), 3U);
  EXPECT_EQ(text_of(report.groups[0]), "abbreviation rd|road 2");
  EXPECT_EQ(text_of(report.groups[1]), "misspelling cedar|ceder 1");
  EXPECT_EQ(text_of(report.groups[2]), "abbreviation ln|lane 1");
  EXPECT_EQ(report.pairs, 4U);
  EXPECT_TRUE(report.is_complete);
  using Member = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_THAT(report.groups[0].members, ElementsAre(Member{0, 2}, Member{5, 3}));
  for (std::uint32_t i = 0; i < addresses.size(); ++i) EXPECT_EQ(misses.at(i), addresses[i]);
}

struct Row {
  const char* name;
  Canonical a, b;
  std::vector<std::string> expected;
};

TEST(NearMisses, one_word_of_one_field_makes_a_near_miss) {
  const Canonical base = us("12", "oak st");
  for (const Row& row : {
           Row{"locality", base, us("12", "oak st", "tory"), {"misspelling tory|troy 1"}},
           Row{"marks", base, us("12", "oak st", "tróy"), {"marks troy|tróy 1"}},
           Row{"extra",
               with(base, &Canonical::extra, "urb vista mar, rosewood"),
               with(base, &Canonical::extra, "urb vista mar, rosewod"),
               {"misspelling rosewod|rosewood 1"}},
           Row{"unit",
               with(base, &Canonical::unit, "apt:4"),
               with(base, &Canonical::unit, "apartamento:4"),
               {"abbreviation apt|apartamento 1"}},
           Row{"unit without a class",
               with(base, &Canonical::unit, "apt:4"),
               with(base, &Canonical::unit, "unit:4"),
               {"unit_word apt|unit 1"}},
           Row{"a town left out", base, us("12", "oak st", ""), {"missing_word |troy 1"}},
           Row{"a state left out", base, with(base, &Canonical::admin, ""), {"missing_word |ny 1"}},
           Row{"a word of the road left out", base, us("12", "oak"), {"missing_word |st 1"}},
           Row{"a repeated word", us("12", "oak oak st"), base, {"missing_word |oak 1"}},
           Row{"read and not read",
               base,
               unparsed("12 oak st troy"),
               {"same_words parsed|unparsed 1"}},
           Row{"divided by a comma",
               unparsed("12 oak st troy"),
               unparsed("12 oak st, troy"),
               {"same_words unparsed|unparsed 1"}},
           Row{"read and not read, with another word",
               base,
               unparsed("12 oak street troy"),
               {"abbreviation st|street 1"}},
       }) {
    EXPECT_EQ(found({row.a, row.b}), row.expected) << row.name;
    EXPECT_EQ(found({row.b, row.a}).size(), 1U) << row.name;
  }
}

TEST(NearMisses, other_places_are_none) {
  const Canonical base = us("12", "oak st");
  const Canonical flat = with(base, &Canonical::unit, "apt:4");
  for (const Row& row : {
           Row{"house", base, us("13", "oak st"), {}},
           Row{"house with a letter", us("12a", "oak st"), us("12b", "oak st"), {}},
           Row{"house that is a word", us("anna", "oak st"), us("ana", "oak st"), {}},
           Row{"no house", base, us("", "oak st"), {}},
           Row{"numbered roads", us("12", "5th st"), us("12", "6th st"), {}},
           Row{"highways", us("12", "us 30"), us("12", "us 300"), {}},
           Row{"unit", flat, with(base, &Canonical::unit, "apt:5"), {}},
           Row{"letters as units",
               with(base, &Canonical::unit, "apt:a"),
               with(base, &Canonical::unit, "apt:b"),
               {}},
           Row{"no unit", base, flat, {}},
           Row{"another part of the house", base, with(base, &Canonical::unit, "rear"), {}},
           Row{"postcode", base, with(base, &Canonical::postcode, "12181"), {}},
           Row{"no postcode", base, with(base, &Canonical::postcode, ""), {}},
           Row{"state", base, with(base, &Canonical::admin, "nyx"), {}},
           Row{"country", base, with(base, &Canonical::road, "oak rue"), {}},
           Row{"language", base, with(us("12", "oak str"), &Canonical::options, "language=fr"), {}},
           Row{"box", with(base, &Canonical::box, "gd"), base, {}},
           Row{"two words", us("12", "oak rd", "tory"), us("12", "oak road"), {}},
           Row{"two words of one field", us("12", "cedr rd"), us("12", "cedar road"), {}},
           Row{"another word", base, us("12", "elm st"), {}},
           Row{"a direction", us("12", "n oak st"), us("12", "s oak st"), {}},
           Row{"a direction left out", us("12", "n oak st"), base, {}},
           Row{"a moved word", us("12", "north oak st"), us("12", "oak st north"), {}},
           Row{"one word in the place of two", us("12", "oakwood st"), us("12", "oak wood st"), {}},
           Row{"nothing in common", us("", "", ""), base, {}},
           Row{"the same", base, base, {}},
           Row{"the same, unparsed", unparsed("oak"), unparsed("oak"), {}},
       })
    EXPECT_EQ(found({row.a, row.b}), row.expected) << row.name;
  Canonical elsewhere = us("12", "oak str");
  elsewhere.country = Country('C', 'A');
  EXPECT_THAT(found({base, elsewhere}), IsEmpty());
  EXPECT_THAT(found({}), IsEmpty());
  EXPECT_THAT(found({Canonical{}}), IsEmpty());
  EXPECT_THAT(found({Canonical{}, base, unparsed("")}), IsEmpty());
}

TEST(NearMisses, words_of_what_was_normalised_are_compared_whatever_the_script) {
  Normalizer normalizer;
  const auto read = [&](std::string_view text, const char* country) {
    QueryView query;
    query.text = text;
    query.country = Country(country[0], country[1]);
    return normalizer.normalize(query).value();
  };
  EXPECT_THAT(
      found({read("48 Bramble Court, Dayton, OH 45402", "US"),
             read("48 Bramble Court, Daton, OH 45402", "US"),
             read("12 Main Street West Chester PA 19380", "US"),
             read("12 Main Street, West Chester, PA 19380", "US"),
             read("Лесная ул., 5, Москва, 125047", "RU"),
             read("Лесня ул., 5, Москва, 125047", "RU")}),
      UnorderedElementsAre(
          "misspelling daton|dayton 1", "abbreviation st|street 1", "misspelling лесня|лесная 1"));
}

TEST(NearMisses, the_number_of_passes_changes_nothing) {
  std::vector<Canonical> addresses;
  for (int i = 0; i < 100; ++i)
    for (const char* type : {"rd", "road", "ln", "lane", "street"})
      addresses.push_back(us(std::to_string(1 + i), fmt::format("oak {}", type)));
  const auto at_once = found(addresses);
  EXPECT_THAT(at_once,
              UnorderedElementsAre("abbreviation rd|road 100", "abbreviation ln|lane 100"));
  for (const std::size_t marks : {100U, 1'000U}) EXPECT_EQ(found(addresses, marks), at_once);
}

/// A hundred thousand addresses: streets, most of them once, and each tenth a second time.
TEST(NearMisses, a_hundred_thousand_addresses_give_the_pairs_that_were_put_in_and_no_other) {
  constexpr std::size_t kAddresses = 100'000;
  const std::vector<std::string> names{
      "maple", "oak", "juniper", "pine", "elm", "lake", "walnut", "cherry", "hill", "quarry"};
  NearMisses misses;
  std::size_t expected = 0;
  for (std::size_t i = 0; misses.size() < kAddresses; ++i) {
    const auto house = std::to_string(1 + i / names.size());
    const auto& name = names[i % names.size()];
    misses.add(us(house, name + " blvd"));
    if (i % 10 != i / 10 % 10) continue;
    misses.add(us(house, name + " boulevard"));
    ++expected;
  }
  const auto report = misses.find();
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(text_of(report.groups[0]), fmt::format("abbreviation blvd|boulevard {}", expected));
  EXPECT_EQ(report.groups[0].members.size(), expected);
  EXPECT_TRUE(report.is_complete);
}

TEST(NearMisses, very_many_words_in_one_place_cost_no_square_and_are_reported_as_not_all_compared) {
  NearMisses misses;
  for (int i = 0; i < 1'500; ++i) {
    std::string word = "s";  // distinct words of one letter at the front, none like another
    for (int rest = i + 8'000; rest > 0; rest /= 20)
      word += std::string(2, static_cast<char>('a' + rest % 20));
    misses.add(us("", word + " st"));
  }
  misses.add(us("", "saintjohnsbury st"));
  misses.add(us("", "saintjohnsbry st"));
  const auto report = misses.find();
  EXPECT_FALSE(report.is_complete);
  const bool has_neighbours = std::ranges::any_of(
      report.groups, [](const NearMissGroup& group) { return group.a == "saintjohnsbry"; });
  EXPECT_TRUE(has_neighbours) << "spellings that begin alike are compared all the same";
}

TEST(NearMisses, an_address_of_a_thousand_words_is_compared_as_a_whole_only) {
  std::string words;
  for (int i = 0; i < 1'000; ++i) words += "ab ";
  EXPECT_THAT(found({unparsed(words + "rd"), unparsed(words + "road")}), IsEmpty());
  EXPECT_THAT(found({unparsed(words + "rd"), unparsed(words + ", rd")}),
              ElementsAre("same_words unparsed|unparsed 1"));
}

}  // namespace
}  // namespace geonce
