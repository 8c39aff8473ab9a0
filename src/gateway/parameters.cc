#include "gateway/parameters.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace geonce {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

Result<void> Parameters::read(std::string_view query) {
  pairs_.clear();
  bytes_.clear();
  bytes_.reserve(query.size());  // decoding lengthens nothing: the views stay where they are
  bool is_broken = false;
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    const auto name = decode(pair.substr(0, equals), is_broken);
    const auto value = decode(pair.substr(std::min(equals + 1, pair.size())), is_broken);
    pairs_.emplace_back(name, value);
  }
  if (is_broken)
    return fail(ErrorCode::usage, "a % in the target without two hex digits behind it: write %25");
  return {};
}

std::string_view Parameters::decode(std::string_view text, bool& is_broken) {
  const std::size_t begin = bytes_.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      bytes_ += ' ';
    } else if (text[i] != '%') {
      bytes_ += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        is_broken = true;
        return {};
      }
      bytes_ += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return std::string_view(bytes_).substr(begin);
}

std::string_view Parameters::value(std::string_view name) const {
  for (const auto& [key, value] : pairs_)
    if (key == name) return value;
  return {};
}

Result<void> Parameters::only(std::span<const std::string_view> known) const {
  for (auto at = pairs_.begin(); at != pairs_.end(); ++at) {
    if (std::ranges::find(known, at->first) == known.end())
      return fail(
          ErrorCode::usage, "there is no such parameter; known are {}", fmt::join(known, ", "));
    if (std::any_of(
            pairs_.begin(), at, [&](const auto& other) { return other.first == at->first; }))
      return fail(ErrorCode::usage, "the parameter {} stands there twice", at->first);
  }
  return {};
}

}  // namespace geonce
