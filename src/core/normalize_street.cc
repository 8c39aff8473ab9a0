#include "core/normalize_street.h"

#include <algorithm>
#include <array>

namespace geonce {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// 1st 2nd 3rd 4th 11th …, spelt right.
std::string_view ordinal_suffix(std::string_view digits) {
  const char last = digits.back();
  const bool teen = digits.size() >= 2 && digits[digits.size() - 2] == '1';
  if (teen) return "th";
  return last == '1' ? "st" : last == '2' ? "nd" : last == '3' ? "rd" : "th";
}

bool is_ordinal_number(std::string_view text) {
  const auto digits = count_digits(text);
  return digits > 0 && one_of(text.substr(digits), {"st", "nd", "rd", "th"});
}

/// 1/2 and the like.
bool is_fraction(std::string_view text) {
  const auto above = count_digits(text);
  if (above == 0 || above > 2 || above >= text.size() || text[above] != '/') return false;
  const auto below = text.substr(above + 1);
  return !below.empty() && below.size() <= 2 && count_digits(below) == below.size();
}

/// 12, 12a, 21-23, 94-825, 12-1/2, 12/14, 12-ii: digits first, no ordinal ending, at most one
/// letter glued to the last number.
bool is_house_number(std::string_view text) {
  const auto digits = count_digits(text);
  if (digits == 0 || is_ordinal_number(text)) return false;
  const auto rest = text.substr(digits);
  if (rest.empty()) return true;
  if (rest.size() == 1) return is_letter(rest[0]);
  if (rest[0] != '-' && rest[0] != '/') return false;
  const auto last_part = rest.substr(rest.find_last_of("-/") + 1);
  if (last_part.empty() || is_ordinal_number(last_part)) return false;
  return std::ranges::all_of(
      rest, [](char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '/'; });
}

/// n41w9300; with `halves` also n41 or w9300 alone.
bool is_grid_number(std::string_view text, bool half) {
  const auto is_axis = [](char c) { return c == 'n' || c == 's' || c == 'e' || c == 'w'; };
  if (text.size() < 2 || !is_axis(text[0])) return false;
  const auto digits = count_digits(text.substr(1));
  if (digits == 0) return false;
  const auto rest = text.substr(1 + digits);
  if (half) return rest.empty();
  return rest.size() >= 2 && is_axis(rest[0]) && count_digits(rest.substr(1)) == rest.size() - 1;
}

void append_word(std::string& out, std::string_view text) {
  if (text.empty()) return;
  if (!out.empty()) out += ' ';
  out += text;
}

/// French street words in front of the name; Canada Post's addressing guidelines.
std::string_view french_type(std::string_view text) {
  struct Row {
    std::string_view code, spellings;
  };
  constexpr std::array kRows{
      Row{"rue", "rue"},
      Row{"ave", "avenue av ave"},
      Row{"boul", "boulevard boul blvd bd"},
      Row{"ch", "chemin ch"},
      Row{"pl", "place pl"},
      Row{"rg", "rang rg"},
      Row{"cote", "cote"},
      Row{"montee", "montee"},
      Row{"allee", "allee"},
      Row{"imp", "impasse imp"},
      Row{"crois", "croissant crois"},
      Row{"tsse", "terrasse tsse"},
      Row{"ruelle", "ruelle"},
      Row{"carre", "carre"},
      Row{"quai", "quai"},
      Row{"prom", "promenade prom"},
      Row{"cercle", "cercle"},
      Row{"cours", "cours"},
      Row{"parc", "parc"},
      Row{"sent", "sentier sent"},
      Row{"sq", "square sq"},
      Row{"pass", "passage"},
      Row{"espl", "esplanade espl"},
      Row{"rte", "route rte"},
  };
  for (const auto& [code, spellings] : kRows) {
    for (std::size_t at = 0; at < spellings.size();) {
      const auto end = std::min(spellings.find(' ', at), spellings.size());
      if (spellings.substr(at, end - at) == text) return code;
      at = end + 1;
    }
  }
  return {};
}

std::string_view french_direction(std::string_view text) {
  constexpr std::array<std::array<std::string_view, 2>, 9> kRows{{{"n", "nord"},
                                                                  {"s", "sud"},
                                                                  {"e", "est"},
                                                                  {"o", "ouest"},
                                                                  {"e", "east"},
                                                                  {"w", "west"},
                                                                  {"n", "north"},
                                                                  {"s", "south"},
                                                                  {"w", "w"}}};
  for (const auto& [code, word] : kRows)
    if (text == code || text == word) return code;
  return {};
}

std::string_view qualifier(std::string_view text) {
  if (one_of(text, {"old", "spur", "truck"})) return text;
  if (one_of(text, {"bus", "business"})) return "bus";
  if (one_of(text, {"alt", "alternate"})) return "alt";
  if (one_of(text, {"byp", "bypass"})) return "byp";
  return {};
}

bool is_highway_word(const Word& word) { return word.type == "hwy"; }
bool is_route_word(const Word& word) { return word.type == "rte" || word.text == "rt"; }
bool is_road_word(const Word& word) { return word.type == "rd"; }

/// 30, 35e, 9-a; not an ordinal, not a fraction.
bool is_highway_number(std::string_view text) {
  const auto digits = count_digits(text);
  if (digits == 0 || is_ordinal_number(text)) return false;
  const auto rest = text.substr(digits);
  return rest.empty() || (rest.size() == 1 && is_letter(rest[0])) ||
         (rest.size() == 2 && rest[0] == '-' && (is_digit(rest[1]) || is_letter(rest[1])));
}

}  // namespace

