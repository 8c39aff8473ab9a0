#include "core/place_keys.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include "core/place.h"
#include "support/shared_cases.h"

namespace geonce {
namespace {

constexpr Country kNorway('N', 'O');

/// What the store does with the keys: the first that has any point decides.
class Places {
 public:
  using Point = std::size_t;

  void add(Point point, const Canonical& address) {
    for (const Key& key : place_keys(address)) filed_[key].insert(point);
  }
  /// All points under the deciding key.
  std::set<Point> find(const Canonical& question) const {
    for (const Key& key : place_questions(question))
      if (const auto found = filed_.find(key); found != filed_.end()) return found->second;
    return {};
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return SlotHash{}({0, key}); }
  };
  std::unordered_map<Key, std::set<Point>, Hash> filed_;
};

struct Fields {
  std::string unit = {}, postcode = {}, locality = {}, admin = {}, extra = {};
};

Canonical address(std::string road, std::string house, Fields fields = {}) {
  Canonical canonical;
  canonical.mode = Mode::parsed;
  canonical.country = kNorway;
  canonical.road = std::move(road);
  canonical.house = std::move(house);
  canonical.unit = fields.unit;
  canonical.postcode = fields.postcode;
  canonical.locality = fields.locality;
  canonical.admin = fields.admin;
  canonical.extra = fields.extra;
  return canonical;
}

/// Free text as the normaliser leaves it: in one piece but for the postcode.
Canonical text(std::string words, std::string postcode = {}) {
  Canonical canonical = address(std::move(words), {}, {.postcode = std::move(postcode)});
  canonical.mode = Mode::unparsed;
  return canonical;
}

constexpr Places::Point kHere = 1, kThere = 2;

TEST(PlaceKeys, find_a_point_by_what_the_question_says_if_nothing_it_says_is_otherwise) {
  const Fields full{.unit = "u2", .postcode = "2410", .locality = "hernes", .admin = "innlandet"};
  const Fields no_unit{.postcode = "2410", .locality = "hernes"};
  const Fields no_postcode{.locality = "hernes"};
  const Fields no_locality{.postcode = "2410"};
  const struct {
    const char* name;
    Fields point, question;
    bool found;
  } rows[] = {
      {"the same", full, full, true},
      {"question without unit", full, {.postcode = "2410", .locality = "hernes"}, true},
      {"question without postcode", full, {.unit = "u2", .locality = "hernes"}, true},
      {"question without locality", full, {.unit = "u2", .postcode = "2410"}, true},
      {"question without anything", full, {}, true},
      {"question with admin", full, {.postcode = "2410", .admin = "innlandet"}, true},
      {"point without unit", no_unit, {.unit = "u2", .postcode = "2410"}, true},
      {"point without admin", no_unit, full, true},
      {"point without postcode", no_postcode, full, true},
      {"point without locality", no_locality, full, true},
      {"another unit", full, {.unit = "u3", .postcode = "2410", .locality = "hernes"}, false},
      {"another postcode", no_unit, {.postcode = "2406", .locality = "hernes"}, false},
      {"another locality", no_unit, {.postcode = "2410", .locality = "elverum"}, false},
      {"another admin", full, {.postcode = "2410", .locality = "hernes", .admin = "oslo"}, false},
      {"the point confirms neither town nor postcode", {}, no_unit, false},
      {"the point cannot tell the only thing said of the place", no_postcode, no_locality, false},
      {"and the other way round", no_locality, no_postcode, false},
      {"a state alone names no place", full, {.admin = "innlandet"}, false},
      {"nothing said on either side", {}, {}, true},
      {"a block the point does not know", no_unit, {.postcode = "2410", .extra = "urb x"}, true},
      {"a block and a unit", full, {.unit = "u2", .postcode = "2410", .extra = "urb x"}, true},
      {"another block",
       {.postcode = "2410", .extra = "urb y"},
       {.postcode = "2410", .extra = "urb x"},
       false},
  };
  for (const auto& row : rows) {
    Places places;
    places.add(kHere, address("gobakkvegen", "438", row.point));
    EXPECT_EQ(places.find(address("gobakkvegen", "438", row.question)).size(), row.found ? 1U : 0U)
        << row.name;
  }
}

TEST(PlaceKeys, never_drop_the_street_the_number_or_the_country) {
  const Fields fields{.postcode = "2410", .locality = "hernes"};
  Places places;
  places.add(kHere, address("gobakkvegen", "438", fields));
  EXPECT_TRUE(places.find(address("gobakkvegen", "439", fields)).empty());
  EXPECT_TRUE(places.find(address("gobakkvegen", "", fields)).empty());
  EXPECT_TRUE(places.find(address("gobakkveien", "438", fields)).empty());
  EXPECT_TRUE(places.find(address("", "438", fields)).empty());
  Canonical abroad = address("gobakkvegen", "438", fields);
  abroad.country = Country('S', 'E');
  EXPECT_TRUE(places.find(abroad).empty());
  abroad.country = Country();
  EXPECT_TRUE(places.find(abroad).empty());
}

TEST(PlaceKeys, gather_all_points_that_pass_so_that_two_are_seen_as_two) {
  Places places;
  places.add(kHere, address("storgata", "1", {.postcode = "2406", .locality = "elverum"}));
  places.add(kThere, address("storgata", "1", {.postcode = "2410", .locality = "hernes"}));
  EXPECT_EQ(places.find(address("storgata", "1")).size(), 2U);
  EXPECT_THAT(places.find(address("storgata", "1", {.postcode = "2406"})),
              ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(address("storgata", "1", {.locality = "hernes"})),
              ::testing::ElementsAre(kThere));
}

TEST(PlaceKeys, prefer_the_building_to_its_units_when_no_unit_is_asked_for) {
  const Fields where{.postcode = "2406"};
  Places places;
  places.add(kHere, address("storgata", "1", where));
  for (const Places::Point unit : {2U, 3U})
    places.add(unit, address("storgata", "1", {.unit = std::to_string(unit), .postcode = "2406"}));
  EXPECT_THAT(places.find(address("storgata", "1", where)), ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(address("storgata", "1", {.unit = "3", .postcode = "2406"})),
              ::testing::ElementsAre(3U));
  EXPECT_THAT(places.find(address("storgata", "1", {.unit = "4", .postcode = "2406"})),
              ::testing::ElementsAre(kHere));
}

TEST(PlaceKeys, do_not_care_for_a_space_before_the_letter_of_a_number) {
  Places places;
  places.add(kHere, address("storgata", "12b", {.postcode = "2406"}));
  EXPECT_EQ(places.find(address("storgata", "12 b", {.postcode = "2406"})).size(), 1U);
  EXPECT_EQ(places.find(address("storgata", "12 bis", {.postcode = "2406"})).size(), 0U);
  EXPECT_EQ(places.find(address("storgata", "12 1/2", {.postcode = "2406"})).size(), 0U);
}

TEST(PlaceKeys, find_a_point_from_one_line_where_its_parts_are_marked) {
  const struct {
    Canonical question;
    bool found;
  } rows[] = {
      {text("gobakkvegen 438, hernes", "2410"), true},
      {text("gobakkvegen 438, hernes"), true},
      {text("gobakkvegen 438 hernes"), true},
      {text("gobakkvegen 438", "2410"), true},
      {text("gobakkvegen 438"), true},
      {text("438 gobakkvegen, hernes", "2410"), true},
      {text("438 gobakkvegen", "2410"), true},
      {text("gobakkvegen, 438, hernes", "2410"), true},
      {text("438, gobakkvegen, hernes", "2410"), true},
      {text("gobakkvegen 438, hernes, innlandet", "2410"), true},
      {text("438 gobakkvegen hernes", "2410"), false},
      {text("gobakkvegen hernes 438"), false},
      {text("gobakkvegen 438, elverum", "2410"), false},
      {text("gobakkvegen 438, hernes", "2406"), false},
      {text("gobakkvegen 438 øvre, hernes", "2410"), false},
      {text("gobakkvegen 43, hernes", "2410"), false},
      {text("gobakkvegen 438 b, hernes", "2410"), false},
      {text("gobakkvegen, hernes", "2410"), false},
      {text("øvre gobakkvegen 438, hernes", "2410"), false},
  };
  Places places;
  places.add(kHere, address("gobakkvegen", "438", {.postcode = "2410", .locality = "hernes"}));
  for (const auto& row : rows)
    EXPECT_EQ(places.find(row.question).size(), row.found ? 1U : 0U) << row.question.road;
}

TEST(PlaceKeys, read_a_letter_and_a_unit_behind_the_number_of_one_line) {
  Places places;
  places.add(kHere, address("storgata", "12b", {.postcode = "2406", .locality = "elverum"}));
  places.add(
      kThere,
      address("storgata", "14", {.unit = "h0201", .postcode = "2406", .locality = "elverum"}));
  EXPECT_THAT(places.find(text("storgata 12 b, elverum", "2406")), ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(text("storgata 12b elverum")), ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(text("12 b storgata, elverum")), ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(text("storgata 14 h0201, elverum")), ::testing::ElementsAre(kThere));
  EXPECT_THAT(places.find(text("storgata 14, h0201, elverum")), ::testing::ElementsAre(kThere));
  EXPECT_THAT(places.find(text("storgata 14, elverum")), ::testing::ElementsAre(kThere));
}

TEST(PlaceKeys, do_not_guess_where_an_unmarked_border_stands) {
  Places places;
  places.add(kHere, address("oak", "12", {.locality = "park ridge"}));
  EXPECT_TRUE(places.find(text("12 oak park ridge")).empty());
  EXPECT_TRUE(places.find(text("12 oak park, ridge")).empty());
  EXPECT_EQ(places.find(text("12 oak, park ridge")).size(), 1U);
}

TEST(PlaceKeys, read_a_street_field_that_holds_the_number_on_either_side) {
  Places places;
  places.add(kHere, address("gobakkvegen", "438", {.postcode = "2410", .locality = "hernes"}));
  places.add(kThere, address("gobakkvegen 440", "", {.postcode = "2410", .locality = "hernes"}));
  const Fields where{.postcode = "2410", .locality = "hernes"};
  EXPECT_THAT(places.find(address("gobakkvegen 438", "", where)), ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(address("gobakkvegen 438, hernes", "", where)),
              ::testing::ElementsAre(kHere));
  EXPECT_THAT(places.find(address("gobakkvegen", "440", where)), ::testing::ElementsAre(kThere));
  EXPECT_TRUE(place_keys(address("gate 17 mai 5", "", where)).empty()) << "read in two ways";
}

TEST(PlaceKeys, leave_boxes_and_crossings_alone) {
  Canonical box = address("storgata", "1", {.postcode = "2406"});
  box.box = "pobox:7";
  EXPECT_TRUE(place_questions(box).empty());
  Canonical crossing = address("storgata & kirkevegen 1", "", {.postcode = "2406"});
  crossing.mode = Mode::intersection;
  EXPECT_TRUE(place_questions(crossing).empty());
}

TEST(PlaceKeys, are_few) {
  const Fields full{.unit = "u", .postcode = "p", .locality = "l", .admin = "a", .extra = "x"};
  EXPECT_EQ(place_keys(address("r", "1", {.postcode = "p", .locality = "l"})).size(), 7U);
  EXPECT_EQ(place_keys(address("r", "1", full)).size(), 14U);
  EXPECT_LE(place_questions(address("r", "1", full)).size(), 18U);
}

/// The table of the header, read aloud.
bool passes(const Canonical& question, const Canonical& point) {
  const auto agree = [](const std::string& asked, const std::string& has) {
    return asked.empty() || has.empty() || asked == has;
  };
  const bool says_where = !question.postcode.empty() || !question.locality.empty();
  const bool confirmed = (!question.postcode.empty() && question.postcode == point.postcode) ||
                         (!question.locality.empty() && question.locality == point.locality);
  return question.road == point.road && question.house == point.house &&
         agree(question.unit, point.unit) && agree(question.postcode, point.postcode) &&
         agree(question.locality, point.locality) && agree(question.admin, point.admin) &&
         (says_where ? confirmed : question.admin.empty());
}

TEST(PlaceKeys, agree_with_the_rule_over_random_points_and_questions) {
  std::mt19937_64 chance(3);
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(*(from.begin() + chance() % from.size()));
  };
  const auto any_address = [&] {
    return address(pick({"storgata", "kirkevegen"}),
                   pick({"1", "2"}),
                   {.unit = pick({"", "", "u1", "u2"}),
                    .postcode = pick({"", "2406", "2410"}),
                    .locality = pick({"", "elverum", "hernes"}),
                    .admin = pick({"", "", "a", "b"})});
  };
  std::size_t found_some = 0;
  for (int round = 0; round < 1'000; ++round) {
    std::vector<Canonical> points;
    Places places;
    for (std::size_t i = 0; i < 1 + chance() % 12; ++i) {
      points.push_back(any_address());
      places.add(i, points[i]);
    }
    for (int asked = 0; asked < 10; ++asked) {
      const Canonical question = any_address();
      std::set<Places::Point> passing;
      for (std::size_t i = 0; i < points.size(); ++i)
        if (passes(question, points[i])) passing.insert(i);
      const auto found = places.find(question);
      ASSERT_EQ(found.empty(), passing.empty());
      ASSERT_TRUE(std::includes(passing.begin(), passing.end(), found.begin(), found.end()));
      found_some += found.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(found_some, 500U);
}

// --- a real register, through the normaliser
// -----------------------------------------------------------

struct RegisterRow {
  LatLng at;
  std::string number, street, city, postcode;
};

std::filesystem::path elverum_file() { return shared_cases("real/elverum-points.csv"); }

std::vector<RegisterRow> elverum() {
  std::ifstream in(elverum_file());
  std::vector<RegisterRow> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::array<std::string, 10> cells;
    std::istringstream cut(line);
    for (auto& cell : cells) std::getline(cut, cell, ',');
    rows.push_back(
        {{std::stod(cells[1]), std::stod(cells[0])}, cells[2], cells[3], cells[5], cells[8]});
  }
  EXPECT_EQ(rows.size(), 10'871U);
  return rows;
}

std::string upper(const std::string& text) {
  std::string out;
  icu::UnicodeString::fromUTF8(text).toUpper().toUTF8String(out);
  return out;
}

std::string decomposed(const std::string& text) {
  UErrorCode error = U_ZERO_ERROR;
  std::string out;
  icu::Normalizer2::getNFDInstance(error)
      ->normalize(icu::UnicodeString::fromUTF8(text), error)
      .toUTF8String(out);
  return out;
}

std::string with_blanks(const std::string& text) {
  std::string out = " ";
  for (const char c : text) out += c == ' ' ? std::string("  \t") : std::string(1, c);
  return out + "  ";
}

/// `12B` as `12 B`.
std::string spaced(const std::string& number) {
  const auto letter = number.find_first_not_of("0123456789");
  return letter == std::string::npos ? number
                                     : number.substr(0, letter) + " " + number.substr(letter);
}

class ElverumTest : public ::testing::Test {
 protected:
  void SetUp() override { GEONCE_NEEDS_CASES(elverum_file()); }
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(elverum_file())) return;  // SetUp says so
    rows_ = elverum();
    Normalizer normalizer;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (const auto point = normalizer.normalize(fields_of(rows_[i]).view()))
        places_.add(i, *point);
  }
  static void TearDownTestSuite() { places_ = {}; }

