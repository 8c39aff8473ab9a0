#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "app/config.h"
#include "core/key_ring.h"
#include "core/result.h"
#include "core/second_reader.h"
#include "store/store.h"

namespace geonce {

/// A table in a Postgres database that somebody's own code keeps as a cache of look-ups.
struct TableCache {
  std::string uri;    // postgres://…
  std::string table;  // as SQL spells it, with its schema where that is needed
  /// Who gave the answers that do not say so themselves.
  std::string provider;
  bool plan = false;  // only count
};

struct TableReport {
  std::int64_t rows = 0, matches = 0, no_matches = 0;
  std::int64_t bad = 0;                             // said by `bad_row`
  std::int64_t not_allowed = 0;                     // by the terms of their providers
  std::int64_t stored = 0, older = 0, expired = 0;  // as in TransferReport; of a plan 0
};

/// Files the answers of such a table under the keys that `ring` makes of `raw_input`, with lives
/// that end where `expires_at` and the terms of this configuration end them. Reads the table page
/// by page in the order of `cache_key`, and changes nothing in it. May be stopped and run again.
///
/// columns   cache_key; raw_input; result: a JSON object, or null for a no-match; and, where the
///           table has them, country_code, expires_at, updated_at
/// bad_row   called with the row's cache_key and what is wrong, without the address
/// errors    usage (no such table, or without these columns), reader_unavailable, invalid_config,
///           those of Store
Result<TableReport> adopt_table(
    const TableCache& cache,
    Store& store,
    const Config& config,
    const KeyRing& ring,
    SecondReader* second,
    const std::function<void(std::string_view key, const std::string& why)>& bad_row);

}  // namespace geonce
