// What holds for every address of every country, tried on addresses made up by a seeded generator.
// GEONCE_PROPERTY_CASES sets how many cases are tried.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/normalize.h"

namespace geonce {
namespace {

constexpr std::uint64_t kSeed = 20261201;

/// One case is one property of one address.
int cases_to_try() {
  if (const char* wanted = std::getenv("GEONCE_PROPERTY_CASES")) return std::atoi(wanted);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 20'000;
#elif defined(NDEBUG)
  return 1'000'000;
#else
  return 100'000;
#endif
}

struct Spelt {
  std::string_view full, brief;
};

/// How the addresses of a country are made.
struct Land {
  std::string_view country;
  bool number_in_front;
  bool type_in_front;
  bool town_behind_code;
  std::array<Spelt, 3> types;
  std::array<std::string_view, 3> names;
  std::array<std::string_view, 3> towns;
  std::string_view code;  // 9 a digit, A a letter
  Spelt unit;             // empty: none
};

constexpr auto kLands = std::to_array<Land>({
    {"GB",
     true,
     false,
     false,
     {{{"Road", "Rd"}, {"Street", "St."}, {"Lane", "Ln"}}},
     {"Larch", "St. Brendan", "Old Mill"},
     {"Taunton", "Market Rasen", "York"},
     "AA9 9AA",
     {"Flat", "Flat"}},
    {"IE",
     true,
     false,
     false,
     {{{"Road", "Rd."}, {"Avenue", "Ave"}, {"Terrace", "Tce"}}},
     {"Fuchsia", "Abbey", "Saint Mel"},
     {"Tralee", "Ballina", "New Ross"},
     "A99 A9A9",
     {"Apartment", "Apt."}},
    {"AU",
     true,
     false,
     false,
     {{{"Parade", "Pde"}, {"Street", "St"}, {"Crescent", "Cres"}}},
     {"Wattle", "Red Gum", "Mount Iron"},
     {"Orange", "Alice Springs", "Cairns"},
     "9999",
     {"Unit", "U"}},
    {"NZ",
     true,
     false,
     false,
     {{{"Road", "Rd"}, {"Terrace", "Tce"}, {"Place", "Pl"}}},
     {"Kauri", "Totara Park", "Queen"},
     {"Nelson", "Lower Hutt", "Wanaka"},
     "9999",
     {"Level", "Lvl"}},
    {"ZA",
     true,
     false,
     false,
     {{{"Road", "Rd"}, {"Street", "St"}, {"Avenue", "Ave"}}},
     {"Protea", "Long", "Van Riebeeck"},
     {"Pretoria", "Port Elizabeth", "Durban"},
     "9999",
     {"Flat", "Flat"}},
    {"IN",
     true,
     false,
     false,
     {{{"Road", "Rd."}, {"Street", "St."}, {"Marg", "Marg"}}},
     {"Tilak", "Netaji Subhas", "Brigade"},
     {"Pune", "Navi Mumbai", "Kochi"},
     "999999",
     {"Flat", "Flat No."}},
    {"SG",
     true,
     false,
     false,
     {{{"Road", "Rd"}, {"Street", "St"}, {"Drive", "Dr"}}},
     {"Anson", "Paya Lebar", "Orchard"},
     {"Singapore", "Singapore", "Singapore"},
     "999999",
     {"#", "#"}},
    {"PH",
     true,
     false,
     false,
     {{{"Street", "St."}, {"Avenue", "Ave."}, {"Boulevard", "Blvd."}}},
     {"Sampaguita", "San Roque", "Rizal"},
     {"Davao City", "Iloilo City", "Makati"},
     "9999",
     {"Unit", "Unit"}},
    {"FR",
     true,
     true,
     true,
     {{{"rue", "r."}, {"avenue", "av."}, {"boulevard", "bd"}}},
     {"des Tanneurs", "du Moulin", "Saint-Roch"},
     {"Paris", "Saint-Nazaire", "Dax"},
     "99999",
     {"appartement", "appt"}},
    {"LU",
     true,
     true,
     true,
     {{{"rue", "r."}, {"avenue", "av."}, {"place", "pl."}}},
     {"du Moulin", "de la Gare", "des Prés"},
     {"Esch-sur-Alzette", "Diekirch", "Vianden"},
     "9999",
     {"", ""}},
    {"DE",
     false,
     false,
     true,
     {{{"Straße", "Str."}, {"Platz", "Pl."}, {"Weg", "Weg"}}},
     {"Grüner", "Lange Linden", "Alter Mühlen"},
     {"Göttingen", "Bad Tölz", "Ulm"},
     "99999",
     {"Wohnung", "Whg."}},
    {"AT",
     false,
     false,
     true,
     {{{"Straße", "Str."}, {"Gasse", "Gasse"}, {"Ring", "Ring"}}},
     {"Linzer", "Hohe Wand", "Obere"},
     {"Wien", "Bad Ischl", "Vöcklabruck"},
     "9999",
     {"Top", "Top"}},
    {"CH",
     false,
     false,
     true,
     {{{"Strasse", "Str."}, {"Platz", "Pl."}, {"Weg", "Weg"}}},
     {"Berner", "Alte Land", "Zürcher"},
     {"Bern", "La Neuveville", "Chur"},
     "9999",
     {"", ""}},
    {"NL",
     false,
     false,
     true,
     {{{"Straat", "str."}, {"Laan", "Laan"}, {"Kade", "Kade"}}},
     {"Lange", "Oude Haven", "Eerste"},
     {"Deventer", "Den Haag", "Gouda"},
     "9999 AA",
     {"", ""}},
    {"BE",
     false,
     true,
     true,
     {{{"rue", "r."}, {"avenue", "av."}, {"place", "pl."}}},
     {"de l'Étuve", "du Moulin", "Haute"},
     {"Liège", "La Louvière", "Namur"},
     "9999",
     {"boîte", "bte"}},
    {"IT",
     false,
     true,
     true,
     {{{"via", "v."}, {"viale", "v.le"}, {"piazza", "p.za"}}},
     {"dei Tintori", "San Gottardo", "Garibaldi"},
     {"Firenze", "La Spezia", "Parma"},
     "99999",
     {"interno", "int."}},
    {"ES",
     false,
     true,
     true,
     {{{"Calle", "C/"}, {"Avenida", "Avda."}, {"Plaza", "Pza."}}},
     {"del Romero", "Mayor", "Santa Ana"},
     {"Sevilla", "Ciudad Real", "León"},
     "99999",
     {"puerta", "pta."}},
    {"MX",
     false,
     true,
     true,
     {{{"Calle", "C."}, {"Avenida", "Av."}, {"Calzada", "Calz."}}},
     {"Fresno", "Juárez", "del Ejido"},
     {"Mérida", "San Cristóbal", "Ensenada"},
     "99999",
     {"Interior", "Int."}},
    {"AR",
     false,
     true,
     true,
     {{{"Calle", "C."}, {"Avenida", "Av."}, {"Pasaje", "Pje."}}},
     {"Rivadavia", "San Martín", "Mitre"},
     {"Rosario", "La Plata", "Salta"},
     "A9999AAA",
     {"Departamento", "Dpto."}},
    {"CO",
     false,
     true,
     false,
     {{{"Carrera", "Kr"}, {"Calle", "Cl"}, {"Diagonal", "Dg"}}},
     {"Real", "Bolívar", "Quinta"},
     {"Manizales", "Santa Marta", "Cali"},
     "999999",
     {"apartamento", "apto."}},
    {"PT",
     false,
     true,
     true,
     {{{"Rua", "R."}, {"Avenida", "Av."}, {"Travessa", "Tv."}}},
     {"do Alecrineiro", "das Flores", "Nova"},
     {"Coimbra", "Vila Real", "Faro"},
     "9999-999",
     {"sala", "sala"}},
    {"BR",
     false,
     true,
     false,
     {{{"Rua", "R."}, {"Avenida", "Av."}, {"Praça", "Pça."}}},
     {"Barão do Cerrado", "das Palmeiras", "Sete"},
     {"Santos", "Porto Alegre", "Natal"},
     "99999-999",
     {"apartamento", "apto."}},
    {"DK",
     false,
     false,
     true,
     {{{"Vej", "Vej"}, {"Gade", "Gade"}, {"Allé", "Allé"}}},
     {"Lange", "Gamle Mølle", "Store"},
     {"Silkeborg", "Nykøbing Mors", "Ribe"},
     "9999",
     {"", ""}},
    {"SE",
     false,
     false,
     true,
     {{{"gatan", "gatan"}, {"vägen", "vägen"}, {"torget", "torget"}}},
     {"Hassel", "Norra Ås", "Lilla"},
     {"Linköping", "Stora Höga", "Malå"},
     "999 99",
     {"lägenhet", "lgh"}},
    {"PL",
     false,
     true,
     true,
     {{{"ulica", "ul."}, {"aleja", "al."}, {"plac", "pl."}}},
     {"Jaśminowa", "Dolna Wilda", "Nowa"},
     {"Toruń", "Zielona Góra", "Kielce"},
     "99-999",
     {"mieszkanie", "m."}},
    {"CZ",
     false,
     true,
     true,
     {{{"ulice", "ul."}, {"náměstí", "nám."}, {"třída", "tř."}}},
     {"Pod Hradbami", "Lípová", "Míru"},
     {"Plzeň", "České Budějovice", "Brno"},
     "999 99",
     {"", ""}},
    {"HU",
     false,
     false,
     true,
     {{{"utca", "u."}, {"tér", "tér"}, {"körút", "krt."}}},
     {"Meggyfa", "Rákóczi Károly", "Fő"},
     {"Pécs", "Nagy Kanizsa", "Győr"},
     "9999",
     {"", ""}},
    {"RO",
     false,
     true,
     true,
     {{{"Strada", "Str."}, {"Bulevardul", "B-dul"}, {"Aleea", "Al."}}},
     {"Teiului", "Ștefan cel Bun", "Castanilor"},
     {"Sibiu", "Târgu Jiu", "Iași"},
     "999999",
     {"apartament", "ap."}},
    {"RU",
     false,
     true,
     true,
     {{{"улица", "ул."}, {"проспект", "пр-т"}, {"переулок", "пер."}}},
     {"Лесная", "Мира", "Зелёный Луг"},
     {"Омск", "Нижний Тагил", "Псков"},
     "999999",
     {"квартира", "кв."}},
    {"UA",
     false,
     true,
     true,
     {{{"вулиця", "вул."}, {"площа", "пл."}, {"провулок", "пров."}}},
     {"Вишнева", "Незалежності", "Новий Шлях"},
     {"Львів", "Біла Церква", "Харків"},
     "99999",
     {"квартира", "кв."}},
    {"TR",
     false,
     false,
     true,
     {{{"Sokağı", "Sk."}, {"Caddesi", "Cad."}, {"Bulvarı", "Blv."}}},
     {"Kızılcık", "Zeytin", "Yeni Gün"},
     {"Konak", "Nilüfer", "Çankaya"},
     "99999",
     {"daire", "D:"}},
    {"ID",
     false,
     true,
     false,
     {{{"Jalan", "Jl."}, {"Gang", "Gg."}, {"Lorong", "Lrg."}}},
     {"Cendana Raya", "Merdeka", "Melati"},
     {"Semarang", "Banda Neira", "Bekasi"},
     "99999",
     {"", ""}},
    {"MY",
     true,
     true,
     true,
     {{{"Jalan", "Jln"}, {"Lorong", "Lrg"}, {"Lebuh", "Lebuh"}}},
     {"Kenari", "Ipoh Lama", "Rambutan"},
     {"Taiping", "Alor Setar", "Kuching"},
     "99999",
     {"", ""}},
});

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Made {
  const Land* land = nullptr;
  std::size_t type = 0, name = 0, town = 0;
  std::string house, code, unit_id;

  static Made up(Dice& dice) {
    Made made;
    made.land = &kLands[dice.below(kLands.size())];
    made.type = dice.below(3);
    made.name = dice.below(3);
    made.town = dice.below(3);
    made.house = std::to_string(1 + dice.below(400));
    if (dice.one_in(6)) made.house += static_cast<char>('A' + dice.below(3));
    if (!made.land->unit.full.empty() && dice.one_in(3))
      made.unit_id = std::to_string(1 + dice.below(400));
    for (const char c : made.land->code) {
      if (c == '9')
        made.code += static_cast<char>('1' + dice.below(9));
      else if (c == 'A')
        made.code += static_cast<char>('A' + dice.below(26));
      else
        made.code += c;
    }
    return made;
  }

  [[nodiscard]] Country country() const { return {land->country[0], land->country[1]}; }
  [[nodiscard]] std::string road(bool full) const {
    const std::string word(full ? land->types[type].full : land->types[type].brief);
    const std::string called(land->names[name]);
    return land->type_in_front ? word + " " + called : called + " " + word;
  }
  [[nodiscard]] std::string unit(bool full) const {
    if (unit_id.empty()) return {};
    return std::string(full ? land->unit.full : land->unit.brief) + " " + unit_id;
  }
  [[nodiscard]] std::string text(bool full) const {
    std::string line = land->number_in_front ? house + " " + road(full) : road(full) + " " + house;
    if (!unit_id.empty()) line += ", " + unit(full);
    const std::string called(land->towns[town]);
    return line + ", " + (land->town_behind_code ? code + " " + called : called + " " + code);
  }
};

Canonical normalized(const QueryView& query) {
  static Normalizer normalizer;
  auto canonical = normalizer.normalize(query);
  EXPECT_TRUE(canonical.has_value()) << query.text << query.road;
  return canonical ? *canonical : Canonical{};
}
Canonical normalized(std::string_view text, Country country) {
  QueryView query;
  query.text = text;
  query.country = country;
  return normalized(query);
}

std::string canonical_text(const Canonical& canonical) {
  static Normalizer normalizer;
  return normalizer.canonical_text(canonical);
}

/// Trailing commas, and one between the number and its road: commas in fields are no content.
Canonical from_fields(const Made& made, bool full, bool commas) {
  const std::string end = commas ? "," : "";
  const std::string road = made.road(full) + end;
  const std::string unit = made.unit_id.empty() ? "" : made.unit(full) + end;
  const std::string town = std::string(made.land->towns[made.town]) + end;
  const std::string code = made.code + end;
  const std::string house = made.house + end;
  const std::string street = made.land->number_in_front ? made.house + ", " + made.road(full)
                                                        : made.road(full) + ", " + made.house;
  QueryView query;
  query.country = made.country();
  query.road = commas ? street : road;
  if (!commas) query.house_number = house;
  query.unit = unit;
  query.city = town;
  query.postcode = code;
  return normalized(query);
}

/// Letters with marks taken apart, as some systems send them.
std::string decomposed(std::string_view text) {
  struct Pair {
    std::string_view composed, decomposed;
  };
  constexpr auto kPairs = std::to_array<Pair>({
      {"é", "e\u0301"}, {"á", "a\u0301"}, {"í", "i\u0301"}, {"ó", "o\u0301"}, {"ü", "u\u0308"},
      {"ö", "o\u0308"}, {"ä", "a\u0308"}, {"å", "a\u030A"}, {"ç", "c\u0327"}, {"ã", "a\u0303"},
      {"è", "e\u0300"}, {"ê", "e\u0302"}, {"î", "i\u0302"}, {"ñ", "n\u0303"}, {"ś", "s\u0301"},
      {"ń", "n\u0301"}, {"ř", "r\u030C"}, {"ž", "z\u030C"}, {"ý", "y\u0301"}, {"ő", "o\u030B"},
      {"ș", "s\u0326"}, {"ț", "t\u0326"}, {"â", "a\u0302"}, {"й", "и\u0306"}, {"ё", "е\u0308"},
      {"ї", "і\u0308"}, {"ğ", "g\u0306"}, {"É", "E\u0301"},
  });
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    const auto* const pair = std::ranges::find_if(
        kPairs, [rest](const Pair& row) { return rest.starts_with(row.composed); });
    if (pair == kPairs.end()) {
      out += text[i++];
    } else {
      out += pair->decomposed;
      i += pair->composed.size();
    }
  }
  return out;
}

/// Other letters of ASCII words, other spaces; commas keep their places.
std::string noisy(std::string_view text, Dice& dice) {
  std::string out;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == ' ') out.append(1 + dice.below(2), ' ');
    if (c == ',') out += dice.one_in(2) ? " ," : ",";
    if (c != ' ' && c != ',') out += is_letter && dice.one_in(2) ? static_cast<char>(c ^ 0x20) : c;
  }
  return out;
}

