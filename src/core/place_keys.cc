#include "core/place_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace geonce {
namespace {

constexpr char kSeparator = '\x1F';
constexpr std::size_t kMostReadings = 8;

/// What a key says of one field. A point is filed as `is` or `lacks`, and as `any`.
struct Term {
  enum class Mark : char { is = '=', lacks = '?', any = '*' };
  Mark mark = Mark::any;
  std::string_view value;

  static Term any() { return {}; }
  static Term lacks() { return {Mark::lacks, {}}; }
  static Term is(std::string_view value) { return {Mark::is, value}; }
  /// How a point that has this value, or none, is filed.
  static Term of(std::string_view value) { return value.empty() ? lacks() : is(value); }
};

/// An address taken apart. `is_guess`: out of free text, so no part may be left unconfirmed.
struct Reading {
  std::string road, house, unit, locality, admin;
  bool is_guess = false;
};

struct Where {
  Term postcode, locality, admin;
};

/// Unit and what else tells apart inside a building or block.
struct Inside {
  Term unit, extra;
};

Key key_under(const Canonical& address, const Reading& reading, Where where, Inside inside) {
  std::string bytes = "geonce";
  const auto part = [&bytes](std::string_view text) {
    bytes += kSeparator;
    bytes += text;
  };
  const auto term = [&bytes](const Term& said) {
    bytes += kSeparator;
    bytes += static_cast<char>(said.mark);
    bytes += said.value;
  };
  part("place1");
  part(address.country.code());
  term(where.admin);
  term(where.postcode);
  term(where.locality);
  part(reading.road);
  part(reading.house);
  term(inside.unit);
  term(inside.extra);
  return sha256(bytes);
}

// --- reading free text
// ---------------------------------------------------------------------------------

using Words = std::vector<std::string_view>;

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    if (end != 0) parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + separator.size());
  }
  return parts;
}

