#pragma once

#include <string>
#include <string_view>

#include "gateway/json_writer.h"
#include "resolver/resolver.h"

namespace geonce {

/// An answer as API v1 shows it.
///
/// key       in its text form
/// resolved  with an answer
void write_answer(JsonWriter& json, std::string_view key, const Resolved& resolved);
/// An error in the place of one, where a request has several queries.
///
/// key       empty: there is none
void write_error(JsonWriter& json, std::string_view key, const Error& error);

}  // namespace geonce
