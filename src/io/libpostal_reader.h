#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "core/result.h"
#include "core/second_reader.h"
#include "io/breaker.h"

namespace geonce {

struct LibpostalOptions {
  std::string program;         // run with kLibpostalHelper as its first argument: geonce itself
  std::string library;         // a name that the loader knows, or a path
  std::filesystem::path data;  // absolute
  std::chrono::milliseconds timeout{10'000};         // of one question
  std::chrono::milliseconds start_timeout{120'000};  // of reading the model
  std::filesystem::path cache;  // folder of file hashes; empty: they are made at each start
  std::function<void(const std::string&)> notice;  // told each change of state, from any thread
  std::stop_token stop;                            // who waits is then told `interrupted`
  Breaker::Limits breaker{};
};

/// libpostal in a process of its own. That process is started at once and reads its model at the
/// first question. One that dies, hangs or talks nonsense is ended and replaced, and the question
/// it had is given up; a library that keeps failing is left alone for a while.
///
/// errors    invalid_config  the library cannot be used, or `data` is not its data
///           io_failed       the process cannot be started
Result<std::unique_ptr<SecondReader>> open_libpostal(LibpostalOptions options);

}  // namespace geonce
