#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "io/http_message.h"

namespace geonce {

/// An error as `application/problem+json` (RFC 9457): `type` is `/problems/` and the error's name
/// with hyphens, where the gateway says what it means.
ServerResponse problem(const Error& error);
/// `Retry-After`, where the same request may succeed later.
void add_retry_after(ServerResponse& response, const Error& error);
/// … of a kind that is HTTP's own.
ServerResponse problem(int status, std::string_view name, std::string_view detail);

}  // namespace geonce
