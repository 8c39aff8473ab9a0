#include "core/outcome.h"

namespace geonce {

std::string_view to_string(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::match:
      return "match";
    case OutcomeKind::no_match:
      return "no_match";
    case OutcomeKind::ambiguous:
      return "ambiguous";
    case OutcomeKind::pending:
      return "pending";
    case OutcomeKind::refused:
      return "refused";
    case OutcomeKind::not_sent:
      return "not_sent";
    case OutcomeKind::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view to_string(FailureClass failure) {
  switch (failure) {
    case FailureClass::none:
      return "none";
    case FailureClass::retry:
      return "retry";
    case FailureClass::retry_after:
      return "retry-after";
    case FailureClass::permanent:
      return "permanent";
    case FailureClass::fatal:
      return "fatal";
  }
  return "none";
}

}  // namespace geonce
