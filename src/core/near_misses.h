#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/normalize.h"

namespace geonce {

/// Why two addresses with two keys look like one place.
enum class Likeness : std::uint8_t {
  marks,         // as WordLikeness, of one word
  misspelling,   //
  abbreviation,  //
  unit_word,     // a unit without a class against one with it: `unit 4`, `apt 4`
  missing_word,  // one says a word more: a town, a state, a part of the road's name
  same_words,    // the same words, divided into fields in another way or not at all
};
/// `marks`, `misspelling`, `abbreviation`, `unit_word`, `missing_word`, `same_words`.
std::string_view to_string(Likeness likeness);

/// Pairs of addresses that differ by the same two words.
struct NearMissGroup {
  Likeness likeness = Likeness::marks;
  /// The two words, the shorter first; the first is empty for a missing word. Of same_words: the
  /// modes.
  std::string a, b;
  std::size_t pairs = 0;
  /// Places in the order of `add`, the one with `a` first; not all of them where there are very
  /// many.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;
};

struct NearMissReport {
  std::vector<NearMissGroup> groups;  // most pairs first
  std::size_t pairs = 0;              // of all groups, and of those that found no room
  bool is_complete = true;  // false: more groups, or more like words in one place, than are held
};

/// Finds addresses that are one word apart.
///
/// Two addresses are near misses when they have the same country, postcode, options and numbers,
/// the same words but for one, in one field (road, unit, locality, extra, state), and that word is
/// like its counterpart (core/like_words.h), or missing. An unparsed address is compared word by
/// word with one whose parts are known. Words with digits in them are never the difference.
///
/// Takes about 200 bytes for an address of 45 letters, and at most kMarksAtOnce marks beside it;
/// time grows with the number of addresses, times the number of words that stand in one place of
/// otherwise equal addresses, of which each is compared with kWide at most.
class NearMisses {
 public:
  static constexpr std::size_t kMarksAtOnce = 2'000'000;  // 16 bytes each
  static constexpr std::size_t kWide = 512;
  static constexpr std::size_t kMostGroups = 100'000;
  static constexpr std::size_t kMostMembers = 2'000'000;

  explicit NearMisses(std::size_t marks_at_once = kMarksAtOnce) : marks_at_once_(marks_at_once) {}

  /// An address that is added twice is near to others twice, but not to itself.
  void add(const Canonical& address);
  [[nodiscard]] std::size_t size() const { return addresses_.size(); }
  /// The address that was added as number `place`.
  [[nodiscard]] Canonical at(std::uint32_t place) const;
  [[nodiscard]] NearMissReport find() const;

 private:
  class Search;
  /// Where the pre-image of an address and its words stand in `blocks_`.
  struct Address {
    std::uint32_t block = 0, begin = 0, words = 0, end = 0;
  };
  [[nodiscard]] std::string_view pre_image_of(const Address& address) const;
  [[nodiscard]] std::string_view words_of(const Address& address) const;

  std::size_t marks_at_once_;
  std::vector<std::string> blocks_;  // each is full when it is: nothing is copied in growing
  std::vector<Address> addresses_;
  std::size_t marks_ = 0;  // at most so many are made of them
};

}  // namespace geonce
