#pragma once

#include <memory>
#include <string>
#include <vector>

#include "providers/provider.h"

namespace geonce::sim {

/// What a provider says of one lookup. The letter is what its body has.
enum class Word : char {
  match = 'm',
  no_match = 'n',
  ambiguous = 'a',
  coarse = 'c',    // a match below the floor
  hopeless = 'h',  // this address can never succeed
  unreadable = 'u',
};

/// A provider whose answers are a letter and the number of the answer. How it decodes is all that
/// the processes use of it; calls travel through the world.
class SimProvider final : public Provider {
 public:
  SimProvider(std::string name, bool reads_refusals_as_no_match);
  ProviderTraits traits_;

  [[nodiscard]] const ProviderTraits& traits() const override { return traits_; }
  Result<void> call(std::span<const ProviderAsk>,
                    bool,
                    Deadline,
                    std::function<bool()>,
                    std::function<void(Transfer)>) override;
  [[nodiscard]] std::vector<Outcome> decode(const Transfer& transfer,
                                            std::span<const ProviderAsk> asks,
                                            bool bulk) const override;

  /// The body of a call: one word per lookup, in the order asked.
  static void add_word(std::string& body, Word word, std::size_t answer);
  /// The number of an answer, from any answer that came from here; SIZE_MAX: it did not.
  static std::size_t number_of(const Answer& answer);

 private:
  [[nodiscard]] Outcome outcome_of(Word word, std::string_view number) const;
  [[nodiscard]] Outcome refusal(int status, const Transfer& transfer) const;
  const bool reads_refusals_as_no_match_;
};

}  // namespace geonce::sim
