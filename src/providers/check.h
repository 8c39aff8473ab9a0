#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/spec.h"

namespace geonce {

/// A response as somebody has it on disk.
struct SavedResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // names in any case
  std::string body;
  bool bulk = false;
  /// References or texts that were sent, in order; nullopt: not known.
  std::optional<std::vector<std::string>> submitted;
};

/// What geonce would make of a response, as the JSON object that `geonce provider check` prints:
/// `outcome`; of errors `class`, `delay_s` and `reason`; of matches `result`; `cache`; of bulk
/// answers `items`, each with `ref` (the reference, or the position where the provider has none)
/// and the same members.
std::string check(const Spec& spec, const SavedResponse& response);

/// "Name: value" as typed; nullopt without a colon.
std::optional<std::pair<std::string, std::string>> parse_header(std::string_view line);

/// `["a", "b", 3]` as the texts a, b, 3.
/// errors    usage  not a JSON array of texts and numbers
Result<std::vector<std::string>> parse_submitted(std::string_view json_text);

/// For people: one line per provider, under a heading.
std::string list_text(const Specs& specs);

/// What is known of one provider, as comments above its file: the output is a file itself.
std::string show_text(const Spec& spec);

}  // namespace geonce
