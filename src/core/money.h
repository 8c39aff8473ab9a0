#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace geonce {

/// Micro-USD. Prices of providers are fractions of a cent.
struct Money {
  std::int64_t micro_usd = 0;
  friend auto operator<=>(const Money&, const Money&) = default;
  friend Money operator+(Money a, Money b) { return {a.micro_usd + b.micro_usd}; }
  friend Money operator-(Money a, Money b) { return {a.micro_usd - b.micro_usd}; }
  friend Money operator*(Money a, std::int64_t n) { return {a.micro_usd * n}; }
  Money& operator+=(Money other) {
    micro_usd += other.micro_usd;
    return *this;
  }
};

/// "$0.0050": at least two decimals, as many as needed.
std::string to_string(Money money);

}  // namespace geonce
