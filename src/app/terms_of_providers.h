#pragma once

#include <map>
#include <string>

#include "app/config.h"
#include "core/result.h"
#include "core/terms.h"
#include "store/store.h"

namespace geonce {

/// What this configuration lets be kept of an answer that comes from elsewhere, and for how long.
class TermsOfProviders {
 public:
  /// errors    as load_specs
  static Result<TermsOfProviders> of(const Config& config);

  /// nullptr: nobody has said what the provider allows.
  [[nodiscard]] const Terms* find(const std::string& provider) const;

  /// Strips and shortens. False: it may not be kept at all.
  static bool apply(const Terms& terms, EntryRow& entry);

 private:
  std::map<std::string, Terms, std::less<>> terms_;
};

}  // namespace geonce
