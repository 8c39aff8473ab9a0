#include "core/normalize_north_america.h"

#include <algorithm>

#include "core/country_rules.h"

namespace geonce {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

bool is_zip_plus_4(std::string_view text) {
  return text.size() == 10 && text[5] == '-' && all_digits(text.substr(0, 5)) &&
         all_digits(text.substr(6));
}

bool is_canadian(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 2 == 0 ? !is_letter(text[i]) : !is_digit(text[i])) return false;
  return true;
}
/// k1a of k1a 0b1; 0b1 of it.
bool is_forward_area(std::string_view text) { return text.size() == 3 && is_canadian(text); }
bool is_local_unit(std::string_view text) {
  return text.size() == 3 && is_digit(text[0]) && is_letter(text[1]) && is_digit(text[2]);
}

/// State codes that are words of their own, so that a state is not their only reading.
bool is_word_too(std::string_view code) {
  return one_of(code,
                {"in",
                 "me",
                 "or",
                 "hi",
                 "ok",
                 "de",
                 "la",
                 "co",
                 "pa",
                 "id",
                 "ma",
                 "oh",
                 "as",
                 "al",
                 "on",
                 "pe"});
}

/// Before the name of a state these make the name of a town: Port Washington.
bool makes_a_town_of(std::string_view word) {
  return one_of(word,
                {"port",
                 "fort",
                 "mount",
                 "mt",
                 "ft",
                 "lake",
                 "west",
                 "east",
                 "north",
                 "south",
                 "new",
                 "old",
                 "upper",
                 "lower",
                 "little",
                 "the",
                 "of",
                 "county",
                 "city"});
}

}  // namespace

bool NorthAmericanGrammar::speaks_for(Country country) { return is_north_american(country); }

void NorthAmericanGrammar::begin(Tokens& tokens, Canonical& out) {
  tokens_ = &tokens;
  out_ = &out;
  canada_ = out.country == Country('C', 'A');
  (canada_ ? Lexicon::ca() : Lexicon::us()).annotate(tokens);
  rules_.begin(tokens, canada_, out.country == Country('P', 'R'));
  leading_units_.clear();
  inner_units_.clear();
  trailing_units_.clear();
  road_ = town_ = {};
}

// ------------------------------------------------------------------------------------- last line

std::size_t NorthAmericanGrammar::segment_of(std::size_t i, std::size_t first) const {
  while (i > first && !(*tokens_)[i].after_break) --i;
  return i;
}

/// A number at the end is no postcode when it belongs to the word before it.
bool NorthAmericanGrammar::may_be_postcode(std::size_t i, Range range) const {
  if (i == range.first) return false;
  if ((*tokens_)[i].after_break) return true;
  const Word& word = rules_.word(i - 1);
  const bool takes_a_number = word.owns_number || (*tokens_)[i - 1].kind == Token::marks ||
                              (word.is_unit() && word.admin.empty());  // but FL 34208 is no floor
  if (takes_a_number) return false;
  if (word.type == "rd" && i >= range.first + 2 &&
      one_of(tokens_->view(i - 2),
             {"county", "co", "cnty", "state", "township", "twp", "park", "ranch", "range", "rge"}))
    return false;
  return i - 1 > range.first || (*tokens_)[i - 1].kind == Token::letters;
}