  static Query fields_of(const RegisterRow& row) {
    Query query;
    query.house_number = row.number;
    query.road = row.street;
    query.city = row.city;
    query.postcode = row.postcode;
    query.country = kNorway;
    return query;
  }
  static Query line(std::string text) {
    Query query;
    query.text = std::move(text);
    query.country = kNorway;
    return query;
  }
  Canonical canonical(const Query& query) {
    auto made = normalizer_.normalize(query.view());
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Canonical{};
  }

  struct Count {
    std::size_t asked = 0, right = 0, ambiguous = 0, none = 0, wrong = 0;
  };
  /// Asks for each `step`th row.
  Count ask(const std::function<Query(const RegisterRow&)>& spell, std::size_t step = 1) {
    Count count;
    for (std::size_t i = 0; i < rows_.size(); i += step) {
      ++count.asked;
      const auto found = places_.find(canonical(spell(rows_[i])));
      if (found.empty())
        ++count.none;
      else if (found.size() > 1)
        ++count.ambiguous;
      else
        ++(*found.begin() == i ? count.right : count.wrong);
    }
    return count;
  }

  static inline std::vector<RegisterRow> rows_;
  static inline Places places_;
  Normalizer normalizer_;
};

TEST_F(ElverumTest, every_address_is_found_in_whatever_way_its_fields_are_spelt) {
  const std::map<std::string, std::function<Query(const RegisterRow&)>> spellings{
      {"as filed", fields_of},
      {"upper case",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         for (auto* field : {&query.house_number, &query.road, &query.city}) *field = upper(*field);
         return query;
       }},
      {"extra blanks",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         for (auto* field : {&query.house_number, &query.road, &query.city, &query.postcode})
           *field = with_blanks(*field);
         return query;
       }},
      {"decomposed letters",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         for (auto* field : {&query.road, &query.city}) *field = decomposed(*field);
         return query;
       }},
      {"no post town",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.city.clear();
         return query;
       }},
      {"no postcode",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.postcode.clear();
         return query;
       }},
      {"neither",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.postcode.clear();
         query.city.clear();
         return query;
       }},
      {"a space before the letter",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.house_number = spaced(row.number);
         return query;
       }},
      {"the number in the street's field",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.road += " " + row.number;
         query.house_number.clear();
         return query;
       }},
      {"a flat the register does not know",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.unit = "H0201";
         return query;
       }},
  };
  for (const auto& [name, spell] : spellings) {
    const Count count = ask(spell);
    EXPECT_EQ(count.right, count.asked) << name << ": " << count.ambiguous << " ambiguous, "
                                        << count.none << " none, " << count.wrong << " wrong";
  }
}

