#include "app/second_reader.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "io/libpostal_reader.h"

namespace geonce {
namespace {

/// Where programs keep what they can make again; empty: nowhere.
std::filesystem::path cache_folder() {
  const auto environment = process_environment();
  const auto of = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  // Only absolute ones count (XDG Base Directory Specification).
  if (const auto cache = of("XDG_CACHE_HOME"); cache.starts_with('/'))
    return std::filesystem::path(cache) / "geonce";
  if (const auto home = of("HOME"); home.starts_with('/'))
    return std::filesystem::path(home) / ".cache/geonce";
  return {};
}

}  // namespace

Result<std::unique_ptr<SecondReader>> open_second_reader(const Config& config,
                                                         std::stop_token stop) {
  if (config.normalize.backend != "libpostal") return nullptr;
  LibpostalOptions options;
  options.program = "/proc/self/exe";
  options.library = config.normalize.library;
  std::error_code error;
  options.data = std::filesystem::absolute(config.normalize.data, error);
  options.timeout = config.normalize.timeout;
  options.start_timeout = config.normalize.start_timeout;
  options.cache = cache_folder();
  options.notice = [](const std::string& text) { fmt::print(stderr, "libpostal: {}\n", text); };
  options.stop = std::move(stop);
  return open_libpostal(std::move(options));
}

}  // namespace geonce
