#include "core/normalize_world.h"

#include <algorithm>
#include <array>
#include <utility>

namespace geonce {
namespace {

void append_word(std::string_view word, std::string& out) {
  if (word.empty()) return;
  if (!out.empty()) out += ' ';
  out += word;
}

void append_unit(std::string_view unit_class, std::string_view id, std::string& out) {
  if (!out.empty()) out += ';';
  out += unit_class;
  if (!id.empty()) {
    out += ':';
    out += id;
  }
}

bool starts_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

/// The number of an ordinal: 3e, 3eme, 2nd, 4º.
std::string_view number_of(std::string_view ordinal) {
  constexpr std::array<std::string_view, 23> kEndings{
      "e",  "eme", "ème", "er", "ere", "ère", "nd", "rd", "th", "st", "º", "o",
      "ro", "do",  "to",  "vo", "mo",  "no",  "ra", "da", "ta", "va", "ª"};
  const auto digits = std::min(ordinal.find_first_not_of("0123456789"), ordinal.size());
  const auto ending = ordinal.substr(digits);
  const bool is_ordinal = ending.empty() || std::ranges::find(kEndings, ending) != kEndings.end();
  return is_ordinal ? ordinal.substr(0, digits) : ordinal;
}

/// 4th, 1er: no house number.
bool is_ordinal(std::string_view text) {
  constexpr std::array<std::string_view, 6> kEndings{"st", "nd", "rd", "th", "eme", "er"};
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && std::ranges::find(kEndings, text.substr(digits)) != kEndings.end();
}

/// Han, Kana or Hangul.
bool has_cjk(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0xE3 && byte <= 0xED) || byte == 0xF0;
  });
}

/// Letters of the script that a country reads as one.
bool has_script(CountryRules::Script script, std::string_view text) {
  switch (script) {
    case CountryRules::Script::words:
      return false;
    case CountryRules::Script::unspaced:
    case CountryRules::Script::spaced:
      return has_cjk(text);
    case CountryRules::Script::thai:
      return text.find("\xE0\xB8") != std::string_view::npos ||
             text.find("\xE0\xB9") != std::string_view::npos;
  }
  return false;
}

bool ends_in_cjk(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && (static_cast<unsigned char>(text[at - 1]) & 0xC0U) == 0x80U) --at;
  return at > 0 && has_cjk(text.substr(at - 1, 1));
}

/// Where the districts end that open a text in Han: behind the first 市, 區 or the like.
std::size_t district_end(std::string_view text) {
  constexpr std::size_t kCharacter = 3;
  constexpr std::array<std::string_view, 8> kDistricts{
      "市", "区", "區", "县", "縣", "町", "村", "郡"};
  for (std::size_t at = kCharacter; at + kCharacter <= text.size(); ++at) {
    const auto here = text.substr(at, kCharacter);
    if (std::ranges::find(kDistricts, here) == kDistricts.end()) continue;
    const bool doubled = text.substr(at + kCharacter).starts_with(here);  // 四日市市
    return at + (doubled ? 2 : 1) * kCharacter;
  }
  return 0;
}

/// Where the districts end that open a text in Hangul: behind the last of the words in 도, 시, 군,
/// 구.
std::size_t korean_district_end(std::string_view text) {
  constexpr std::array<std::string_view, 4> kDistricts{"도", "시", "군", "구"};
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t begin = end == 0 ? 0 : end + 1;
    const auto word = text.substr(begin, text.find(' ', begin) - begin);
    const bool is_district =
        std::ranges::any_of(kDistricts, [word](auto ending) { return word.ends_with(ending); });
    if (!is_district) break;
    end = begin + word.size();
  }
  return end;
}

/// One letter of any script.
bool is_one_letter(const Token& token, std::string_view text) {
  if (token.kind != Token::letters || text.size() > 2) return false;
  return text.size() == 1 || (static_cast<unsigned char>(text[0]) & 0xE0U) == 0xC0U;
}

}  // namespace

void WorldGrammar::begin(const Tokens& tokens, Country country) {
  tokens_ = &tokens;
  if (book_ == nullptr || country != country_) {
    country_ = country;
    rules_ = rules_of(country);
    book_ = &WordBook::of(*rules_, country);
  }
  book_->look_up(tokens, text_);
}

void WorldGrammar::split(Range range, std::vector<Range>& segments) const {
  for (std::size_t i = range.first; i < range.last;) {
    std::size_t end = i + 1;
    while (end < range.last && !(*tokens_)[end].after_break) ++end;
    // A dash at an end is a break of its own: `Via Roma, 10 - 20121 Milano`.
    Range segment{i, end};
    while (!segment.empty() && tokens_->view(segment.first) == "-") ++segment.first;
    while (!segment.empty() && tokens_->view(segment.last - 1) == "-") --segment.last;
    if (!segment.empty()) segments.push_back(segment);
    i = end;
  }
}

// --- the parts ---------------------------------------------------------------------------------

/// A floor whose number stands before its word: `12/F`, `12th Floor`, `3e étage`.
WordBook::Found WorldGrammar::storey(std::size_t i,
                                     std::size_t last,
                                     std::string_view& number) const {
  const auto text = tokens_->view(i);
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) return {};
  auto rest = text.substr(digits);
  number = text.substr(0, digits);
  if (rest.empty() || number_of(text) == number) {
    auto word = book_->at(WordKind::storey, text_, i + 1, last);
    if (word && !(*tokens_)[i + 1].after_break) {
      ++word.count;
      return word;
    }
  }
  if (rest.starts_with('/')) rest.remove_prefix(1);
  return rest.empty() ? WordBook::Found{} : book_->word(WordKind::storey, rest);
}

