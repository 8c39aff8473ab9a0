#pragma once

#include <string>

#include <boost/json.hpp>

namespace geonce {

/// JSON with numbers as people write them; the library's own has 4.8E1 for 48.
std::string json_text(const boost::json::value& value);

}  // namespace geonce
