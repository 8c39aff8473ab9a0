#pragma once

#include <string>

#include "core/country.h"

namespace geonce {

/// One spelling in folded text for what some countries write in several, before words are told
/// apart: JP 五丁目13番14号 is 5-13-14, TW 二段 is 2段 (numerals elsewhere are parts of names,
/// 三田, and stay), TH ถ.สุเทพ is ถนนสุเทพ, BD Dhaka-1213 is Dhaka 1213, IN Sector-5 is Sector 5.
/// Source: Japan Post, 住所の書き方; Chunghwa Post, 書寫地址; Thailand Post; India Post and its
/// neighbours.
bool has_spellings_to_unify(Country country);
void unify_spellings(Country country, std::string& text);

}  // namespace geonce
