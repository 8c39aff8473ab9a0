#pragma once

#include <string>
#include <string_view>

#include "core/country.h"
#include "core/normalize_text.h"

namespace geonce {

/// Where a postcode stands in a text and how it is written canonically.
struct Postcode {
  std::size_t first = 0, last = 0;  // tokens [first, last); empty when there is none
  std::string code;
  [[nodiscard]] bool found() const { return first != last; }
};

/// The last postcode of tokens [first, last) that is certain to be one, for countries other than US
/// and CA (normalize_north_america.cc). Recognised by its form and place, not looked up in a list.
void find_postcode(
    const Tokens& tokens, std::size_t first, std::size_t last, Country country, Postcode& out);

/// The postcode that opens or ends a field which holds a town as well: `28014 Madrid`.
void find_postcode_of_town(
    const Tokens& tokens, std::size_t first, std::size_t last, Country country, Postcode& out);

/// A postcode field: the country's canonical form where the field has the country's form, else the
/// tokens as spelt.
std::string postcode_field(const Tokens& tokens,
                           std::size_t first,
                           std::size_t last,
                           Country country);

}  // namespace geonce
