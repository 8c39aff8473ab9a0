#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {

void load_places(SqliteWork& work,
                 std::string_view source,
                 bool replace_source,
                 std::span<const PlaceRow> rows);
std::vector<std::optional<PlaceHit>> find_places(SqliteWork& work,
                                                 std::span<const std::vector<Key>> keys);
PlacesStats places_stats(SqliteWork& work);

}  // namespace geonce
