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
  constexpr std::array<std::string_view, 10> kEndings{
      "e", "eme", "er", "ere", "nd", "rd", "th", "st", "º", "o"};
  const auto digits = std::min(ordinal.find_first_not_of("0123456789"), ordinal.size());
  const auto ending = ordinal.substr(digits);
  const bool is_ordinal = ending.empty() || std::ranges::find(kEndings, ending) != kEndings.end();
  return is_ordinal ? ordinal.substr(0, digits) : ordinal;
}

/// Han, Kana or Hangul, in a text of a country that writes them.
bool has_cjk(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0xE3; });
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
    segments.push_back({i, end});
    i = end;
  }
}

// --- the parts ---------------------------------------------------------------------------------

/// A state stands last, as a field of its own or behind the town.
void WorldGrammar::take_admin(std::vector<Range>& segments,
                              std::size_t town,
                              Canonical& out) const {
  if (rules_->admins.empty() || segments.size() < 2) return;
  Range& last = segments.back();
  const auto found = book_->before(WordKind::admin, text_, last.first, last.last);
  if (!found) return;
  const bool whole = found.count == last.size();
  if (whole && (segments.size() < 3 || segments.size() - 1 == town)) return;  // it is the town
  out.admin = found.code;
  last.last -= found.count;
  if (whole) segments.pop_back();
}

