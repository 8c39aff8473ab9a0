#include "core/clock.h"

namespace geonce {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] UtcMs now_utc() const override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  [[nodiscard]] Mono now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace geonce