// ---------------------------------------------------------------------------------------- house

std::size_t StreetRules::house(Range range, std::string* out) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  if (range.size() < 2) return first;
  const auto text = view(first);
  // `27.5 Rd`, `5 Ave`: a number and a type are a road.
  const auto leaves_a_road = [&](std::size_t i) {
    return i < last && !(i + 1 == last && word(i).is_strong_type());
  };
  const auto done = [&](std::size_t end, std::string_view number, std::string_view more) {
    if (!leaves_a_road(end)) return first;
    if (out != nullptr) {
      *out += number;
      *out += more;
    }
    return end;
  };

  if (!is_digit(text[0])) {
    if (token(first).has_digit()) {
      if (is_grid_number(text, false)) return done(first + 1, text, {});
      if (is_grid_number(text, true)) {
        if (is_grid_number(view(first + 1), true)) return done(first + 2, text, view(first + 1));
        return text.size() >= 3 ? done(first + 1, text, {}) : first;
      }
      if (puerto_rico_ && is_letter(text[0]) && count_digits(text.substr(1)) == text.size() - 1)
        return done(first + 1, text, {});
      return first;
    }
    // One Main Street; but Seven Oaks Lane and One Mile Road are names.
    const Word& spelt = word(first);
    if (spelt.number == 0 || spelt.number > 20 || range.size() < 3) return first;
    const auto next = view(first + 1);
    if (word(first + 1).is_type() || word(first + 1).number != 0 || word(first + 1).ordinal != 0 ||
        next == "mile" || token(first + 1).after_hyphen ||
        (spelt.number > 1 && next.back() == 's') || !is_plain_word(first + 1))
      return first;
    bool typed = spelt.number == 1 && word(last - 1).is_type();
    for (std::size_t i = first + 2; i < last; ++i) typed = typed || word(i).is_strong_type();
    if (!typed) return first;
    if (out == nullptr) return first + 1;
    return done(first + 1, std::to_string(spelt.number), {});
  }

  if (view(first + 1) == "-" || view(first + 1) == "/") return first;
  if (!is_house_number(text)) {
    // 12.5 Main St, kept as spelt
    const auto digits = count_digits(text);
    const bool decimal = digits < text.size() && text[digits] == '.' &&
                         count_digits(text.substr(digits + 1)) == text.size() - digits - 1;
    return decimal ? done(first + 1, text, {}) : first;
  }
  if (const auto hyphen = text.find('-');
      hyphen != std::string_view::npos && is_fraction(text.substr(hyphen + 1))) {  // 12-1/2
    if (!leaves_a_road(first + 1)) return first;
    if (out != nullptr) {
      *out += text.substr(0, hyphen);
      append_word(*out, text.substr(hyphen + 1));
    }
    return first + 1;
  }
  if (token(first).is_number() && is_fraction(view(first + 1))) {
    if (!leaves_a_road(first + 2)) return first;
    if (out != nullptr) {
      *out += text;
      append_word(*out, view(first + 1));
    }
    return first + 2;
  }
  // 21 A Quince St is 21a. The letters that open names (O Brien, J F Kennedy) and directions stay.
  if (token(first).is_number() && range.size() >= 4 && is_single_letter(first + 1) &&
      std::string_view("abcfgh").find(view(first + 1)) != std::string_view::npos &&
      !word(first + 2).is_type() && !word(first + 2).is_unit() &&
      (is_plain_word(first + 2) || is_ordinal_number(view(first + 2)) ||
       (word(first + 2).is_direction() && range.size() >= 5)))
    return done(first + 2, text, view(first + 1));
  return done(first + 1, text, {});
}

