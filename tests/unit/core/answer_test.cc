#include "core/answer.h"

#include <gtest/gtest.h>

#include "core/answer_bytes.h"

namespace geonce {
namespace {

Answer full() {
  Answer answer;
  answer.kind = AnswerKind::match;
  answer.at = LatLng{0, -0.1585385};
  answer.precision = Precision::rooftop;
  answer.confidence = 0.0;
  answer.provider = "google";
  answer.formatted = "1 Éire St";
  answer.country = Country('G', 'B');
  return answer;
}

TEST(Answer, comes_back_from_its_bytes_unchanged_zero_coordinates_included) {
  EXPECT_EQ(decode_answer(encode(full())), full());
  EXPECT_EQ(decode_answer(encode(Answer{})), Answer{});
  EXPECT_EQ(*decode_shared_answer(encode(full())), full());
}

TEST(Answer, cut_or_foreign_bytes_are_no_answer) {
  const std::string bytes = encode(full());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_answer(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_EQ(decode_shared_answer(std::string_view(bytes).substr(1)), nullptr);
  EXPECT_FALSE(decode_answer("\x7f" + bytes.substr(1)));
}

}  // namespace
}  // namespace geonce
