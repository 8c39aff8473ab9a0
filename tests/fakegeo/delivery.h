#pragma once

#include <string>

#include "dialects.h"
#include "script.h"

namespace fakegeo {

/// The bytes of one reply and what becomes of the connection: all that the server has to know.
struct Delivery {
  enum class End {
    keep,    // the connection waits for its next request
    close,   // FIN after the last byte
    reset,   // RST after the last byte
    silent,  // nothing more is ever sent; the connection stays open until the client leaves
    repeat,  // `tail` again and again until the client leaves
  };
  std::string bytes;
  std::string tail;
  End end = End::keep;
  double bytes_per_s = 0;  // 0: as fast as the socket takes them
};

/// What a rule (null: none) makes of the answer to `ask`.
Delivery deliver(const Ask& ask, const Rule* rule, bool keep_alive);

/// A whole and unharmed reply.
Delivery deliver(const Answer& answer, bool keep_alive);

}  // namespace fakegeo