bool StreetRules::is_house(Range range, std::string& out) const {
  if (range.empty() || range.size() > 2) return false;
  const auto text = view(range.first);
  if (is_grid_number(text, false) || is_grid_number(text, true)) {
    if (range.size() == 2 && !is_grid_number(view(range.first + 1), true)) return false;
    out += text;
    if (range.size() == 2) out += view(range.first + 1);
    return true;
  }
  if (range.size() == 1 && word(range.first).number > 0 && word(range.first).number <= 20) {
    out += std::to_string(word(range.first).number);
    return true;
  }
  if (!is_house_number(text)) return false;
  const auto hyphen = text.find('-');
  if (range.size() == 1 && hyphen != std::string_view::npos &&
      is_fraction(text.substr(hyphen + 1))) {
    out += text.substr(0, hyphen);
    out += ' ';
    out += text.substr(hyphen + 1);
    return true;
  }
  if (range.size() == 1) {
    out += text;
    return true;
  }
  const auto next = view(range.first + 1);
  if (!token(range.first).is_number()) return false;
  if (is_fraction(next)) {
    out += text;
    out += ' ';
    out += next;
    return true;
  }
  if (!is_single_letter(range.first + 1)) return false;
  out += text;
  out += next;
  return true;
}

// ---------------------------------------------------------------------------------- unit and box

void StreetRules::append_unit(std::string_view unit_class, std::string_view id, std::string& out) {
  if (!out.empty()) out += ';';
  out += unit_class;
  if (id.empty()) return;
  out += ':';
  out += id;
}

/// The end of the id at `i`, appended to `out`; `i` when there is none. `named`: a word may be one.
std::size_t StreetRules::id(
    std::size_t i, Range range, bool inside, bool named, std::string& out) const {
  while (i < range.last && (view(i) == "#" || (one_of(view(i), {"no", "number"}) &&
                                               i + 1 < range.last && token(i + 1).has_digit())))
    ++i;
  const auto ends = [&](std::size_t at) {
    return at == range.last || word(at).is_unit() || view(at) == "#";
  };
  if (i == range.last || (token(i).kind == Token::marks)) return i;
  const auto text = view(i);
  const bool single = is_single_letter(i);
  if (!token(i).has_digit() && !single) {  // Building East, but not Upper Darby or Ste Genevieve
    const bool closed = inside ? i + 1 < range.last && ends(i + 1) : ends(i + 1);
    if (!named || !closed || word(i).is_unit()) return i;
    out += text;
    return i + 1;
  }
  out += text;
  const std::size_t next = i + 1;
  if (next < range.last && ends(next + 1)) {  // 1 A, A 1
    const bool number_letter = token(i).is_number() && is_single_letter(next);
    const bool letter_number = single && token(next).is_number();
    if (number_letter || letter_number) {
      out += view(next);
      return next + 1;
    }
  }
  return next;
}

std::size_t StreetRules::units(Range range, bool inside, std::string& out) const {
  std::size_t i = range.first;
  std::string id_text;
  while (i < range.last) {
    const Word& here = word(i);
    id_text.clear();
    if (view(i) == "#") {
      const auto end = id(i + 1, range, true, false, id_text);
      if (id_text.empty()) break;
      append_unit("unit", id_text, out);
      i = end;
      continue;
    }
    const bool floor_follows = i + 1 < range.last && word(i + 1).unit == "fl";
    if (floor_follows && (here.ordinal != 0 || is_ordinal_number(view(i)))) {  // 2nd Floor
      const auto number = here.ordinal != 0 ? std::to_string(here.ordinal)
                                            : std::string(view(i).substr(0, count_digits(view(i))));
      append_unit("fl", number, out);
      i += 2;
      continue;
    }
    if (!here.is_unit()) break;
    const bool named = here.sure_unit && here.unit != "ste";
    const auto end = id(i + 1, range, inside, named, id_text);
    if (!id_text.empty()) {
      if (here.unit == "fl" && is_ordinal_number(id_text)) id_text.resize(count_digits(id_text));
      append_unit(here.unit, id_text, out);
      i = end;
      continue;
    }
    const bool ends = i + 1 == range.last || word(i + 1).is_unit() || view(i + 1) == "#";
    if (!here.stands_alone || !ends) break;
    append_unit(here.unit, {}, out);
    ++i;
  }
  return i;
}

bool StreetRules::is_bare_unit(Range range) const {
  if (range.size() != 1) return false;
  if (is_single_letter(range.first)) return true;
  const auto text = view(range.first);
  return token(range.first).has_digit() && text.size() <= 5 && !is_ordinal_number(text) &&
         (token(range.first).kind & Token::marks) == 0 &&
         !(token(range.first).is_number() && text.size() == 5);
}

