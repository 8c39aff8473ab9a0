#include "core/normalize_grammar.h"

namespace geonce {

void append_flat(const Tokens& tokens, Range range, std::string& out) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (i != range.first) out += tokens[i].after_break ? ", " : " ";
    out += tokens.view(i);
  }
}

tl::unexpected<Error> contradiction(std::string_view what) {
  return fail(ErrorCode::contradictory_fields, "two fields of the address name different {}", what);
}

void append_segment(std::string& field, std::string_view segment) {
  if (segment.empty()) return;
  if (!field.empty()) field += ", ";
  field += segment;
}

void PlainGrammar::free_text(const Tokens& tokens, Range text, Canonical& out) {
  out.mode = Mode::unparsed;
  const auto code = out.country.code();
  // Commas between the levels of an address in Han or Hangul say nothing.
  const bool joins = code == "KR" || code == "JP" || code == "CN" || code == "TW" || code == "MO";
  const auto append_flat = [joins](const Tokens& all, Range range, std::string& to) {
    if (joins)
      to += all.view(range.first, range.last);
    else
      geonce::append_flat(all, range, to);
  };
  find_postcode(tokens, text.first, text.last, out.country, postcode_);
  if (!postcode_.found()) return append_flat(tokens, text, out.road);
  out.postcode = postcode_.code;
  append_flat(tokens, {text.first, postcode_.first}, out.road);
  if (postcode_.last == text.last) return;
  if (!out.road.empty()) out.road += joins ? " " : ", ";
  append_flat(tokens, {postcode_.last, text.last}, out.road);
}

void PlainGrammar::fields(const Tokens& tokens, const Parts& parts, Canonical& out) {
  const auto take = [&tokens](Range range, std::string& field) {
    if (!field.empty() && !range.empty()) field += ", ";
    append_flat(tokens, range, field);
  };
  take(parts.text, out.road);
  take(parts.road, out.road);
  take(parts.house_number, out.house);
  take(parts.unit, out.unit);
  take(parts.city, out.locality);
  take(parts.state, out.admin);
  take(parts.po_box, out.box);
  take(parts.house, out.extra);
  take(parts.suburb, out.extra);
  out.postcode = postcode_field(tokens, parts.postcode.first, parts.postcode.last, out.country);
  out.mode = out.house.empty() && out.box.empty() ? Mode::road_only : Mode::parsed;
}

}  // namespace geonce
