#pragma once

#include <string>

#include "core/country.h"

namespace geonce {

/// One spelling for the numbers of blocks and sections in folded text, where Japan and Taiwan have
/// several: 五丁目13番14号 is 5-13-14, 二段 is 2段. Numerals elsewhere are parts of names (三田)
/// and stay. Source: Japan Post, 住所の書き方; Chunghwa Post, 書寫地址.
void unify_blocks(Country country, std::string& text);

}  // namespace geonce