TEST_F(ElverumTest, every_address_is_found_from_its_usual_lines) {
  const std::map<std::string, std::function<std::string(const RegisterRow&)>> spellings{
      {"street number, code town",
       [](const RegisterRow& r) {
         return r.street + " " + r.number + ", " + r.postcode + " " + r.city;
       }},
      {"without a comma",
       [](const RegisterRow& r) {
         return r.street + " " + r.number + " " + r.postcode + " " + r.city;
       }},
      {"in two lines",
       [](const RegisterRow& r) {
         return r.street + " " + r.number + "\n" + r.postcode + " " + r.city;
       }},
      {"with the country",
       [](const RegisterRow& r) {
         return r.street + " " + r.number + ", " + r.postcode + " " + r.city + ", Norge";
       }},
      {"upper case",
       [](const RegisterRow& r) {
         return upper(r.street + " " + r.number + ", " + r.postcode + " " + r.city);
       }},
      {"decomposed",
       [](const RegisterRow& r) {
         return decomposed(r.street + " " + r.number + ", " + r.postcode + " " + r.city);
       }},
      {"number first",
       [](const RegisterRow& r) {
         return r.number + " " + r.street + ", " + r.postcode + " " + r.city;
       }},
      {"town before code",
       [](const RegisterRow& r) {
         return r.street + " " + r.number + ", " + r.city + ", " + r.postcode;
       }},
      {"no code", [](const RegisterRow& r) { return r.street + " " + r.number + ", " + r.city; }},
      {"no code, no comma",
       [](const RegisterRow& r) { return r.street + " " + r.number + " " + r.city; }},
      {"no town",
       [](const RegisterRow& r) { return r.street + " " + r.number + ", " + r.postcode; }},
      {"a space before the letter",
       [](const RegisterRow& r) {
         return r.street + " " + spaced(r.number) + ", " + r.postcode + " " + r.city;
       }},
  };
  for (const auto& [name, spell] : spellings) {
    const Count count = ask([&](const RegisterRow& row) { return line(spell(row)); }, 4);
    EXPECT_EQ(count.right, count.asked) << name << ": " << count.ambiguous << " ambiguous, "
                                        << count.none << " none, " << count.wrong << " wrong";
  }
}

