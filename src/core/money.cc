#include "core/money.h"

#include <cstdlib>

#include <fmt/format.h>

namespace geonce {

std::string to_string(Money money) {
  const std::int64_t whole = std::abs(money.micro_usd / 1'000'000);
  std::string decimals = fmt::format("{:06}", std::abs(money.micro_usd % 1'000'000));
  while (decimals.size() > 2 && decimals.back() == '0') decimals.pop_back();
  return fmt::format("{}${}.{}", money.micro_usd < 0 ? "-" : "", whole, decimals);
}

}  // namespace geonce
