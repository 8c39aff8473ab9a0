#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/clock.h"
#include "io/sqlite.h"

namespace geonce {

/// The connections that only read, lent to one thread at a time.
class SqliteReaders {
 public:
  SqliteReaders(std::vector<std::unique_ptr<SqliteDb>> connections, const Clock& clock);

  class Lent {
   public:
    Lent(SqliteReaders& from, std::unique_ptr<SqliteDb> db) : from_(&from), db_(std::move(db)) {}
    Lent(Lent&&) noexcept = default;
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    Lent& operator=(Lent&&) = delete;
    ~Lent();
    SqliteDb& operator*() const { return *db_; }
    SqliteDb* operator->() const { return db_.get(); }

   private:
    SqliteReaders* from_;
    std::unique_ptr<SqliteDb> db_;
  };

  /// Waits for a free one. Its statements end with deadline_exceeded when the deadline passes.
  /// errors    deadline_exceeded
  Result<Lent> lend(Deadline deadline);

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<SqliteDb>> free_;
};

}  // namespace geonce
