#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/second_reader.h"

namespace geonce {

/// A second reader that says what it was told to say, and notes what it was asked.
class ScriptedReader final : public SecondReader {
 public:
  explicit ScriptedReader(std::string backend = "p:0123456789abcdef")
      : backend_(std::move(backend)) {}

  [[nodiscard]] const std::string& backend() const override { return backend_; }
  std::vector<Result<std::vector<TextPart>>> read(std::span<const std::string> texts) override {
    ++requests;
    std::vector<Result<std::vector<TextPart>>> said;
    for (const std::string& text : texts) {
      asked.push_back(text);
      if (is_down)
        said.emplace_back(fail(ErrorCode::reader_unavailable, "the reader is down"));
      else if (const auto found = answers.find(text); found != answers.end())
        said.emplace_back(found->second);
      else
        said.emplace_back();
    }
    return said;
  }

  std::map<std::string, std::vector<TextPart>> answers;  // by the text; else: no reading
  bool is_down = false;
  std::vector<std::string> asked;
  int requests = 0;

 private:
  std::string backend_;
};

}  // namespace geonce