std::size_t StreetRules::box(Range range, std::string& out) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  if (range.empty() || !(word(first).opens_box || token(first).has_digit())) return first;
  std::size_t i = first;
  const auto is = [&](std::size_t at, std::string_view text) {
    return at < last && view(at) == text;
  };

  // The number behind `box`: `#` and `no` out, no hyphen between letter and digit (Pub 28 §243).
  const auto number = [&](std::size_t at, std::string& into) {
    while (at < last && !token(at).after_break &&
           (view(at) == "#" || (one_of(view(at), {"no", "number"}) && at + 1 < last)))
      ++at;
    if (at >= last || token(at).after_break) return std::size_t{0};
    const auto text = view(at);
    if (!token(at).has_digit() && !is_single_letter(at)) return std::size_t{0};
    if (text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-") != std::string_view::npos)
      return std::size_t{0};
    for (std::size_t k = 0; k < text.size(); ++k) {
      const bool between_digits = text[k] == '-' && k > 0 && k + 1 < text.size() &&
                                  is_digit(text[k - 1]) && is_digit(text[k + 1]);
      if (text[k] != '-' || between_digits) into += text[k];
    }
    const bool field_ends = at + 2 == last || (at + 2 < last && token(at + 2).after_break);
    if (token(at).is_number() && field_ends && !token(at + 1).after_break &&
        is_single_letter(at + 1)) {
      into += view(at + 1);  // Box 9 A
      return at + 2;
    }
    return at + 1;
  };
  const auto post_office_box = [&](std::size_t at) {
    std::string text;
    const auto end = number(at, text);
    if (end == 0) return first;
    if (!out.empty()) out += ' ';
    out += "pobox:" + text;
    return end;
  };

  if (is(i, "general") && is(i + 1, "delivery")) {
    append_word(out, "gd");
    return i + 2;
  }
  if (is(i, "po") || is(i, "pob")) {
    i += 1;
  } else if ((is(i, "p") && is(i + 1, "o")) || (is(i, "post") && is(i + 1, "office"))) {
    i += 2;
  } else if (canada_ && (is(i, "cp") || (is(i, "c") && is(i + 1, "p")) ||
                         (is(i, "case") && is(i + 1, "postale")))) {
    return post_office_box(is(i, "cp") ? i + 1 : i + 2);
  }
  if (i != first) {
    if (is(i, "box") || is(i, "drawer")) return post_office_box(i + 1);
    return view(first) == "pob" ? post_office_box(i) : first;
  }
  // Pub 28 §283: lockbox, drawer and caller are PO boxes.
  if (is(i, "lock") && is(i + 1, "box")) return post_office_box(i + 2);
  if (is(i, "lockbox") || is(i, "drawer") || is(i, "caller")) return post_office_box(i + 1);

  std::string_view kind;
  std::string route;
  const auto text = view(i);
  std::size_t at = 0;
  if (is(i, "rr") || is(i, "rfd") || is(i, "rd") || is_route_word(word(i))) {
    kind = "rr";
    at = i + 1;
  } else if ((is(i, "r") && is(i + 1, "r")) ||
             (is(i, "rural") && i + 1 < last && is_route_word(word(i + 1)))) {
    kind = "rr";
    at = i + 2;
  } else if (is(i, "hc") || is(i, "hcr")) {
    kind = "hc";
    at = i + 1;
  } else if ((is(i, "h") && is(i + 1, "c")) ||
             (is(i, "star") && i + 1 < last && is_route_word(word(i + 1)))) {
    kind = "hc";
    at = i + 2;
  } else if (is(i, "highway") && is(i + 1, "contract")) {
    kind = "hc";
    at = i + 2 + (i + 2 < last && is_route_word(word(i + 2)) ? 1 : 0);
  } else if (is(i, "psc") || is(i, "cmr") || is(i, "unit")) {
    kind = text;
    at = i + 1;
  } else if (token(i).has_digit() && (text.starts_with("rr") || text.starts_with("hc")) &&
             count_digits(text.substr(2)) == text.size() - 2) {  // RR4
    kind = text.substr(0, 2);
    route = text.substr(2);
    at = i + 1;
  } else {
    return first;
  }
  if (route.empty()) at = number(at, route);
  if (at == 0) return first;
  if (!is(at, "box")) {
    // In Canada a rural route is an address without a box; elsewhere RR 620 is a road.
    if (!canada_ || !(text.starts_with("r") && kind == "rr") || text == "rd" || text == "rfd" ||
        is_route_word(word(first)))
      return first;
    append_word(out, kind);
    out += ':';
    out += route;
    return at;
  }
  std::string box_number;
  const auto end = number(at + 1, box_number);
  if (end == 0) return first;
  append_word(out, kind);
  out += ':' + route + " box:" + box_number;
  return end;
}

// ---------------------------------------------------------------------------------------- road

