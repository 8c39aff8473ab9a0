#include "store/store.h"

namespace geonce {

std::optional<Found> aged(Found found, milliseconds by) {
  found.fresh_left -= by;
  found.stale_left -= by;
  found.erase_left -= by;
  if (found.erase_left <= milliseconds{0}) return std::nullopt;
  return found;
}

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::miss:
      return "miss";
    case Cause::stale:
      return "stale";
    case Cause::eager:
      return "eager";
    case Cause::forced:
      return "forced";
    case Cause::takeover:
      return "takeover";
    case Cause::batch:
      return "batch";
  }
  return "miss";
}

std::string_view to_string(LedgerEvent event) {
  switch (event) {
    case LedgerEvent::prepared:
      return "prepared";
    case LedgerEvent::answered:
      return "answered";
    case LedgerEvent::refused:
      return "refused";
    case LedgerEvent::unknown:
      return "unknown";
    case LedgerEvent::voided:
      return "void";
    case LedgerEvent::reconciled:
      return "reconciled";
  }
  return "prepared";
}

}  // namespace geonce
