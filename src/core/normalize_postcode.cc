#include "core/normalize_postcode.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace geonce {
namespace {

constexpr std::size_t kLongest = 3;  // tokens of a postcode, with the country's mark

/// Where a code may stand so that it cannot be a house number.
enum class Place : std::uint8_t {
  anywhere,     // no house number looks like it
  before_town,  // opens a field and a word follows, or a house number stands before it
  at_the_end,   // the last token
  behind_town,  // the last token, behind a word, and the house number is another
};

/// Forms are written with 9 for a digit, A for a letter, X for either; a space in the form is a
/// token boundary that may be missing, `-` a hyphen that may be missing or a space. UPU addressing
/// sheets per country.
struct Rule {
  std::string_view countries;
  std::string_view form;
  Place place;
  std::string_view prefixes = {};  // country marks before it (`D-10115`), left out
  bool keeps_space = false;        // the canonical form keeps the space of `form`
};

constexpr std::array kRules{
    Rule{"GB IM JE GG", "A9 9AA", Place::anywhere, {}, true},
    Rule{"GB IM JE GG", "A99 9AA", Place::anywhere, {}, true},
    Rule{"GB IM JE GG", "A9A 9AA", Place::anywhere, {}, true},
    Rule{"GB IM JE GG", "AA9 9AA", Place::anywhere, {}, true},
    Rule{"GB IM JE GG GI", "AA99 9AA", Place::anywhere, {}, true},
    Rule{"GB IM JE GG", "AA9A 9AA", Place::anywhere, {}, true},
    Rule{"FK SH PN GS IO TC", "AAAA 9AA", Place::anywhere, {}, true},
    Rule{"IE", "A99 XXXX", Place::anywhere, {}, true},
    Rule{"IE", "A9A XXXX", Place::anywhere, {}, true},  // D6W
    Rule{"NL", "9999 AA", Place::anywhere, "nl", true},
    Rule{"SE CZ SK GR", "999 99", Place::anywhere, "s se cz sk gr"},
    Rule{"BR", "99999-999", Place::anywhere, "cep br"},
    Rule{"PT", "9999-999", Place::anywhere, "pt"},
    Rule{"PL", "99-999", Place::anywhere, "pl"},
    Rule{"JP", "999-9999", Place::anywhere, "〒"},
    Rule{"IN", "999 999", Place::anywhere},
    Rule{"IN", "999 999", Place::at_the_end},
    Rule{"DE", "99999", Place::anywhere, "d de"},
    Rule{"FR GP MQ GF RE YT PM BL MF WF PF NC MC", "99999", Place::anywhere, "f fr mc"},
    Rule{"UY", "99999", Place::anywhere},
    Rule{"AR", "A9999 AAA", Place::anywhere, "cp"},
    Rule{"AR", "A9999", Place::anywhere, "cp"},
    Rule{"AR", "9999", Place::before_town, "cp"},
    Rule{"TZ", "99999", Place::behind_town},
    Rule{"IT SM VA", "99999", Place::anywhere, "i it sm v va"},
    Rule{"ES AD", "99999", Place::anywhere, "e es cp"},
    Rule{"FI AX", "99999", Place::anywhere, "fi fin ax"},
    Rule{"EE HR RS ME BA TR MX UA", "99999", Place::anywhere, "ee hr rs me ba tr mx ua cp"},
    Rule{"LT", "99999", Place::anywhere, "lt"},
    Rule{"KR", "99999", Place::anywhere},
    Rule{"RU BY KZ CN SG RO", "999999", Place::anywhere, "ru by kz cn ro"},
    Rule{"AD", "AA999", Place::anywhere},
    Rule{"AZ", "AA9999", Place::anywhere, {}},
    Rule{"AZ", "AA 9999", Place::anywhere, {}},
    Rule{"FO IS", "999", Place::before_town, "fo is"},
    Rule{"AT CH LI BE LU DK GL NO SJ SI HU BG",
         "9999",
         Place::before_town,
         "a at ch fl li b be l lu dk gl n no si h hu bg"},
    Rule{"MK AL CY GE AM", "9999", Place::before_town, "mk al cy ge am"},
    Rule{"XK", "99999", Place::anywhere, "xk"},
    Rule{"LV", "9999", Place::before_town, "lv"},
    Rule{"MD", "9999", Place::before_town, "md"},
    Rule{"TN MA", "9999", Place::before_town, "tn"},
    Rule{"MA DZ SN MY", "99999", Place::anywhere},
    Rule{"AU NZ ZA PH", "9999", Place::at_the_end},
    Rule{"BD MZ CV PY VE GE AM LR", "9999", Place::behind_town},
    Rule{"EG SA JO KE PK LK TH VN ID PE CR GT CL IQ KW LB BH MM MN NP IL MU HN NI DO CU KH AF ZM "
         "SD BT MV",
         "99999",
         Place::behind_town},
    Rule{"SA", "99999-9999", Place::behind_town},
    Rule{"NG EC CO VN TW KG TJ TM UZ", "999999", Place::behind_town},
    Rule{"IL CL", "9999999", Place::behind_town},
    Rule{"IR", "9999999999", Place::behind_town},
    Rule{"TW", "999", Place::behind_town},
    Rule{"TW", "99999", Place::behind_town},
    Rule{"MT", "AAA 9999", Place::anywhere},
    Rule{"BN VG HT", "AA 9999", Place::anywhere},
    Rule{"BM", "AA 99", Place::at_the_end},
    Rule{"BB", "AA 99999", Place::anywhere},
    Rule{"KY", "AA9-9999", Place::anywhere},
    Rule{"SZ", "A999", Place::at_the_end},
    Rule{"MG", "999", Place::before_town},
    Rule{"TT", "999999", Place::behind_town},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    const auto end = at + word.size();
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// `text` has the form, with or without its space or hyphen; writes the canonical code.
bool matches(std::string_view text, const Rule& rule, std::string& code) {
  code.clear();
  std::size_t at = 0;
  for (const char f : rule.form) {
    if (f == ' ' || f == '-') {
      if (at < text.size() && (text[at] == ' ' || text[at] == '-')) ++at;
      if (rule.keeps_space) code += ' ';
      continue;
    }
    if (at == text.size()) return false;
    const char c = text[at++];
    if (f == '9' ? !is_digit(c) : f == 'A' ? !is_letter(c) : !(is_digit(c) || is_letter(c)))
      return false;
    code += c;
  }
  if (at != text.size()) return false;
  // The routing key of an Eircode looks like a road (N71); a word behind it is not an identifier.
  return rule.form.find('X') == std::string_view::npos ||
         std::string_view(code).substr(code.size() - 4).find_first_of("0123456789") !=
             std::string_view::npos;
}

/// Whether a mark before a postcode stands for this country: its code, or the sign of its vehicles.
/// In Austria `B 5020` is a staircase and a postcode.
bool is_mark_of(Country country, std::string_view mark) {
  struct Sign {
    std::string_view country, marks;
  };
  constexpr std::array<Sign, 18> kSigns{{{"AR", "cp"},
                                         {"AT", "a"},
                                         {"AX", "fin"},
                                         {"BE", "b"},
                                         {"BR", "cep"},
                                         {"DE", "d"},
                                         {"ES", "e cp"},
                                         {"FI", "fin"},
                                         {"FR", "f"},
                                         {"GL", "dk"},
                                         {"HU", "h"},
                                         {"IT", "i"},
                                         {"JP", "〒"},
                                         {"LI", "fl"},
                                         {"LU", "l"},
                                         {"MX", "cp"},
                                         {"NO", "n"},
                                         {"SE", "s"}}};
  const auto code = country.code();
  if (mark.size() == 2 && mark[0] == code[0] - 'A' + 'a' && mark[1] == code[1] - 'A' + 'a')
    return true;
  for (const Sign& sign : kSigns)
    if (sign.country == code) return has_word(sign.marks, mark);
  return false;
}

/// Tokens [first, last) hold this code, perhaps behind the mark of its own country.
bool matches(const Tokens& tokens,
             std::size_t first,
             std::size_t last,
             const Rule& rule,
             Country country,
             std::string& code) {
  for (std::size_t i = first + 1; i < last; ++i)
    if (tokens[i].after_break) return false;
  std::string_view text = tokens.view(first, last);
  if (matches(text, rule, code)) return true;
  if (rule.prefixes.empty()) return false;
  const auto digit = text.find_first_of("0123456789");
  if (digit == 0 || digit == std::string_view::npos) return false;
  auto prefix = text.substr(0, digit);
  const bool hangs_together = prefix.back() != ' ';
  if (prefix.back() == '-' || prefix.back() == ' ') prefix.remove_suffix(1);
  // `12 A 1050` is number 12a.
  if (prefix.size() == 1 && !hangs_together && !tokens[first].after_break) return false;
  return is_mark_of(country, prefix) && has_word(rule.prefixes, prefix) &&
         matches(text.substr(digit), rule, code);
}

std::span<const Rule* const> rules_for(Country country) {
  static const auto kByCountry = [] {
    std::array<std::vector<const Rule*>, Country::kIndices> by_country;
    for (const Rule& rule : kRules)
      for (std::size_t i = 0; i < rule.countries.size(); i += 3)
        by_country.at(Country(rule.countries[i], rule.countries[i + 1]).index()).push_back(&rule);
    return by_country;
  }();
  return kByCountry[country.index()];
}

/// A number behind one of these is its own.
bool owns_number(std::string_view word) {
  constexpr std::array<std::string_view, 22> kOwners{
      "#",    "no",  "nr",    "num",      "number", "box",     "bag",   "unit",
      "flat", "apt", "suite", "shop",     "level",  "lot",     "house", "casa",
      "km",   "cp",  "bp",    "postfach", "boks",   "apartado"};
  return std::ranges::find(kOwners, word) != kOwners.end();
}

/// `1117 Budapest, Kis utca 31`: the town comes first, and its code is not the house number.
bool another_line_has_a_number(const Tokens& tokens, std::size_t first, std::size_t last) {
  bool is_next_line = false;
  for (std::size_t i = first; i < last; ++i) {
    is_next_line = is_next_line || tokens[i].after_break;
    if (is_next_line && tokens[i].has_digit()) return true;
  }
  return false;
}

/// Tokens [first, last) of the text [begin, end) stand where a code of this kind is certain to be
/// one.
bool may_stand(
    const Tokens& tokens, Range text, std::size_t first, std::size_t last, const Rule& rule) {
  const bool begins_text = first == text.first;
  const bool ends_text = last == text.last;
  const bool opens = tokens[first].after_break || begins_text;
  const bool alone = opens && (ends_text || tokens[last].after_break);
  const bool word_follows = !ends_text && !tokens[last].after_break && !tokens[last].has_digit();
  const bool letter_before = first >= text.first + 2 && tokens[first - 1].size() == 1 &&
                             !tokens[first - 1].after_break && tokens[first - 2].has_digit();
  const bool number_before = !begins_text && (tokens[first - 1].has_digit() || letter_before);
  const bool marked =
      !is_digit(tokens.view(first, last).front()) && is_digit(rule.form[0]);  // A-1050
  if (!opens && owns_number(tokens.view(first - 1))) return false;
  // Before a word of several Han or Hangul characters, which has no number in front.
  constexpr std::size_t kTwoCharacters = 6;
  if (begins_text && !ends_text && tokens[last].size() >= kTwoCharacters &&
      static_cast<unsigned char>(tokens.view(last).front()) >= 0xE3)
    return true;
  switch (rule.place) {
    case Place::anywhere: {
      if (rule.form.find_first_of("AX") != std::string_view::npos || marked) return true;
      if (!begins_text && (alone || (opens && word_follows))) return true;
      constexpr std::size_t kLongestHouse = 6;  // digits
      if (rule.form.size() > kLongestHouse) return true;
      // A number alone in its text is the house's.
      for (std::size_t i = text.first; i < text.last; ++i)
        if ((i < first || i >= last) && tokens[i].has_digit()) return true;
      return false;
    }
    case Place::before_town:
      if (begins_text) return word_follows && another_line_has_a_number(tokens, last, text.last);
      return ((alone || marked) && ends_text) ||
             (word_follows && (opens || number_before || marked));
    case Place::behind_town: {
      constexpr std::size_t kLongestHouse = 6;  // digits
      if (begins_text || !ends_text) return false;
      if (rule.form.size() > kLongestHouse && alone) return true;
      if (tokens[first - 1].has_digit()) return false;
      // Five digits behind the town of a later line.
      if (!opens && last - first == 1 && tokens[first].size() >= 5)
        for (std::size_t i = text.first + 1; i < first; ++i)
          if (tokens[i].after_break) return true;
      for (std::size_t i = text.first; i < first; ++i)
        if (tokens[i].has_digit()) return true;
      return false;
    }
    case Place::at_the_end:
      return ends_text && !begins_text;
  }
  return false;
}

}  // namespace

void find_postcode(
    const Tokens& tokens, std::size_t first, std::size_t last, Country country, Postcode& out) {
  // 1234 AB and B1900 AND are the forms that end in letters alone.
  constexpr std::size_t kFewestLetters = 2, kMostLetters = 3;
  out.first = out.last = 0;
  out.code.clear();
  const auto rules = rules_for(country);
  if (rules.empty()) return;
  for (std::size_t end = last; end > first; --end) {
    const auto& token = tokens[end - 1];
    if (!token.has_digit() && token.size() != kFewestLetters && token.size() != kMostLetters)
      continue;
    for (const Rule* rule : rules) {
      for (std::size_t length = std::min(kLongest, end - first); length >= 1; --length) {
        const std::size_t begin = end - length;
        if (!matches(tokens, begin, end, *rule, country, out.code) ||
            !may_stand(tokens, {first, last}, begin, end, *rule))
          continue;
        out.first = begin;
        out.last = end;
        return;
      }
    }
  }
  out.code.clear();
}

void find_postcode_of_town(
    const Tokens& tokens, std::size_t first, std::size_t last, Country country, Postcode& out) {
  for (std::size_t length = std::min(kLongest, last - first - 1); length >= 1; --length)
    for (const std::size_t begin : {first, last - length})
      for (const Rule* rule : rules_for(country))
        if (matches(tokens, begin, begin + length, *rule, country, out.code)) {
          out.first = begin;
          out.last = begin + length;
          return;
        }
  out = {};
}

std::string postcode_field(const Tokens& tokens,
                           std::size_t first,
                           std::size_t last,
                           Country country) {
  std::string code;
  for (const Rule* rule : rules_for(country))
    if (first < last && matches(tokens, first, last, *rule, country, code)) return code;
  return std::string(tokens.view(first, last));
}

}  // namespace geonce