/// Takes the postcode that ends the range; returns where it begins, `range.last` when there is
/// none.
std::size_t NorthAmericanGrammar::take_postcode(Range range, LastLine& line) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  if (range.size() < 2) return last;
  const std::size_t i = last - 1;
  const auto text = tokens_->view(i);
  if (canada_) {
    const auto take_canadian =
        [&](std::string_view area, std::string_view local, std::size_t begin) {
          line.postcode = area;
          line.postcode += ' ';
          line.postcode += local;
          line.full_postcode = line.postcode;
          return begin;
        };
    const bool joined = text.size() == 6 && is_canadian(text);
    const bool hyphened = text.size() == 7 && text[3] == '-' &&
                          is_forward_area(text.substr(0, 3)) && is_local_unit(text.substr(4));
    if (joined || hyphened)
      return take_canadian(text.substr(0, 3), text.substr(text.size() - 3), i);
    if (is_local_unit(text) && !(*tokens_)[i].after_break && i - 1 > first &&
        is_forward_area(tokens_->view(i - 1)))
      return take_canadian(tokens_->view(i - 1), text, i - 1);
    return last;
  }
  const auto take = [&](std::string_view zip, std::string_view add_on, std::size_t begin) {
    line.postcode = zip;
    line.full_postcode = zip;
    if (!add_on.empty()) {
      line.full_postcode += '-';
      line.full_postcode += add_on;
    }
    return begin;
  };
  if (is_zip_plus_4(text) && may_be_postcode(i, range))
    return take(text.substr(0, 5), text.substr(6), i);
  if (!(*tokens_)[i].is_number()) return last;
  if (text.size() == 5 && may_be_postcode(i, range)) return take(text, {}, i);
  if (text.size() == 9 && may_be_postcode(i, range))
    return take(text.substr(0, 5), text.substr(5), i);
  if (text.size() == 4 && !(*tokens_)[i].after_break && (*tokens_)[i - 1].is_number() &&
      (*tokens_)[i - 1].size() == 5 && may_be_postcode(i - 1, range))
    return take(tokens_->view(i - 1), text, i - 1);
  if (text.size() == 4 && range.size() >= 4 && tokens_->view(i - 1) == "-" &&
      !(*tokens_)[i].after_break && (*tokens_)[i - 2].is_number() &&
      (*tokens_)[i - 2].size() == 5 && may_be_postcode(i - 2, range))
    return take(tokens_->view(i - 2), text, i - 2);
  return last;
}

/// Where the state that ends at `last` begins; `last` when there is none. `name` when it is in
/// full.
std::size_t NorthAmericanGrammar::admin_before(std::size_t last,
                                               std::size_t first,
                                               std::string_view& code,
                                               bool& name) const {
  const std::size_t segment = segment_of(last - 1, first);
  const auto& lexicon = canada_ ? Lexicon::ca() : Lexicon::us();
  const Word& word = rules_.word(last - 1);
  if (tokens_->view(last - 1).size() >= 4) {
    for (const auto& [long_code, long_name] : lexicon.long_admins()) {
      if (!long_name.ends_with(tokens_->view(last - 1))) continue;
      const auto count = static_cast<std::size_t>(std::ranges::count(long_name, ' ')) + 1;
      if (last - segment < count || tokens_->view(last - count, last) != long_name) continue;
      code = long_code;
      name = true;
      return last - count;
    }
  }
  if (!word.admin.empty()) {
    code = word.admin;
    name = word.text.size() > 2;
    return last - 1;
  }
  if (!canada_ && last >= segment + 2 && tokens_->view(last - 2, last) == "d c") {
    code = "dc";
    name = false;
    return last - 2;
  }
  return last;
}

/// Something that reads as a town stands at the end of the range, behind a street.
bool NorthAmericanGrammar::leaves_a_town(Range range) {
  if (range.empty()) return false;
  const std::size_t segment = segment_of(range.last - 1, range.first);
  const Range own{segment, range.last};
  const auto house_end = rules_.house(own, nullptr);
  if (segment == range.first || house_end != own.first) {
    std::size_t end = 0;
    scratch_.clear();
    if (const auto box_end = rules_.box(own, scratch_); box_end != own.first)
      return box_end < own.last;
    const Range road{house_end, own.last};
    for (std::size_t i = road.first + 1; i < road.last; ++i) {
      const bool sure = rules_.word(i).sure_unit || tokens_->view(i) == "#";
      if (!sure) continue;
      scratch_.clear();
      const auto units_end = rules_.units({i, road.last}, true, scratch_);
      if (units_end != i) return units_end < road.last;
    }
    return rules_.road_end(road, true, end) == StreetRules::End::found && end < road.last;
  }
  scratch_.clear();
  if (rules_.units(own, false, scratch_) == own.last || rules_.box(own, scratch_) == own.last ||
      rules_.is_bare_unit(own))
    return false;
  // A street has to stand before it.
  for (std::size_t i = range.first; i < segment;) {
    std::size_t end = i + 1;
    while (end < segment && !(*tokens_)[end].after_break) ++end;
    const Range before{i, end};
    scratch_.clear();
    if (rules_.house(before, nullptr) != i || rules_.is_road(before) ||
        rules_.box({i, segment}, scratch_) != i)  // HC 61, Box 2040
      return true;
    i = end;
  }
  return false;
}