std::size_t WorldGrammar::leading_units(Range range, std::string& out) const {
  constexpr int kMost = 8;  // an address has no more
  std::size_t i = range.first;
  for (int count = 0; i < range.last && count < kMost; ++count) {
    std::string_view number;
    if (const auto floor = storey(i, range.last, number)) {
      append_unit(floor.code, number, out);
      i += floor.count;
      continue;
    }
    if (const auto alone = book_->at(WordKind::alone, text_, i, range.last)) {
      append_unit(alone.code, {}, out);
      i += alone.count;
      continue;
    }
    auto word = book_->at(WordKind::unit, text_, i, range.last);
    if (!word && tokens_->view(i) == "#" && !book_->at(WordKind::mark, text_, i, i + 1))
      word = {"unit", 1};
    if (!word && glued_unit(i, out)) {
      ++i;
      continue;
    }
    if (!word || book_->at(WordKind::mark, text_, i, range.last)) break;
    std::size_t id = i + word.count;
    if (const auto mark =
            id < range.last ? book_->at(WordKind::mark, text_, id, range.last) : WordBook::Found{})
      id += mark.count;
    if (id < range.last && tokens_->view(id) == "#") ++id;
    if (id >= range.last) break;
    const Token& token = (*tokens_)[id];
    const auto text = tokens_->view(id);
    if (!token.has_digit() && !is_one_letter(token, text)) break;
    // Unit 3/18 Pandanus Parade
    if (rules_->slash == CountryRules::Slash::unit_first &&
        text.find('/') != std::string_view::npos && id + 1 < range.last &&
        !(*tokens_)[id + 1].after_break && !(*tokens_)[id + 1].has_digit())
      break;
    std::string whole(text);
    ++id;
    // `12 b`: one id, if nothing else follows the letter.
    if (id < range.last && is_one_letter((*tokens_)[id], tokens_->view(id)) && token.is_number() &&
        (id + 1 == range.last || book_->at(WordKind::unit, text_, id + 1, range.last))) {
      whole += tokens_->view(id);
      ++id;
    }
    append_unit(word.code, whole, out);
    i = id;
  }
  return i;
}

/// `U3`, `L6`, where a slash after the unit is usual and so are its short forms.
bool WorldGrammar::glued_unit(std::size_t i, std::string& out) const {
  const auto text = tokens_->view(i);
  const auto digit = text.find_first_of("0123456789");
  if (rules_->slash != CountryRules::Slash::unit_first || digit == 0 ||
      digit == std::string_view::npos || text.find('/') != std::string_view::npos)
    return false;
  const auto word = book_->word(WordKind::unit, text.substr(0, digit));
  if (word) append_unit(word.code, text.substr(digit), out);
  return word.count > 0;
}

bool WorldGrammar::units(Range range, std::string& out) const {
  if (range.empty()) return false;
  std::string found;
  if (leading_units(range, found) != range.last) {
    // 3e étage, 2nd floor
    const auto word = book_->at(WordKind::unit, text_, range.first + 1, range.last);
    if (!starts_with_digit(tokens_->view(range.first)) || !word || word.count + 1 != range.size())
      return false;
    found.clear();
    append_unit(word.code, number_of(tokens_->view(range.first)), found);
  }
  if (!out.empty()) out += ';';
  out += found;
  return true;
}

/// The box that opens the range, and where it ends; `range.first` when there is none.
std::size_t WorldGrammar::box(Range range, std::string& out) const {
  constexpr std::size_t kLongestLetters = 3;  // P.O. Box KS 2210
  const auto word = book_->at(WordKind::box, text_, range.first, range.last);
  if (!word) return range.first;
  std::size_t i = range.first + word.count;
  if (const auto mark = book_->at(WordKind::mark, text_, i, range.last)) i += mark.count;
  if (i < range.last && tokens_->view(i) == "#") ++i;
  std::string id;
  if (i + 1 < range.last && (*tokens_)[i].kind == Token::letters &&
      (*tokens_)[i].size() <= kLongestLetters && (*tokens_)[i + 1].is_number())
    id = tokens_->view(i++);
  for (; i < range.last; ++i) {
    auto text = tokens_->view(i);
    const bool is_dash = text == "-" && i + 1 < range.last && (*tokens_)[i + 1].has_digit();
    if (!is_dash && !(*tokens_)[i].has_digit()) break;
    const bool is_apart = !id.empty() && !is_dash && id.back() != '-' && starts_with_digit(text) &&
                          id.find_first_of("0123456789") != std::string_view::npos;
    if (is_apart && country_ != Country('D', 'E')) id += ' ';  // Postfach 10 20 30 is 102030
    id += text;
  }
  // N-4820 is N4820.
  const auto digit = id.find_first_of("0123456789");
  if (digit == std::string_view::npos) return range.first;
  if (digit > 1 && id[digit - 1] == '-') id.erase(digit - 1, 1);
  out = word.code;
  out += ':';
  out += id;
  return i;
}

/// `2º A`, `3 izq`, `2 th`, `B`: what stands behind a house number without a word for what it is.
bool WorldGrammar::is_door(Range range) const {
  constexpr std::size_t kLongestWord = 4;
  if (range.empty() || range.size() > 4) return false;
  const Token& first = (*tokens_)[range.first];
  if (range.size() == 1 && is_one_letter(first, tokens_->view(range.first))) return true;
  if (range.size() == 1 && first.has_digit() && !first.is_number()) return true;  // B8, H0203
  if (!starts_with_digit(tokens_->view(range.first))) return false;
  for (std::size_t i = range.first + 1; i < range.last; ++i) {
    const bool is_known =
        book_->at(WordKind::alone, text_, i, i + 1) || book_->at(WordKind::unit, text_, i, i + 1);
    if (!is_known && !(*tokens_)[i].has_digit() && (*tokens_)[i].size() > kLongestWord)
      return false;
  }
  return range.size() > 1 || !first.is_number();
}

/// Doors are in the words of the country where it has some, else as spelt.
void WorldGrammar::door(Range range, std::string& out) const {
  if (range.empty() || units(range, out)) return;
  std::string words;
  for (std::size_t i = range.first; i < range.last;) {
    auto word = book_->at(WordKind::unit, text_, i, range.last);
    if (!word) word = book_->at(WordKind::alone, text_, i, range.last);
    auto text = word ? word.code : tokens_->view(i);
    // 3ºB is 3º B.
    constexpr std::string_view kOrdinal = "º";
    if (const auto at = text.find(kOrdinal);
        at != std::string_view::npos && starts_with_digit(text)) {
      append_word(text.substr(0, at + kOrdinal.size()), words);
      text.remove_prefix(at + kOrdinal.size());
    }
    append_word(text, words);
    i += word ? word.count : 1;
  }
  append_unit(words, {}, out);
}

