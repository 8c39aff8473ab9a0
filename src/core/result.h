#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "core/error.h"

namespace geonce {

/// A `T` or an `Error`. Discarding one on purpose is written `ignore(result, "why")`.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

/// `return fail(ErrorCode::not_found, "no entry {}", key);`
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(
      Error{code, fmt::format(format, std::forward<Args>(args)...), {}, {}, {}});
}

/// Passes an error on to a caller that returns another `Result`.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

template <class T>
void ignore(const Result<T>& /*result*/, const char* /*why*/) {}

}  // namespace geonce
