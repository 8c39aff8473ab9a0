#include "core/normalize_lexicon.h"

#include <array>
#include <cstring>

#include "core/each_part.h"

namespace geonce {
namespace {

struct TypeRow {
  std::string_view code, spellings;
  bool in_towns;
};
struct UnitRow {
  std::string_view code, spellings;
  bool stands_alone, sure;
};
struct AdminRow {
  std::string_view code, names;
};

constexpr auto kTypesUs = std::to_array<TypeRow>({
#include "core/tables/street_types_us.inc"
});
constexpr auto kTypesCa = std::to_array<TypeRow>({
#include "core/tables/street_types_ca.inc"
});
constexpr auto kUnits = std::to_array<UnitRow>({
#include "core/tables/units_us.inc"
});
constexpr auto kAdminsUs = std::to_array<AdminRow>({
#include "core/tables/admins_us.inc"
});
constexpr auto kAdminsCa = std::to_array<AdminRow>({
#include "core/tables/admins_ca.inc"
});
constexpr auto kDirections = std::to_array<AdminRow>({
    {"n", "north"},
    {"s", "south"},
    {"e", "east"},
    {"w", "west"},
    {"ne", "northeast"},
    {"nw", "northwest"},
    {"se", "southeast"},
    {"sw", "southwest"},
});
constexpr auto kNumbers = std::to_array<std::string_view>({"one",
                                                           "two",
                                                           "three",
                                                           "four",
                                                           "five",
                                                           "six",
                                                           "seven",
                                                           "eight",
                                                           "nine",
                                                           "ten",
                                                           "eleven",
                                                           "twelve",
                                                           "thirteen",
                                                           "fourteen",
                                                           "fifteen",
                                                           "sixteen",
                                                           "seventeen",
                                                           "eighteen",
                                                           "nineteen"});
constexpr auto kOrdinals = std::to_array<std::string_view>({"first",
                                                            "second",
                                                            "third",
                                                            "fourth",
                                                            "fifth",
                                                            "sixth",
                                                            "seventh",
                                                            "eighth",
                                                            "ninth",
                                                            "tenth",
                                                            "eleventh",
                                                            "twelfth",
                                                            "thirteenth",
                                                            "fourteenth",
                                                            "fifteenth",
                                                            "sixteenth",
                                                            "seventeenth",
                                                            "eighteenth",
                                                            "nineteenth"});
constexpr auto kTens = std::to_array<AdminRow>({{"twenty", "twentieth"},
                                                {"thirty", "thirtieth"},
                                                {"forty", "fortieth"},
                                                {"fifty", "fiftieth"},
                                                {"sixty", "sixtieth"},
                                                {"seventy", "seventieth"},
                                                {"eighty", "eightieth"},
                                                {"ninety", "ninetieth"}});
constexpr std::string_view kHighwayOpeners =
    "i interstate ih us u united state st sr sh county co cnty cr cth ch crt fm farm rm ranch rr "
    "twp "
    "township hwy highway highwy hiway hway rt rte route loop park old bus business alt alternate "
    "spur "
    "truck byp bypass autoroute aut range rge regional reg concession con conc";
constexpr std::string_view kBoxOpeners =
    "po p pob post rr r rural rfd rd route rt rte hc hcr h highway star psc cmr unit general "
    "drawer "
    "caller lockbox lock cp c case";

constexpr std::string_view kNumberOwners =
    "i ih interstate us sr sh cr cth ch crt fm rm rr rt rte route hwy highway highwy hiway hway "
    "twp loop "
    "box no number drawer caller";

/// Words are short: two loads that overlap hold all of most of them.
std::uint64_t hash(std::string_view text) {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (text.size() >= 8) {
    std::memcpy(&head, begin, 8);
    std::memcpy(&tail, end - 8, 8);
  } else if (text.size() >= 4) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::memcpy(&a, begin, 4);
    std::memcpy(&b, end - 4, 4);
    head = a;
    tail = b;
  } else if (!text.empty()) {
    head = static_cast<unsigned char>(text.front());
    tail = static_cast<std::uint64_t>(static_cast<unsigned char>(text[text.size() / 2])) << 8U |
           static_cast<unsigned char>(text.back());
  }
  std::uint64_t mixed = (head ^ (tail * 0x9E3779B97F4A7C15U) ^ text.size()) * 0xD6E8FEB86659FD93U;
  return mixed ^ (mixed >> 32U);
}

}  // namespace

