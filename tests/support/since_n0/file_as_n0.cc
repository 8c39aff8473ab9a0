// Files each answer of a store under the key that n0 would have made of the spelling it was bought
// for.
//   geonce_file_as_n0 STORE
#include <cstdio>
#include <cstdlib>
#include <string>

#include "store/store.h"
#include "support/older_rules.h"

namespace {

using namespace geonce;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  SqliteOptions options;
  options.path = argv[1];
  const auto store = must(open_sqlite_store(options));
  EntryFilter filter;
  filter.limit = 1'000'000;
  std::vector<Rekey> rekeys;
  for (const EntryRow& entry : must(store->entries(filter, Deadline::never()))) {
    const Query query = must(query_from_json(entry.query_json));
    Rekey& rekey = rekeys.emplace_back();
    rekey.from = rekey.to = entry.slot;
    rekey.query_json = entry.query_json;
    rekey.pre_image = must(pre_image_of_n0(query.view()));
    rekey.to.key = sha256(rekey.pre_image);
    rekey.building_key = rekey.to.key;
  }
  (void)must(store->rekey(rekeys, Deadline::never()));
}