/// One word, or two that are joined: North East, N-E, N. E.
StreetRules::Direction StreetRules::direction_at(std::size_t i, std::size_t last) const {
  if (i >= last || !word(i).is_direction()) return {};
  const auto code = word(i).direction;
  const bool spelt_out = token(i).size() > 2;
  if (i + 1 < last && code.size() == 1 && (code == "n" || code == "s")) {
    const auto second = word(i + 1).direction;
    const bool joined = token(i + 1).after_hyphen || (spelt_out && token(i + 1).size() > 2) ||
                        (token(i).dotted && token(i + 1).dotted && !token(i + 1).after_break);
    if (joined && (second == "e" || second == "w")) {
      const std::string_view both =
          code == "n" ? (second == "e" ? "ne" : "nw") : (second == "e" ? "se" : "sw");
      return {both, 2, spelt_out};
    }
  }
  return {code, 1, spelt_out};
}

StreetRules::Direction StreetRules::direction_before(std::size_t i, std::size_t first) const {
  if (i >= first + 2) {
    if (const auto two = direction_at(i - 2, i); two.count == 2) return two;
  }
  if (i >= first + 1) return direction_at(i - 1, i);
  return {};
}

StreetRules::Highway StreetRules::highway_class(std::size_t i, std::size_t last) const {
  if (i >= last) return {};
  const auto text = view(i);
  if (token(i).has_digit()) {  // us-30, i35
    if (!is_letter(text[0])) return {};
    const auto digit =
        static_cast<std::size_t>(std::ranges::find_if(text, is_digit) - text.begin());
    auto head = text.substr(0, digit);
    if (head.ends_with('-')) head.remove_suffix(1);
    const auto number = text.substr(digit);
    if (!is_highway_number(number)) return {};
    if (one_of(head, {"i", "ih"})) return {"i", number, i + 1};
    if (one_of(head, {"us", "sr", "sh", "cr", "fm"})) return {head, number, i + 1};
    if (head == "hwy") return {"hwy", number, i + 1};
    if (one_of(head, {"rt", "rte"})) return {"rt", number, i + 1};
    return {};
  }
  if (!word(i).opens_highway) return {};
  const auto is = [&](std::size_t at, std::string_view expected) {
    return at < last && view(at) == expected;
  };
  const auto highway_at = [&](std::size_t at) { return at < last && is_highway_word(word(at)); };
  const auto route_at = [&](std::size_t at) { return at < last && is_route_word(word(at)); };
  const auto road_at = [&](std::size_t at) { return at < last && is_road_word(word(at)); };
  const auto numbered = [&](std::string_view code, std::size_t at) -> Highway {
    if (at < last && !token(at).after_break && is_highway_number(view(at)))
      return {code, view(at), at + 1};
    return {};
  };
  // Wisconsin and others letter their county roads: C, AA.
  const auto lettered = [&](std::string_view code, std::size_t at) -> Highway {
    if (auto found = numbered(code, at); found.end != 0) return found;
    if (at < last && !token(at).after_break && token(at).kind == Token::letters &&
        (token(at).size() == 1 || (token(at).size() == 2 && view(at)[0] == view(at)[1])))
      return {code, view(at), at + 1};
    return {};
  };

  if (one_of(text, {"i", "ih", "interstate"}))
    return numbered("i", highway_at(i + 1) ? i + 2 : i + 1);
  if (text == "us" || (text == "u" && is(i + 1, "s")) ||
      (text == "united" && is(i + 1, "states"))) {
    const std::size_t at = text == "us" ? i + 1 : i + 2;
    return numbered("us", highway_at(at) || route_at(at) ? at + 1 : at);
  }
  if (text == "state" || text == "st") {
    if (route_at(i + 1) || road_at(i + 1)) return numbered("sr", i + 2);
    if (highway_at(i + 1)) return numbered("sh", i + 2);
    return {};
  }
  if (one_of(text, {"sr", "sh", "crt"})) return numbered(text, i + 1);
  if (one_of(text, {"county", "co", "cnty"})) {
    if (road_at(i + 1)) return lettered("cr", i + 2);
    if (route_at(i + 1)) return lettered("crt", i + 2);
    if (is(i + 1, "trunk") && highway_at(i + 2)) return lettered("ch", i + 3);
    if (highway_at(i + 1)) return lettered("ch", i + 2);
    return {};
  }
  if (text == "cr") return lettered("cr", i + 1);
  if (one_of(text, {"cth", "ch"}) && !(canada_ && text == "ch")) return lettered("ch", i + 1);
  const bool to_market = is(i + 1, "to") && is(i + 2, "market");
  if (text == "fm" || (text == "farm" && to_market)) {
    const std::size_t at = text == "fm" ? i + 1 : i + 3;
    return numbered("fm", road_at(at) ? at + 1 : at);
  }
  if (text == "rm" || (text == "ranch" && to_market)) {
    const std::size_t at = text == "rm" ? i + 1 : i + 3;
    return numbered("rm", road_at(at) ? at + 1 : at);
  }
  if (text == "ranch" && road_at(i + 1)) return numbered("rr", i + 2);
  if (text == "rr") return numbered("rr", i + 1);
  if (one_of(text, {"twp", "township"})) {
    return road_at(i + 1) ? numbered("twp rd", i + 2) : Highway{};
  }
  if (highway_at(i)) return numbered("hwy", i + 1);
  if (route_at(i)) return numbered("rt", i + 1);
  if (text == "loop") return numbered("loop", i + 1);
  if (text == "park" && road_at(i + 1)) return numbered("park rd", i + 2);
  if (canada_) {
    if (one_of(text, {"autoroute", "aut"})) return numbered("aut", i + 1);
    if (one_of(text, {"range", "rge"}) && road_at(i + 1)) return numbered("rge rd", i + 2);
    if (one_of(text, {"regional", "reg"}) && road_at(i + 1)) return numbered("reg rd", i + 2);
    if (one_of(text, {"concession", "con", "conc"})) {
      if (road_at(i + 1)) return numbered("conc rd", i + 2);
      return numbered("conc", i + 1);
    }
  }
  return {};
}

