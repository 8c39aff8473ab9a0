#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace geonce {

/// How two different words may be one word written twice.
enum class WordLikeness : std::uint8_t {
  marks,         // they differ by marks on letters: église, eglise; müller, mueller
  misspelling,   // one edit in a word of four letters or more: cedar, cedr
  abbreviation,  // the letters of one stand in the other in their order: rd, road
};

/// Compares words of canonical addresses. Keeps its buffers: one per thread, not shared.
///
/// What may be a name of its own is like nothing: words with a digit in them, Roman numerals, one
/// letter alone. Words that begin with different letters are taken for two, and so are words of
/// Chinese characters that differ by one of them.
class LikeWords {
 public:
  LikeWords();
  ~LikeWords();
  LikeWords(const LikeWords&) = delete;
  LikeWords& operator=(const LikeWords&) = delete;

  /// nullopt: equal, or not alike. Does not depend on the order.
  std::optional<WordLikeness> operator()(std::string_view a, std::string_view b);
  /// The letter that alike words begin with, without its marks; 0: the word is like nothing.
  char32_t first_letter(std::string_view word);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace geonce
