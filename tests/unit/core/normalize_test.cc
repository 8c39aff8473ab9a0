#include "core/normalize.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace geonce {
namespace {

Result<Canonical> read(std::string_view text, Country country = Country('U', 'S')) {
  Normalizer normalizer;
  QueryView query;
  query.text = text;
  query.country = country;
  return normalizer.normalize(query);
}

Country country_of(std::string_view code) { return {code[0], code[1]}; }

std::string image(std::string_view text, std::string_view country) {
  const auto canonical = read(text, country_of(country));
  if (!canonical) return "error " + std::string(to_string(canonical.error().code));
  std::string bytes = pre_image(*canonical);
  for (char& c : bytes)
    if (c == '\x1F') c = '|';
  return bytes;
}

struct Pair {
  std::string_view rule, country, a, b;
};

constexpr std::array kSame{
    Pair{"type", "US", "12 Alder Cyn, Reno, NV", "12 Alder Canyon, Reno, Nevada"},
    Pair{"plural type", "US", "12 Alder Blfs, Reno, NV", "12 Alder Bluffs, Reno, NV"},
    Pair{"last of two types", "US", "12 Mill Creek Rd, Reno, NV", "12 Mill Creek Road, Reno, NV"},
    Pair{"type and direction",
         "US",
         "12 Alder Rd NE, Reno, NV",
         "12 Alder Road North East, Reno, NV"},
    Pair{"dotted letters apart", "US", "12 N. E. 5th St, Reno, NV", "12 NE 5th St, Reno, NV"},
    Pair{"direction and name", "US", "12 N Shore Dr, Reno, NV", "12 North Shore Drive, Reno, NV"},
    Pair{"no comma, town of type words",
         "US",
         "12 Main St Oak Park IL 60302",
         "12 Main Street, Oak Park, IL 60302"},
    Pair{"no comma, town that ends in a type",
         "US",
         "12 Main St Federal Way WA",
         "12 Main St, Federal Way, WA"},
    Pair{"no comma, saint behind a type",
         "US",
         "12 Oak Ave St Paul MN",
         "12 Oak Ave, Saint Paul, MN"},
    Pair{"no comma, unit",
         "US",
         "12 Oak Ave Apt 4 Reno NV 89501",
         "12 Oak Avenue, Apt. 4, Reno, NV 89501"},
    Pair{"no comma, highway", "US", "1300 US Hwy 30 Ely NV", "1300 US-30, Ely, NV"},
    Pair{"no comma, grid", "US", "310 S 750 E Orem UT", "310 South 750 East, Orem, UT"},
    Pair{"comma only before the state", "US", "12 Oak Ave Reno, NV", "12 Oak Ave, Reno, NV"},
    Pair{"lines", "US", "12 Oak Ave\nReno, NV", "12 Oak Ave, Reno, NV"},
    Pair{"unit first", "US", "Apt 4, 12 Oak Ave, Reno, NV", "12 Oak Ave Apt 4, Reno, NV"},
    Pair{"bare unit", "US", "12 Oak Ave, 4B, Reno, NV", "12 Oak Ave #4B, Reno, NV"},
    Pair{"unit id in two words",
         "US",
         "12 Oak Ave, Apt 1 A, Reno, NV",
         "12 Oak Ave, Apt 1A, Reno, NV"},
    Pair{"named building",
         "US",
         "12 Oak Ave Bldg East, Reno, NV",
         "12 Oak Ave, Building East, Reno, NV"},
    Pair{"floor", "US", "12 Oak Ave Second Floor, Reno, NV", "12 Oak Ave, Fl 2, Reno, NV"},
    Pair{"unit without id", "US", "12 Oak Ave Rear, Reno, NV", "12 Oak Ave, REAR, Reno, NV"},
    Pair{"number word", "US", "One Oak Ave, Reno, NV", "1 Oak Ave, Reno, NV"},
    Pair{"fraction with hyphen", "US", "12-1/2 Oak Ave, Reno, NV", "12½ Oak Ave, Reno, NV"},
    Pair{"grid of Wisconsin",
         "US",
         "N6 W23001 Oak Rd, Waukesha, WI",
         "N6W23001 Oak Rd, Waukesha, WI"},
    Pair{"interstate", "US", "12 I-35, Waco, TX", "12 Interstate Highway 35, Waco, TX"},
    Pair{"state road", "US", "12 State Road 9, Ely, NV", "12 SR 9, Ely, NV"},
    Pair{"state highway", "US", "12 St Hwy 9, Ely, NV", "12 State Highway 9, Ely, NV"},
    Pair{"farm to market", "US", "12 Farm to Market Road 1960, Ely, NV", "12 FM 1960, Ely, NV"},
    Pair{"business route", "US", "12 Business US 30, Ely, NV", "12 Bus. US Highway 30, Ely, NV"},
    Pair{"lettered county road", "US", "12 County Road AA, Ely, WI", "12 Co Rd AA, Ely, WI"},
    Pair{"box words", "US", "P.O.Box #311, Minot, ND", "Post Office Box 311, Minot, ND"},
    Pair{"drawer", "US", "PO Drawer 311, Minot, ND", "PO Box 311, Minot, ND"},
    Pair{"rural route", "US", "R.D. 4 Box 27-A, Paoli, IN", "RR 4 Box 27A, Paoli, IN"},
    Pair{"star route", "US", "Star Route 2 Box 3, Ely, NV", "HC 2 Box 3, Ely, NV"},
    Pair{"military",
         "US",
         "Unit 2050 Box 4190, APO AP 96278",
         "UNIT 2050, BOX 4190, APO, AP 96278-2050"},
    Pair{"crossing", "US", "Main St & 3rd Ave, Reno, NV", "Third Avenue and Main Street, Reno, NV"},
    Pair{"ZIP first", "US", "12 Oak Ave, Reno, 89501 NV", "12 Oak Ave, Reno, NV 89501"},
    Pair{"ZIP+4 without hyphen",
         "US",
         "12 Oak Ave, Reno, NV 895011234",
         "12 Oak Ave, Reno, NV 89501"},
    Pair{"district",
         "US",
         "12 Oak St NW, Washington, D.C. 20001",
         "12 Oak St NW, Washington, District of Columbia 20001"},
    Pair{"new york, new york",
         "US",
         "12 Oak St, New York, New York 10001",
         "12 Oak St, New York, NY 10001"},
    Pair{"country",
         "US",
         "12 Oak St, Reno, NV 89501 USA",
         "12 Oak St, Reno, NV 89501, United States"},
    Pair{"avenue in front", "US", "12 Ave B, Bayonne, NJ", "12 Avenue B, Bayonne, NJ"},
    Pair{"urbanization",
         "PR",
         "URB Vista Mar, 3 Calle B, Ponce",
         "3 Calle B, Urbanización Vista Mar, Ponce"},
    Pair{"French type and saint",
         "CA",
         "12 boul. St-Laurent O., Montréal",
         "12 boulevard Saint-Laurent Ouest, Montreal"},
    Pair{"French unit",
         "CA",
         "12 rue Ste-Foy, app. 5, Québec QC",
         "12 rue Sainte-Foy, appartement 5, Quebec, Québec"},
    Pair{"French box", "CA", "C.P. 12, Laval QC", "Case postale 12, Laval, QC"},
    Pair{"postcode", "CA", "12 Oak St, Gander, NL A1V-2B9", "12 Oak St, Gander NL A1V2B9"},
    Pair{"number street",
         "CA",
         "123 4 Ave SW, Calgary AB",
         "123 4th Avenue Southwest, Calgary, Alberta"},
    Pair{"rural route", "CA", "RR 4, Gander, NL", "Rural Route 4, Gander, NL"},
    Pair{"full stop letters", "SE", "C.A.B.A. 12", "caba 12"},
    Pair{"ordinal sign", "ES", "Avda. nº 7", "Avda. n° 7"},
    Pair{"dotless i", "TR", "KADIKÖY", "Kadıköy"},
    Pair{"sharp s", "DE", "LINDENSTRASSE 8", "Lindenstraße 8"},
    Pair{"cedilla", "RO", "Iaşi", "Iași"},
};

constexpr std::array kDifferent{
    Pair{"boundary", "US", "12 Oak, Park Ridge", "12 Oak Park, Ridge"},
    Pair{"plural", "US", "12 Oak Park, Reno, NV", "12 Oak Parks, Reno, NV"},
    Pair{"route and highway", "US", "12 Route 9, Ely, NV", "12 Highway 9, Ely, NV"},
    Pair{"state and county", "US", "12 State Route 9, Ely, NV", "12 County Route 9, Ely, NV"},
    Pair{"branch", "US", "12 I-35E, Waco, TX", "12 I-35, Waco, TX"},
    Pair{"old", "US", "12 Old US 30, Ely, NV", "12 US 30, Ely, NV"},
    Pair{"direction of a highway", "US", "12 Hwy 30 N, Ely, NV", "12 Hwy 30 S, Ely, NV"},
    Pair{"north-east or letters", "US", "12 N E St, Reno, NV", "12 NE St, Reno, NV"},
    Pair{"fraction", "US", "12 1/2 Oak St, Reno, NV", "121/2 Oak St, Reno, NV"},
    Pair{"number names", "US", "Seven Oaks Ln, Reno, NV", "7 Oaks Ln, Reno, NV"},
    Pair{"initials", "US", "123 O Brien Ct, Reno, NV", "123O Brien Ct, Reno, NV"},
    Pair{"circled digits", "US", "12 Oak St #①②, Reno, NV", "12 Oak St #12, Reno, NV"},
    Pair{"superscript", "US", "5² Oak St, Reno, NV", "52 Oak St, Reno, NV"},
    Pair{"feet and inches", "US", "5'2 Oak St, Reno, NV", "52 Oak St, Reno, NV"},
    Pair{"unit class", "US", "12 Oak St, Apt 4, Reno, NV", "12 Oak St, #4, Reno, NV"},
    Pair{"unit letters", "US", "12 Oak St, Apt A1, Reno, NV", "12 Oak St, Apt 1A, Reno, NV"},
    Pair{"two units", "US", "12 Oak St, Bldg 3 Apt 4, Reno, NV", "12 Oak St, Bldg 34, Reno, NV"},
    Pair{"box number with hyphen", "US", "PO Box 19-2, Ely, NV", "PO Box 192, Ely, NV"},
    Pair{"box and street", "US", "12 Oak St, PO Box 3, Ely, NV", "12 Oak St, Ely, NV"},
    Pair{"rural route or road", "US", "RR 620 Box 3, Ely, TX", "620 RR 3, Ely, TX"},
    Pair{"town or state", "US", "12 Oak St, Washington", "12 Oak St, WA"},
    Pair{"four digits of ZIP", "US", "9 Oak St, Boston, 2108", "9 Oak St, Unit 2108, Boston"},
    Pair{"town of one name in two nations",
         "GB",
         "12 High St, Newport, Wales",
         "12 High St, Newport, England"},
    Pair{"ñ", "ES", "Calle Niña 7", "Calle Nina 7"},
    Pair{"umlaut", "DE", "Fürth 1", "Furth 1"},
    Pair{"ring", "SE", "Malå 1", "Mala 1"},
    Pair{"vowel length", "HU", "Kor 1", "Kór 1"},
    Pair{"ordinal letters", "ES", "Calle Olivo 7, 1ª", "Calle Olivo 7, 1a"},
    Pair{"slash", "ID", "Jl Melati 45/6", "Jl Melati 456"},
    Pair{"dash with spaces", "CO", "Carrera 9 # 14 - 30", "Carrera 9 # 14 30"},
    Pair{"O is no W", "CA", "12 rue King O, Sherbrooke QC", "12 rue King W, Sherbrooke QC"},
    Pair{"civic number with unit", "CA", "600-890 Oak St, Gander NL", "600890 Oak St, Gander NL"},
};

TEST(Normalizer, two_spellings_of_one_address_share_a_key) {
  for (const auto& [rule, country, a, b] : kSame)
    EXPECT_EQ(image(a, country), image(b, country)) << rule;
}

TEST(Normalizer, two_addresses_do_not_share_a_key) {
  for (const auto& [rule, country, a, b] : kDifferent)
    EXPECT_NE(image(a, country), image(b, country)) << rule << ": " << a << " / " << b;
}

TEST(Normalizer, finds_the_parts) {
  struct Row {
    std::string_view text, image;  // behind geonce|n1|b|
  };
  constexpr std::array<Row, 12> kRows{{
      {"123 N Main St, Suite 200, Reno, NV 89501-1234",
       "p|us|nv|89501|reno|n main st|123|ste:200||"},
      {"350 5th Ave New York NY 10118", "p|us|ny|10118|new york|5th ave|350|||"},
      {"Empire State Building, 350 5th Ave, New York, NY",
       "p|us|ny||new york|5th ave|350|||empire state building"},
      {"1000 Tibbits Ct 48105", "p|us||48105||tibbits ct|1000|||"},
      {"1300 State Road 64 E, Bradenton FL 34208", "p|us|fl|34208|bradenton|sr 64 e|1300|||"},
      {"General Delivery, Ely, NV 89301-9999", "p|us|nv|89301|ely||||gd|"},
      {"45 Main St PO Box 12 Reno NV", "p|us|nv||reno|main st|45||pobox:12|"},
      {"Main St, Reno, NV 89501-1234", "r|us|nv|89501-1234|reno|main st||||"},
      {"Reno, NV", "u|us|nv|||reno||||"},
      {"12 Main St West Chester PA", "u|us||||12 main st west chester pa||||"},
      {"12 Main St, Atlanta, Georgia", "p|us|ga||atlanta|main st|12|||"},
      {"12 Main St, Boston, MA 2108", "p|us|ma|2108|boston|main st|12|||"},
  }};
  for (const auto& [text, expected] : kRows)
    EXPECT_EQ(image(text, "US"), "geonce|n1|b|" + std::string(expected)) << text;
}

TEST(Normalizer, takes_a_postcode_out_only_where_it_is_certain_to_be_one) {
  struct Row {
    std::string_view country, text, postcode;
  };
  constexpr std::array<Row, 24> kRows{{
      {"GB", "6 Tansy Rd, Exeter ex43ab", "ex4 3ab"},
      {"GB", "12 M1 Rd, Leeds", ""},
      {"IE", "3 Clover Close, Sligo F91X2Y3", "f91 x2y3"},
      {"IE", "12 Main St, N71 Road", ""},
      {"NL", "Beukenlaan 4, 3581XA Utrecht", "3581 xa"},
      {"SE", "Björkgatan 3, 753 28 Uppsala", "75328"},
      {"DE", "Lindenweg 8, D-01067 Dresden", "01067"},
      {"DE", "Lindenweg 8 01067 Dresden", "01067"},
      {"DE", "Lindenweg 8, A-01067 Dresden", ""},
      {"AT", "Gartengasse 4, A-1050 Wien", "1050"},
      {"AT", "Gartengasse 4 1050 Wien", "1050"},
      {"AT", "Gartengasse 1050", ""},
      {"FR", "9 rue des Lilas 69003 Lyon", "69003"},
      {"PL", "ul. Lipowa 6, 15-424 Białystok", "15424"},
      {"PT", "Rua da Fábrica 3, 7000-001 Évora", "7000001"},
      {"BR", "Rua das Acácias 15, Recife, 50030-230", "50030230"},
      {"JP", "〒144-8621 東京都大田区蒲田5-13-14", "1448621"},
      {"IN", "Ring Rd 7, Surat 395 003", "395003"},
      {"LV", "Iela 12, Rīga, LV-1010", "1010"},
      {"AU", "12 Kelp St, Perth WA 6000", "6000"},
      {"NZ", "PO Box 1010", ""},
      {"AR", "Corrientes 12, C1043AAZ Buenos Aires", "c1043aaz"},
      {"MX", "Av Olivo 12345", ""},
      {"MX", "12345 Av Olivo", ""},
  }};
  for (const auto& [country, text, postcode] : kRows) {
    const auto canonical = read(text, country_of(country));
    ASSERT_TRUE(canonical.has_value()) << text;
    EXPECT_EQ(canonical->postcode, postcode) << text;
  }
}

TEST(Normalizer, the_canonical_text_of_a_box_has_its_key) {
  Normalizer normalizer;
  for (const auto* text :
       {"PO Box 311, Minot, ND 58701", "caller 2 R5 LA", "PO Box 4 Unit 7 Reno NV"}) {
    const auto once = read(text, Country('U', 'S'));
    ASSERT_TRUE(once) << text;
    const auto twice = read(normalizer.canonical_text(*once), Country('U', 'S'));
    ASSERT_TRUE(twice) << text;
    EXPECT_EQ(pre_image(*twice), pre_image(*once)) << text;
  }
}

TEST(Normalizer, the_tables_of_every_country_can_be_read) {
  for (char first = 'A'; first <= 'Z'; ++first)
    for (char second = 'A'; second <= 'Z'; ++second)
      EXPECT_TRUE(read("12 High St, Newton 12345", Country(first, second))) << first << second;
}

TEST(Normalizer, refuses_what_has_no_certain_bytes) {
  EXPECT_EQ(image("", "US"), "error invalid_address");
  EXPECT_EQ(image(" ,;\n", "US"), "error invalid_address");
  EXPECT_EQ(image("12 Oak St \xC3", "US"), "error invalid_address");
  EXPECT_EQ(image("12 Oak St \xED\xA0\x80", "US"), "error invalid_address");
  EXPECT_EQ(image(std::string(2049, 'a'), "US"), "error invalid_address");
  EXPECT_NE(image(std::string(2048, 'a'), "US"), "error invalid_address");
}

TEST(Normalizer, a_country_in_the_text_that_contradicts_the_hint_is_an_error) {
  EXPECT_EQ(image("12 Oak St, Toronto, Canada", "US"), "error country_conflict");
  EXPECT_EQ(image("10 Downing Street, London, U.K.", "US"), "error country_conflict");
  EXPECT_EQ(image("12 Oak St, Lebanon", "US"), "geonce|n1|b|p|us|||lebanon|oak st|12|||");
}

TEST(Normalizer, a_country_in_the_text_stands_in_for_a_hint) {
  EXPECT_EQ(image("12 Oak St, Reno, NV, USA", "ZZ"), image("12 Oak St, Reno, NV", "US"));
  EXPECT_EQ(image("Lindenstraße 8, 01067 Dresden, Deutschland", "ZZ"),
            image("Lindenstraße 8, 01067 Dresden", "DE"));
  EXPECT_NE(image("12 Oak St, Reno, NV", "ZZ"), image("12 Oak St, Reno, NV", "US"));
}

TEST(Normalizer, the_country_field_wins_over_the_hint) {
  Normalizer normalizer;
  QueryView query;
  query.text = "12 Oak St, Gander NL";
  query.country = Country('U', 'S');
  query.country_text = "Canada";
  EXPECT_EQ(normalizer.normalize(query)->country.code(), "CA");
  query.country_text = "Atlantis";
  EXPECT_EQ(normalizer.normalize(query).error().code, ErrorCode::unknown_country);
  query.country_text = " ";
  EXPECT_EQ(normalizer.normalize(query)->country.code(), "US");
}

TEST(Normalizer, a_nation_of_the_uk_in_the_country_field_is_part_of_the_key) {
  Normalizer normalizer;
  QueryView query;
  query.text = "12 High St, Newport";
  query.country_text = "Wales";
  const auto wales = normalizer.normalize(query);
  query.country_text = "England";
  const auto england = normalizer.normalize(query);
  ASSERT_TRUE(wales.has_value() && england.has_value());
  EXPECT_EQ(wales->country.code(), "GB");
  EXPECT_NE(key_of(*wales), key_of(*england));
}

TEST(Normalizer, fields_may_hold_more_than_their_name_says) {
  Normalizer normalizer;
  QueryView fields;
  fields.country = Country('U', 'S');
  fields.road = "12 Oak St Apt 4";
  fields.city = "Reno, NV 89501";
  const auto read_fields = normalizer.normalize(fields);
  ASSERT_TRUE(read_fields.has_value());
  EXPECT_EQ(*read_fields, *read("12 Oak St, Apt 4, Reno, NV 89501"));

  fields.state = "Ohio";
  EXPECT_EQ(normalizer.normalize(fields).error().code, ErrorCode::contradictory_fields);
  fields.state = "nevada";
  EXPECT_EQ(*normalizer.normalize(fields), *read_fields);
  fields.postcode = "89502";
  EXPECT_EQ(normalizer.normalize(fields).error().code, ErrorCode::contradictory_fields);
}

TEST(Normalizer, a_city_field_may_repeat_postcode_and_state_and_not_contradict_them) {
  struct Row {
    std::string_view country, road, number, city, state, postcode, image;
  };
  constexpr std::array<Row, 11> kRows{{
      {"ES", "Calle Olivo", "5", "28014 Madrid", "", "", "es||28014|madrid|calle olivo|5|||"},
      {"ES", "Calle Olivo", "5", "28014 Madrid", "", "28014", "es||28014|madrid|calle olivo|5|||"},
      {"ES", "Calle Olivo", "5", "28014 Madrid", "", "28015", ""},
      {"GB", "Beech Road", "5", "Leeds LS7 4AB", "", "", "gb||ls7 4ab|leeds|beech rd|5|||"},
      {"GB", "Beech Road", "5", "Leeds, LS7 4AB", "", "ls74ab", "gb||ls7 4ab|leeds|beech rd|5|||"},
      {"GB", "Beech Road", "5", "Leeds, LS7 4AB", "", "LS7 4AC", ""},
      {"AU", "Wattle St", "5", "Perth WA 6000", "", "", "au|wa|6000|perth|wattle st|5|||"},
      {"AU", "Wattle St", "5", "Perth", "WA", "6000", "au|wa|6000|perth|wattle st|5|||"},
      {"AU", "Wattle St", "5", "Perth, WA", "NSW", "6000", ""},
      {"IT", "Via Roma", "5", "20121 Milano (MI)", "MI", "", "it|mi|20121|milano|via roma|5|||"},
      {"DE", "Lindenstr. 8", "8", "Dresden", "", "01067", "de||01067|dresden|lindenstr|8|||"},
  }};
  Normalizer normalizer;
  for (const Row& row : kRows) {
    QueryView fields;
    fields.country = country_of(row.country);
    fields.road = row.road;
    fields.house_number = row.number;
    fields.city = row.city;
    fields.state = row.state;
    fields.postcode = row.postcode;
    const auto read_fields = normalizer.normalize(fields);
    if (row.image.empty()) {
      ASSERT_FALSE(read_fields.has_value()) << row.city;
      EXPECT_EQ(read_fields.error().code, ErrorCode::contradictory_fields) << row.city;
      continue;
    }
    ASSERT_TRUE(read_fields.has_value()) << row.city;
    EXPECT_EQ(pre_image(*read_fields).substr(std::string_view("geonce|n1|b|p|").size()), [&] {
      std::string image(row.image);
      std::ranges::replace(image, '|', '\x1F');
      return image;
    }()) << row.city;
  }
}

TEST(Normalizer, the_longest_letters_read_back_by_their_parts) {
  std::string text = "12 High Street, ";
  while (text.size() + 3 <= 2048) text += "\uFDFA";  // a letter of 3 bytes for 33
  Normalizer normalizer;
  QueryView query;
  query.text = text;
  query.country = Country('G', 'B');
  const auto once = normalizer.normalize(query);
  ASSERT_TRUE(once.has_value()) << once.error().message;
  std::string parts = pre_image(*once);
  ASSERT_GT(parts.size(), 20'000U);
  query.text = parts;
  EXPECT_EQ(*normalizer.normalize(query), *once);
  // Without its last, empty parts, which a program may have cut off as white space.
  parts.erase(parts.find_last_not_of('\x1F') + 1);
  query.text = parts;
  EXPECT_EQ(*normalizer.normalize(query), *once);
}

TEST(Normalizer, a_street_line_beside_a_city_field_is_one_address) {
  Normalizer normalizer;
  QueryView query;
  query.country = Country('U', 'S');
  query.text = "12 Broadway Apt 4";
  query.city = "Reno";
  query.state = "NV";
  query.postcode = "89501";
  const auto together = normalizer.normalize(query);
  ASSERT_TRUE(together.has_value());
  EXPECT_EQ(*together, *read("12 Broadway, Apt 4, Reno, NV 89501"));
  query.text = "12 Broadway Apt 4, Reno, NV";
  EXPECT_EQ(*normalizer.normalize(query), *together);
  query.text = "12 Broadway, Lotus Plaza";
  const auto lotus = normalizer.normalize(query);
  query.text = "12 Broadway, Rose Plaza";
  EXPECT_NE(key_of(*lotus), key_of(*normalizer.normalize(query)));
}

TEST(Normalizer, a_language_is_part_of_the_key_when_there_is_one) {
  Normalizer normalizer;
  QueryView query;
  query.text = "12 Oak St, Reno, NV";
  query.country = Country('U', 'S');
  const auto plain = normalizer.normalize(query);
  query.language = "FR";
  const auto french = normalizer.normalize(query);
  EXPECT_EQ(french->options, "language=fr");
  EXPECT_NE(key_of(*plain), key_of(*french));
  EXPECT_EQ(*parse_pre_image(pre_image(*french)), *french);
  query.language = "fr\x1F";
  EXPECT_EQ(normalizer.normalize(query).error().code, ErrorCode::invalid_address);
}

TEST(Normalizer, says_what_makes_an_address_weak) {
  EXPECT_EQ(read("12 Oak St")->quality, Quality::no_locality | Quality::no_postcode);
  EXPECT_EQ(read("12 Oak St, Reno, NV 89501")->quality, Quality::none);
  EXPECT_EQ(read("PO Box 3, Reno, NV 89501")->quality, Quality::po_box);
  EXPECT_EQ(read("RR 3 Box 4, Reno, NV 89501")->quality, Quality::rural_route);
  EXPECT_EQ(read("somewhere 89501")->quality, Quality::unparsed);
}

TEST(Key, of_a_building_forgets_the_unit) {
  const auto a = read("Acme Inc, 12 Oak St, Apt 4, Reno, NV");
  const auto b = read("12 Oak St, Reno, NV");
  EXPECT_NE(key_of(*a), key_of(*b));
  EXPECT_EQ(building_pre_image(*a), building_pre_image(*b));
  EXPECT_EQ(building_pre_image(*b), pre_image(*b));
}

TEST(Key, only_pre_images_are_parsed) {
  const std::string good = pre_image(*read("12 Oak St, Reno, NV"));
  EXPECT_TRUE(parse_pre_image(good).has_value());
  EXPECT_FALSE(parse_pre_image(good + "\x1F").has_value());
  EXPECT_FALSE(parse_pre_image(good.substr(1)).has_value());
  EXPECT_FALSE(parse_pre_image("").has_value());
  std::string other_version = good;
  other_version[8] = '2';
  EXPECT_FALSE(parse_pre_image(other_version).has_value());
}

}  // namespace
}  // namespace geonce