/// `2 A Market Place`: a letter that two words follow belongs to the number in front, unless it may
/// open a name (`d Artagnan`, `l Etoile`, `O Brien`).
bool WorldGrammar::opens_no_name(std::size_t i, std::size_t last) const {
  const auto text = tokens_->view(i);
  return rules_->house != CountryRules::House::behind && text.size() == 1 && text[0] >= 'a' &&
         text[0] <= 'h' && text[0] != 'd' && i + 2 < last && !(*tokens_)[i + 1].has_digit() &&
         !book_->at(WordKind::last, text_, i + 1, i + 2);
}

/// `Q 7`: the blocks of Mannheim.
bool WorldGrammar::is_square(Range range) const {
  return country_ == Country('D', 'E') && range.size() == 2 &&
         is_one_letter((*tokens_)[range.first], tokens_->view(range.first)) &&
         (*tokens_)[range.first + 1].is_number() && (*tokens_)[range.first + 1].size() == 1;
}

/// A street type and its number, and nothing else: `Road 11`, `Street No. 7`.
bool WorldGrammar::is_numbered_road(Range range) const {
  if (is_square(range)) return true;
  auto type = book_->at(WordKind::front, text_, range.first, range.last);
  // RD 1 is a rural delivery round of New Zealand.
  if (!type && rules_->house != CountryRules::House::behind && country_ != Country('N', 'Z'))
    type = book_->at(WordKind::last, text_, range.first, range.last);
  std::size_t i = range.first + type.count;
  if (!type || i >= range.last) return false;
  if (rules_->house != CountryRules::House::behind)
    if (const auto mark = book_->at(WordKind::mark, text_, i, range.last)) i += mark.count;
  return i + 1 == range.last && starts_with_digit(tokens_->view(i));
}

/// `B-14`, as the plots of many quarters of India and its neighbours are numbered.
bool WorldGrammar::is_lettered_house(std::string_view text) const {
  return rules_->words.find("en_in") != std::string_view::npos && text.size() > 2 &&
         text[0] >= 'a' && text[0] <= 'z' && text[1] == '-' && starts_with_digit(text.substr(2));
}

/// A house number that begins at `i`, its mark before it.
bool WorldGrammar::house_at(std::size_t i, std::size_t last, House& house) const {
  house.range.first = i;
  house.text.clear();
  if (i >= last) return false;
  if (const auto mark = book_->at(WordKind::mark, text_, i, last)) i += mark.count;
  if (i < last && tokens_->view(i) == "#") ++i;
  if (i >= last) return false;
  if (const auto none = book_->at(WordKind::no_number, text_, i, last)) {
    house.text = none.code;
    house.range.last = i + none.count;
    return true;
  }
  if (!starts_with_digit(tokens_->view(i)) && !is_lettered_house(tokens_->view(i))) return false;
  house.text = tokens_->view(i);
  ++i;
  while (i < last && !(*tokens_)[i].after_break) {
    const auto text = tokens_->view(i);
    const bool ends = i + 1 == last || (*tokens_)[i + 1].after_break;
    if (const auto word = book_->at(WordKind::extra, text_, i, last)) {
      house.text += word.code;
      i += word.count;
    } else if (text == "-" && i + 1 < last && starts_with_digit(tokens_->view(i + 1))) {
      house.text += '-';
      house.text += tokens_->view(i + 1);
      i += 2;
    } else if (text.find('/') != std::string_view::npos && text.size() == 3 &&
               starts_with_digit(text)) {  // 12 1/2
      house.text += ' ';
      house.text += text;
      ++i;
    } else if ((ends || opens_no_name(i, last)) && is_one_letter((*tokens_)[i], text) &&
               std::ranges::all_of(house.text, [](char c) { return c >= '0' && c <= '9'; })) {
      house.text += text;
      ++i;
    } else {
      break;
    }
  }
  house.range.last = i;
  return true;
}

bool WorldGrammar::house_in_front(Range range, House& house) const {
  const auto first = tokens_->view(range.first);
  if (is_ordinal(first) || !house_at(range.first, range.last, house) ||
      house.range.last >= range.last)
    return false;
  const auto next = tokens_->view(house.range.last);
  return !(*tokens_)[house.range.last].has_digit() || is_ordinal(next);
}

/// The number behind the name of the road. A number that belongs to the name is not it: `17. Juni`,
/// `Calle 26`.
bool WorldGrammar::house_behind(Range range, House& house) const {
  std::size_t end = range.last;
  for (std::size_t i = range.first + 1; i < range.last; ++i)
    if (book_->at(WordKind::unit, text_, i, range.last)) {
      std::string ignored;
      if (leading_units({i, range.last}, ignored) == i) continue;
      end = i;
      break;
    }
  const auto type = book_->at(WordKind::front, text_, range.first, range.last);
  for (std::size_t i = range.first + 1; i < end; ++i) {
    if (!house_at(i, end, house)) continue;
    const std::size_t behind = house.range.last;
    const bool is_marked = !starts_with_digit(tokens_->view(i));

    const bool is_ordinal =
        (*tokens_)[behind - 1].dotted && behind < end && (*tokens_)[behind].size() > 2;
    const bool is_name = type && i == range.first + type.count;
    if (!is_marked && (is_ordinal || is_name)) {
      i = behind - 1;
      continue;
    }
    return true;
  }
  return false;
}

/// Where the units begin that end the range; its end when there are none.
std::size_t WorldGrammar::trailing_units(Range range) const {
  for (std::size_t i = range.first + 1; i < range.last; ++i) {
    std::string ignored;
    if (leading_units({i, range.last}, ignored) == range.last) return i;
  }
  return range.last;
}

