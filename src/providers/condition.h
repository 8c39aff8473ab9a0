#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "core/query.h"
#include "providers/pointer.h"

namespace geonce {

struct StatusRange {
  int first = 0, last = 0;
};

/// What a rule looks at.
struct Evidence {
  int status = 0;
  const boost::json::value* body = nullptr;  // null: the body is no JSON
  std::string_view text;                     // the body as it came; empty for an item of a batch
  const Query* asked = nullptr;              // null: not known
};

/// Holds when all that it names holds. An empty one always does.
struct Condition {
  struct Words {
    Pointer at;
    std::vector<std::string> words;
  };
  struct Range {
    Pointer at;
    double low = 0, high = 0;
  };
  std::vector<StatusRange> status;
  std::vector<Words> is;        // the value, or an element of the array, is one of the words
  std::vector<Words> contains;  // the text contains one of the words, in any case
  std::vector<Range> between;
  std::vector<Pointer> has,
      lacks;  // there is something, nothing (null, blank, [] and {} are nothing)
  std::vector<std::string> text;  // the whole body contains one of them, in any case
  bool asked_postcode = false;    // the query was nothing but a postcode

  [[nodiscard]] bool holds(const Evidence& subject) const;
};

}  // namespace geonce
