#include "core/answer.h"

#include <array>
#include <bit>
#include <cstring>

namespace geonce {
namespace {

// docs/formats/entry.md. Integers little-endian; a string is its length in two bytes and its UTF-8.
constexpr char kCodec = 1;
enum Flag : std::uint8_t { kHasAt = 1, kHasConfidence = 2, kPartial = 4 };

template <class T>
void put(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void put_text(std::string& out, std::string_view text) {
  if (text.size() > 0xFFFF) text = text.substr(0, 0xFFFF);
  put(out, static_cast<std::uint16_t>(text.size()));
  out += text;
}

struct Reader {
  std::string_view rest;
  bool ok = true;

  template <class T>
  T take() {
    T value{};
    if (rest.size() < sizeof value) {
      ok = false;
      return value;
    }
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<std::uint16_t>();
    if (rest.size() < size) {
      ok = false;
      return {};
    }
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
};

}  // namespace

std::string_view to_string(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::match:
      return "match";
    case AnswerKind::no_match:
      return "no_match";
    case AnswerKind::ambiguous:
      return "ambiguous";
    case AnswerKind::rejected:
      return "rejected";
  }
  return "no_match";
}

std::string encode(const Answer& answer) {
  std::string out;
  out.reserve(96 + answer.formatted.size());
  out += kCodec;
  out += static_cast<char>(answer.kind);
  out += static_cast<char>((answer.at ? kHasAt : 0) | (answer.confidence ? kHasConfidence : 0) |
                           (answer.partial ? kPartial : 0));
  out += static_cast<char>(answer.precision);
  out += answer.country.code();
  if (answer.at) {
    put(out, answer.at->lat_deg);
    put(out, answer.at->lng_deg);
  }
  if (answer.confidence) put(out, *answer.confidence);
  for (const auto* text : {&answer.provider,
                           &answer.formatted,
                           &answer.place_id,
                           &answer.house_number,
                           &answer.street,
                           &answer.unit,
                           &answer.city,
                           &answer.state,
                           &answer.postcode,
                           &answer.reason})
    put_text(out, *text);
  return out;
}

std::optional<Answer> decode_answer(std::string_view bytes) {
  Reader in{bytes};
  if (in.take<char>() != kCodec) return std::nullopt;
  Answer answer;
  answer.kind = static_cast<AnswerKind>(in.take<std::uint8_t>());
  const auto flags = in.take<std::uint8_t>();
  answer.precision = static_cast<Precision>(in.take<std::uint8_t>());
  const char first = in.take<char>();
  answer.country = Country(first, in.take<char>());
  if ((flags & kHasAt) != 0) {
    const auto lat = in.take<double>();
    answer.at = LatLng{lat, in.take<double>()};
  }
  if ((flags & kHasConfidence) != 0) answer.confidence = in.take<double>();
  answer.partial = (flags & kPartial) != 0;
  for (auto* text : {&answer.provider,
                     &answer.formatted,
                     &answer.place_id,
                     &answer.house_number,
                     &answer.street,
                     &answer.unit,
                     &answer.city,
                     &answer.state,
                     &answer.postcode,
                     &answer.reason})
    *text = in.take_text();
  if (!in.ok || answer.kind < AnswerKind::match || answer.kind > AnswerKind::rejected ||
      answer.precision > Precision::unknown)
    return std::nullopt;
  return answer;
}

}  // namespace geonce
