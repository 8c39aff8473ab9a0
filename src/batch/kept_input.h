#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>

#include "core/result.h"

namespace geonce {

/// An input that can be read twice, once for its digest: a file as it is, standard input from a
/// file without a name that holds all of it.
class KeptInput {
 public:
  /// path      `-`: standard input, read to its end
  /// errors    interrupted           the stop was asked for before that end came
  ///           io_failed, disk_full  names the folder
  static Result<KeptInput> of(const std::string& path,
                              const std::filesystem::path& temp_folder,
                              const std::stop_token& stop);

  KeptInput(KeptInput&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  KeptInput(const KeptInput&) = delete;
  KeptInput& operator=(const KeptInput&) = delete;
  KeptInput& operator=(KeptInput&&) = delete;
  ~KeptInput();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  KeptInput(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_;
};

}  // namespace geonce
