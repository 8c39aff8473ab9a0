#include "core/country.h"

namespace geonce {

Result<Country> parse_country(std::string_view text) {
  if (text.size() == 2 && text != "ZZ") return Country(text[0], text[1]);
  return Country();
}

std::string_view alpha3(Country /*country*/) { return {}; }

}  // namespace geonce
