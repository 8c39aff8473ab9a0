#include "gateway/json_writer.h"

#include <fmt/format.h>

namespace geonce {

// Only behind a value does a comma stand; an opening bracket and a name's colon are none.
void JsonWriter::separate() {
  if (out_.empty()) return;
  const char last = out_.back();
  if (last != '{' && last != '[' && last != ':' && last != '\n') out_ += ',';
}

void JsonWriter::begin_value(char bracket) {
  separate();
  out_ += bracket;
}

void JsonWriter::name(std::string_view name) {
  value(name);
  out_ += ':';
}

void JsonWriter::value(std::string_view text) {
  separate();
  out_ += '"';
  std::size_t plain = 0;  // bytes from here on go as they are
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out_.append(text, plain, i - plain);
    plain = i + 1;
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      default:
        fmt::format_to(std::back_inserter(out_), "\\u{:04x}", c);
    }
  }
  out_.append(text, plain);
  out_ += '"';
}

void JsonWriter::value(bool is_true) {
  separate();
  out_ += is_true ? "true" : "false";
}

void JsonWriter::null() {
  separate();
  out_ += "null";
}

void JsonWriter::value(double number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
}

void JsonWriter::whole(std::int64_t number) {
  separate();
  const fmt::format_int text(number);
  out_.append(text.data(), text.size());
}

}  // namespace geonce
