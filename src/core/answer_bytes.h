#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/answer.h"

namespace geonce {

// `encode` and `decode_answer` for those who go through many answers.

/// Appends the bytes of an answer.
void append_encoded(const Answer& answer, std::string& out);
/// An answer that is to be shared; null: unknown codec or cut off.
std::shared_ptr<const Answer> decode_shared_answer(std::string_view bytes);

}  // namespace geonce
