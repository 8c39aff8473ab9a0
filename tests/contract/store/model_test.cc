#include "contract/store/store_contract.h"
#include "support/model_store/model_store.h"

namespace geonce::contract {
namespace {

class WorldOfMaps final : public StoreWorld {
 public:
  Result<std::unique_ptr<geonce::Store>> open(Clock* clock) override {
    return open_model_store(world_, clock == nullptr ? system_clock() : *clock);
  }

 private:
  std::shared_ptr<ModelWorld> world_ = make_model_world();
};

}  // namespace

StoreFactory model_factory() {
  return {"model", [] { return std::make_unique<WorldOfMaps>(); }};
}

}  // namespace geonce::contract