class WorldProperty : public testing::Test {
 protected:
  /// Tries `property` on as many addresses as its share of the cases allows.
  template <class Property>
  void try_out(std::uint64_t salt, int properties, Property property) {
    constexpr int kTests = 4;
    Dice dice(kSeed + salt);
    for (int i = cases_to_try() / kTests / properties; i > 0 && !HasFatalFailure(); --i)
      property(dice);
  }
};

TEST_F(WorldProperty, case_space_form_and_abbreviation_do_not_count) {
  try_out(1, 4, [](Dice& dice) {
    const Made made = Made::up(dice);
    const std::string text = made.text(true);
    const Canonical plain = normalized(text, made.country());
    ASSERT_EQ(plain.mode, Mode::parsed) << text;
    for (const auto& other : {noisy(text, dice),
                              decomposed(text),
                              made.text(false),
                              noisy(decomposed(made.text(false)), dice)})
      ASSERT_EQ(pre_image(plain), pre_image(normalized(other, made.country())))
          << text << " / " << other;
  });
}

TEST_F(WorldProperty, fields_reach_the_key_of_the_text_and_their_commas_do_not_count) {
  try_out(2, 2, [](Dice& dice) {
    const Made made = Made::up(dice);
    const bool full = dice.one_in(2);
    const auto text = pre_image(normalized(made.text(!full), made.country()));
    ASSERT_EQ(text, pre_image(from_fields(made, full, false))) << made.text(full);
    ASSERT_EQ(text, pre_image(from_fields(made, full, true))) << made.text(full);
  });
}