void WorldGrammar::put_house(std::string_view text, Canonical& out) const {
  const auto slash = text.find('/');
  const bool is_pair = slash != std::string_view::npos && slash + 1 < text.size() &&
                       text.find_first_not_of("0123456789", slash + 1) == std::string_view::npos;
  if (rules_->slash != CountryRules::Slash::unit_last || !is_pair || !out.unit.empty()) {
    out.house = text;
    return;
  }
  out.house = text.substr(0, slash);
  append_unit("m", text.substr(slash + 1), out.unit);
}

bool WorldGrammar::find_house(Range range, House& house) const {
  const bool is_marked = book_->at(WordKind::mark, text_, range.first, range.last).count > 0;
  if (is_marked && house_in_front(range, house)) return true;
  if (rules_->house == CountryRules::House::front) return house_in_front(range, house);
  // 12 rue Lepic
  const bool is_front = rules_->house == CountryRules::House::either && range.size() > 1 &&
                        starts_with_digit(tokens_->view(range.first)) &&
                        book_->at(WordKind::front, text_, range.first + 1, range.last);
  if (is_front && house_in_front(range, house)) return true;
  if (house_behind(range, house)) return true;
  return rules_->house == CountryRules::House::either && house_in_front(range, house);
}

/// Where the one street type of the range ends, if words follow it; `range.last` when it is the
/// last word, `range.first` when there is none or more than one.
std::size_t WorldGrammar::road_end_by_type(Range range) const {
  std::size_t end = range.first;
  for (std::size_t i = range.first + 1; i < range.last; ++i) {
    const auto type = book_->at(WordKind::last, text_, i, range.last);
    if (!type) continue;
    if (end != range.first) return range.first;
    end = i + type.count;
  }
  return end;
}

void WorldGrammar::name(Range range, std::string& out) const {
  for (std::size_t i = range.first; i < range.last;) {
    const auto word = book_->at(WordKind::name, text_, i, range.last);
    const bool stands_before_a_word =
        word && i + word.count < range.last && !(*tokens_)[i + word.count].has_digit();
    if (stands_before_a_word) {
      append_word(word.code, out);
      i += word.count;
    } else {
      append_word(tokens_->view(i), out);
      ++i;
    }
  }
}

void WorldGrammar::town_name(Range range, std::string& out) const {
  const auto word = book_->at(WordKind::town, text_, range.first, range.last);
  if (word && word.count < range.size()) range.first += word.count;
  name(range, out);
}

/// Takes the quarter off the front of a road: `Yıldız Mah. Zeytin Cad.`
void WorldGrammar::quarter(Range& range, std::string& out) const {
  for (std::size_t i = range.first + 1; i + 1 < range.last; ++i) {
    const auto word = book_->at(WordKind::quarter, text_, i, range.last);
    if (!word) continue;
    std::string segment;
    name({range.first, i}, segment);
    append_word(word.code, segment);
    append_segment(out, segment);
    range.first = i + word.count;
    return;
  }
}

void WorldGrammar::road(Range range, std::string& out) const {
  if (range.empty()) return;
  if (is_square(range)) {
    out = tokens_->view(range.first);
    out += tokens_->view(range.first + 1);
    return;
  }
  const auto front = book_->at(WordKind::front, text_, range.first, range.last);
  if (front && front.count < range.size()) {
    if (rules_->type_goes_behind) {
      name({range.first + front.count, range.last}, out);
      append_word(front.code, out);
    } else {
      append_word(front.code, out);
      name({range.first + front.count, range.last}, out);
    }
    return;
  }
  // What may stand behind the type: Church Street East, Bukit Timah Avenue 3, Street No. 7.
  Range named = range;
  std::string_view behind;
  if (const auto word = book_->before(WordKind::behind, text_, range.first, range.last)) {
    behind = word.code;
    named.last -= word.count;
  } else if (range.size() > 1 && starts_with_digit(tokens_->view(range.last - 1)) &&
             rules_->house != CountryRules::House::behind) {
    behind = tokens_->view(--named.last);
    const auto mark = book_->before(WordKind::mark, text_, range.first, named.last);
    if (mark && mark.count < named.size()) named.last -= mark.count;
  }
  const bool is_number = !behind.empty() && starts_with_digit(behind);
  auto last = book_->before(WordKind::last, text_, named.first, named.last);
  const bool has_name = last.count < named.size();
  if (!last || !(has_name || is_number)) {
    named = range;
    behind = {};
    last = book_->before(WordKind::last, text_, named.first, named.last);
  }
  if (last && (last.count < named.size() || !behind.empty())) {
    name({named.first, named.last - last.count}, out);
    append_word(last.code, out);
    append_word(behind, out);
    return;
  }
  name(range, out);
  const auto tail = book_->tail((*tokens_)[range.last - 1], tokens_->view(range.last - 1));
  if (tail.size == 0) return;
  out.resize(out.size() - tail.size);
  out += tail.code;
}

// --- a whole address, step by step
// ---------------------------------------------------------------

bool WorldGrammar::free_text(const Tokens& tokens, Range text, Canonical& out) {
  constexpr std::size_t kMostTokens = 64;  // what is longer is no address, and would take its time
  if (text.size() > kMostTokens) return false;
  begin(tokens, out.country);
  take_own_country(text);
  find_postcode(tokens, text.first, text.last, country_, postcode_);
  if (is_in_own_script(text)) {
    in_own_script(text, out);
    return true;
  }
  if (!find_segments(text, out)) return false;
  take_boxes(out);
  Street street;
  if (find_street(street)) {
    out.mode = street.house.text.empty() ? Mode::road_only : Mode::parsed;
    if (!has_boundary_ && !cut_off_town(street)) return false;
  } else if (!out.box.empty()) {
    out.mode = Mode::parsed;
  } else if (has_boundary_ && find_road(street)) {
    out.mode = Mode::road_only;
  } else {
    return false;
  }
  put_street(street, out);
  put_rest(street, out);
  return true;
}

