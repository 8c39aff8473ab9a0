// What holds for every address, tried on addresses made up by a seeded generator.
#include <algorithm>
#include <array>
#include <clocale>
#include <locale>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/normalize.h"
#include "support/normalize_probe.h"

namespace geonce {
namespace {

constexpr std::uint64_t kSeed = 20261130;
constexpr int kRounds = 1500;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <std::size_t n>
  std::string_view pick(const std::array<std::string_view, n>& from) {
    return from[below(n)];
  }

 private:
  std::mt19937_64 engine_;
};

struct Spelt {
  std::string_view full, brief;
};
constexpr std::array<Spelt, 12> kTypes{{{"Street", "St"},
                                        {"Avenue", "Ave."},
                                        {"Road", "Rd"},
                                        {"Boulevard", "Blvd"},
                                        {"Lane", "LN"},
                                        {"Court", "Ct."},
                                        {"Terrace", "Ter"},
                                        {"Parkway", "Pkwy"},
                                        {"Circle", "Cir"},
                                        {"Place", "Pl"},
                                        {"Trail", "Trl"},
                                        {"Way", "Way"}}};
constexpr std::array<Spelt, 8> kDirections{{{"North", "N"},
                                            {"South", "S."},
                                            {"East", "E"},
                                            {"West", "W"},
                                            {"Northeast", "N.E."},
                                            {"Northwest", "NW"},
                                            {"South-East", "SE"},
                                            {"Southwest", "S.W."}}};
constexpr std::array<Spelt, 5> kUnits{
    {{"Apartment", "Apt"}, {"Suite", "Ste."}, {"Unit", "#"}, {"Building", "Bldg"}, {"Room", "Rm"}}};
constexpr std::array<Spelt, 6> kStates{{{"Nevada", "NV"},
                                        {"Ohio", "OH"},
                                        {"New Hampshire", "NH"},
                                        {"Connecticut", "CT"},
                                        {"Indiana", "IN"},
                                        {"Nebraska", "NE"}}};
constexpr std::array<std::string_view, 14> kNames{"Bramble",
                                                  "Pinecone",
                                                  "Otter Creek",
                                                  "Park",
                                                  "Court",
                                                  "St. Brendan",
                                                  "Mt. Hood",
                                                  "O'Neal",
                                                  "Fifth",
                                                  "42nd",
                                                  "Larkspur",
                                                  "Old Mill",
                                                  "Avenue",
                                                  "Martin Luther King Jr"};
constexpr std::array<std::string_view, 8> kCities{"Reno",
                                                  "Las Vegas",
                                                  "St. Cloud",
                                                  "Kansas City",
                                                  "Oak Park",
                                                  "Dayton",
                                                  "Mount Vernon",
                                                  "Springfield"};

/// An address in its parts; `full` spells words out.
struct Made {
  std::string house, city, zip, name, unit_id;
  std::size_t type = 0, before = 8, behind = 8, unit = 5, state = 0;  // past the end: none

