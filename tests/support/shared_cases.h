#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

/// A file or folder of cases that are too large to be kept with the sources: `cases/NAME` in
/// $GEONCE_SHARED, by default in the folder `shared` beside this repository.
inline std::filesystem::path shared_cases(const std::string& name) {
  const char* const named = std::getenv("GEONCE_SHARED");
  const std::filesystem::path root = named != nullptr
                                         ? std::filesystem::path(named)
                                         : std::filesystem::path(GEONCE_SOURCE_DIR) / "../shared";
  return root / "cases" / name;
}

/// Ends the running test as skipped, with the reason, where `path` is not there. Whoever has to
/// have the cases sets GEONCE_REQUIRE_SHARED, and it fails instead.
#define GEONCE_NEEDS_CASES(path)                                                                  \
  if (!std::filesystem::exists(path)) {                                                           \
    if (std::getenv("GEONCE_REQUIRE_SHARED") != nullptr) FAIL() << (path) << " is not there";     \
    GTEST_SKIP() << (path) << " is not there; set GEONCE_SHARED to the folder that holds cases/"; \
  }                                                                                               \
  static_assert(true)
