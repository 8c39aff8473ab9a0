#include "store/sqlite_readers.h"

namespace geonce {

SqliteReaders::SqliteReaders(std::vector<std::unique_ptr<SqliteDb>> connections, const Clock& clock)
    : clock_(clock), free_(std::move(connections)) {}

Result<SqliteReaders::Lent> SqliteReaders::lend(Deadline deadline) {
  const auto too_late = [] {
    return fail(ErrorCode::deadline_exceeded, "the store could not be read before the deadline");
  };
  if (deadline.has_passed(clock_)) return too_late();
  std::unique_lock lock(mutex_);
  if (!returned_.wait_for(lock, deadline.left(clock_), [&] { return !free_.empty(); }))
    return too_late();
  auto db = std::move(free_.back());
  free_.pop_back();
  if (deadline.at != Mono::max())
    db->interrupt_when([this, deadline] { return deadline.has_passed(clock_); });
  return Lent(*this, std::move(db));
}

SqliteReaders::Lent::~Lent() {
  if (!db_) return;
  db_->interrupt_when({});
  {
    const std::lock_guard lock(from_->mutex_);
    from_->free_.push_back(std::move(db_));
  }
  from_->returned_.notify_one();
}

}  // namespace geonce
