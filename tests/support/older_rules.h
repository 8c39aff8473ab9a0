#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "core/former_rules.h"
#include "core/query.h"

namespace geonce {

/// Version n0, which never was: what a version before n1 may have been like. It takes words as they
/// are spelt, so that it has many keys where n1 has one (`St`, `Street`), and leaves out units and
/// commas, so that it has one key where n1 has many (`Apt 1`, `Apt 2`). What holds no letter and no
/// digit has no key.
inline Result<std::string> pre_image_of_n0(const QueryView& query) {
  static const std::set<std::string, std::less<>> kUnitWords{"apt", "unit", "suite"};
  std::string words, word;
  bool skips_next = false;
  const auto end_of_word = [&] {
    if (word.empty()) return;
    const bool is_unit = kUnitWords.contains(word);
    if (!is_unit && !skips_next) words += (words.empty() ? "" : " ") + word;
    skips_next = is_unit;
    word.clear();
  };
  Query whole = Query::from(query);
  for (const char c : whole.one_line()) {
    if (c >= 'A' && c <= 'Z')
      word += static_cast<char>(c - 'A' + 'a');
    else if (c == ' ' || c == ',' || c == '.')
      end_of_word();
    else
      word += c;
  }
  end_of_word();
  if (words.empty()) return fail(ErrorCode::invalid_address, "no word in it");
  return fmt::format("geonce\x1Fn0\x1F{}\x1F{}", query.country.code(), words);
}

inline constexpr std::array<FormerRules, 1> kSinceN0{{{0, pre_image_of_n0}}};

}  // namespace geonce