/// Takes the state that ends the range; returns where it begins, `range.last` when there is none.
std::size_t NorthAmericanGrammar::take_admin(Range range, bool postcode_follows, LastLine& line) {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  if (range.empty()) return last;
  std::string_view code;
  bool name = false;
  const std::size_t begin = admin_before(last, first, code, name);
  if (begin == last || begin == first) return last;
  const Word& word = rules_.word(last - 1);
  const bool own_segment = (*tokens_)[begin].after_break;
  const Range left{first, begin};
  const auto is_certain = [&] {
    if (name)
      return leaves_a_town(left) && (own_segment || !makes_a_town_of(tokens_->view(begin - 1)));
    if (own_segment) return true;
    if (word.is_type() || word.is_direction() || word.is_unit()) return leaves_a_town(left);
    const std::size_t segment = segment_of(begin, first);
    const bool in_street = segment == first || rules_.house({segment, begin}, nullptr) != segment;
    return !in_street || !is_word_too(code) || postcode_follows || leaves_a_town(left);
  };
  if (!is_certain()) return last;
  line.admin = code;
  return begin;
}

void NorthAmericanGrammar::take_last_line(Range range, LastLine& line) {
  line.admin = {};
  line.postcode.clear();
  line.full_postcode.clear();
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  line.end = take_postcode(range, line);
  const bool has_postcode = line.end != last;
  line.end = take_admin({first, line.end}, has_postcode, line);
  if (has_postcode) return;
  if (!line.admin.empty()) {  // Reno 89501 NV
    line.end = take_postcode({first, line.end}, line);
    return;
  }
  // A ZIP code with a digit too few or too many stays as it is, but it is what stands there.
  if (canada_ || range.size() < 3) return;
  const auto text = tokens_->view(last - 1);
  const bool odd = (*tokens_)[last - 1].is_number() &&
                   (text.size() == 3 || text.size() == 4 || text.size() == 6);
  if (!odd || (*tokens_)[last - 1].after_break) return;
  std::string_view code;
  bool name = false;
  const auto begin = admin_before(last - 1, first, code, name);
  if (begin == last - 1 || begin == first || name || !leaves_a_town({first, begin})) return;
  line.admin = code;
  line.postcode = text;
  line.full_postcode = text;
  line.end = begin;
}

// --------------------------------------------------------------------------------------- address

void NorthAmericanGrammar::split(Range range) {
  segments_.clear();
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (i == range.first || (*tokens_)[i].after_break) {
      segments_.push_back({i, i + 1});
    } else {
      segments_.back().last = i + 1;
    }
  }
}

bool NorthAmericanGrammar::is_urbanization(Range range) const {
  return range.size() >= 2 && one_of(tokens_->view(range.first), {"urb", "urbanizacion"});
}

void NorthAmericanGrammar::append_extra(Range range) {
  if (!out_->extra.empty()) out_->extra += ", ";
  if (is_urbanization(range)) {
    out_->extra += "urb ";
    ++range.first;
  }
  // PO Box 288, Station Main; C.P. 540, succursale Centre-Ville
  if (out_->country == Country('C', 'A') && range.size() > 1) {
    const auto first = tokens_->view(range.first);
    const auto code = first == "station" || first == "stn"       ? std::string_view("stn")
                      : first == "succursale" || first == "succ" ? std::string_view("succ")
                                                                 : std::string_view();
    if (!code.empty()) {
      out_->extra += code;
      out_->extra += ' ';
      ++range.first;
    }
  }
  append_flat(*tokens_, range, out_->extra);
}

void NorthAmericanGrammar::take_road(Range range) {
  road_ = range;
  rules_.road(range, out_->road);
}

void NorthAmericanGrammar::take_town(Range range) {
  town_ = range;
  rules_.locality(range, out_->locality);
}

void NorthAmericanGrammar::clear() {
  for (auto* field :
       {&out_->locality, &out_->road, &out_->house, &out_->unit, &out_->box, &out_->extra})
    field->clear();
  leading_units_.clear();
  inner_units_.clear();
  trailing_units_.clear();
}

void NorthAmericanGrammar::finish(Mode mode) {
  out_->mode = mode;
  for (const auto* units : {&leading_units_, &inner_units_, &trailing_units_}) {
    if (units->empty()) continue;
    if (!out_->unit.empty()) out_->unit += ';';
    out_->unit += *units;
  }
}