  static Made up(Dice& dice) {
    Made made;
    made.house = std::to_string(1 + dice.below(20000));
    if (dice.one_in(8)) made.house += static_cast<char>('A' + dice.below(4));
    made.name = dice.pick(kNames);
    made.type = dice.below(kTypes.size());
    if (dice.one_in(3)) made.before = dice.below(kDirections.size());
    if (dice.one_in(6)) made.behind = dice.below(kDirections.size());
    if (dice.one_in(3)) {
      made.unit = dice.below(kUnits.size());
      made.unit_id = std::to_string(1 + dice.below(400));
      if (dice.one_in(2)) made.unit_id += static_cast<char>('A' + dice.below(6));
    }
    made.city = dice.pick(kCities);
    made.state = dice.below(kStates.size());
    made.zip = std::to_string(10000 + dice.below(89999));
    return made;
  }
  template <std::size_t n>
  static std::string spelt(const std::array<Spelt, n>& words, std::size_t i, bool full) {
    if (i >= n) return {};
    return std::string(full ? words[i].full : words[i].brief);
  }
  static void add(std::string& line, std::string_view separator, std::string_view part) {
    if (part.empty()) return;
    if (!line.empty()) line += separator;
    line += part;
  }
  [[nodiscard]] std::string road(bool full) const {
    std::string line = spelt(kDirections, before, full);
    add(line, " ", name);
    add(line, " ", spelt(kTypes, type, full));
    add(line, " ", spelt(kDirections, behind, full));
    return line;
  }
  [[nodiscard]] std::string unit_text(bool full) const {
    if (unit >= kUnits.size()) return {};
    return spelt(kUnits, unit, full) + " " + unit_id;
  }
  [[nodiscard]] std::string text(bool full) const {
    std::string line = house + " " + road(full);
    add(line, ", ", unit_text(full));
    add(line, ", ", city);
    add(line, ", ", spelt(kStates, state, full) + " " + zip);
    return line;
  }
};

Canonical normalized(const std::string& text, Country country = Country('U', 'S')) {
  thread_local Normalizer normalizer;
  QueryView query;
  query.text = text;
  query.country = country;
  auto canonical = normalizer.normalize(query);
  EXPECT_TRUE(canonical.has_value()) << text;
  return canonical ? *canonical : Canonical{};
}
std::string canonical_text(const Canonical& canonical) {
  static Normalizer normalizer;
  return normalizer.canonical_text(canonical);
}
std::string image(const std::string& text, Country country = Country('U', 'S')) {
  return pre_image(normalized(text, country));
}

Canonical from_fields(const Made& made, bool full) {
  const std::string road = made.road(full);
  const std::string unit = made.unit_text(full);
  const std::string state = Made::spelt(kStates, made.state, full);
  QueryView query;
  query.house_number = made.house;
  query.road = road;
  query.unit = unit;
  query.city = made.city;
  query.state = state;
  query.postcode = made.zip;
  query.country = Country('U', 'S');
  Normalizer normalizer;
  auto canonical = normalizer.normalize(query);
  EXPECT_TRUE(canonical.has_value()) << made.text(full);
  return canonical ? *canonical : Canonical{};
}

TEST(NormalizerProperty, case_space_and_abbreviation_do_not_count) {
  Dice dice(kSeed);
  for (int round = 0; round < kRounds; ++round) {
    const Made made = Made::up(dice);
    const std::string text = made.text(true);
    std::string noisy;
    for (const char c : made.text(false)) {
      if (c == ' ') noisy.append(1 + dice.below(3), dice.one_in(3) ? '\t' : ' ');
      if (c == ',') noisy += dice.one_in(2) ? " , " : ",";
      if (c == ' ' || c == ',') continue;
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      noisy += letter && dice.one_in(2) ? static_cast<char>(c ^ 0x20) : c;
    }
    ASSERT_EQ(image(text), image(noisy)) << text << " / " << noisy;
    ASSERT_EQ(normalized(text).mode, Mode::parsed) << text;
  }
}

TEST(NormalizerProperty, fields_and_free_text_reach_the_same_key) {
  Dice dice(kSeed + 1);
  for (int round = 0; round < kRounds; ++round) {
    const Made made = Made::up(dice);
    const bool full = dice.one_in(2);
    ASSERT_EQ(normalized(made.text(!full)), from_fields(made, full)) << made.text(full);
  }
}

TEST(NormalizerProperty, commas_in_fields_do_not_count) {
  Dice dice(kSeed + 2);
  Normalizer normalizer;
  for (int round = 0; round < kRounds / 10; ++round) {
    const Made made = Made::up(dice);
    const Canonical plain = from_fields(made, true);
    QueryView query;
    const std::string street = made.house + ", " + made.road(true) + ",";
    const std::string city =
        made.city + ", " + Made::spelt(kStates, made.state, false) + ", " + made.zip;
    const std::string unit = made.unit_text(false) + ",";
    query.road = street;
    query.unit = unit == "," ? "" : std::string_view(unit);
    query.city = city;
    query.country = Country('U', 'S');
    const auto with_commas = normalizer.normalize(query);
    ASSERT_TRUE(with_commas.has_value());
    ASSERT_EQ(plain, *with_commas) << street << " | " << city;
  }
}

TEST(NormalizerProperty, decomposed_letters_are_the_composed_ones) {
  const std::array<std::array<std::string, 2>, 3> rows{{
      {"12 rue Saint-J\u00E9r\u00F4me, Montr\u00E9al QC",
       "12 rue Saint-Je\u0301ro\u0302me, Montre\u0301al QC"},
      {"12 Pin\u0303ata St, Espa\u00F1ola NM", "12 Pi\u00F1ata St, Espan\u0303ola NM"},
      {"12 Phố Hàng Bồ", "12 Pho\u0302\u0301 Ha\u0300ng Bo\u0302\u0300"},
  }};
  for (const auto& [composed, decomposed] : rows)
    for (const auto country : {Country('C', 'A'), Country('V', 'N'), Country('S', 'E'), Country()})
      EXPECT_EQ(image(composed, country), image(decomposed, country)) << composed;
}

TEST(NormalizerProperty, every_part_counts) {
  Dice dice(kSeed + 3);
  for (int round = 0; round < kRounds; ++round) {
    const Made made = Made::up(dice);
    const std::string text = made.text(false);
    const std::string before = image(text);
    const auto expect_other = [&](const Made& changed, const char* what) {
      ASSERT_NE(before, image(changed.text(false)))
          << what << ": " << text << " / " << changed.text(false);
    };
    Made changed = made;
    changed.type = (made.type + 1 + dice.below(kTypes.size() - 1)) % kTypes.size();
    expect_other(changed, "type");
    changed = made;
    changed.before = made.before < 8 && dice.one_in(3) ? 8 : (made.before + 1) % 8;
    expect_other(changed, "direction in front");
    changed = made;
    changed.behind = made.behind < 8 && dice.one_in(3) ? 8 : (made.behind + 1) % 8;
    expect_other(changed, "direction behind");
    changed = made;
    std::swap(changed.before, changed.behind);
    if (changed.before != changed.behind) expect_other(changed, "side of the direction");
    changed = made;
    changed.unit = made.unit < 5 ? (dice.one_in(3) ? 5 : (made.unit + 1) % 5) : 0;
    if (changed.unit_id.empty()) changed.unit_id = "4";
    expect_other(changed, "unit");
    changed = made;
    changed.city = kCities[(dice.below(kCities.size() - 1) + 1 +
                            static_cast<std::size_t>(std::ranges::find(kCities, made.city) -
                                                     kCities.begin())) %
                           kCities.size()];
    expect_other(changed, "locality");
    changed = made;
    changed.state = (made.state + 1) % kStates.size();
    expect_other(changed, "state");
    changed = made;
    changed.zip[dice.below(5)] ^= 1;
    expect_other(changed, "postcode");
    changed = made;
    changed.house += dice.one_in(2) ? "1" : "B";
    expect_other(changed, "house");
    ASSERT_NE(before, image(text, Country('C', 'A')));
  }
}

TEST(NormalizerProperty, a_changed_digit_changes_the_key) {
  Dice dice(kSeed + 4);
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = Made::up(dice).text(dice.one_in(2));
    std::vector<std::size_t> digits;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] >= '0' && text[i] <= '9') digits.push_back(i);
    std::string changed = text;
    char& digit = changed[digits[dice.below(digits.size())]];
    digit = static_cast<char>('0' + (digit - '0' + 1 + static_cast<int>(dice.below(9))) % 10);
    ASSERT_NE(image(text), image(changed)) << text << " / " << changed;
  }
}

