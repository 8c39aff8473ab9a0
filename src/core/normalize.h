#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "core/key_ring.h"
#include "core/query.h"

namespace geonce {

/// How the address was understood; part of the pre-image, so modes never share a key.
enum class Mode : char { parsed = 'p', road_only = 'r', intersection = 'i', unparsed = 'u' };

/// `parsed`, `road_only`, `intersection`, `unparsed`.
std::string_view to_string(Mode mode);

/// What makes an address weak. Weak input lives shorter.
enum class Quality : std::uint8_t {
  none = 0,
  no_locality = 1,
  no_postcode = 2,
  unparsed = 4,
  po_box = 8,
  rural_route = 16,
};
constexpr Quality operator|(Quality a, Quality b) {
  return static_cast<Quality>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool has(Quality set, Quality flag) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(flag)) != 0;
}
/// The words `no_locality`, `no_postcode`, … in this order.
std::vector<std::string_view> words(Quality quality);

/// The parsed, normalised form `n1`. Every field is canonical UTF-8, possibly empty.
struct Canonical {
  Mode mode = Mode::unparsed;
  Country country;
  std::string admin, postcode, locality, road, house, unit, box, extra;
  std::string options;  // `language=fr`; empty when they are the defaults
  std::string backend;  // what read it, `p:…`; empty: the built-in rules
  Quality quality = Quality::none;
  friend bool operator==(const Canonical&, const Canonical&) = default;
};

/// What the fields say about an address; `normalize` has set it already.
Quality quality_of(const Canonical& canonical);

/// The bytes a key is the SHA-256 of (docs/formats/key.md).
std::string pre_image(const Canonical& canonical);
void append_pre_image(const Canonical& canonical, std::string& bytes);
/// errors    invalid_address  not a pre-image of this version
Result<Canonical> parse_pre_image(std::string_view bytes);
Key key_of(const Canonical& canonical);
/// The pre-image without unit and extra: one per building.
std::string building_pre_image(const Canonical& canonical);
/// The address in one line, for a person. Nearly always it normalises to itself, given the same
/// country; `Normalizer::canonical_text` always does.
std::string one_line(const Canonical& canonical);

struct Keyed {
  Key key;
  Mode mode = Mode::unparsed;
  Quality quality = Quality::none;
  Country country;
  std::string pre_image;  // what the key is made of, where a second reader read it; else empty
};

class SecondReader;
class SecondReading;

/// Normalises addresses by docs/formats/key.md. Keeps its buffers: one per thread, not shared.
class Normalizer {
 public:
  /// ring     what keys are made with
  /// second   asked for what the built-in rules leave in one piece; null: nobody is. Both outlive
  ///          this
  explicit Normalizer(const KeyRing& ring = KeyRing::plain(), SecondReader* second = nullptr);
  ~Normalizer();
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;

  /// errors    invalid_address   empty, over 2,048 bytes, invalid UTF-8
  ///           unknown_country   a country field that names none
  ///           country_conflict  the text names another country than the hint
  ///           contradictory_fields
  ///           reader_unavailable, interrupted  of the second reader: no key, so that the address
  ///                             is not bought under two
  Result<Canonical> normalize(const QueryView& query);
  /// A text that has the key of `canonical`: its line, or where fields say what no line can, the
  /// pre-image, which reads as an address too.
  std::string canonical_text(const Canonical& canonical);
  [[nodiscard]] const KeyRing& ring() const { return *ring_; }
  /// The same without building the strings: the hot path.
  Result<Keyed> key(const QueryView& query);
  /// The same for many addresses, so that the second reader is asked for all of them at once.
  /// nullopt: this one waits for it.
  std::optional<Result<Keyed>> key_or_wait(const QueryView& query);
  /// The keys of all that wait, in the order in which they came.
  std::vector<Result<Keyed>> keys_of_waiting();

 private:
  [[nodiscard]] bool is_for_second(const QueryView& query) const;
  Keyed keyed(const Canonical& canonical);
  std::vector<Result<Keyed>> second_keys(std::span<const Canonical> unparsed);

  struct State;
  const KeyRing* ring_;
  std::unique_ptr<State> state_;
  std::unique_ptr<SecondReading> second_;
  std::vector<Canonical> waiting_;
};

}  // namespace geonce