/// Segments before the street: a unit, a box, or the name of a building or person.
bool NorthAmericanGrammar::leading(std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const Range segment = segments_[k];
    scratch_.clear();
    if (rules_.units(segment, false, scratch_) == segment.last) {
      if (!leading_units_.empty()) leading_units_ += ';';
      leading_units_ += scratch_;
      continue;
    }
    scratch_.clear();
    if (rules_.box(segment, scratch_) == segment.last) {
      if (!out_->box.empty()) return false;
      out_->box = scratch_;
      continue;
    }
    append_extra(segment);
  }
  return true;
}

/// Segments behind the street, from `index`: units, boxes, and of the others the last is the town.
bool NorthAmericanGrammar::trailing(std::size_t index, bool town_known) {
  others_.clear();
  for (std::size_t k = index; k < segments_.size(); ++k) {
    Range segment = segments_[k];
    if (is_urbanization(segment)) {
      append_extra(segment);
      continue;
    }
    const bool last_one = k + 1 == segments_.size();
    const bool number = (*tokens_)[segment.first].is_number();
    if (others_.empty() && rules_.is_bare_unit(segment) &&
        !(last_one && number && (*tokens_)[segment.first].size() > 2)) {
      StreetRules::append_unit("unit", tokens_->view(segment.first), trailing_units_);
      continue;
    }
    const std::size_t begin = segment.first;
    segment.first = rules_.units(segment, false, trailing_units_);
    if (segment.first == begin) {
      scratch_.clear();
      // PSC 90, Box 18: a box may cross a comma, so it looks beyond its segment.
      const auto end = rules_.box({begin, segments_.back().last}, scratch_);
      if (end != begin) {
        if (!out_->box.empty()) return false;
        out_->box = scratch_;
        while (k + 1 < segments_.size() && segments_[k].last < end) ++k;
        segment = {end, segments_[k].last};
      }
    }
    if (segment.empty()) continue;
    if (segment.first != begin && k + 1 != segments_.size()) return false;  // Apt 4 Reno, Sparks
    others_.push_back(segment);
  }
  for (std::size_t k = 0; k < others_.size(); ++k) {
    const bool town = k + 1 == others_.size() && !town_known;
    if (town) {
      take_town(others_[k]);
    } else {
      if (rules_.house(others_[k], nullptr) != others_[k].first) return false;  // two streets
      append_extra(others_[k]);
    }
  }
  return true;
}

/// A road with what follows it in the same segment: units, a box, and where no comma says where it
/// begins, the town.
bool NorthAmericanGrammar::street_line(
    Range range, bool has_house, bool town_wanted, bool closed, bool more_follows) {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  for (std::size_t i = first + 1; i < last; ++i) {
    const Word& word = rules_.word(i);
    const bool behind_type = rules_.word(i - 1).is_type() || rules_.word(i - 1).is_direction() ||
                             (*tokens_)[i - 1].has_digit();
    const bool ordinal_floor = i + 1 < last && rules_.word(i + 1).unit == "fl";
    const bool unit_may_begin = tokens_->view(i) == "#" || word.sure_unit ||
                                (behind_type && (word.is_unit() || ordinal_floor));
    std::size_t end = i;
    scratch_.clear();
    if (unit_may_begin) end = rules_.units({i, last}, town_wanted, scratch_);
    if (end == i && unit_may_begin && word.stands_alone && behind_type && town_wanted) return false;
    if (end != i) {
      inner_units_ += scratch_;
    } else if (word.opens_box && behind_type) {
      scratch_.clear();
      end = rules_.box({i, last}, scratch_);
      if (end == i) continue;
      if (!out_->box.empty()) return false;
      out_->box += scratch_;
    } else {
      continue;
    }
    take_road({first, i});
    if (end == last) return true;
    if (!town_wanted) return false;
    take_town({end, last});
    return true;
  }
  if (!town_wanted) {
    take_road(range);
    return true;
  }
  std::size_t end = last;
  switch (rules_.road_end(range, more_follows, end)) {
    case StreetRules::End::found:
      take_road({first, end});
      take_town({end, last});
      return true;
    case StreetRules::End::none:
      if (!closed || !has_house) return false;
      take_road(range);
      return true;
    case StreetRules::End::doubtful:
      return false;
  }
  return false;
}

