#pragma once

#include <string_view>

namespace geonce {

/// api/openapi.json, the description of API v1.
std::string_view openapi_json();

}  // namespace geonce
