#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace geonce {

/// What a provider allows to keep. Unknown = nothing may be kept beyond the request.
struct Terms {
  enum class Keep { nothing, limited, unlimited };
  Keep keep = Keep::nothing;
  std::chrono::hours keep_for{0};        // of limited
  std::vector<std::string> keep_fields;  // by name; empty = all. Others are stripped at write.
  bool share = true;                     // one caller's answer may be given to another
  std::string attribution;
  std::string reason;  // the operator's contract, when the config overrides the spec
};

}  // namespace geonce