/// `…, L-4210 Esch-sur-Alzette, Luxembourg`: where a town is called like its country, the name says
/// nothing more only behind another town and its code.
void WorldGrammar::take_own_country(Range& text) {
  std::size_t segment = text.last;
  while (segment > text.first && !(*tokens_)[segment - 1].after_break) --segment;
  if (segment <= text.first + 1) return;
  --segment;
  if (country_named(tokens_->view(segment, text.last)) != country_) return;
  std::size_t before = segment - 1;
  while (before > text.first && !(*tokens_)[before].after_break) --before;
  const auto region = book_->before(WordKind::admin, text_, before, segment);
  bool says_no_more = region.count == segment - before && before > text.first;
  if (!says_no_more) {
    find_postcode(*tokens_, text.first, segment, country_, postcode_);
    says_no_more = postcode_.found() && (rules_->town == CountryRules::Town::behind_postcode
                                             ? postcode_.last < segment
                                             : !(*tokens_)[postcode_.first].after_break);
  }
  if (says_no_more) text.last = segment;
}

/// The fields that commas and the postcode mark, without the state at their end. False: none.
bool WorldGrammar::find_segments(Range text, Canonical& out) {
  segments_.clear();
  town_ = kNone;
  if (postcode_.found()) {
    out.postcode = postcode_.code;
    split({text.first, postcode_.first}, segments_);
    const std::size_t behind = segments_.size();
    split({postcode_.last, text.last}, segments_);
    if (behind < segments_.size()) town_ = behind;
  } else {
    split(text, segments_);
  }
  take_admin(out);
  // England and its like stand behind the town, and are no country of their own here.
  if (country_ == Country('G', 'B') && segments_.size() > 2) {
    const auto last = tokens_->view(segments_.back().first, segments_.back().last);
    if (!nation_of_the_uk(last).empty()) {
      out.extra = last;
      segments_.pop_back();
    }
  }
  has_boundary_ = segments_.size() > 1 || town_ != kNone;
  spent_.assign(segments_.size(), false);
  return !segments_.empty();
}

/// A state stands last: as a segment of its own, or behind the town in one with it.
void WorldGrammar::take_admin(Canonical& out) {
  if (rules_->admins.empty() || segments_.empty()) return;
  Range& last = segments_.back();
  const bool behind_town = town_ != kNone && segments_.size() - 1 > town_;
  auto found = book_->before(WordKind::admin, text_, last.first, last.last);
  // Behind the town a name is the state's, be it a town's as well.
  if (!found && behind_town) {
    found = book_->at(WordKind::state, text_, last.first, last.last);
    if (found.count != last.size()) found = {};
  }
  if (!found) return;
  const bool whole = found.count == last.size();
  if (whole && !behind_town && (segments_.size() < 3 || town_ != kNone)) return;  // it is the town
  if (segments_.size() == 1) {
    // Without commas a code is certain before the postcode.
    constexpr std::size_t kLongestCode = 3;
    const bool is_code = found.count == 1 && (*tokens_)[last.last - 1].size() <= kLongestCode;
    if (!postcode_.found() || !is_code || last.size() < 4) return;
  }
  out.admin = found.code;
  last.last -= found.count;
  if (whole) segments_.pop_back();
}

void WorldGrammar::take_boxes(Canonical& out) {
  for (std::size_t s = 0; s < segments_.size() && out.box.empty(); ++s) {
    if (s == town_) continue;
    const std::size_t end = box(segments_[s], out.box);
    if (end == segments_[s].last)
      spent_[s] = true;
    else if (end > segments_[s].first)
      segments_[s].first = end;  // Postboks 88 Sentrum
  }
}

/// The segment of the house number, which is the street's too or stands beside it.
bool WorldGrammar::find_street(Street& street) {
  // `1117 Budapest, Kis utca 31` has the street behind the town.
  const std::size_t first = town_ == 0 ? 1 : 0;
  const std::size_t last = town_ == 0 ? segments_.size() : std::min(town_, segments_.size());
  for (std::size_t s = first; s < last; ++s) {
    if (spent_[s]) continue;
    street.units.clear();
    Range range = segments_[s];
    range.first = leading_units(range, street.units);
    if (range.empty()) continue;
    const bool has_next = s + 1 < last && !spent_[s + 1];
    const Range next = has_next ? segments_[s + 1] : Range{};
    const bool found = unit_and_house(range, street) ||
                       (has_next && house_before_road(range, next, street)) ||
                       numbered_street(range, next, street) || house_and_road(range, street) ||
                       (has_next && house_behind_road(range, next, street));
    if (!found) continue;
    street.segment = s;
    spent_[s] = true;
    if (has_next && (street.road.first == next.first || street.house.range.first == next.first))
      spent_[s + 1] = true;
    return true;
  }
  street = {};
  return false;
}

/// `5/12 Kelp St`, `Unit 5/12 Kelp St`, where the slash parts the unit from the number.
bool WorldGrammar::unit_and_house(Range range, Street& street) const {
  if (rules_->slash != CountryRules::Slash::unit_first) return false;
  auto word = book_->at(WordKind::unit, text_, range.first, range.last);
  std::size_t i = range.first + word.count;
  if (!word) word.code = "unit";
  if (i + 1 >= range.last || (*tokens_)[i + 1].has_digit()) return false;
  const auto text = tokens_->view(i);
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || !starts_with_digit(text) ||
      text.find('/', slash + 1) != std::string_view::npos)
    return false;
  append_unit(word.code, text.substr(0, slash), street.units);
  street.house.text = text.substr(slash + 1);
  street.house.range = {i, ++i};
  street.road = {i, range.last};
  return true;
}

/// `9 bis, rue des Lilas`
bool WorldGrammar::house_before_road(Range range, Range next, Street& street) const {
  const auto name = tokens_->view(next.first);
  // `KG 14 Ave, House 22, Kigali`: the last line is the town.
  const bool is_town = next.last == segments_.back().last && town_ == kNone &&
                       (range.first != segments_.front().first || postcode_.found());
  if (rules_->house == CountryRules::House::behind || is_town ||
      (starts_with_digit(name) && !is_ordinal(name)) ||
      !house_at(range.first, range.last, street.house) || street.house.range.last != range.last)
    return false;
  street.road = next;
  return true;
}

