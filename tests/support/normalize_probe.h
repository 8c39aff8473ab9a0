#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/normalize.h"

/// What has to hold for any bytes whatever: no crash, a pre-image that parses back, and a canonical
/// line that reads back as itself. The first byte picks the country. Stops the process when broken.
inline void probe_normalizer(std::string_view bytes) {
  using namespace geonce;
  constexpr std::array kCountries{Country('U', 'S'),
                                  Country('C', 'A'),
                                  Country('P', 'R'),
                                  Country(),
                                  Country('D', 'E'),
                                  Country('F', 'R'),
                                  Country('G', 'B'),
                                  Country('I', 'T'),
                                  Country('N', 'L'),
                                  Country('J', 'P'),
                                  Country('T', 'R'),
                                  Country('S', 'A'),
                                  Country('E', 'S'),
                                  Country('S', 'E'),
                                  Country('R', 'U'),
                                  Country('V', 'N')};
  if (bytes.empty()) return;
  thread_local Normalizer normalizer;
  QueryView query;
  query.country = kCountries[static_cast<unsigned char>(bytes[0]) % kCountries.size()];
  query.text = bytes.substr(1);
  const auto once = normalizer.normalize(query);
  if (!once) return;
  const auto keyed = normalizer.key(query);
  GEONCE_EXPECTS(keyed.has_value() && keyed->key == key_of(*once));
  const auto parsed = parse_pre_image(pre_image(*once));
  GEONCE_EXPECTS(parsed.has_value() && *parsed == *once);

  const std::string line = one_line(*once);
  if (line.size() > 2048) return;  // compatibility letters may grow beyond what is accepted
  query.text = line;
  query.country = once->country;
  const auto twice = normalizer.normalize(query);
  GEONCE_EXPECTS(twice.has_value() && *twice == *once);
}
