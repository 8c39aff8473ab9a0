#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/normalize.h"

/// The same bytes as fields, one a line.
inline void probe_fields(geonce::Normalizer& normalizer, const geonce::QueryView& text) {
  using namespace geonce;
  QueryView query;
  query.country = text.country;
  std::string_view rest = text.text;
  for (auto* field : {&query.road,
                      &query.city,
                      &query.house_number,
                      &query.unit,
                      &query.state,
                      &query.postcode,
                      &query.po_box,
                      &query.suburb,
                      &query.house,
                      &query.text}) {
    const auto end = std::min(rest.find('\n'), rest.size());
    *field = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto read = normalizer.normalize(query);
  if (!read) return;
  const auto parsed = parse_pre_image(pre_image(*read));
  GEONCE_EXPECTS(parsed.has_value() && *parsed == *read);
}

/// What has to hold for any bytes whatever: no crash, a pre-image that parses back, and a canonical
/// text that reads back as itself. The first byte picks the country. Stops the process when broken.
inline void probe_normalizer(std::string_view bytes) {
  using namespace geonce;
  constexpr std::array kCountries{
      Country('U', 'S'), Country('C', 'A'), Country('P', 'R'), Country(),         Country('D', 'E'),
      Country('F', 'R'), Country('G', 'B'), Country('I', 'T'), Country('N', 'L'), Country('J', 'P'),
      Country('T', 'R'), Country('S', 'A'), Country('E', 'S'), Country('S', 'E'), Country('R', 'U'),
      Country('V', 'N'), Country('A', 'U'), Country('N', 'Z'), Country('Z', 'A'), Country('I', 'N'),
      Country('P', 'K'), Country('B', 'D'), Country('S', 'G'), Country('H', 'K'), Country('P', 'H'),
      Country('M', 'Y'), Country('I', 'D'), Country('T', 'H'), Country('K', 'R'), Country('C', 'N'),
      Country('T', 'W'), Country('M', 'O'), Country('I', 'E'), Country('B', 'E'), Country('L', 'U'),
      Country('C', 'H'), Country('A', 'T'), Country('P', 'T'), Country('B', 'R'), Country('M', 'X'),
      Country('A', 'R'), Country('C', 'O'), Country('G', 'T'), Country('C', 'L'), Country('P', 'L'),
      Country('C', 'Z'), Country('S', 'K'), Country('H', 'U'), Country('R', 'O'), Country('U', 'A'),
      Country('B', 'G'), Country('R', 'S'), Country('G', 'R'), Country('C', 'Y'), Country('D', 'K'),
      Country('N', 'O'), Country('F', 'I'), Country('L', 'V'), Country('I', 'L'), Country('I', 'R'),
      Country('E', 'G'), Country('D', 'Z'), Country('L', 'A'), Country('N', 'G')};
  if (bytes.empty()) return;
  thread_local Normalizer normalizer;
  QueryView query;
  query.country = kCountries[static_cast<unsigned char>(bytes[0]) % kCountries.size()];
  query.text = bytes.substr(1);
  probe_fields(normalizer, query);
  const auto once = normalizer.normalize(query);
  if (!once) return;
  const auto keyed = normalizer.key(query);
  GEONCE_EXPECTS(keyed.has_value() && keyed->key == key_of(*once));
  const auto parsed = parse_pre_image(pre_image(*once));
  GEONCE_EXPECTS(parsed.has_value() && *parsed == *once);

  const std::string text = normalizer.canonical_text(*once);
  query.text = text;
  query.country = once->country;
  const auto twice = normalizer.normalize(query);
  GEONCE_EXPECTS(twice.has_value() && *twice == *once);
}
