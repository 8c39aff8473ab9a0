#include "io/libpostal_talk.h"

#include <algorithm>
#include <cstdint>

namespace geonce {
namespace {

constexpr std::size_t kHead = 5;

void put_size(std::size_t size, std::string& out) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    out += static_cast<char>((size >> shift) & 0xFFU);
}

std::size_t size_at(std::string_view bytes) {
  std::size_t size = 0;
  for (std::size_t i = 4; i-- > 0;) size = size << 8U | static_cast<unsigned char>(bytes[i]);
  return size;
}

tl::unexpected<Error> broken_talk() {
  return fail(ErrorCode::io_failed, "it said something that has no meaning");
}

}  // namespace

void append_message(PostalMessage::Kind kind, std::string_view body, std::string& out) {
  put_size(body.size(), out);
  out += static_cast<char>(kind);
  out += body;
}

Result<std::optional<PostalMessage>> take_message(std::string& in) {
  if (in.size() < kHead) return std::nullopt;
  const std::size_t size = size_at(in);
  if (size > PostalMessage::kLargest ||
      std::string_view("LQHRPUF").find(in[kHead - 1]) == std::string_view::npos)
    return broken_talk();
  if (in.size() < kHead + size) return std::nullopt;
  PostalMessage message{static_cast<PostalMessage::Kind>(in[kHead - 1]), in.substr(kHead, size)};
  in.erase(0, kHead + size);
  return message;
}

std::string encode_parts(std::span<const TextPart> parts) {
  constexpr std::size_t kLongestLabel = 255;
  std::string body;
  for (const auto& [label, words] : parts) {
    const auto cut = std::string_view(label).substr(0, kLongestLabel);
    body += static_cast<char>(cut.size());
    put_size(words.size(), body);
    body += cut;
    body += words;
  }
  return body;
}

Result<std::vector<TextPart>> decode_parts(std::string_view body) {
  std::vector<TextPart> parts;
  while (!body.empty()) {
    if (body.size() < kHead) return broken_talk();
    const std::size_t label = static_cast<unsigned char>(body[0]);
    const std::size_t words = size_at(body.substr(1));
    body.remove_prefix(kHead);
    if (body.size() < label || body.size() - label < words) return broken_talk();
    parts.push_back({std::string(body.substr(0, label)), std::string(body.substr(label, words))});
    body.remove_prefix(label + words);
  }
  return parts;
}

}  // namespace geonce