std::size_t Lexicon::slot_of(std::string_view text) const {
  std::size_t slot = hash(text) % kSlots;
  while (slots_[slot] != 0 && words_[slots_[slot]].text != text) slot = (slot + 1) % kSlots;
  return slot;
}

Word& Lexicon::at(std::string_view text) {
  GEONCE_EXPECTS(text.size() <= kLongestWord && words_.size() < kSlots / 2);
  const auto slot = slot_of(text);
  if (slots_[slot] == 0) {
    slots_[slot] = static_cast<std::uint16_t>(words_.size());
    words_.emplace_back();
    words_.back().text = text;
  }
  return words_[slots_[slot]];
}

void Lexicon::add_admin(std::string_view code, std::string_view names) {
  at(code).admin = code;
  each_part(names, ';', [&](std::string_view name) {
    if (name.find(' ') == std::string_view::npos) {
      at(name).admin = code;
    } else {
      long_admins_.push_back({code, name});
    }
  });
}

Lexicon::Lexicon() {
  words_.reserve(kSlots / 2);
  words_.emplace_back();  // the unknown word
  const auto add_type = [this](const TypeRow& row) {
    const auto add = [&](std::string_view spelling) {
      at(spelling).type = row.code;
      at(spelling).in_towns = row.in_towns;
    };
    add(row.code);
    each_part(row.spellings, ' ', add);
  };
  for (const auto& row : kTypesUs) add_type(row);
  for (const auto& row : kUnits) {
    const auto add = [&](std::string_view spelling) {
      Word& word = at(spelling);
      word.unit = row.code;
      word.stands_alone = row.stands_alone;
      word.sure_unit = row.sure;
    };
    add(row.code);
    each_part(row.spellings, ' ', add);
  }
  for (const auto& row : kDirections) at(row.code).direction = at(row.names).direction = row.code;
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    at(kNumbers[i]).number = static_cast<std::uint8_t>(i + 1);
    at(kOrdinals[i]).ordinal = static_cast<std::uint8_t>(i + 1);
  }
  for (std::size_t i = 0; i < std::size(kTens); ++i)
    at(kTens[i].code).number = at(kTens[i].names).ordinal = static_cast<std::uint8_t>(20 + 10 * i);
  each_part(kHighwayOpeners, ' ', [this](std::string_view text) { at(text).opens_highway = true; });
  each_part(kNumberOwners, ' ', [this](std::string_view text) { at(text).owns_number = true; });
  each_part(kBoxOpeners, ' ', [this](std::string_view text) { at(text).opens_box = true; });
}

const Lexicon& Lexicon::us() {
  static const Lexicon kLexicon = [] {
    Lexicon lexicon;
    for (const auto& row : kAdminsUs) lexicon.add_admin(row.code, row.names);
    return lexicon;
  }();
  return kLexicon;
}

const Lexicon& Lexicon::ca() {
  static const Lexicon kLexicon = [] {
    Lexicon lexicon;
    for (const auto& row : kTypesCa) {
      const auto add = [&](std::string_view spelling) {
        lexicon.at(spelling).type = row.code;
        lexicon.at(spelling).in_towns = row.in_towns;
      };
      add(row.code);
      each_part(row.spellings, ' ', add);
    }
    for (const auto& row : kAdminsCa) lexicon.add_admin(row.code, row.names);
    return lexicon;
  }();
  return kLexicon;
}

const Word& Lexicon::find(std::string_view text) const { return words_[slots_[slot_of(text)]]; }

void Lexicon::annotate(Tokens& tokens) const {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    const bool may_be_known = token.kind == Token::letters && token.size() <= kLongestWord;
    token.word = may_be_known ? &find(tokens.view(i)) : &words_.front();
  }
}

}  // namespace geonce