bool NorthAmericanGrammar::street(std::size_t index,
                                  std::size_t house_first,
                                  bool last_line_found,
                                  bool town_known) {
  Range segment = segments_[index];
  if (house_first != segment.first)
    rules_.units({segment.first, house_first}, true, leading_units_);
  std::size_t next = index + 1;
  segment.first = house_first;
  std::size_t road_first = rules_.house(segment, &out_->house);
  if (road_first == segment.first) {
    // `70, boul. des Pins`: the number is a segment of its own.
    if (!rules_.is_house(segment, out_->house)) return false;
    segment = segments_[next++];
    road_first = segment.first;
  }
  if (!trailing(next, town_known)) return false;
  const bool town_wanted = !town_known && others_.empty();
  const bool closed = next < segments_.size();
  return street_line({road_first, segment.last}, true, town_wanted, closed, last_line_found);
}

bool NorthAmericanGrammar::box_only(std::size_t index, bool town_known) {
  if (!leading(index)) return false;
  const std::size_t begin = segments_[index].first;
  const auto end = rules_.box({begin, segments_.back().last}, out_->box);
  std::size_t k = index;
  while (segments_[k].last < end) ++k;
  const Range rest{end, segments_[k].last};
  if (!trailing(k + 1, town_known)) return false;
  if (rest.empty()) return true;
  // Canada: a station of the post office goes with its box.
  if (canada_ && one_of(tokens_->view(end), {"stn", "station", "rpo", "succ", "succursale"})) {
    if (!out_->locality.empty() || town_known) {
      append_extra(rest);
      return true;
    }
    return false;
  }
  if (!others_.empty()) return false;
  if (town_known) {
    append_extra(rest);
  } else {
    take_town(rest);
  }
  return true;
}

/// Main St & 3rd Ave.
bool NorthAmericanGrammar::intersection(bool last_line_found) {
  Range segment = segments_.front();
  std::vector<Range> roads;
  std::size_t begin = segment.first;
  bool sure = true;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    const auto text = tokens_->view(i);
    if (text != "&" && text != "and") continue;
    sure = sure && text == "&";
    roads.push_back({begin, i});
    begin = i + 1;
  }
  if (roads.empty()) return false;
  Range last{begin, segment.last};
  if (!trailing(1, false)) return false;
  if (others_.empty()) {
    std::size_t end = last.last;
    const auto found =
        last.empty() ? StreetRules::End::none : rules_.road_end(last, last_line_found, end);
    if (found == StreetRules::End::found) {
      rules_.locality({end, last.last}, out_->locality);
      last.last = end;
    } else if (found == StreetRules::End::doubtful || last_line_found) {
      return false;
    }
  }
  roads.push_back(last);
  std::vector<std::string> names;
  bool typed = false;
  for (const Range road : roads) {
    if (road.empty()) return false;
    const bool is_road = rules_.is_road(road);
    typed = typed || is_road;
    if (!sure && !is_road) return false;  // Smith and Sons
    rules_.road(road, names.emplace_back());
  }
  if (!typed) return false;
  std::ranges::sort(names);
  for (const auto& name : names) {
    if (!out_->road.empty()) out_->road += " & ";
    out_->road += name;
  }
  return true;
}

/// Fills the fields from everything before the last line. False: not certain, nothing is filled.
bool NorthAmericanGrammar::address(Range range, bool last_line_found, bool town_known) {
  split(range);
  for (std::size_t k = 0; k < segments_.size(); ++k) {
    const Range segment = segments_[k];
    std::size_t house_first = segment.first;
    if (rules_.word(segment.first).is_unit() || tokens_->view(segment.first) == "#") {
      scratch_.clear();
      house_first = rules_.units(segment, true, scratch_);
      if (house_first < segment.last && tokens_->view(house_first) == "-") return false;
    }
    const bool here = rules_.house({house_first, segment.last}, nullptr) != house_first;
    scratch_.clear();
    const bool alone = !here && house_first == segment.first &&
                       k + 2 < segments_.size() + (town_known ? 1U : 0U) &&
                       rules_.is_house(segment, scratch_) &&
                       rules_.house(segments_[k + 1], nullptr) == segments_[k + 1].first &&
                       !rules_.word(segments_[k + 1].first).is_unit();
    if (!here && !alone) continue;
    if (!leading(k) || !street(k, house_first, last_line_found, town_known)) return false;
    finish(Mode::parsed);
    return !out_->road.empty();
  }
  for (std::size_t k = 0; k < segments_.size(); ++k) {
    scratch_.clear();
    if (rules_.box({segments_[k].first, segments_.back().last}, scratch_) == segments_[k].first)
      continue;
    if (!box_only(k, town_known)) return false;
    finish(Mode::parsed);
    return true;
  }
  if (segments_.empty()) return false;
  const Range first = segments_.front();
  for (std::size_t i = first.first; i < first.last; ++i) {
    if (tokens_->view(i) != "&" && tokens_->view(i) != "and") continue;
    if (!intersection(last_line_found)) return false;
    finish(Mode::intersection);
    return true;
  }
  // A road alone has to be one beyond doubt.
  if (!trailing(1, town_known)) return false;
  const bool town_wanted = !town_known && others_.empty();
  if (!town_wanted && !rules_.is_road(first)) return false;
  if (!street_line(first, false, town_wanted, segments_.size() > 1, last_line_found)) return false;
  const auto road_is_sure = [&] {
    std::size_t end = first.last;
    if (rules_.road_end(first, last_line_found, end) != StreetRules::End::found) return false;
    return rules_.is_road({first.first, end});
  };
  if (town_wanted && !road_is_sure()) return false;
  finish(Mode::road_only);
  return !out_->road.empty();
}