std::string join(std::span<const std::string_view> words) {
  std::string text;
  for (const auto word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_single_letter(std::string_view word) {
  return word.size() == 1 && word[0] >= 'a' && word[0] <= 'z';
}

/// `438`, `12b`, `12-14`, `12/3`; not `5th`.
bool is_number(std::string_view word) {
  if (word.empty() || !is_digit(word[0])) return false;
  std::size_t letters = 0;
  for (const char c : word) {
    if (is_digit(c)) continue;
    if (c == '-' || c == '/') {
      letters = 0;
    } else if (c < 'a' || c > 'z' || ++letters > 1) {
      return false;
    }
  }
  return true;
}

/// `12 b` is `12b`: whether a register or a writer puts a space there says nothing.
std::string house_form(std::string_view house) {
  const auto space = house.rfind(' ');
  if (space != std::string_view::npos && space > 0 && is_digit(house[space - 1]) &&
      is_single_letter(house.substr(space + 1)))
    return std::string(house.substr(0, space)) + std::string(house.substr(space + 1));
  return std::string(house);
}

/// What stands behind the street: further words of its segment, and further segments.
struct Tail {
  std::string rest;
  std::span<const std::string_view> segments;
};

/// The ways to read what follows the street, as unit, locality and admin. `locality` is what a
/// field of the query has said already.
void read_tail(const Tail& tail,
               std::string_view locality,
               const Reading& street,
               std::vector<Reading>& readings) {
  const auto add = [&](std::string_view unit, std::string_view town, std::string_view admin) {
    Reading reading = street;
    reading.unit = unit;
    reading.locality = town;
    reading.admin = admin;
    readings.push_back(std::move(reading));
  };
  const auto& [rest, segments] = tail;
  if (!locality.empty()) {
    if (segments.empty() || (segments.size() == 1 && segments[0] == locality))
      add(rest, locality, {});
    else if (segments.size() == 1 && rest.empty())
      add(segments[0], locality, {});
    return;
  }
  switch (segments.size()) {
    case 0:
      add({}, rest, {});
      break;
    case 1:
      add(rest, segments[0], {});
      if (rest.empty()) add(segments[0], {}, {});
      break;
    case 2:
      if (rest.empty()) add(segments[0], segments[1], {});
      add(rest, segments[0], segments[1]);
      break;
    default:
      break;
  }
}

/// Every marked way to read a text that begins with street and number, in either order.
std::vector<Reading> read_text(const Canonical& address) {
  std::vector<std::string_view> segments = split(address.road, ", ");
  if (segments.empty()) return {};
  Words words = split(segments[0], " ");
  std::size_t used = 1;
  const auto has_number = [](const Words& some) {
    return std::any_of(some.begin(), some.end(), is_number);
  };
  // `gobakkvegen, 438, hernes` and `438, gobakkvegen, hernes`: the number in a segment of its own.
  if (segments.size() > 1) {
    const Words second = split(segments[1], " ");
    const bool number_behind =
        !has_number(words) && !second.empty() && is_number(second[0]) &&
        (second.size() == 1 || (second.size() == 2 && is_single_letter(second[1])));
    const bool number_before = words.size() == 1 && is_number(words[0]) && !has_number(second);
    if (number_behind || number_before) {
      words.insert(words.end(), second.begin(), second.end());
      used = 2;
    }
  }

  std::vector<Reading> readings;
  const std::span all(words);
  const std::span more = std::span(segments).subspan(used);
  const auto read_at = [&](std::size_t at, std::size_t length) {
    Reading street;
    street.is_guess = true;
    street.house = house_form(join(all.subspan(at, length)));
    const std::size_t behind = at + length;
    if (at > 0) {
      street.road = join(all.first(at));
      read_tail({join(all.subspan(behind)), more}, address.locality, street, readings);
    } else if (behind < all.size()) {
      // The number in front: nothing marks where the street ends but the end of its segment.
      street.road = join(all.subspan(behind));
      read_tail({{}, more}, address.locality, street, readings);
    }
  };
  for (std::size_t at = all.size(); at-- > 0;) {
    if (!is_number(all[at])) continue;
    if (at + 1 < all.size() && is_single_letter(all[at + 1])) read_at(at, 2);
    read_at(at, 1);
  }
  if (readings.size() > kMostReadings) readings.resize(kMostReadings);
  return readings;
}

std::vector<Reading> readings_of(const Canonical& address) {
  if (address.road.empty() || !address.box.empty() || address.mode == Mode::intersection) return {};
  if (address.house.empty()) {
    auto readings = read_text(address);
    std::erase_if(readings, [&](const Reading& reading) {  // said twice
      return (!address.unit.empty() && !reading.unit.empty()) ||
             (!address.admin.empty() && !reading.admin.empty());
    });
    for (Reading& reading : readings) {
      if (reading.unit.empty()) reading.unit = address.unit;
      if (reading.admin.empty()) reading.admin = address.admin;
    }
    return readings;
  }
  return {Reading{address.road,
                  house_form(address.house),
                  address.unit,
                  address.locality,
                  address.admin,
                  false}};
}

}  // namespace

std::vector<Key> place_keys(const Canonical& point) {
  const auto readings = readings_of(point);
  if (readings.size() != 1) return {};
  const Reading& reading = readings[0];
  const Term postcode = Term::of(point.postcode);
  const Term locality = Term::of(reading.locality);
  const Term admin = Term::of(reading.admin);

  std::vector<Where> wheres;
  const auto file_under = [&](Term of_postcode, Term of_locality) {
    wheres.push_back({of_postcode, of_locality, admin});
    wheres.push_back({of_postcode, of_locality, Term::any()});
  };
  const bool has_postcode = !point.postcode.empty();
  const bool has_locality = !reading.locality.empty();
  if (has_postcode || has_locality) file_under(postcode, locality);
  if (has_postcode) file_under(postcode, Term::any());
  if (has_locality) file_under(Term::any(), locality);
  wheres.push_back({});

  std::vector<Inside> insides{{Term::of(reading.unit), Term::of(point.extra)}};
  if (!reading.unit.empty() || !point.extra.empty()) insides.push_back({});

  std::vector<Key> keys;
  keys.reserve(wheres.size() * insides.size());
  for (const Where& where : wheres)
    for (const Inside& inside : insides) keys.push_back(key_under(point, reading, where, inside));
  return keys;
}

std::vector<Key> place_questions(const Canonical& question) {
  std::vector<Key> keys;
  for (const Reading& reading : readings_of(question)) {
    const Term postcode = Term::of(question.postcode);
    const Term locality = Term::of(reading.locality);
    const bool says_postcode = !question.postcode.empty();
    const bool says_locality = !reading.locality.empty();
    const bool says_admin = !reading.admin.empty();

    std::vector<Where> wheres;
    const auto ask_under = [&](Term of_postcode, Term of_locality) {
      if (!says_admin) {
        wheres.push_back({of_postcode, of_locality, Term::any()});
        return;
      }
      wheres.push_back({of_postcode, of_locality, Term::is(reading.admin)});
      wheres.push_back({of_postcode, of_locality, Term::lacks()});
    };
    if (says_postcode && says_locality) {
      ask_under(postcode, locality);
      ask_under(Term::lacks(), locality);
      ask_under(postcode, Term::lacks());
    } else if (says_postcode) {
      ask_under(postcode, Term::any());
    } else if (says_locality) {
      ask_under(Term::any(), locality);
    } else if (!says_admin) {
      wheres.push_back({});
    }

    std::vector<Inside> insides{{Term::of(reading.unit), Term::of(question.extra)}};
    if (reading.unit.empty() && question.extra.empty()) {
      insides.push_back({});
    } else if (!reading.is_guess) {
      if (!reading.unit.empty() && !question.extra.empty())
        insides.push_back({Term::is(reading.unit), Term::lacks()});
      insides.push_back({Term::lacks(), Term::lacks()});
    }

    for (const Where& where : wheres)
      for (const Inside& inside : insides)
        keys.push_back(key_under(question, reading, where, inside));
  }
  return keys;
}

}  // namespace geonce
