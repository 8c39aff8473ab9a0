#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace geonce {

/// Appends JSON to a text, member by member, and puts the commas.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void open() { begin_value('{'); }
  void close() { out_ += '}'; }
  void open_list() { begin_value('['); }
  void close_list() { out_ += ']'; }
  /// What is written next is its value.
  void name(std::string_view name);

  /// UTF-8
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool is_true);
  void value(double number);
  void value(std::integral auto number) { whole(static_cast<std::int64_t>(number)); }

  void null();

  void member(std::string_view name_of, const auto& content) {
    name(name_of);
    value(content);
  }

 private:
  void begin_value(char bracket);
  void separate();
  void whole(std::int64_t number);

  std::string& out_;
};

}  // namespace geonce
