#pragma once

#include <span>
#include <string_view>

namespace geonce {

/// One numbered step of a database's schema, sql/<kind>/NNN_name.sql, carried in the binary. A
/// released step never changes; the next number corrects it.
struct SqlStep {
  int number;
  std::string_view name;      // "001_tables"
  std::string_view checksum;  // SHA-256 of the file, hex
  std::string_view text;
};

/// In order of number, from 1, without gaps.
std::span<const SqlStep> sqlite_steps();
std::span<const SqlStep> postgres_steps();

}  // namespace geonce
