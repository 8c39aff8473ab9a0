#include "core/answer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/answer_bytes.h"

namespace geonce {
namespace {

// docs/formats/entry.md. Integers little-endian; a string is its length in two bytes and its UTF-8.
constexpr char kCodec = 1;
enum Flag : std::uint8_t { kHasAt = 1, kHasConfidence = 2, kPartial = 4 };

constexpr std::size_t kMostText = 0xFFFF;

auto texts_of(auto& answer) {
  return std::array{&answer.provider,
                    &answer.formatted,
                    &answer.place_id,
                    &answer.house_number,
                    &answer.street,
                    &answer.unit,
                    &answer.city,
                    &answer.state,
                    &answer.postcode,
                    &answer.reason};
}

std::size_t encoded_size(const Answer& answer) {
  std::size_t size = 4 + answer.country.code().size();
  if (answer.at) size += 2 * sizeof(double);
  if (answer.confidence) size += sizeof(double);
  for (const auto* text : texts_of(answer))
    size += sizeof(std::uint16_t) + std::min(text->size(), kMostText);
  return size;
}

struct Writer {
  char* at;

  template <class T>
  void put(T value) {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
  void put_bytes(std::string_view bytes) { at = std::copy(bytes.begin(), bytes.end(), at); }
  void put_text(std::string_view text) {
    text = text.substr(0, kMostText);
    put(static_cast<std::uint16_t>(text.size()));
    put_bytes(text);
  }
};

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
  void take_text(std::string& text) {
    const auto size = take<std::uint16_t>();
    if (rest.size() < size) {
      ok = false;
      return;
    }
    text = rest.substr(0, size);
    rest.remove_prefix(size);
  }
};

/// false: unknown codec or cut off.
bool decode(std::string_view bytes, Answer& answer) {
  Reader in{bytes};
  if (in.take<char>() != kCodec) return false;
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
  for (auto* text : texts_of(answer)) in.take_text(*text);
  return in.ok && answer.kind >= AnswerKind::match && answer.kind <= AnswerKind::rejected &&
         answer.precision <= Precision::unknown;
}

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

void append_encoded(const Answer& answer, std::string& out) {
  const std::size_t begin = out.size();
  out.resize(begin + encoded_size(answer));
  Writer to{out.data() + begin};
  to.put(kCodec);
  to.put(static_cast<char>(answer.kind));
  to.put(static_cast<char>((answer.at ? kHasAt : 0) | (answer.confidence ? kHasConfidence : 0) |
                           (answer.partial ? kPartial : 0)));
  to.put(static_cast<char>(answer.precision));
  to.put_bytes(answer.country.code());
  if (answer.at) {
    to.put(answer.at->lat_deg);
    to.put(answer.at->lng_deg);
  }
  if (answer.confidence) to.put(*answer.confidence);
  for (const auto* text : texts_of(answer)) to.put_text(*text);
}

std::string encode(const Answer& answer) {
  std::string out;
  append_encoded(answer, out);
  return out;
}

std::optional<Answer> decode_answer(std::string_view bytes) {
  Answer answer;
  if (!decode(bytes, answer)) return std::nullopt;
  return answer;
}

std::shared_ptr<const Answer> decode_shared_answer(std::string_view bytes) {
  auto answer = std::make_shared<Answer>();
  if (!decode(bytes, *answer)) return nullptr;
  return answer;
}

}  // namespace geonce