void NorthAmericanGrammar::free_text(Tokens& tokens, Range text, Canonical& out) {
  begin(tokens, out);
  take_last_line(text, line_);
  out.admin = line_.admin;
  const Range body{text.first, line_.end};
  if (!address(body, line_.found(), false)) {
    clear();
    out.mode = Mode::unparsed;
    append_flat(tokens, body, out.road);
  }
  // The add-on of a ZIP code follows from a complete line, so it says nothing new there.
  const bool complete = out.mode == Mode::parsed;
  out.postcode = complete ? line_.postcode : line_.full_postcode;
}

// ---------------------------------------------------------------------------------------- fields

/// City, state and postcode; a city field may repeat the other two (`Reno, NV 89501`).
Result<void> NorthAmericanGrammar::town_field(const Parts& parts) {
  Canonical& out = *out_;
  const auto state = parts.state;
  if (!state.empty()) {
    std::string_view code;
    bool name = false;
    if (admin_before(state.last, state.first, code, name) == state.first) {
      out.admin = code;
    } else {
      append_flat(*tokens_, state, out.admin);
    }
  }
  const auto read_postcode = [&](Range range) {
    // The rules for the end of a text want a word before it; here the field says what it is.
    const auto text = tokens_->view(range.first, range.last);
    std::string squeezed;
    for (const char c : text)
      if (c != ' ' && c != '-') squeezed += c;
    const bool zip = all_digits(squeezed) && (squeezed.size() == 5 || squeezed.size() == 9);
    if (!canada_ && zip) {
      line_.postcode = squeezed.substr(0, 5);
      line_.full_postcode = line_.postcode;
      if (squeezed.size() == 9) line_.full_postcode += '-' + squeezed.substr(5);
    } else if (canada_ && squeezed.size() == 6 && is_canadian(squeezed)) {
      line_.postcode = squeezed.substr(0, 3) + ' ' + squeezed.substr(3);
      line_.full_postcode = line_.postcode;
    } else {
      append_flat(*tokens_, range, line_.postcode);
      line_.full_postcode = line_.postcode;
    }
  };
  LastLine field;
  field.end = parts.city.last;
  bool breaks = false;
  for (std::size_t i = parts.city.first + 1; i < parts.city.last; ++i)
    breaks = breaks || (*tokens_)[i].after_break || (*tokens_)[i].has_digit();
  if (breaks) {
    field.end = take_postcode(parts.city, field);
    std::string_view code;
    bool name = false;
    if (field.end > parts.city.first + 1) {
      const auto begin_admin = admin_before(field.end, parts.city.first, code, name);
      if (begin_admin != field.end && begin_admin != parts.city.first &&
          ((*tokens_)[begin_admin].after_break || !field.postcode.empty())) {
        field.admin = code;
        field.end = begin_admin;
      }
    }
    if (!field.admin.empty()) {
      if (!out.admin.empty() && out.admin != field.admin) return contradiction("states");
      out.admin = field.admin;
    }
  }
  rules_.locality({parts.city.first, field.end}, out.locality);
  line_.postcode.clear();
  line_.full_postcode.clear();
  if (!parts.postcode.empty()) {
    read_postcode(parts.postcode);
    if (!field.postcode.empty() && field.postcode != line_.postcode)
      return contradiction("postcodes");
  } else {
    line_.postcode = field.postcode;
    line_.full_postcode = field.full_postcode;
  }
  return {};
}