std::size_t StreetRules::highway(Range range, std::string* out) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  // Nothing of the kind can stand more than three words behind the beginning.
  bool possible = false;
  for (std::size_t i = first; i < std::min(last, first + 4); ++i)
    possible = possible || word(i).opens_highway || token(i).has_digit();
  if (!possible) return first;

  std::size_t i = first;
  std::string text;
  const auto before = direction_at(i, last);
  if (before.count != 0) {
    append_word(text, before.code);
    i += before.count;
  }
  auto found = highway_class(i, last);
  if (found.end == 0 && i < last && word(i).opens_highway &&
      !qualifier(view(i)).empty()) {  // Old US 30
    found = highway_class(i + 1, last);
    if (found.end != 0) append_word(text, qualifier(view(i)));
  }
  if (found.end == 0 && i < last && !word(i).admin.empty()) {  // IL Route 12
    found = highway_class(i + 1, last);
    if (found.end != 0) append_word(text, view(i));
  }
  if (found.end == 0) return first;
  append_word(text, found.code);
  append_word(text, found.number);
  i = found.end;
  while (i < last && word(i).opens_highway && !token(i).after_break &&
         !qualifier(view(i)).empty()) {
    append_word(text, qualifier(view(i)));
    ++i;
  }
  if (out != nullptr) append_word(*out, text);
  return i;
}

/// Utah's 310 S 750 E: `S 750 E` is the road.
std::size_t StreetRules::grid_end(Range range) const {
  const std::size_t first = range.first;
  if (range.size() < 3 || !word(first).is_direction() || !token(first + 1).is_number() ||
      !word(first + 2).is_direction())
    return first;
  return first + 3;
}

/// Avenue B, Road 68, Calle 5: the end of the pair.
std::size_t StreetRules::front_type_end(Range range) const {
  const std::size_t first = range.first;
  if (range.size() < 2 || token(first + 1).after_break) return first;
  const bool letter = is_single_letter(first + 1);
  const bool number = token(first + 1).is_number();
  const auto& head = word(first);
  const bool avenue = head.type == "ave" && (letter || number);
  const bool road = head.type == "rd" && number;
  const bool calle = one_of(view(first), {"calle", "cll"}) && (letter || number);
  return avenue || road || calle ? first + 2 : first;
}

bool StreetRules::is_saint(std::size_t i, Range name) const {
  if (view(i) != "st" || i + 1 >= name.last || !is_plain_word(i + 1)) return false;
  if (word(i + 1).is_direction() || word(i + 1).is_unit()) return false;
  return i == name.first || !word(i + 1).is_type();
}

void StreetRules::name(Range range, bool typed, std::string& out) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  const auto append_ordinal = [&out](std::string_view digits) {
    append_word(out, digits);
    out += ordinal_suffix(digits);
  };
  if (range.size() == 1) {
    const Word& only = word(first);
    if (only.ordinal != 0) return append_ordinal(std::to_string(only.ordinal));
    if (typed && token(first).is_number()) return append_ordinal(view(first));
  }
  if (range.size() == 2 && word(first).number >= 20 && word(first + 1).ordinal != 0 &&
      word(first + 1).ordinal < 10)
    return append_ordinal(std::to_string(word(first).number + word(first + 1).ordinal));
  for (std::size_t i = first; i < last; ++i) {
    const bool before_word = i + 1 < last && is_plain_word(i + 1);
    if (is_saint(i, range)) {
      append_word(out, "saint");
    } else if (canada_ && view(i) == "ste" && before_word && !word(i + 1).is_type()) {
      append_word(out, "sainte");
    } else if (i == first && before_word && view(i) == "mt") {
      append_word(out, "mount");
    } else if (i == first && before_word && view(i) == "ft") {
      append_word(out, "fort");
    } else {
      append_word(out, view(i));
    }
  }
}

