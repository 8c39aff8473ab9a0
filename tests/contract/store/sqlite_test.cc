#include "contract/store/store_contract.h"
#include "support/temp_dir.h"

namespace geonce::contract {
namespace {

class SqliteWorld final : public StoreWorld {
 public:
  Result<std::unique_ptr<geonce::Store>> open(Clock* clock) override {
    SqliteOptions options;
    options.path = folder_.file("geonce.db");
    options.clock = clock;
    return open_sqlite_store(options);
  }

 private:
  TempDir folder_;
};

}  // namespace

StoreFactory sqlite_factory() {
  return {"sqlite", [] { return std::make_unique<SqliteWorld>(); }};
}

}  // namespace geonce::contract
