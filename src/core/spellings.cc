#include "core/spellings.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace geonce {
namespace {

constexpr std::size_t kCharacter = 3;  // bytes of a Han character in UTF-8

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int numeral(std::string_view character) {
  constexpr std::array<std::string_view, 11> kNumerals{
      "〇", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十"};
  for (std::size_t i = 0; i < kNumerals.size(); ++i)
    if (kNumerals.at(i) == character) return static_cast<int>(i);
  return -1;
}

/// The value of numerals up to 99 as they are written: 三, 十三, 三十, 三十四. -1: not so written.
int value_of(std::string_view numerals) {
  int value = 0;
  int digit = -1;
  bool has_ten = false;
  for (std::size_t i = 0; i < numerals.size(); i += kCharacter) {
    const int n = numeral(numerals.substr(i, kCharacter));
    if (n == 10) {
      if (has_ten || digit == 0) return -1;
      value = digit < 0 ? 10 : digit * 10;
      has_ten = true;
      digit = -1;
    } else {
      if (digit >= 0) return -1;
      digit = n;
    }
  }
  if (digit > 0) value += digit;
  return digit == 0 ? -1 : value;
}

/// Numerals that stand directly before one of `marks` become digits.
void with_digits(std::span<const std::string_view> marks, std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end + kCharacter <= text.size() &&
           numeral(std::string_view(text).substr(end, kCharacter)) >= 0)
      end += kCharacter;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const auto numerals = std::string_view(text).substr(i, end - i);
    bool is_marked = false;
    for (const auto mark : marks)
      is_marked = is_marked || std::string_view(text).substr(end).starts_with(mark);
    const int value = is_marked ? value_of(numerals) : -1;
    if (value > 0)
      out += std::to_string(value);
    else
      out += numerals;
    i = end;
  }
  text = std::move(out);
}

/// `5丁目13番14号` → `5-13-14`. The last mark goes, one between two numbers becomes a hyphen.
void japanese(std::string& text) {
  constexpr std::array<std::string_view, 5> kMarks{"丁目", "番地", "番", "号", "条"};
  with_digits(kMarks, text);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = std::string_view(text).substr(i);
    const bool follows_number = !out.empty() && is_digit(out.back());
    std::size_t size = 0;
    if (follows_number) {
      for (const std::string_view mark : {"丁目", "番地の", "番地", "番"})
        if (size == 0 && rest.starts_with(mark)) size = mark.size();
      // 一番町, 三番丁 are names.
      if (rest.starts_with("番町") || rest.starts_with("番丁")) size = 0;
      if (size == 0 && rest.starts_with("号") && !rest.starts_with("号室") &&
          !rest.starts_with("号棟") && !rest.starts_with("号館"))
        size = kCharacter;
    }
    if (size == 0) {
      out += text[i++];
      continue;
    }
    std::size_t next = i + size;
    while (next < text.size() && text[next] == ' ') ++next;
    const bool number_follows = next < text.size() && is_digit(text[next]);
    const bool is_last = !rest.starts_with("丁目") && !number_follows;
    if (number_follows) {
      out += '-';
      i = next;
    } else if (is_last) {
      i += size;
      if (i < text.size() && text[i] != ' ' && text[i] != ',') out += ' ';
    } else {
      out += rest.substr(0, size);
      i += size;
    }
  }
  text = std::move(out);
}

/// `ถ.สุเทพ` → `ถนนสุเทพ`: the short forms of road, lane, subdistrict, district and province, which
/// are one word with the name.
void thai(std::string& text) {
  struct Short {
    std::string_view brief, full;
  };
  constexpr std::array<Short, 6> kShort{{{"ถ.", "ถนน"},
                                         {"ซ.", "ซอย"},
                                         {"ต.", "ต\u0E4D\u0E32บล"},  // as folded
                                         {"อ.", "อ\u0E4D\u0E32เภอ"},
                                         {"จ.", "จังหวัด"},
                                         {"ม.", "หมู่ "}}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = std::string_view(text).substr(i);
    const bool begins_word = out.empty() || out.back() == ' ' || out.back() == ',';
    const auto* const found = std::ranges::find_if(
        kShort, [rest](const Short& word) { return rest.starts_with(word.brief); });
    if (!begins_word || found == kShort.end()) {
      out += text[i++];
      continue;
    }
    out += found->full;
    i += found->brief.size();
    while (i < text.size() && text[i] == ' ') ++i;
  }
  text = std::move(out);
}

/// `Dhaka-1213` → `Dhaka 1213`, `Sector-5` → `Sector 5`: a word and its number.
void part_words_and_numbers(std::string& text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c & 0x80) != 0; };
  for (std::size_t i = 3; i + 1 < text.size(); ++i)
    if (text[i] == '-' && is_digit(text[i + 1]) && is_letter(text[i - 1]) &&
        is_letter(text[i - 2]) && is_letter(text[i - 3]))
      text[i] = ' ';
}

}  // namespace

bool has_spellings_to_unify(Country country) {
  constexpr std::string_view kCountries = "JP TW TH IN BD PK NP LK";
  return kCountries.find(country.code()) != std::string_view::npos;
}

void unify_spellings(Country country, std::string& text) {
  constexpr std::array<std::string_view, 3> kSections{"段", "樓", "楼"};
  if (country == Country('J', 'P'))
    japanese(text);
  else if (country == Country('T', 'W'))
    with_digits(kSections, text);
  else if (country == Country('T', 'H'))
    thai(text);
  else
    part_words_and_numbers(text);
}

}  // namespace geonce