/// boul. des Pins Ouest: the type and direction of French Canada.
bool StreetRules::french(Range range, std::string& out) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  if (!canada_ || range.size() < 2) return false;
  auto type = french_type(view(first));
  if (view(first) == "r" && token(first).dotted) type = "rue";  // r. Bellefeuille
  if (type.empty() || word(last - 1).is_strong_type()) return false;
  const bool english_order = last - first >= 3 && word(last - 1).is_direction() &&
                             word(last - 2).is_strong_type() && french_type(view(last - 2)).empty();
  if (english_order) return false;
  append_word(out, type);
  std::size_t name_last = last;
  std::string_view direction;
  std::string both;
  if (last - first >= 4) {  // Nord-Ouest
    const auto second = french_direction(view(last - 1));
    const auto first_part = french_direction(view(last - 2));
    if (token(last - 1).after_hyphen && (first_part == "n" || first_part == "s") &&
        (second == "e" || second == "o")) {
      both = std::string(first_part) + std::string(second);
      direction = both;
      name_last -= 2;
    }
  }
  if (direction.empty() && last - first >= 3) {
    direction = french_direction(view(last - 1));
    if (!direction.empty()) --name_last;
  }
  name({first + 1, name_last}, false, out);
  append_word(out, direction);
  return true;
}

/// Avenue B, Avenue of the Americas, Calle del Sol, Avenida Ponce.
bool StreetRules::type_in_front(Range range, std::string& out) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  if (range.size() < 2) return false;
  const auto head = view(first);
  if (front_type_end(range) == last ||
      (word(first).type == "ave" && view(first + 1) == "of" && range.size() > 2)) {
    const bool calle = one_of(head, {"calle", "cll"});
    append_word(out, calle ? "calle" : word(first).type);
    append_word(out, tokens_->view(first + 1, last));
    return true;
  }
  const bool avenida = one_of(head, {"avenida", "avda"});
  if (puerto_rico_ && (avenida || word(first).type == "ave")) {
    append_word(out, "ave");
  } else if (avenida) {
    append_word(out, "avenida");
  } else if (one_of(head, {"calle", "cll"})) {
    append_word(out, "calle");
  } else {
    return false;
  }
  append_word(out, tokens_->view(first + 1, last));
  return true;
}

void StreetRules::road(Range range, std::string& out) {
  if (range.empty()) return;
  if (const auto end = highway(range, &out); end != range.first) {
    std::size_t i = end;
    if (i < range.last) {
      if (const auto direction = direction_at(i, range.last); direction.count != 0) {
        append_word(out, direction.code);
        i += direction.count;
      }
    }
    for (; i < range.last; ++i) {
      const bool type = i + 1 == range.last && word(i).is_type();
      append_word(out, type ? word(i).type : view(i));
    }
    return;
  }
  if (grid_end(range) == range.last) {
    append_word(out, word(range.first).direction);
    append_word(out, view(range.first + 1));
    append_word(out, word(range.last - 1).direction);
    return;
  }
  if (french(range, out)) return;

  auto [first, last] = range;
  auto behind = direction_before(last, first);
  if (behind.count != 0) {
    const std::size_t left = last - first - behind.count;
    const auto& before = left == 0 ? word(first) : word(last - behind.count - 1);
    const bool after_type = left >= 2 && before.is_type();
    // Central NE: no name ends like that. A lone N, S, E, W may be a letter.
    const bool two_ways = left >= 1 && behind.code.size() == 2 && !word(first).is_direction();
    const bool after_whole_name =
        two_ways || (left == 1 && (view(first) == "broadway" || token(first).is_number() ||
                                   is_ordinal_number(view(first))));
    if (after_type || after_whole_name) {
      last -= behind.count;
    } else {
      behind = {};
    }
  }
  std::string_view type;
  if (last - first >= 2 && word(last - 1).is_type()) {
    type = word(last - 1).type;
    --last;
  }
  auto before = direction_at(first, last);
  if (before.count == 2 && last - first == 2) before = {word(first).direction, 1, before.spelt_out};
  const bool letters_follow = before.count != 0 && last - first > before.count &&
                              word(first + before.count).is_direction() &&
                              token(first + before.count).size() <= 2;
  if (last - first <= before.count || letters_follow) before.count = 0;
  if (before.count != 0) {
    append_word(out, before.code);
    first += before.count;
  }
  if (type.empty() && behind.count == 0 && type_in_front({first, last}, out)) return;
  const bool counts = !type.empty() && type != "hwy" && type != "rte";
  name({first, last}, counts, out);
  append_word(out, type);
  if (behind.count != 0) append_word(out, behind.code);
}