TEST(NormalizerProperty, the_order_of_words_counts) {
  Dice dice(kSeed + 5);
  for (int round = 0; round < kRounds; ++round) {
    const Made made = Made::up(dice);
    std::string swapped_road = made.name + " " + Made::spelt(kTypes, made.type, true);
    const auto space = swapped_road.find(' ');
    const std::string first = swapped_road.substr(0, space);
    const std::string rest = swapped_road.substr(space + 1);
    if (first == rest) continue;
    const std::string tail = ", " + made.city + ", NV " + made.zip;
    ASSERT_NE(image(made.house + " " + swapped_road + tail),
              image(made.house + " " + rest + " " + first + tail))
        << swapped_road;
  }
}

TEST(NormalizerProperty, a_canonical_text_reads_back_as_itself) {
  Dice dice(kSeed + 6);
  for (int round = 0; round < kRounds; ++round) {
    std::string text = Made::up(dice).text(dice.one_in(2));
    if (dice.one_in(3)) std::erase(text, ',');
    const Canonical once = normalized(text);
    ASSERT_EQ(once, normalized(canonical_text(once))) << text;
    const auto parsed = parse_pre_image(pre_image(once));
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(once, *parsed) << text;
  }
}

TEST(NormalizerProperty, no_bytes_break_it) {
  Dice dice(kSeed + 7);
  std::string bytes;
  for (int round = 0; round < 1000; ++round) {
    bytes.clear();
    const std::size_t size = 1 + dice.below(dice.one_in(20) ? 4096 : 200);
    const bool text_like = !dice.one_in(3);
    while (bytes.size() < size)
      bytes += static_cast<char>(text_like ? 0x20 + dice.below(0x5F) : dice.below(256));
    probe_normalizer(bytes);
  }
}

TEST(NormalizerProperty, bytes_that_once_broke_it_do_not) {
  for (const std::string_view bytes : {"\n`\r!2-U`-\n`-", "D-nº", "D’nºnº", "D1 Oak St, Reno, NV"})
    probe_normalizer(bytes);
}

