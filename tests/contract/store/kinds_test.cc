#include "contract/store/store_contract.h"

// The kinds of stores that the suite runs over.

namespace geonce::contract {

StoreFactory sqlite_factory();
StoreFactory postgres_factory();
StoreFactory model_factory();

std::vector<StoreFactory> store_kinds() {
  return {sqlite_factory(), postgres_factory(), model_factory()};
}
std::vector<StoreFactory> store_kinds_for_processes() {
  return {sqlite_factory(), postgres_factory()};
}

INSTANTIATE_TEST_SUITE_P(kinds, Store, testing::ValuesIn(store_kinds()), kind_of);

}  // namespace geonce::contract
