#pragma once

#include <string>
#include <string_view>

namespace geonce {

bool is_utf8(std::string_view text);

/// For services that take ASCII only: letters lose their marks (é → e), what is then not ASCII
/// becomes `?`.
std::string in_ascii(std::string_view utf8);

}  // namespace geonce