/// `Road 11`, `Calle 50`: the number is the street's name. The house may stand in the next segment.
bool WorldGrammar::numbered_street(Range range, Range next, Street& street) const {
  Range road = range;
  road.last = trailing_units(range);
  if (!is_numbered_road(road)) return false;
  street.road = road;
  street.tail = {road.last, range.last};
  street.house = {};
  const bool is_house = !next.empty() && street.tail.empty() &&
                        (book_->at(WordKind::mark, text_, next.first, next.last) ||
                         rules_->house == CountryRules::House::behind) &&
                        house_at(next.first, next.last, street.house) &&
                        street.house.range.last == next.last;
  if (!is_house) street.house = {};
  street.house.range.first = is_house ? next.first : kNone;
  return true;
}

bool WorldGrammar::house_and_road(Range range, Street& street) const {
  if (!find_house(range, street.house)) {
    street.house = {};
    return false;
  }
  if (street.house.range.first == range.first) {
    street.road = {street.house.range.last, range.last};
    street.tail = {trailing_units(street.road), range.last};
    street.road.last = street.tail.first;
  } else {
    street.road = {range.first, street.house.range.first};
    street.tail = {street.house.range.last, range.last};
  }
  return true;
}

/// `Calle Olivo, 7`
bool WorldGrammar::house_behind_road(Range range, Range next, Street& street) const {
  if (!house_at(next.first, next.last, street.house)) return false;
  if (rules_->house == CountryRules::House::front) {
    // KG 14 Ave, House 22, Kigali
    const bool is_marked = book_->at(WordKind::mark, text_, next.first, next.last).count > 0;
    const std::size_t before = segments_.size() - std::min<std::size_t>(2, segments_.size());
    if (!is_marked || town_ != kNone || segments_[before].first != next.first) return false;
  }
  const Range behind{street.house.range.last, next.last};
  if (!behind.empty() && !is_door(behind) &&
      !book_->at(WordKind::unit, text_, behind.first, behind.last))
    return false;
  street.road = range;
  street.tail = behind;
  return true;
}

/// A street without a number: the first segment that is no unit.
bool WorldGrammar::find_road(Street& street) {
  const std::size_t first = town_ == 0 ? 1 : 0;
  const std::size_t last = town_ == 0 ? segments_.size() : std::min(town_, segments_.size());
  std::size_t s = first;
  while (s < last && units(segments_[s], street.units)) spent_[s++] = true;
  if (s == last) return false;
  // `Plot 57, Sector 22, Gandhinagar 382022`: the last one is the town.
  const bool is_town = s > first && s + 1 == segments_.size() && postcode_.found();
  if (is_town) return true;
  street.road = segments_[s];
  street.road.first = leading_units(street.road, street.units);
  street.tail = {trailing_units(street.road), street.road.last};
  // Barrio El Centro
  if (!street.tail.empty() &&
      book_->at(WordKind::alone, text_, street.tail.first, street.tail.last))
    street.tail.first = street.tail.last;
  street.road.last = street.tail.first;
  street.segment = s;
  spent_[s] = true;
  return true;
}

/// One segment holds all: the town begins behind the number, or behind the one street type.
bool WorldGrammar::cut_off_town(Street& street) {
  Range town;
  if (!street.tail.empty() && street.house.range.first > street.road.first) {
    town = {leading_units(street.tail, street.units), street.tail.last};
    street.tail = {};
  } else if (rules_->house != CountryRules::House::behind) {
    // 12 High Street Flat 3 London
    for (std::size_t i = street.road.first + 1; i < street.road.last; ++i) {
      std::string found;
      const std::size_t behind = leading_units({i, street.road.last}, found);
      if (behind == i) continue;
      append_unit(found, {}, street.units);
      town = {behind, street.road.last};
      street.road.last = i;
      break;
    }
    const std::size_t end = town.empty() ? road_end_by_type(street.road) : street.road.last;
    if (end == street.road.first) return false;
    if (town.empty()) town = {end, street.road.last};
    street.road.last = end;
  }
  if (town.empty()) return true;
  segments_.push_back(town);
  spent_.push_back(false);
  return true;
}

void WorldGrammar::put_street(const Street& street, Canonical& out) const {
  Range name = street.road;
  quarter(name, out.extra);
  road(name, out.road);
  out.unit = street.units;
  door(street.tail, out.unit);
}

/// Units, the town and what else there is.
void WorldGrammar::put_rest(const Street& street, Canonical& out) const {
  std::vector<Range> others;
  bool beside_street = street.segment != kNone && !street.house.text.empty();
  std::size_t town = kNone;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (spent_[s]) continue;
    const Range range = segments_[s];
    if (s != town_ && units(range, out.unit)) continue;
    const bool is_behind = street.segment != kNone && s > street.segment;
    if (s != town_ && beside_street && is_behind && is_door(range)) {
      door(range, out.unit);
      continue;
    }
    if (is_behind) beside_street = false;
    if (s == town_) town = others.size();
    others.push_back(range);
  }
  put_house(street.house.text, out);
  if (town == kNone && !others.empty()) town = others.size() - 1;
  if (town != kNone) town_name(others[town], out.locality);
  // A county is no town, where one stands before it.
  if (town != kNone && town > 0 && out.admin.empty() && out.locality.starts_with("county ")) {
    out.admin = std::exchange(out.locality, {});
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(town--));
    town_name(others[town], out.locality);
  }
  for (std::size_t i = 0; i < others.size(); ++i)
    if (i != town) add_extra(others[i], out.extra);
}

void WorldGrammar::add_extra(Range range, std::string& out) const {
  for (std::size_t i = range.first; i < range.last;) {
    std::size_t end = i + 1;
    while (end < range.last && !(*tokens_)[end].after_break) ++end;
    std::string segment;
    road({i, end}, segment);
    append_segment(out, segment);
    i = end;
  }
}

bool WorldGrammar::is_in_own_script(Range text) const {
  const std::size_t end = postcode_.found() ? postcode_.first : text.last;
  return has_script(rules_->script, tokens_->view(text.first, end)) ||
         (postcode_.found() &&
          has_script(rules_->script, tokens_->view(postcode_.last, text.last)));
}