Result<void> NorthAmericanGrammar::fields(Tokens& tokens, const Parts& parts, Canonical& out) {
  begin(tokens, out);
  if (auto done = town_field(parts); !done) return done;
  const std::string locality = out.locality;
  const LastLine given = line_;
  std::string extra;
  std::swap(extra, out.extra);

  // A street line in the road field or in the text beside the fields.
  const Range line_range = !parts.road.empty() ? parts.road : parts.text;
  bool line_is_text = parts.road.empty() && !parts.text.empty();
  Range body = line_range;
  bool town_known = true;
  if (line_is_text) {
    // Text that is a whole address besides: its last line must not contradict the fields.
    LastLine last;
    take_last_line(line_range, last);
    if (!last.admin.empty() && !out.admin.empty() && last.admin != out.admin)
      return contradiction("states");
    if (!last.postcode.empty() && !given.postcode.empty() && last.postcode != given.postcode)
      return contradiction("postcodes");
    if (out.admin.empty()) out.admin = last.admin;
    if (given.postcode.empty()) {
      line_.postcode = last.postcode;
      line_.full_postcode = last.full_postcode;
    }
    body.last = last.end;
    town_known = !parts.city.empty();
  }
  out.locality.clear();
  bool parsed = false;
  if (!body.empty() && parts.house_number.empty()) {
    parsed = address(body, line_.found(), town_known);
    if (!parsed) {
      clear();
      // The field is a road whether or not we can tell what kind.
      split(body);
      const bool whole =
          trailing(1, true) && street_line(segments_.front(), true, false, true, true);
      if (!whole) {
        clear();
        append_flat(tokens, body, out.road);
      } else {
        finish(Mode::road_only);
      }
    }
  } else if (!body.empty()) {
    split(body);
    const bool whole = trailing(1, true) && street_line(segments_.front(), true, false, true, true);
    if (whole) {
      finish(Mode::road_only);
    } else {
      clear();
      append_flat(tokens, body, out.road);
    }
  }
  if (!locality.empty()) out.locality = locality;
  // A text that repeats the city field says nothing new with it.
  if (!locality.empty() && !out.extra.empty()) {
    if (out.extra == locality) {
      out.extra.clear();
    } else if (out.extra.ends_with(", " + locality)) {
      out.extra.resize(out.extra.size() - locality.size() - 2);
    }
  }
  if (!parts.house_number.empty()) {
    out.house.clear();
    if (!rules_.is_house(parts.house_number, out.house))
      append_flat(tokens, parts.house_number, out.house);
  }
  if (!parts.unit.empty()) {
    std::string units;
    if (rules_.units(parts.unit, false, units) != parts.unit.last) {
      std::string id;
      for (std::size_t i = parts.unit.first; i < parts.unit.last; ++i) {
        if (tokens.view(i) == "#") continue;
        const bool apart = !id.empty() && tokens[i].kind == Token::letters && tokens[i].size() > 1;
        if (apart) id += ' ';
        id += tokens.view(i);
      }
      units.clear();
      StreetRules::append_unit("unit", id, units);
    }
    if (!out.unit.empty()) out.unit += ';';
    out.unit += units;
  }
  if (!parts.po_box.empty()) {
    std::string box;
    if (rules_.box(parts.po_box, box) != parts.po_box.last) {
      box = "pobox:";
      for (std::size_t i = parts.po_box.first; i < parts.po_box.last; ++i)
        if (!one_of(tokens.view(i), {"#", "no", "box"})) box += tokens.view(i);
    }
    if (!out.box.empty() && out.box != box) return contradiction("boxes");
    out.box = box;
  }
  std::string names;
  if (!parts.house.empty()) append_flat(tokens, parts.house, names);
  geonce::append_segment(names, out.extra);
  if (!parts.suburb.empty()) {
    std::string suburb;
    append_flat(tokens, parts.suburb, suburb);
    geonce::append_segment(names, suburb);
  }
  out.extra = names;
  const bool has_street = !out.road.empty() && !out.house.empty();
  if (out.mode != Mode::intersection) {
    out.mode = has_street || !out.box.empty() || out.road.empty() ? Mode::parsed : Mode::road_only;
  }
  out.postcode = out.mode == Mode::parsed ? line_.postcode : line_.full_postcode;
  return {};
}

}  // namespace geonce