TEST_F(ElverumTest, nothing_is_found_for_what_the_register_has_otherwise) {
  std::set<std::pair<std::string, std::string>> numbers;
  for (const auto& row : rows_) numbers.insert({row.street, row.number});
  const std::map<std::string, std::function<Query(const RegisterRow&)>> spellings{
      {"another postcode",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.postcode = row.postcode == "2406" ? "2407" : "2406";
         return query;
       }},
      {"another town",
       [](const RegisterRow& row) {
         Query query = fields_of(row);
         query.city = row.city == "HERNES" ? "Elverum" : "Hernes";
         return query;
       }},
      {"a number that is not there",
       [&](const RegisterRow& row) {
         Query query = fields_of(row);
         do query.house_number += "1";
         while (numbers.contains({row.street, query.house_number}));
         return query;
       }},
      {"another town in one line",
       [](const RegisterRow& row) {
         return line(row.street + " " + row.number + ", " +
                     (row.city == "HERNES" ? "Elverum" : "Hernes"));
       }},
      {"no number",
       [](const RegisterRow& row) {
         return line(row.street + ", " + row.postcode + " " + row.city);
       }},
  };
  for (const auto& [name, spell] : spellings) {
    const Count count = ask(spell);
    EXPECT_EQ(count.none, count.asked)
        << name << ": " << count.right << " right, " << count.wrong << " wrong";
  }
}