std::size_t WorldGrammar::leading_units(Range range, std::string& out) const {
  std::size_t i = range.first;
  while (i < range.last) {
    if (const auto alone = book_->at(WordKind::alone, text_, i, range.last)) {
      append_unit(alone.code, {}, out);
      i += alone.count;
      continue;
    }
    auto word = book_->at(WordKind::unit, text_, i, range.last);
    if (!word && tokens_->view(i) == "#" && !book_->at(WordKind::mark, text_, i, i + 1))
      word = {"unit", 1};
    if (!word) break;
    std::size_t id = i + word.count;
    if (const auto mark =
            id < range.last ? book_->at(WordKind::mark, text_, id, range.last) : WordBook::Found{})
      id += mark.count;
    if (id < range.last && tokens_->view(id) == "#") ++id;
    if (id >= range.last) break;
    const Token& token = (*tokens_)[id];
    const auto text = tokens_->view(id);
    if (!token.has_digit() && !is_one_letter(token, text)) break;
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

bool WorldGrammar::box(Range range, std::string& out) const {
  const auto word = book_->at(WordKind::box, text_, range.first, range.last);
  if (!word) return false;
  std::size_t id = range.first + word.count;
  if (id < range.last && (tokens_->view(id) == "#" || tokens_->view(id) == "no")) ++id;
  if (id >= range.last) return false;
  for (std::size_t i = id; i < range.last; ++i)
    if (!(*tokens_)[i].has_digit()) return false;
  out = word.code;
  out += ':';
  out += tokens_->view(id, range.last);
  return true;
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
    if (const auto at = text.find(kOrdinal); at != text.npos && starts_with_digit(text)) {
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

/// A house number that begins at `i`, its mark before it.
bool WorldGrammar::house_at(std::size_t i, std::size_t last, House& house) const {
  house.range.first = i;
  house.text.clear();
  if (i >= last) return false;
  if (const auto mark = book_->at(WordKind::mark, text_, i, last)) i += mark.count;
  if (i < last && tokens_->view(i) == "#") ++i;
  if (i >= last || !starts_with_digit(tokens_->view(i))) return false;
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
  return house_at(range.first, range.last, house) && house.range.last < range.last &&
         !(*tokens_)[house.range.last].has_digit();
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
  for (std::size_t i = range.first + 1; i < end; ++i) {
    if (!house_at(i, end, house)) continue;
    const std::size_t behind = house.range.last;
    const bool is_marked = !starts_with_digit(tokens_->view(i));
    bool more = false;
    for (std::size_t k = behind; k < end; ++k) more = more || starts_with_digit(tokens_->view(k));
    const bool is_ordinal =
        (*tokens_)[behind - 1].dotted && behind < end && (*tokens_)[behind].size() > 2;
    const bool is_name =
        i == range.first + 1 && book_->at(WordKind::front, text_, range.first, range.last);
    if (!is_marked && (is_ordinal || (is_name && more))) {
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
  const bool is_pair = slash != text.npos && slash + 1 < text.size() &&
                       text.find_first_not_of("0123456789", slash + 1) == text.npos;
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
  const auto last = book_->before(WordKind::last, text_, range.first, range.last);
  if (last && last.count < range.size()) {
    name({range.first, range.last - last.count}, out);
    append_word(last.code, out);
    return;
  }
  name(range, out);
  const auto tail = book_->tail((*tokens_)[range.last - 1], tokens_->view(range.last - 1));
  if (tail.size == 0) return;
  out.resize(out.size() - tail.size);
  out += tail.code;
}

// --- a whole address -----------------------------------------------------------------------------

bool WorldGrammar::free_text(const Tokens& tokens, Range text, Canonical& out) {
  begin(tokens, out.country);
  if (rules_->countries.starts_with("CN") && has_cjk(tokens.view(text.first, text.last)))
    return false;
  find_postcode(tokens, text.first, text.last, country_, postcode_);
  segments_.clear();
  const bool coded = postcode_.found();
  split({text.first, coded ? postcode_.first : text.last}, segments_);
  std::size_t town = segments_.size();  // index of the segment behind the postcode
  if (coded) {
    out.postcode = postcode_.code;
    split({postcode_.last, text.last}, segments_);
  }
  const bool has_town_behind = coded && town < segments_.size();
  if (!has_town_behind) town = SIZE_MAX;
  take_admin(segments_, town, out);
  if (segments_.empty()) return false;
  // England and its like stand behind the town, and are no country of their own here.
  if (segments_.size() > 2 && country_ == Country('G', 'B') &&
      !nation_of_the_uk(tokens.view(segments_.back().first, segments_.back().last)).empty()) {
    out.extra = tokens.view(segments_.back().first, segments_.back().last);
    segments_.pop_back();
  }
  const bool has_boundary = segments_.size() > 1 || has_town_behind;

  std::vector<bool> spent(segments_.size());
  for (std::size_t s = 0; s < segments_.size(); ++s)
    if (s != town && out.box.empty() && box(segments_[s], out.box)) spent[s] = true;

  // Where the street stands: at the first house number.
  House house;
  std::size_t street = SIZE_MAX;
  std::string lead;
  Range road_range, tail;
  // `1117 Budapest, Kis utca 31` has the street behind the town.
  const std::size_t streets = town == 0 ? segments_.size() : std::min(town, segments_.size());
  std::size_t used = 0;  // segments up to here are spent
  for (std::size_t s = town == 0 ? 1 : 0; s < streets && street == SIZE_MAX; ++s) {
    if (spent[s]) continue;
    Range range = segments_[s];
    std::string found;
    const std::size_t behind_units = leading_units(range, found);
    if (behind_units == range.last) continue;
    range.first = behind_units;
    const auto first = tokens.view(range.first);
    const auto slash = first.find('/');
    if (rules_->slash == CountryRules::Slash::unit_first && behind_units == segments_[s].first &&
        slash != std::string_view::npos && starts_with_digit(first) && range.size() > 1 &&
        !tokens[range.first + 1].has_digit() && first.find('/', slash + 1) == first.npos) {
      append_unit("unit", first.substr(0, slash), lead);
      house.text = first.substr(slash + 1);
      road_range = {range.first + 1, range.last};
      street = s;
    } else if (house_at(range.first, range.last, house) && house.range.last == range.last &&
               s + 1 < streets && rules_->house != CountryRules::House::behind &&
               !tokens[segments_[s + 1].first].has_digit()) {  // 9 bis, rue des Lilas
      road_range = segments_[s + 1];
      spent[s + 1] = true;
      street = s;
    } else if (find_house(range, house)) {
      const bool in_front = house.range.first == range.first;
      if (in_front) {
        road_range = {house.range.last, range.last};
        tail = {trailing_units(road_range), range.last};
        road_range.last = tail.first;
      } else {
        road_range = {range.first, house.range.first};
        tail = {house.range.last, range.last};
      }
      street = s;
    } else if (s + 1 < streets && rules_->house != CountryRules::House::front &&
               house_at(segments_[s + 1].first, segments_[s + 1].last, house) &&
               (house.range.last == segments_[s + 1].last ||
                is_door({house.range.last, segments_[s + 1].last}) ||
                book_->at(WordKind::unit, text_, house.range.last, segments_[s + 1].last))) {
      road_range = range;  // Calle Olivo, 7
      tail = {house.range.last, segments_[s + 1].last};
      spent[s + 1] = true;
      street = s;
    } else {
      continue;
    }
    if (!found.empty()) append_unit(found, {}, lead);
    spent[s] = true;
    used = s;
  }

  std::vector<Range> others;
  if (street == SIZE_MAX) {
    house = {};
    if (!out.box.empty()) {
      out.mode = Mode::parsed;
    } else {
      std::size_t first = town == 0 ? 1 : 0;
      while (first < streets && units(segments_[first], lead)) spent[first++] = true;
      if (!has_boundary || first >= streets) return false;
      road_range = segments_[first];
      spent[first] = true;
      used = first;
      out.mode = Mode::road_only;
    }
  } else {
    out.mode = Mode::parsed;
  }

  if (street != SIZE_MAX && !has_boundary) {
    // One segment: the town begins behind the number or behind the one street type.
    if (!tail.empty() && house.range.first > road_range.first) {
      tail.first = leading_units(tail, lead);
      if (!tail.empty()) others.push_back(tail);
      tail = {};
    } else if (rules_->house != CountryRules::House::behind) {
      const std::size_t end = road_end_by_type(road_range);
      if (end == road_range.first) return false;
      if (end < road_range.last) others.push_back({end, road_range.last});
      road_range.last = end;
    }
  } else if (street != SIZE_MAX && segments_.size() == 1 && coded && !has_town_behind &&
             rules_->house == CountryRules::House::front) {
    return false;
  }
  quarter(road_range, out.extra);
  road(road_range, out.road);
  out.unit = lead;
  door(tail, out.unit);
  std::size_t seen_behind = 0;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (spent[s]) continue;
    const Range range = segments_[s];
    if (s != town && units(range, out.unit)) continue;
    if (s != town && street != SIZE_MAX && s > used && seen_behind == 0 && is_door(range)) {
      door(range, out.unit);
      continue;
    }
    if (s > used) ++seen_behind;
    others.push_back(range);
  }
  if (street != SIZE_MAX) put_house(house.text, out);
  const std::size_t locality = [&] {
    if (has_town_behind)
      for (std::size_t i = 0; i < others.size(); ++i)
        if (others[i].first == segments_[town].first) return i;
    return others.empty() ? SIZE_MAX : others.size() - 1;
  }();
  for (std::size_t i = 0; i < others.size(); ++i) {
    std::string segment;
    if (i == locality) {
      town_name(others[i], out.locality);
      // A county is no town, where one stands before it.
      if (i > 0 && out.admin.empty() && out.locality.starts_with("county ")) {
        out.admin = std::exchange(out.locality, {});
        town_name(others[i - 1], out.locality);
        out.extra.clear();
        for (std::size_t k = 0; k + 1 < i; ++k) {
          segment.clear();
          road(others[k], segment);
          append_segment(out.extra, segment);
        }
      }
    } else {
      road(others[i], segment);
      append_segment(out.extra, segment);
    }
  }
  return true;
}

void WorldGrammar::fields(const Tokens& tokens, const Parts& parts, Canonical& out) {
  begin(tokens, out.country);
  House house;
  Range line = parts.road.empty() ? parts.text : parts.road;
  if (!parts.road.empty() && !parts.text.empty()) append_flat(tokens, parts.text, out.extra);
  Range tail;
  if (parts.house_number.empty() && !line.empty() && box(line, out.box)) {
    line = {};
  } else if (!parts.house_number.empty()) {
    const Range range = parts.house_number;
    const auto first = tokens.view(range.first);
    const auto slash = first.find('/');
    if (rules_->slash == CountryRules::Slash::unit_first && slash != std::string_view::npos &&
        starts_with_digit(first)) {
      append_unit("unit", first.substr(0, slash), out.unit);
      out.house = first.substr(slash + 1);
      append_flat(tokens, {range.first + 1, range.last}, out.house);
    } else if (house_at(range.first, range.last, house)) {
      tail = {house.range.last, range.last};
    } else {
      append_flat(tokens, range, out.house);
    }
  } else if (!line.empty()) {
    const std::size_t behind_units = leading_units(line, out.unit);
    line.first = behind_units;
    if (!line.empty() && find_house(line, house)) {
      if (house.range.first == line.first) {
        line.first = house.range.last;
        tail = {trailing_units(line), line.last};
        line.last = tail.first;
      } else {
        tail = {house.range.last, line.last};
        line.last = house.range.first;
      }
    }
  }
  quarter(line, out.extra);
  road(line, out.road);
  door(tail, out.unit);
  const bool is_flat = rules_->slash == CountryRules::Slash::unit_last && parts.unit.size() == 1 &&
                       tokens[parts.unit.first].is_number();
  if (is_flat)
    append_unit("m", tokens.view(parts.unit.first), out.unit);
  else
    door(parts.unit, out.unit);
  if (!house.text.empty()) put_house(house.text, out);
  if (!parts.po_box.empty() && !box(parts.po_box, out.box)) {
    out.box = "pobox:";
    out.box += tokens.view(parts.po_box.first, parts.po_box.last);
  }
  Range city = parts.city;
  if (const auto admin = book_->before(WordKind::admin, text_, city.first, city.last);
      admin && admin.count < city.size() && parts.state.empty()) {
    out.admin = admin.code;
    city.last -= admin.count;
  }
  town_name(city, out.locality);
  if (!parts.state.empty()) {
    const auto admin = book_->at(WordKind::admin, text_, parts.state.first, parts.state.last);
    if (admin && admin.count == parts.state.size())
      out.admin = admin.code;
    else
      name(parts.state, out.admin);
  }
  for (const Range range : {parts.house, parts.suburb}) {
    std::string segment;
    road(range, segment);
    append_segment(out.extra, segment);
  }
  out.postcode = postcode_field(tokens, parts.postcode.first, parts.postcode.last, out.country);
  out.mode = out.house.empty() && out.box.empty() ? Mode::road_only : Mode::parsed;
}

std::string WorldGrammar::one_line(const Canonical& canonical, const CountryRules& rules) {
  std::string line;
  const bool in_front = rules.house == CountryRules::House::front;
  if (in_front && !canonical.house.empty()) line = canonical.house;
  append_word(canonical.road, line);
  if (!in_front && !canonical.house.empty()) append_word(canonical.house, line);
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