/// Han and Hangul are written from the large to the small without a mark between, so a text is
/// taken in that order whole; Thai from the small to the large. The districts in front, or its last
/// word,, or the last word, are the locality.
void WorldGrammar::in_own_script(Range text, Canonical& out) const {
  using enum CountryRules::Script;
  std::string line;
  bool has_number = false;
  const auto add = [&](Range range) {
    for (std::size_t i = range.first; i < range.last; ++i) {
      const auto word = tokens_->view(i);
      has_number = has_number || (*tokens_)[i].has_digit();
      const bool joins =
          rules_->script == unspaced && ends_in_cjk(line) && has_cjk(word.substr(0, 1));
      if (!line.empty() && !joins) line += ' ';
      line += word;
    }
  };
  if (postcode_.found()) {
    out.postcode = postcode_.code;
    add({text.first, postcode_.first});
    add({postcode_.last, text.last});
  } else {
    add(text);
  }
  out.mode = has_number ? Mode::parsed : Mode::road_only;
  if (rules_->script == thai) {
    const auto town = line.rfind(' ');
    const bool is_word = town != std::string_view::npos &&
                         line.find_first_of("0123456789", town) == std::string_view::npos;
    out.road = line.substr(0, is_word ? town : std::string_view::npos);
    if (is_word) out.locality = line.substr(town + 1);
    return;
  }
  const std::size_t end =
      rules_->script == unspaced ? district_end(line) : korean_district_end(line);
  out.locality = line.substr(0, end);
  out.road = line.substr(std::min(line.size(), line.find_first_not_of(' ', end)));
}

bool WorldGrammar::reads_as_one(const QueryView& query, Country country) {
  const CountryRules* rules = rules_of(country);
  if (rules == nullptr || rules->script == CountryRules::Script::words) return false;
  return std::ranges::any_of(
      std::array{query.state, query.city, query.suburb, query.road, query.text},
      [rules](std::string_view field) { return has_script(rules->script, field); });
}

std::string WorldGrammar::in_one_line(const QueryView& query, Country country) {
  std::string line;
  if (rules_of(country)->script == CountryRules::Script::thai) {
    for (const auto field : {query.house,
                             query.unit,
                             query.house_number,
                             query.road,
                             query.text,
                             query.suburb,
                             query.city,
                             query.state,
                             query.po_box,
                             query.postcode})
      append_word(field, line);
  } else {
    for (const auto field : {query.postcode,
                             query.state,
                             query.city,
                             query.suburb,
                             query.road,
                             query.text,
                             query.house_number,
                             query.house,
                             query.unit,
                             query.po_box})
      append_word(field, line);
  }
  return line;
}

Result<void> WorldGrammar::fields(const Tokens& tokens, const Parts& parts, Canonical& out) {
  begin(tokens, out.country);
  Street street;
  Range districts = find_line(parts, street);
  const std::size_t box_end = parts.house_number.empty() && !street.road.empty()
                                  ? box(street.road, out.box)
                                  : street.road.first;
  if (!out.box.empty()) {
    districts = {box_end, std::max(districts.last, street.road.last)};
    street.road = {};
  } else if (!parts.house_number.empty()) {
    take_number(parts.house_number, street);
    drop_number(street);
  } else if (!street.road.empty()) {
    find_number(street);
  }
  put_street(street, out);
  put_unit(parts.unit, out);
  if (!street.house.text.empty()) put_house(street.house.text, out);
  if (!parts.po_box.empty() && box(parts.po_box, out.box) != parts.po_box.last) {
    out.box = "pobox:";
    out.box += tokens.view(parts.po_box.first, parts.po_box.last);
  }
  add_extra(parts.house, out.extra);
  if (!parts.road.empty()) add_extra(parts.text, out.extra);
  add_extra(districts, out.extra);
  add_extra(parts.suburb, out.extra);
  out.mode = out.house.empty() && out.box.empty() ? Mode::road_only : Mode::parsed;
  return put_town(parts, out);
}

/// The line of the street in a road field, and what stands behind it: districts. A number in the
/// field may have a comma on either side (`12, High Street`, `Calle Olivo, 7`), and units before
/// it.
Range WorldGrammar::find_line(const Parts& parts, Street& street) {
  segments_.clear();
  split(parts.road.empty() ? parts.text : parts.road, segments_);
  if (segments_.empty()) return {};
  std::size_t s = 0;
  if (parts.house_number.empty())
    while (s + 1 < segments_.size() && units(segments_[s], street.units)) ++s;
  street.road = segments_[s];
  const bool may_go_on = parts.house_number.empty() && s + 1 < segments_.size();
  if (may_go_on) {
    const Range next = segments_[s + 1];
    House house;
    const bool is_number = house_at(street.road.first, street.road.last, house) &&
                           house.range.last == street.road.last;
    const bool number_follows = !is_number && rules_->house != CountryRules::House::front &&
                                !find_house(street.road, house) &&
                                house_at(next.first, next.last, house);
    if (is_number || number_follows) street.road.last = segments_[++s].last;
  }
  if (s + 1 == segments_.size()) return {};
  return {segments_[s + 1].first, segments_.back().last};
}

/// A field for the number alone, which may hold the unit as well.
void WorldGrammar::take_number(Range number, Street& street) const {
  const auto first = tokens_->view(number.first);
  const auto slash = first.find('/');
  House& house = street.house;
  if (rules_->slash == CountryRules::Slash::unit_first && slash != std::string_view::npos &&
      starts_with_digit(first)) {
    append_unit("unit", first.substr(0, slash), street.units);
    house.text = first.substr(slash + 1);
    append_flat(*tokens_, {number.first + 1, number.last}, house.text);
  } else if (house_at(number.first, number.last, house)) {
    street.tail = {house.range.last, number.last};
  } else if (!units(number, street.units)) {
    append_flat(*tokens_, number, house.text);
  }
}

/// A road field that repeats the number which has a field of its own: `Lindenstraße 8`, 8.
void WorldGrammar::drop_number(Street& street) const {
  House again;
  const Range road = street.road;
  if (road.empty() || is_numbered_road(road) || !find_house(road, again) ||
      again.text != street.house.text)
    return;
  if (again.range.first == road.first && again.range.last < road.last)
    street.road.first = again.range.last;
  else if (again.range.last == road.last && again.range.first > road.first)
    street.road.last = again.range.first;
}