TEST(NormalizerProperty, words_in_any_order_do_not_break_it) {
  constexpr auto kWords = std::to_array<std::string_view>({"12",          "5",
                                                           "21a",         "12-14",
                                                           "1/2",         "½",
                                                           "5th",         "fifth",
                                                           "N41W9300",    "12.5",
                                                           "main",        "oak",
                                                           "park",        "st.",
                                                           "ave",         "road",
                                                           "ct",          "forest",
                                                           "lake",        "hwy",
                                                           "us",          "u.s.",
                                                           "us-30",       "i-35",
                                                           "county",      "co",
                                                           "state",       "route",
                                                           "rt",          "n",
                                                           "s",           "North",
                                                           "east",        "n.e.",
                                                           "N.",          "E.",
                                                           "apt",         "#",
                                                           "ste",         "unit",
                                                           "fl",          "2nd",
                                                           "rear",        "lot",
                                                           "b",           "4b",
                                                           "p.o.",        "box",
                                                           "general",     "delivery",
                                                           "rr",          "hc",
                                                           "r.d.",        "urb",
                                                           "reno",        "nv",
                                                           "new york",    "dc",
                                                           "d.c.",        "in",
                                                           "89501",       "9999",
                                                           "usa",         "canada",
                                                           "georgia",     "saint",
                                                           "mt",          "&",
                                                           "and",         "-",
                                                           "/",           ",",
                                                           ",",           ",",
                                                           ",",           "old",
                                                           "broadway",    "calle",
                                                           "o'neal",      "d'arcy",
                                                           "é",           "l'été",
                                                           "boul",        "ouest",
                                                           "k1a",         "0b1",
                                                           "東京",        "5丁目",
                                                           "１２",        "²",
                                                           "①",           "1ª",
                                                           "nº",          "İ",
                                                           "\u0301",      "(x)",
                                                           "rue",         "bis",
                                                           "no.",         "12/f",
                                                           "3º",          "izq",
                                                           "ul.",         "m.",
                                                           "кв.",         "д.",
                                                           "г.",          "ถ.",
                                                           "号",          "2段",
                                                           "東京都",      "四日市市",
                                                           "文心路",      "서울시",
                                                           "강남구",      "테헤란로",
                                                           "3e",          "étage",
                                                           "floor",       "c/",
                                                           "s/n",         "cp",
                                                           "cep",         "dhaka-1213",
                                                           "〒",          "q",
                                                           "7",           "3/18",
                                                           "sector",      "house",
                                                           "mah.",        "no:",
                                                           "l6",          "ext",
                                                           "straße",      "lindenstr.",
                                                           "calle",       "26",
                                                           "14-52",       "6a",
                                                           "avenida",     "x45",
                                                           "private bag", "apdo.",
                                                           "vic",         "kowloon",
                                                           "santa fe",    "johor",
                                                           "1050",        "dk-2100",
                                                           "ถนนสุเทพ",     "خیابان",
                                                           "پلاک",        "շ",
                                                           "b1900and",    "8/3",
                                                           "12b/7",       "second floor",
                                                           "1er",         "17.",
                                                           "juni"});
  Dice dice(kSeed + 8);
  for (int round = 0; round < 8000; ++round) {
    std::string bytes(1, static_cast<char>(dice.one_in(3) ? 0 : dice.below(64)));
    for (std::size_t count = 1 + dice.below(12); count > 0; --count) {
      bytes += dice.pick(kWords);
      if (!dice.one_in(8)) bytes += dice.one_in(6) ? '\n' : ' ';
    }
    probe_normalizer(bytes);
  }
}

/// A locale in which everything numeric is unlike C's.
struct Punctuation : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(NormalizerProperty, the_process_locale_does_not_count) {
  const std::array<std::string, 3> texts{
      "1300 U.S. Hwy 30, Ely, NV 89301", "12 İSTİKLAL I St, Reno, NV", "Twenty-First St, Reno, NV"};
  std::vector<std::string> before;
  for (const auto& text : texts) before.push_back(image(text));
  const std::locale global =
      std::locale::global(std::locale(std::locale::classic(), new Punctuation));
  for (const char* name : {"tr_TR.UTF-8", "de_DE.UTF-8", "C.UTF-8"}) {
    std::setlocale(LC_ALL, name);  // refused where it is not installed; the one above stands anyway
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(before[i], image(texts[i])) << name;
  }
  std::setlocale(LC_ALL, "C");
  std::locale::global(global);
}

TEST(NormalizerProperty, many_threads_find_the_same_keys) {
  Dice dice(kSeed + 9);
  std::vector<std::string> texts;
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(Made::up(dice).text(dice.one_in(2)) + (dice.one_in(3) ? " é" : ""));
    expected.push_back(image(texts.back()));
  }
  std::array<int, 8> wrong{};
  {
    std::vector<std::jthread> threads;
    for (auto& count : wrong)
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < texts.size(); ++i)
          count += image(texts[i]) == expected[i] ? 0 : 1;
      });
  }
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace geonce