TEST_F(WorldProperty, every_part_counts) {
  try_out(3, 8, [](Dice& dice) {
    const Made made = Made::up(dice);
    const bool full = dice.one_in(2);
    const std::string text = made.text(full);
    const auto before = pre_image(normalized(text, made.country()));
    const auto expect_other = [&](const std::string& changed, const char* what) {
      ASSERT_NE(before, pre_image(normalized(changed, made.country())))
          << what << ": " << text << " / " << changed;
    };
    Made other = made;
    other.type = (made.type + 1 + dice.below(2)) % 3;
    expect_other(other.text(full), "type");
    other = made;
    other.name = (made.name + 1 + dice.below(2)) % 3;
    expect_other(other.text(full), "name");
    other = made;
    other.town = (made.town + 1 + dice.below(2)) % 3;
    if (made.land->towns[0] != made.land->towns[1]) expect_other(other.text(full), "town");
    other = made;
    other.house += made.house.back() > '9' ? "" : "B";
    other.house.insert(0, "1");
    expect_other(other.text(full), "house");
    other = made;
    if (!made.land->unit.full.empty()) {
      other.unit_id = made.unit_id.empty() ? "7" : "";
      expect_other(other.text(full), "a unit, or none");
    }
    other = made;
    if (!made.unit_id.empty() && made.unit_id != made.house) {
      std::swap(other.house, other.unit_id);
      expect_other(other.text(full), "house and unit");
    }
    std::vector<std::size_t> digits;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] >= '0' && text[i] <= '9') digits.push_back(i);
    std::string changed = text;
    char& digit = changed[digits[dice.below(digits.size())]];
    digit = static_cast<char>('0' + (digit - '0' + 1 + static_cast<int>(dice.below(9))) % 10);
    expect_other(changed, "digit");
    // The words of the name in another order, or without one of them.
    const std::string_view name = made.land->names[made.name];
    const auto space = name.find(' ');
    if (space != std::string_view::npos) {
      const auto at = text.find(name);
      std::string turned(name.substr(space + 1));
      ((turned += ' ') += name.substr(0, space));
      expect_other(std::string(text).replace(at, name.size(), turned), "order");
      expect_other(std::string(text).replace(at, space + 1, ""), "word");
    }
  });
}

TEST_F(WorldProperty, normalising_twice_is_normalising_once) {
  try_out(4, 2, [](Dice& dice) {
    const Made made = Made::up(dice);
    std::string text = made.text(dice.one_in(2));
    if (dice.one_in(3)) std::erase(text, ',');
    if (dice.one_in(4)) {  // words in an order that nobody writes
      const auto space = text.find(' ', dice.below(text.size()));
      if (space != std::string::npos) text = text.substr(space + 1) + " " + text.substr(0, space);
    }
    const Canonical once = normalized(text, made.country());
    ASSERT_EQ(once, normalized(canonical_text(once), made.country()))
        << text << " → " << canonical_text(once);
    const auto parsed = parse_pre_image(pre_image(once));
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(once, *parsed) << text;
  });
}

}  // namespace
}  // namespace geonce
