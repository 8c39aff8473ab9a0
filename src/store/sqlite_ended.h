#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "store/sqlite_writer.h"
#include "store/store.h"

namespace geonce {

/// A part of the transaction that ends the window.
void note_ended(SqliteWork& work, const Slot& slot, std::int64_t gen);

EndedSince ended_since(SqliteWork& work, std::string_view cursor, std::size_t limit);
std::vector<EndedWindow> untold(SqliteWork& work, std::size_t limit);
void told(SqliteWork& work, std::span<const std::int64_t> numbers);

}  // namespace geonce