/// The number in the line of a road field.
void WorldGrammar::find_number(Street& street) const {
  Range& line = street.road;
  line.first = leading_units(line, street.units);
  if (line.empty() || unit_and_house(line, street) || is_numbered_road(line)) return;
  house_and_road(Range(line), street);
}

void WorldGrammar::put_unit(Range unit, Canonical& out) const {
  const bool is_number = unit.size() == 1 && starts_with_digit(tokens_->view(unit.first));
  if (is_number && rules_->slash == CountryRules::Slash::unit_last)
    append_unit("m", tokens_->view(unit.first), out.unit);
  else if (is_number && rules_->slash == CountryRules::Slash::unit_first)
    append_unit("unit", tokens_->view(unit.first), out.unit);
  else
    doors(unit, out.unit);
}

/// City, state and postcode of an address in fields. A city field may hold districts, and repeat
/// the other two.
Result<void> WorldGrammar::put_town(const Parts& parts, Canonical& out) {
  Range city = parts.city;
  out.postcode = postcode_field(*tokens_, parts.postcode.first, parts.postcode.last, out.country);
  if (!parts.state.empty()) put_state(parts.state, out);
  if (auto done = take_postcode(city, out); !done) return done;
  if (auto done = take_state(city, out); !done) return done;
  std::size_t last = city.last;
  while (last > city.first + 1 && !(*tokens_)[last - 1].after_break) --last;
  if (last > city.first + 1) {
    add_extra({city.first, last - 1}, out.extra);
    city.first = last - 1;
  }
  town_name(city, out.locality);
  return {};
}

void WorldGrammar::put_state(Range state, Canonical& out) const {
  for (const auto kind : {WordKind::admin, WordKind::state}) {
    const auto admin = book_->at(kind, text_, state.first, state.last);
    if (admin && admin.count == state.size()) {
      out.admin = admin.code;
      return;
    }
  }
  name(state, out.admin);
}

/// `28014 Madrid`, `Leeds LS7 4AB`
Result<void> WorldGrammar::take_postcode(Range& city, Canonical& out) {
  if (city.size() < 2) return {};
  find_postcode_of_town(*tokens_, city.first, city.last, country_, postcode_);
  if (!postcode_.found()) return {};
  if (out.postcode.empty())
    out.postcode = postcode_.code;
  else if (out.postcode != postcode_.code)
    return contradiction("postcodes");
  if (postcode_.first == city.first)
    city.first = postcode_.last;
  else
    city.last = postcode_.first;
  return {};
}

/// `Perth WA`, `Milano (MI)`
Result<void> WorldGrammar::take_state(Range& city, Canonical& out) const {
  const auto admin = book_->before(WordKind::admin, text_, city.first, city.last);
  if (!admin || admin.count >= city.size()) return {};
  const Token& first = (*tokens_)[city.last - admin.count];
  if (out.admin.empty())
    out.admin = admin.code;
  else if (out.admin != admin.code)
    return first.after_break ? contradiction("states") : Result<void>();  // Ciudad de Mexico
  city.last -= admin.count;
  return {};
}

void WorldGrammar::doors(Range range, std::string& out) const {
  for (std::size_t i = range.first; i < range.last;) {
    std::size_t end = i + 1;
    while (end < range.last && !(*tokens_)[end].after_break) ++end;
    door({i, end}, out);
    i = end;
  }
}

std::string WorldGrammar::one_line(const Canonical& canonical, const CountryRules& rules) {
  std::string line;
  if (has_script(rules.script, canonical.locality + canonical.road)) {
    if (rules.script == CountryRules::Script::thai) {
      for (const auto* part : {&canonical.road, &canonical.locality, &canonical.postcode})
        append_word(*part, line);
      return line;
    }
    line = canonical.postcode;
    append_word(canonical.locality, line);
    const bool joins = rules.script == CountryRules::Script::unspaced &&
                       !canonical.locality.empty() && has_cjk(canonical.road.substr(0, 1));
    if (joins)
      line += canonical.road;
    else
      append_word(canonical.road, line);
    return line;
  }
  const bool in_front = rules.house == CountryRules::House::front;
  // Behind a name that ends in a number the house number would not be told apart.
  const bool has_own_line = rules.house == CountryRules::House::either && !canonical.road.empty() &&
                            canonical.road.back() >= '0' && canonical.road.back() <= '9';
  if (has_own_line) {
    line = canonical.house;
    append_segment(line, canonical.road);
  } else {
    if (in_front) line = canonical.house;
    append_word(canonical.road, line);
    if (!in_front) append_word(canonical.house, line);
  }
  std::string segments;
  for (std::size_t begin = 0; begin < canonical.unit.size();) {
    const auto end = std::min(canonical.unit.find(';', begin), canonical.unit.size());
    std::string unit = canonical.unit.substr(begin, end - begin);
    // A door without a word for it that begins with a letter stands right behind the number.
    const bool is_bare =
        unit.find(':') == std::string::npos && unit.size() > 1 && !starts_with_digit(unit);
    std::ranges::replace(unit, ':', ' ');
    if (is_bare && begin == 0 && !in_front)
      append_word(unit, line);
    else
      append_segment(segments, unit);
    begin = end + 1;
  }
  append_segment(line, segments);
  std::string box = canonical.box;
  std::ranges::replace(box, ':', ' ');
  if (box.starts_with("pobox ")) box = "po box " + box.substr(6);
  append_segment(line, box);
  append_segment(line, canonical.extra);
  std::string last = canonical.locality;
  if (rules.town == CountryRules::Town::behind_postcode) {
    last = canonical.postcode;
    append_word(canonical.locality, last);
    append_segment(line, last);
    append_segment(line, canonical.admin);
  } else {
    append_segment(line, last);
    last = canonical.admin;
    if (!canonical.postcode.empty()) append_word(canonical.postcode, last);
    append_segment(line, last);
  }
  return line;
}

}  // namespace geonce
