#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/normalize_text.h"
#include "core/second_reader.h"

namespace geonce {

/// Which of `parts` each token belongs to, by comparing letter by letter what both sides have in
/// common: no case, no marks on letters, no punctuation. A token of punctuation alone belongs to
/// the one behind it. nullopt: the parts are not the text, or divide a token.
std::optional<std::vector<std::size_t>> word_owners(const Tokens& tokens,
                                                    const std::vector<TextPart>& parts);

/// The letters and digits of a text without what readers drop: case, marks on letters,
/// punctuation. nullopt: no UTF-8.
std::optional<std::string> bare_letters(std::string_view text);

}  // namespace geonce
