#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/second_reader.h"

namespace geonce {

/// What geonce and the process that holds libpostal say to each other. A message is the size of
/// its body (4 bytes, the low one first), its kind (1 byte) and the body.
struct PostalMessage {
  enum class Kind : char {
    // From geonce.
    load = 'L',      // read the model
    question = 'Q',  // body: the text
    // To geonce.
    hello = 'H',   // the library is open; body: its path
    loaded = 'R',  // the model is read
    parsed = 'P',  // body: the parts of the oldest question
    unread = 'U',  // the library gave no answer to it
    failed = 'F',  // it will not go on; body: why, for a person
  };
  static constexpr std::size_t kLargest = std::size_t{1} << 20U;  // bytes of a body

  Kind kind = Kind::failed;
  std::string body;
};

void append_message(PostalMessage::Kind kind, std::string_view body, std::string& out);

/// Takes the first message out of what has come. nullopt: it is not whole yet.
/// errors    io_failed  what has come is no message
Result<std::optional<PostalMessage>> take_message(std::string& in);

/// The body of `parsed`: per part the sizes of its label (1 byte) and words (4 bytes), then both.
std::string encode_parts(std::span<const TextPart> parts);
/// errors    io_failed  not such a body
Result<std::vector<TextPart>> decode_parts(std::string_view body);

}  // namespace geonce