/// The end of the directions behind a type at `i`. A direction in full before further words may
/// open the name of a town (Main St West Chester), which nobody can tell.
std::size_t StreetRules::behind_type(std::size_t i, std::size_t last, bool& doubtful) const {
  const auto direction = direction_at(i, last);
  if (direction.count == 0) return i;
  if (direction.spelt_out && direction.count == 1 && direction.code.size() == 1 && i + 1 < last)
    doubtful = true;
  if (direction.spelt_out && direction.count == 2 && i + 2 < last) doubtful = true;
  return i + direction.count;
}

StreetRules::End StreetRules::road_end(Range range, bool more_follows, std::size_t& end) const {
  const std::size_t first = range.first;
  const std::size_t last = range.last;
  bool doubtful = false;
  const auto found = [&](std::size_t at) {
    end = behind_type(at, last, doubtful);
    return doubtful ? End::doubtful : End::found;
  };
  // A type ends a road when a name stands before it. `st` behind a type and before a word is a
  // saint.
  const auto ends_a_road = [&](std::size_t i) {
    if (!word(i).is_strong_type()) return false;
    const bool saint = view(i) == "st" && i + 1 < last && is_plain_word(i + 1) &&
                       !word(i + 1).is_type() && word(i - 1).is_strong_type() && i - 1 > first;
    return !saint;
  };
  std::size_t strong_end = 0;     // behind the last run of types
  std::size_t strong_before = 0;  // behind the run before it
  for (std::size_t i = first + 1; i < last; ++i) {
    if (!ends_a_road(i)) continue;
    if (strong_end == i) {
      strong_end = i + 1;
    } else {
      strong_before = strong_end;
      strong_end = i + 1;
    }
  }

  const auto plain_road = [&](std::size_t at) {
    // Avenue B, US 30 and S 750 E end by themselves, unless a type comes later.
    return strong_end <= at;
  };
  if (const auto at = highway(range, nullptr); at != first && plain_road(at)) return found(at);
  if (const auto at = grid_end(range); at != first && plain_road(at)) {
    end = at;
    return End::found;
  }
  if (const auto at = front_type_end(range); at != first && plain_road(at)) return found(at);
  if (canada_ && !french_type(view(first)).empty() && strong_end == 0) return End::none;

  if (strong_end != 0) {
    const bool town_follows = behind_type(strong_end, last, doubtful) < last;
    doubtful = false;
    if (!town_follows && strong_before != 0) {
      // Main St Federal Way: with a state behind it the second run is the town's.
      if (!more_follows) return End::doubtful;
      return found(strong_before);
    }
    const auto result = found(strong_end);
    if (result == End::found && end + 1 == last && word(end).is_type() && word(end).in_towns)
      return End::doubtful;  // Main Street Bridge
    return result;
  }

  // Words that also end names of towns: only when there is just one, and a town left behind it.
  std::size_t weak = 0;
  std::size_t count = 0;
  for (std::size_t i = first + 1; i < last; ++i) {
    if (!word(i).is_type()) continue;
    weak = i;
    ++count;
  }
  if (count == 0) return End::none;
  const bool at_the_end = behind_type(weak + 1, last, doubtful) == last;
  doubtful = false;
  if (at_the_end && !more_follows) {
    end = last;
    return End::found;
  }
  if (count != 1 || at_the_end) return End::doubtful;
  if (weak + 2 == last && one_of(view(weak + 1), {"city", "town", "township"}))
    return End::doubtful;
  return found(weak + 1);
}

/// Without a house number only what is surely a road counts as one.
bool StreetRules::is_road(Range range) const {
  if (range.size() < 2) return false;
  if (highway(range, nullptr) != range.first || front_type_end(range) == range.last) return true;
  if (canada_ && !french_type(view(range.first)).empty()) return true;
  const auto direction = direction_before(range.last, range.first);
  const std::size_t last = range.last - direction.count;
  if (last - range.first >= 2 && word(last - 1).is_strong_type()) return true;
  return word(range.last - 1).is_strong_type();
}

void StreetRules::locality(Range range, std::string& out) const {
  for (std::size_t i = range.first; i < range.last; ++i) {
    const bool before_word =
        i + 1 < range.last && is_plain_word(i + 1) && !token(i + 1).after_break;
    if (i != range.first) out += token(i).after_break ? ", " : " ";
    if (before_word && view(i) == "st") {
      out += "saint";
    } else if (before_word && canada_ && view(i) == "ste") {
      out += "sainte";
    } else if (before_word && i == range.first && view(i) == "mt") {
      out += "mount";
    } else if (before_word && i == range.first && view(i) == "ft") {
      out += "fort";
    } else {
      out += view(i);
    }
  }
}

}  // namespace geonce
