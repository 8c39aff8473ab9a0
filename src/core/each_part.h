#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace geonce {

/// Calls `deed` with each part of a table's list, such as `street;st;str`.
template <class Deed>
void each_part(std::string_view list, char separator, Deed deed) {
  for (std::size_t begin = 0; begin < list.size();) {
    const auto end = std::min(list.find(separator, begin), list.size());
    deed(list.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace geonce
