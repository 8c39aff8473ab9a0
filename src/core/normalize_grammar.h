#pragma once

#include "core/normalize.h"
#include "core/normalize_postcode.h"
#include "core/normalize_text.h"

namespace geonce {

/// Where the parts of one query stand among its tokens.
struct Parts {
  Range text;  // without the country at its end
  Range house_number, road, unit, city, state, postcode, house, po_box, suburb;
};

/// The tokens as they are, `, ` where a line or field ends.
void append_flat(const Tokens& tokens, Range range, std::string& out);

/// Two fields name different `what`: states, postcodes.
tl::unexpected<Error> contradiction(std::string_view what);

/// Adds a further segment to a field that may hold several.
void append_segment(std::string& field, std::string_view segment);

/// For countries without a grammar of their own: fields are taken as given, and free text is left
/// in one piece but for the postcode.
class PlainGrammar {
 public:
  void free_text(const Tokens& tokens, Range text, Canonical& out);
  static void fields(const Tokens& tokens, const Parts& parts, Canonical& out);

 private:
  Postcode postcode_;
};

}  // namespace geonce