TEST(PlacesThroughTheNormalizer,
     an_american_point_is_found_from_one_line_and_none_that_contradicts_it) {
  Normalizer normalizer;
  Query filed;
  filed.house_number = "1234";
  filed.road = "W MADISON ST";
  filed.city = "CHICAGO";
  filed.postcode = "60607";
  filed.country = Country('U', 'S');
  Places places;
  places.add(kHere, *normalizer.normalize(filed.view()));
  const struct {
    const char* text;
    bool found;
  } rows[] = {
      {"1234 West Madison Street, Chicago, IL 60607", true},
      {"1234 w madison st chicago il 60607", true},
      {"1234 W. Madison St., Apt 4, Chicago, IL 60607-1234", true},
      {"1234 W Madison St, Chicago", true},
      {"1234 W Madison Ave, Chicago, IL 60607", false},
      {"1234 E Madison St, Chicago, IL 60607", false},
      {"1234 W Madison St, Chicago, IL 60608", false},
      {"1234 W Madison St, Evanston, IL", false},
      {"1235 W Madison St, Chicago, IL 60607", false},
      {"PO Box 1234, Chicago, IL 60607", false},
  };
  for (const auto& row : rows) {
    QueryView query;
    query.text = row.text;
    query.country = filed.country;
    const auto asked = normalizer.normalize(query);
    ASSERT_TRUE(asked) << row.text;
    EXPECT_EQ(places.find(*asked).size(), row.found ? 1U : 0U) << row.text;
  }
}

}  // namespace
}  // namespace geonce
